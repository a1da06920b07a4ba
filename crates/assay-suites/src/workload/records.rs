//! The records of a workload: key and value are a function of the record's number and version.

use assay_core::random::{Words, derive, mix};
use assay_core::tape;
use assay_driver::schema::{ColumnType, LENGTH_SIZE, Schema, var_bytes};

use super::columns::{self, Columns};
use super::keys::{self, Keys};
use super::sizes::Sizes;
use super::spec::Spec;
use crate::batch::STAMP_SIZE;

/// The bytes that repeat in values: all of them cycle through these.
const REPEATED: &[u8; 32] = b"the quick brown fox jumps again ";

/// The records.
pub(super) struct Records {
    schema: Schema,
    keys: Keys,
    key_bytes: u64,
    columns: Columns,
    /// Bytes of the payload area before the value.
    value_at: usize,
    value: Sizes,
    compressible: f64,
    seed: u64,
    is_fixed: bool,
}

impl Records {
    pub(super) fn new(spec: &Spec, seed: u64) -> Self {
        let value = spec.records.value.clone();
        let is_fixed = value.is_constant();
        let value_type = if is_fixed {
            ColumnType::Bytes(value.most() as u32)
        } else {
            ColumnType::VarBytes(value.most() as u32)
        };
        let between = &spec.records.columns;
        let mut columns = keys::declared(spec);
        let key_len = columns.len();
        columns.extend(columns::declared(between));
        columns.push(("value", value_type));
        let indexed = (key_len..).zip(between).filter(|(_, column)| column.is_indexed);
        let schema = Schema::new("records", &columns, key_len);
        let schema = indexed.fold(schema, |schema, (at, _)| schema.with_index(at));
        Self {
            columns: Columns::new(between, &schema, derive(seed, "columns")),
            value_at: schema.last_offset() - schema.key_size(),
            keys: Keys::new(spec, &schema, seed),
            key_bytes: spec.records.key.bytes(),
            schema,
            value,
            compressible: spec.records.compressible,
            seed: derive(seed, "values"),
            is_fixed,
        }
    }

    /// Returns the keys.
    pub(super) fn keys(&self) -> &Keys {
        &self.keys
    }

    /// Returns the number of bytes of a value.
    pub(super) fn value_bytes(&self, row: u64, version: u32) -> usize {
        self.value.of(mix(mix(self.seed, row), u64::from(version))) as usize
    }

    /// Returns the bytes of a key.
    pub(super) fn key_bytes(&self) -> u64 {
        self.key_bytes
    }

    /// Returns the bytes of key, columns and value.
    pub(super) fn record_bytes(&self, row: u64, version: u32) -> u64 {
        self.key_bytes() + self.columns.bytes() + self.value_bytes(row, version) as u64
    }

    /// Returns the columns between key and value.
    pub(super) fn columns(&self) -> &Columns {
        &self.columns
    }

    /// Returns the bytes of a value in its packed form.
    pub(super) fn packed_bytes(&self, row: u64, version: u32) -> usize {
        let bytes = self.value_bytes(row, version);
        if self.is_fixed { bytes } else { LENGTH_SIZE + bytes }
    }

    /// Returns the value in a payload area.
    pub(super) fn value_in<'p>(&self, payload: &'p [u8]) -> &'p [u8] {
        let value = &payload[self.value_at..];
        if self.is_fixed { &value[..self.value.most() as usize] } else { var_bytes(value) }
    }

    /// Writes the columns and the value of a record into a payload area of zeros.
    pub(super) fn write_payload(&self, row: u64, version: u32, payload: &mut [u8]) {
        let (columns, value) = payload.split_at_mut(self.value_at);
        self.columns.write(row, columns);
        self.write_packed(row, version, value);
    }

    /// Writes the packed form of a value; `packed` has its [`Self::packed_bytes`] at least.
    pub(super) fn write_packed(&self, row: u64, version: u32, packed: &mut [u8]) {
        let bytes = self.value_bytes(row, version);
        let value = if self.is_fixed {
            packed
        } else {
            let (length, value) = packed.split_at_mut(LENGTH_SIZE);
            length.copy_from_slice(&(bytes as u32).to_le_bytes());
            value
        };
        self.write_value(row, version, &mut value[..bytes]);
    }

    /// Writes a value: a number that counts versions, random bytes, and bytes that repeat.
    pub(super) fn write_value(&self, row: u64, version: u32, value: &mut [u8]) {
        let (stamp, rest) = value.split_at_mut(STAMP_SIZE);
        let number = self.first_stamp(row).wrapping_add(u64::from(version));
        stamp.copy_from_slice(&number.to_le_bytes());
        let repeated = (rest.len() as f64 * self.compressible) as usize;
        let (random, repeated) = rest.split_at_mut(rest.len() - repeated);
        let mut words = Words::new(mix(self.seed ^ u64::from(version), row));
        let mut chunks = random.chunks_exact_mut(8);
        for chunk in &mut chunks {
            chunk.copy_from_slice(&words.next().to_le_bytes());
        }
        let last = words.next().to_le_bytes();
        let end = chunks.into_remainder();
        end.copy_from_slice(&last[..end.len()]);
        for chunk in repeated.chunks_mut(REPEATED.len()) {
            chunk.copy_from_slice(&REPEATED[..chunk.len()]);
        }
    }

    /// Returns the version that a value of a record says it is of.
    pub(super) fn version_of(&self, row: u64, value: &[u8]) -> Option<u32> {
        let number = u64::from_le_bytes(*value.first_chunk()?);
        number.wrapping_sub(self.first_stamp(row)).try_into().ok()
    }

    fn first_stamp(&self, row: u64) -> u64 {
        mix(self.seed, row)
    }
}

impl tape::Records for Records {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn key(&self, row: u64, key: &mut [u8]) {
        self.keys.write(row, key);
    }

    fn payload(&self, row: u64, _: u32, payload: &mut [u8]) {
        // A record is loaded as its first version; version 0 is that of one that is absent.
        self.write_payload(row, LOADED, payload);
    }
}

/// The version of a record that was loaded or inserted for the first time.
pub(super) const LOADED: u32 = 1;
