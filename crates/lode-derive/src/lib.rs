//! `#[derive(Record)]` for Lode: structs that are the records of a table.
//!
//! `lode` re-exports the macro next to the trait that it implements; depend on that, not on this.
//!
//! The work is in three steps, each a module: `attributes` reads what `#[record(…)]` says,
//! `structure` turns the struct into columns or says what is wrong with it, and `code` writes
//! the implementation. `kind` knows the types that a field can have.

mod attributes;
mod code;
mod kind;
mod structure;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

use structure::Structure;

/// Implements `lode::Record` for a struct with named fields.
///
/// The fields become columns in their order, and those of the key come first:
///
/// | field | column |
/// |---|---|
/// | `u8`, `u16`, `u32`, `u64`, `i8`, `i16`, `i32`, `i64`, `f32`, `f64`, `bool` | of that type |
/// | `[u8; N]` | `Bytes(N)` |
/// | `String` | `VarText`: UTF-8, stored as long as it is |
/// | `Vec<u8>` | `VarBytes`: bytes, stored as many as there are |
/// | `String` with `#[record(text = 32)]` | `Text(32)`: at most 32 bytes of UTF-8, always in 32 |
/// | `Decimal` with `#[record(decimal(12, 2))]` | `Decimal`: 12 digits, 2 of them after the point |
/// | `i64` with `#[record(timestamp)]` | `Timestamp`: microseconds since the start of 1970 |
/// | `Option` of one of these | the same, and `None` is null |
///
/// # Attributes
///
/// On the struct:
///
/// - `#[record(table = "cities")]`: the table's name; by default the struct's in snake case.
/// - `#[record(index(name = "by_city", columns(city, age)))]`: a secondary index over these fields,
///   in their order. `unique(…)` in its place makes it unique: no two records have equal values in
///   all of these fields; a `None` is equal to no other.
///
/// On a field, also several at once, as in `#[record(key, text = 32)]`:
///
/// - `key`: the field is of the primary key. At least one is, and they come first.
/// - `text = 32`: a `String` has at most 32 bytes, and every record has room for all of them.
/// - `most = 1000`: any other `String`, or a `Vec<u8>`, has at most 1,000 bytes. The default is a
///   mebibyte, and all such fields together have at most that. A field of the key has no default.
/// - `timestamp`: an `i64` is a time.
/// - `expires`: from this time on, no read finds the record; a `None` has it stay.
/// - `decimal(12, 2)`: a `Decimal` has at most 12 digits, 2 of them after the point.
/// - `name = "…"`: the column's name; by default the field's.
/// - `index`: a secondary index over the field, named `by_` and the column's name; or as in
///   `index = "…"`. `unique` in its place makes it unique.
///
/// `Database::create_records` creates these indexes with the table, and `Database::records` those
/// that it does not have yet.
///
/// The number of `text` or `most` can also be a constant.
///
/// The macro sees types as they are written: it does not know an alias such as `type Id = u64`. The
/// crate that uses it depends on `lode` under that name.
#[proc_macro_derive(Record, attributes(record))]
pub fn derive_record(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    match Structure::new(input) {
        Ok(structure) => code::implementation(&structure).into(),
        Err(error) => error.into_compile_error().into(),
    }
}
