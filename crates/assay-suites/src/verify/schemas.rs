//! The shapes of records that drivers are verified on.

use assay_core::random::{derive, mix};
use assay_core::tape::Records;
use assay_driver::schema::{ColumnType, Schema, write_bytes};

/// A shape of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// A composite integer key of five bytes, a payload of 32, as CrossBench has.
    Route,
    /// A signed key, and a column of every type but bytes, which not every engine has.
    Mixed,
    /// A key of 20 bytes and a payload of 200, most of it bytes.
    Wide,
    /// A value of variable length after a fixed one.
    Varied,
    /// Texts that are stored with their own lengths, with numbers between them.
    Texts,
    /// Two columns with secondary indexes, of a few and of many values.
    Indexed,
}

impl Shape {
    pub(super) const ALL: [Self; 6] =
        [Self::Route, Self::Mixed, Self::Wide, Self::Varied, Self::Texts, Self::Indexed];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Route => "route",
            Self::Mixed => "mixed",
            Self::Wide => "wide",
            Self::Varied => "varied",
            Self::Texts => "texts",
            Self::Indexed => "indexed",
        }
    }

    pub(super) fn records(self, seed: u64) -> ShapedRecords {
        use ColumnType::{Bytes, F64, I32, I64, Text, U8, U16, U32, U64, VarBytes};
        let schema = match self {
            Self::Route => Schema::new(
                "route",
                &[
                    ("prefix", U32),
                    ("mask", U8),
                    ("nexthop", U32),
                    ("metric", U8),
                    ("intf", Text(16)),
                    ("birth", U32),
                    ("flags", U32),
                ],
                2,
            ),
            Self::Mixed => Schema::new(
                "mixed",
                &[
                    ("a", I32),
                    ("b", U16),
                    ("c", I64),
                    ("d", F64),
                    ("e", Text(11)),
                    ("g", U8),
                    ("h", U64),
                    ("i", I32),
                ],
                2,
            ),
            Self::Wide => {
                Schema::new("wide", &[("id", Bytes(20)), ("body", Bytes(190)), ("stamp", U64)], 1)
            }
            Self::Texts => {
                let columns = [
                    ("id", U64),
                    ("name", Text(20)),
                    ("nation", U16),
                    ("address", Text(30)),
                    ("balance", I64),
                    ("comment", Text(38)),
                ];
                Schema::new("texts", &columns, 1).with_varied_texts()
            }
            Self::Indexed => {
                let columns =
                    [("id", U64), ("city", Text(2)), ("shade", U8), ("body", VarBytes(300))];
                Schema::new("indexed", &columns, 1).with_index(1).with_index(2)
            }
            Self::Varied => {
                Schema::new("varied", &[("id", U64), ("stamp", U32), ("body", VarBytes(700))], 1)
            }
        };
        ShapedRecords { schema, seed: derive(seed, self.name()) }
    }
}

/// Records of a shape: every column is a function of seed, row and version.
pub(super) struct ShapedRecords {
    schema: Schema,
    seed: u64,
}

impl ShapedRecords {
    pub(super) fn record(&self, row: u64, version: u32) -> Vec<u8> {
        let mut record = vec![0; self.schema.record_size()];
        let (key, payload) = record.split_at_mut(self.schema.key_size());
        self.key(row, key);
        self.payload(row, version, payload);
        record
    }

    /// Fills one column: integers and bytes with any bits, floats with finite values, text with a
    /// varying number of letters (sometimes none).
    fn fill(&self, kind: ColumnType, seed: u64, bytes: &mut [u8]) {
        match kind {
            ColumnType::F64 => {
                let value = (mix(seed, 0) as i64 as f64) / 1024.0;
                bytes.copy_from_slice(&value.to_le_bytes());
            }
            ColumnType::Text(most) => {
                let len = mix(seed, 0) as usize % (most as usize + 1);
                for (byte, at) in bytes[..len].iter_mut().zip(1..) {
                    *byte = b'a' + (mix(seed, at) % 26) as u8;
                }
            }
            ColumnType::VarBytes(most) => {
                let len = mix(seed, 0) as usize % (most as usize + 1);
                let value: Vec<u8> = (1..).map(|at| mix(seed, at) as u8).take(len).collect();
                write_bytes(kind, &value, bytes);
            }
            _ => {
                for (chunk, at) in bytes.chunks_mut(8).zip(0..) {
                    chunk.copy_from_slice(&mix(seed, at).to_le_bytes()[..chunk.len()]);
                }
            }
        }
    }
}

impl Records for ShapedRecords {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Writes a key. Its first column has the low bits of the row, so that keys differ.
    fn key(&self, row: u64, key: &mut [u8]) {
        key.fill(0);
        for (column, at) in self.schema.key_columns().iter().zip(0..) {
            self.fill(column.kind, mix(self.seed ^ row, at), column.slice_mut(key));
        }
        let scrambled = (row as u32).wrapping_mul(0x9e37_79b1);
        let first = self.schema.key_columns()[0].slice_mut(key);
        first[..4].copy_from_slice(&scrambled.to_le_bytes());
    }

    fn payload(&self, row: u64, version: u32, payload: &mut [u8]) {
        payload.fill(0);
        for (column, at) in self.schema.payload_columns().iter().zip(0..) {
            let seed = mix(self.seed ^ (u64::from(version) << 32), row * 64 + at);
            let from = column.offset - self.schema.key_size();
            self.fill(column.kind, seed, &mut payload[from..from + column.kind.size_bytes()]);
        }
    }
}
