//! Tables of Lode as Arrow record batches, both ways, and files of them: Parquet, Arrow IPC, CSV.
//!
//! | to … | there is |
//! |---|---|
//! | read a table as record batches | [`Scan`], [`Batches`] |
//! | turn packed records into record batches | [`batches_of`] |
//! | write record batches into a table | [`append`], [`Packer`] |
//! | know which Arrow type a column has | [`arrow_schema()`], [`lode_schema`] |
//! | write and read files | [`FileWriter`], [`FileReader`], [`FileFormat`] |
//! | read the files of a folder, with partitions | [`TableFiles`] |
//!
//! One batch is in memory at a time, whatever the size of the table. A scan is a snapshot: its
//! batches are all of one moment.
//!
//! ```
//! use lode::{Database, KeyKind, Schema, Type, Value};
//! use lode_arrow::{IfThere, Scan, append, arrow_schema};
//!
//! let db = Database::in_memory()?;
//! let schema = Schema::build("square").key("of", Type::I64).column("is", Type::I64).finish()?;
//! let squares = db.create_table(&schema, KeyKind::Tree)?;
//! for n in 0..1_000 {
//!     squares.insert(&schema.pack(&[Value::Signed(n), Value::Signed(n * n)])?)?;
//! }
//!
//! let copy = Database::in_memory()?;
//! let copied = copy.create_table(&schema, KeyKind::Tree)?;
//! for batch in Scan::of(&squares).limit(100).batch_rows(64).read() {
//!     append(&copy, &copied, &batch?, IfThere::Stop)?;
//! }
//! use lode::ReadTable;
//! assert_eq!(copied.len()?, 100);
//! assert_eq!(arrow_schema(&schema).field(0).name(), "of");
//! # Ok::<(), lode_arrow::Error>(())
//! ```
//!
//! # Types
//!
//! | Lode | Arrow |
//! |---|---|
//! | `u8` … `u64`, `i8` … `i64` | `UInt8` … `UInt64`, `Int8` … `Int64` |
//! | `f32`, `f64` | `Float32`, `Float64` |
//! | `bool` | `Boolean` |
//! | `timestamp` | `Timestamp(Microsecond, "UTC")` |
//! | `text(N)`, `vartext(N)` | `Utf8` |
//! | `decimal(P,S)` | `Decimal128(P, S)` |
//! | `bytes(N)` | `FixedSizeBinary(N)` |
//! | `varbytes(N)` | `Binary` |
//!
//! The metadata of a field says which type of Lode it had, so that a table comes back with the same
//! schema. Values come back bit by bit, also of floats that are no numbers. Some bytes of a record
//! have no value in Arrow. Text that is no UTF-8 is refused; a truth value that is neither 0 nor 1
//! is read as true, as Lode does.

#![warn(unreachable_pub)]

mod append;
mod cells;
mod columns;
mod constant;
mod error;
mod files;
mod pack;
mod scan;
mod types;

pub use append::{Appended, IfThere, append};
pub use constant::constant_array;
pub use error::{Error, Result};
pub use files::{
    Compression, CsvForm, FileFormat, FileReader, FileWriter, ReadOptions, TableFiles, TableRows,
    WriteOptions, guard_panics, silence_reader_panics,
};
pub use pack::{Packer, Put};
pub use scan::{Batches, DEFAULT_BATCH_ROWS, Scan, batches_of};
pub use types::{arrow_schema, lode_schema};
