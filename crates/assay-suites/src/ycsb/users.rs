//! YCSB's records: a key `user…`, and fields of random letters, which follow from the operation
//! that wrote them.

use assay_core::random::{Bijection, Words, derive, draw, mix};
use assay_core::tape::Records;
use assay_driver::schema::{ColumnType, Schema};

use super::core_workload::CoreWorkload;
use super::workload::Drawn;

/// Bytes of a key: `user` and 20 digits, so that keys have the order of their numbers.
const KEY_SIZE: u32 = 24;
const PREFIX: &[u8] = b"user";

/// The number of characters at the start of a field that hold the number of the operation that
/// wrote it: 6 bits each.
pub(super) const STAMP_SIZE: usize = 7;

/// The records of a run, those that it inserts among them.
///
/// Their keys are spread over the range of 64 bits as those of Tonbo's customers are over that of
/// 32: equal parts with one key at a random place of each; which record has which part is a
/// bijection. So the record that follows another in the order of keys is known.
pub(super) struct Users {
    schema: Schema,
    pub(super) loaded: u64,
    capacity: u64,
    /// The order of keys; none: that of the records' numbers.
    ranks: Option<Bijection>,
    /// The bytes of fields, if they are of different lengths.
    lengths: Option<Drawn>,
    seed: u64,
}

/// The names of fields, for the most fields that a record can have.
pub(super) const FIELD_NAMES: [&str; 32] = [
    "field0", "field1", "field2", "field3", "field4", "field5", "field6", "field7", "field8",
    "field9", "field10", "field11", "field12", "field13", "field14", "field15", "field16",
    "field17", "field18", "field19", "field20", "field21", "field22", "field23", "field24",
    "field25", "field26", "field27", "field28", "field29", "field30", "field31",
];

impl Users {
    pub(super) fn new(loaded: u64, core: &CoreWorkload, seed: u64) -> Self {
        // Both rounds insert, and no thread inserts more than it has operations.
        let capacity = loaded + 2 * core.operations;
        let mut columns = vec![("y_id", ColumnType::Text(KEY_SIZE))];
        let field = ColumnType::Text(core.field_lengths.most as u32);
        columns.extend(FIELD_NAMES.iter().take(core.fields as usize).map(|n| (*n, field)));
        let is_ragged = core.field_lengths.least < core.field_lengths.most;
        Self {
            schema: Schema::new("usertable", &columns, 1),
            loaded,
            capacity,
            ranks: (!core.in_order).then(|| Bijection::new(derive(seed, "ranks"), capacity)),
            lengths: is_ragged.then(|| core.field_lengths.drawn()),
            seed: derive(seed, "users"),
        }
    }

    fn part(&self) -> u64 {
        u64::MAX / self.capacity
    }

    /// Returns the place of a record in the order of all keys.
    pub(super) fn rank(&self, row: u64) -> u64 {
        self.ranks.as_ref().map_or(row, |ranks| ranks.at(row))
    }

    /// Returns the record at a place in the order of all keys, if there can be one.
    pub(super) fn row_of_rank(&self, rank: u64) -> Option<u64> {
        let row = || self.ranks.as_ref().map_or(rank, |ranks| ranks.position_of(rank));
        (rank < self.capacity).then(row)
    }

    /// Returns the record with a key.
    pub(super) fn row_of_key(&self, key: &[u8]) -> Option<u64> {
        let digits = str::from_utf8(key.strip_prefix(PREFIX)?).ok()?;
        let number: u64 = digits.get(..20)?.parse().ok()?;
        let row = self.row_of_rank(number / self.part())?;
        let mut expected = vec![0; self.schema.key_size()];
        self.key(row, &mut expected);
        (expected == key).then_some(row)
    }

