//! Payload areas without the filling of their texts, for engines that store bytes under bytes.
//!
//! A compact payload has the columns one after another: a text has its length before it (2 bytes),
//! a value of variable length too (4 bytes). All others are as they are.

use crate::schema::{ColumnType, LENGTH_SIZE, Schema, Value};

/// Bytes of the length before a text.
const TEXT_LENGTH_SIZE: usize = 2;

/// Packs the payload areas of a schema whose texts vary in length.
#[derive(Clone, Debug)]
pub struct Compact {
    columns: Vec<Column>,
}

#[derive(Clone, Copy, Debug)]
struct Column {
    kind: ColumnType,
    /// Bytes before the column in the payload area.
    from: usize,
    end: usize,
}

impl Compact {
    /// Makes the packer of a schema; none if its records all have the same length, or only their
    /// last column varies.
    pub fn new(schema: &Schema) -> Option<Self> {
        let base = schema.key_size();
        let columns = schema.payload_columns().iter().map(|column| {
            let from = column.offset - base;
            Column { kind: column.kind, from, end: from + column.kind.size_bytes() }
        });
        schema.has_varied_texts().then(|| Self { columns: columns.collect() })
    }

    /// Packs a payload area.
    pub fn pack(&self, payload: &[u8], packed: &mut Vec<u8>) {
        packed.clear();
        for column in &self.columns {
            let slot = &payload[column.from..column.end];
            match Value::read(column.kind, slot) {
                Value::Text(text) => {
                    packed.extend_from_slice(&(text.len() as u16).to_le_bytes());
                    packed.extend_from_slice(text);
                }
                _ => packed.extend_from_slice(&slot[..column.kind.used_bytes(slot)]),
            }
        }
    }

    /// Unpacks the result of [`Self::pack`] into a payload area whose padding is zero. Other bytes
    /// unpack to something; the check of the result finds that.
    pub fn unpack(&self, packed: &[u8], payload: &mut [u8]) {
        self.unpack_some(packed, |_| true, payload);
    }

    /// Unpacks some columns, by their positions among those that are not in the key.
    pub fn unpack_some(
        &self,
        mut packed: &[u8],
        wanted: impl Fn(usize) -> bool,
        payload: &mut [u8],
    ) {
        for (at, column) in self.columns.iter().enumerate() {
            let (front, size) = match column.kind {
                ColumnType::Text(_) => (TEXT_LENGTH_SIZE, number::<TEXT_LENGTH_SIZE>(packed)),
                ColumnType::VarBytes(_) => (0, LENGTH_SIZE + number::<LENGTH_SIZE>(packed)),
                kind => (0, kind.size_bytes()),
            };
            let (value, rest) =
                packed.get(front..).unwrap_or_default().split_at_checked(size).unwrap_or_default();
            packed = rest;
            if wanted(at) {
                let slot = &mut payload[column.from..column.end];
                let size = value.len().min(slot.len());
                slot[..size].copy_from_slice(&value[..size]);
                slot[size..].fill(0);
            }
        }
    }
}

/// Returns the number at the front; 0 if the bytes are too few.
fn number<const SIZE: usize>(bytes: &[u8]) -> usize {
    let bytes = bytes.first_chunk::<SIZE>().copied().unwrap_or([0; SIZE]);
    bytes.iter().rev().fold(0, |number, &byte| number << 8 | usize::from(byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::write_bytes;
    use proptest::prelude::*;

    fn schema() -> Schema {
        use ColumnType::{Text, U16, U64, VarBytes};
        let columns =
            [("id", U64), ("a", Text(40)), ("n", U16), ("b", Text(300)), ("v", VarBytes(50))];
        Schema::new("texts", &columns, 1).with_varied_texts()
    }

    fn payload(schema: &Schema, a: &str, n: u16, b: &str, v: &[u8]) -> Vec<u8> {
        let mut record = vec![0; schema.record_size()];
        let values = [a.as_bytes(), &n.to_le_bytes(), b.as_bytes(), v];
        for (column, value) in schema.payload_columns().iter().zip(values) {
            write_bytes(column.kind, value, column.slice_mut(&mut record));
        }
        record.split_off(schema.key_size())
    }

    #[test]
    fn texts_take_their_own_length() {
        let schema = schema();
        let compact = Compact::new(&schema).expect("texts vary");
        let mut packed = Vec::new();
        compact.pack(&payload(&schema, "four", 7, "", b"xyz"), &mut packed);
        assert_eq!(packed.len(), 2 + 4 + 2 + 2 + 4 + 3);
        let fixed = Schema::new("t", &[("id", ColumnType::U64), ("a", ColumnType::Text(9))], 1);
        assert!(Compact::new(&fixed).is_none());
    }

    proptest! {
        #[test]
        fn what_is_packed_comes_back(
            a in "[a-z]{0,40}", n: u16, b in "[a-z]{0,300}",
            v in prop::collection::vec(any::<u8>(), 0..50),
        ) {
            let schema = schema();
            let compact = Compact::new(&schema).expect("texts vary");
            let expected = payload(&schema, &a, n, &b, &v);
            let mut packed = Vec::new();
            let mut got = payload(&schema, "stale", 1, &b, b"stale");
            compact.pack(&expected, &mut packed);
            compact.unpack(&packed, &mut got);
            prop_assert_eq!(schema.first_difference(&expected, &got), None);
        }

        #[test]
        fn garbage_is_no_panic(garbage in prop::collection::vec(any::<u8>(), 0..400)) {
            let schema = schema();
            let compact = Compact::new(&schema).expect("texts vary");
            compact.unpack(&garbage, &mut vec![0; schema.payload_size()]);
        }
    }
}
