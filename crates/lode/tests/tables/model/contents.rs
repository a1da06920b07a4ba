//! The payloads of records: the model of tables is generic over them.

use std::fmt::Debug;

use lode::{Error, Schema, Table};
use proptest::strategy::BoxedStrategy;

use super::keys::{Keys, Place};

/// The largest size of an entry or an update.
#[derive(Clone, Copy, Debug)]
pub enum Size {
    /// The largest that the columns take.
    Any,
    /// Not so large that a checkpoint has to make room for what is written in its midst.
    BesideCheckpoint,
    /// The size of most records, so that there can be many.
    Common,
}

/// A kind of records.
pub trait Contents: Copy + Debug + 'static {
    /// The columns of a record after its key.
    type Entry: Copy + Debug;
    /// A new value of one column.
    type Update: Copy + Debug;

    /// The columns that scans ask for.
    const SCANNED: &'static [&'static [usize]];

    fn entries(size: Size) -> BoxedStrategy<Self::Entry>;

    fn updates(size: Size) -> BoxedStrategy<Self::Update>;

    fn keys(self) -> Keys;

    fn schema(self) -> Schema;

    /// The packed record of an entry.
    fn record(self, place: Place, entry: Self::Entry) -> Vec<u8>;

    /// The entry that a packed record is of. A record that is of none gives an entry whose record
    /// differs.
    fn entry(self, record: &[u8]) -> Self::Entry;

    /// The row of a scan that asks for these columns.
    fn row(self, place: Place, entry: Self::Entry, columns: &[usize]) -> Vec<u8>;

    /// The column that an update is of, and its bytes.
    fn column(update: Self::Update) -> (usize, Vec<u8>);

    /// The entry after an update.
    fn updated(entry: Self::Entry, update: Self::Update) -> Self::Entry;

    /// Looks a record up in ways that only these contents have.
    fn look_up(self, table: &Table, key: &[u8], entry: Option<Self::Entry>) -> Result<(), Error>;

    /// The packed payload of an entry.
    fn payload(self, entry: Self::Entry) -> Vec<u8> {
        let place = (0, 0);
        self.record(place, entry).split_off(self.keys().key(place).len())
    }
}