    /// Writes the content of a field by an operation with this stamp (0 for the load).
    pub(super) fn field(&self, row: u64, field: u32, stamp: u64, text: &mut [u8]) {
        let seed = mix(self.seed ^ stamp << 8 ^ u64::from(field), row);
        let length = self.lengths.as_ref().map(|lengths| lengths.at(seed, 0) as usize);
        let (text, empty) = text.split_at_mut(length.unwrap_or(text.len()));
        empty.fill(0);
        let (front, rest) = text.split_at_mut(STAMP_SIZE);
        for (at, character) in front.iter_mut().enumerate() {
            *character = b'0' + ((stamp >> (6 * at)) & 63) as u8;
        }
        let mut words = Words::new(seed);
        for chunk in rest.chunks_mut(8) {
            for (to, bits) in chunk.iter_mut().zip(words.next().to_le_bytes()) {
                *to = b'0' + (bits & 63);
            }
        }
    }

    /// Writes one field of a record into its payload.
    pub(super) fn write_field(&self, row: u64, field: u32, stamp: u64, payload: &mut [u8]) {
        let column = &self.schema.payload_columns()[field as usize];
        let from = column.offset - self.schema.key_size();
        let size = column.kind.size_bytes();
        self.field(row, field, stamp, &mut payload[from..from + size]);
    }

    /// Writes all fields of a record, by an operation with this stamp.
    pub(super) fn all_fields(&self, row: u64, stamp: u64, payload: &mut [u8]) {
        payload.fill(0);
        let fields = self.schema.payload_columns().len() as u32;
        (0..fields).for_each(|field| self.write_field(row, field, stamp, payload));
    }

    /// Returns the stamps in the fields of a record.
    pub(super) fn stamps(&self, payload: &[u8]) -> impl Iterator<Item = Option<u64>> {
        let columns = self.schema.payload_columns().iter();
        columns.map(|column| Self::stamp(&payload[column.offset - self.schema.key_size()..]))
    }

    /// Returns the stamp in a field.
    pub(super) fn stamp(text: &[u8]) -> Option<u64> {
        text[..STAMP_SIZE].iter().rev().try_fold(0, |stamp, character| {
            let bits = character.checked_sub(b'0').filter(|bits| *bits < 64)?;
            Some(stamp << 6 | u64::from(bits))
        })
    }
}

impl Records for Users {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn key(&self, row: u64, key: &mut [u8]) {
        let rank = self.rank(row);
        let mut number = rank * self.part() + draw(self.seed, rank, self.part());
        key[..PREFIX.len()].copy_from_slice(PREFIX);
        for digit in key[PREFIX.len()..].iter_mut().rev() {
            *digit = b'0' + (number % 10) as u8;
            number /= 10;
        }
    }

    fn payload(&self, row: u64, _: u32, payload: &mut [u8]) {
        self.all_fields(row, 0, payload);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn users() -> Users {
        let options = super::super::Options { operations: Some(500), ..Default::default() };
        let core = CoreWorkload::of(&options).expect("a workload");
        Users::new(1_000, &core, 1)
    }

    #[test]
    fn keys_are_in_the_order_of_ranks_and_lead_back_to_their_records() {
        let users = users();
        let mut last = Vec::new();
        let mut key = vec![0; users.schema().key_size()];
        for rank in 0..2_000 {
            let row = users.row_of_rank(rank).expect("inside");
            users.key(row, &mut key);
            assert!(key > last && key.starts_with(b"user"), "rank {rank}");
            assert_eq!(users.row_of_key(&key), Some(row));
            last.clone_from(&key);
        }
        assert_eq!(users.row_of_rank(2_000), None);
        key[23] ^= 1;
        assert_eq!(users.row_of_key(&key), None);
    }

    #[test]
    fn a_field_tells_who_wrote_it() {
        let users = users();
        let mut text = [0; 100];
        for stamp in [0, 1, 63, 64, 1 << 41] {
            users.field(7, 3, stamp, &mut text);
            assert_eq!(Users::stamp(&text), Some(stamp));
            assert!(text.iter().all(|c| (b'0'..b'0' + 64).contains(c)));
        }
        text[0] = b' ';
        assert_eq!(Users::stamp(&text), None);
    }
}
