//! The records of a crash test: each names the commits that wrote it and touched it last. Of a row
//! that several writers share, each of both columns names the commit that changed it last.

use assay_core::random::{Words, derive, mix};
use assay_core::tape::Records;
use assay_driver::schema::{ColumnType, Schema};

/// The longest text of a record.
const TEXT_BYTES: u32 = 220;

/// The position of the column that a touch changes, and of the one that a mark changes.
const TOUCHED: usize = 2;
const WRITTEN: usize = 1;

/// The commits that made a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Contents {
    /// The commit that inserted it; of a shared row, the one that marked it last.
    pub(super) written: u32,
    /// The commit that touched it last.
    pub(super) touched: u32,
}

/// Records whose every byte is a function of seed, row and contents.
pub(super) struct Ledger {
    schema: Schema,
    seed: u64,
    /// The first of the shared rows, which are the last ones.
    shared_from: u32,
}

impl Ledger {
    pub(super) fn new(seed: u64, shared_from: u32) -> Self {
        let columns = [
            ("id", ColumnType::U32),
            ("written", ColumnType::U32),
            ("touched", ColumnType::U32),
            ("text", ColumnType::Text(TEXT_BYTES)),
        ];
        let schema = Schema::new("ledger", &columns, 1);
        Self { schema, seed: derive(seed, "ledger"), shared_from }
    }

    /// Returns true if several writers change the row.
    pub(super) fn is_shared(&self, row: u32) -> bool {
        row >= self.shared_from
    }

    /// Returns the position of the column that a touch changes.
    pub(super) fn touched_column(&self) -> usize {
        TOUCHED
    }

    /// Returns the position of the column that a mark changes.
    pub(super) fn marked_column(&self) -> usize {
        WRITTEN
    }

    pub(super) fn key_of(&self, row: u32) -> Vec<u8> {
        let mut key = vec![0; self.schema.key_size()];
        self.key(u64::from(row), &mut key);
        key
    }

    pub(super) fn payload_of(&self, row: u32, contents: Contents) -> Vec<u8> {
        let mut payload = vec![0; self.schema.payload_size()];
        // The text of a shared row stays when the column changes.
        let version = if self.is_shared(row) { 0 } else { contents.written };
        self.payload(u64::from(row), version, &mut payload);
        for (column, value) in [(WRITTEN, contents.written), (TOUCHED, contents.touched)] {
            let from = self.schema.columns()[column].offset - self.schema.key_size();
            payload[from..from + 4].copy_from_slice(&value.to_le_bytes());
        }
        payload
    }

    pub(super) fn record_of(&self, row: u32, contents: Contents) -> Vec<u8> {
        let mut record = self.key_of(row);
        record.extend(self.payload_of(row, contents));
        record
    }

    /// Returns the contents that a payload names; none if it is not a payload of this row.
    pub(super) fn read(&self, row: u32, payload: &[u8]) -> Option<Contents> {
        let number = |at: usize| {
            let from = self.schema.columns()[at].offset - self.schema.key_size();
            let bytes = payload.get(from..from + 4)?;
            Some(u32::from_le_bytes(bytes.try_into().ok()?))
        };
        let contents = Contents { written: number(WRITTEN)?, touched: number(TOUCHED)? };
        self.schema.same_payload(&self.payload_of(row, contents), payload).then_some(contents)
    }
}

impl Records for Ledger {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Writes a row's key. Keys are spread, so that neighbours in time are no neighbours in a tree.
    fn key(&self, row: u64, key: &mut [u8]) {
        key.fill(0);
        let spread = (row as u32).wrapping_mul(0x9e37_79b1);
        self.schema.key_columns()[0].slice_mut(key).copy_from_slice(&spread.to_le_bytes());
    }

    fn payload(&self, row: u64, version: u32, payload: &mut [u8]) {
        payload.fill(0);
        payload[..4].copy_from_slice(&version.to_le_bytes());
        payload[4..8].copy_from_slice(&version.to_le_bytes());
        let mut words = Words::new(mix(self.seed ^ row, u64::from(version)));
        let len = words.next() as usize % (TEXT_BYTES as usize + 1);
        for byte in &mut payload[8..8 + len] {
            *byte = b'a' + (words.next() % 26) as u8;
        }
    }
}
