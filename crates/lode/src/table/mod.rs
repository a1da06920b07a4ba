//! Tables: an index over pages, and a heap for records that are not stored in it.

mod by_page;
mod changed;
mod check;
mod commit;
mod compact;
mod core;
mod definition;
mod entries;
mod horizon;
mod kinds;
mod rows;
mod salvage;
mod scan;
mod secondary;
mod successor;
mod sweep;
mod watch;

pub(crate) use self::changed::Extent;
pub(crate) use self::compact::Progress;
pub(crate) use self::core::{FetchFor, TableCore};
pub(crate) use definition::{Definition, Location, Storage};
pub(crate) use horizon::Horizon;
pub(crate) use kinds::{Kinds, Walk};
pub(crate) use rows::{Needs, Rows};
pub(crate) use salvage::{Left, salvage};
pub(crate) use secondary::{EntryChange, IndexOf, Secondaries, Secondary};
pub(crate) use successor::SuccessorOf;
pub(crate) use watch::Watch;

/// The way in which a table finds its records.
///
/// ```
/// use lode::{Database, Error, KeyKind, ReadTable, Schema, Type};
///
/// let db = Database::in_memory()?;
/// for (name, kind) in [("hash", KeyKind::Hash), ("tree", KeyKind::Tree)] {
///     let table = db.create_table(&Schema::build(name).key("id", Type::U8).finish()?, kind)?;
///     table.insert(&[7])?;
///     assert!(table.contains(7)?);
///     match table.range(5u8..).next() {
///         Some(Ok(row)) => assert_eq!((name, row.bytes()), ("tree", &[7][..])),
///         Some(Err(error)) => assert_eq!(error, Error::NoOrder { table: "hash".into() }),
///         None => unreachable!("there is a record"),
///     }
/// }
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyKind {
    /// By a hash of the key: the fastest for single records, in no order.
    Hash,
    /// In the order of keys: ranges can be scanned.
    Tree,
}
