//! The records of a workload: key and value are a function of the record's number and version.

use assay_core::random::{Bijection, Words, derive, draw, mix};
use assay_core::tape;
use assay_driver::schema::{ColumnType, LENGTH_SIZE, Schema, var_bytes};

use super::columns::{Columns, declared};
use super::sizes::Sizes;
use super::spec::{Key, KeyType, Made, Spec};
use super::texts;
use crate::batch::STAMP_SIZE;

/// The numbers of hashed keys if none of them is scanned, so that there is room for any number of
/// records.
const SPACIOUS: u64 = 1 << 40;

/// The distance of moments, and the first of them: 2026-01-01, in nanoseconds.
const MOMENT_NS: u64 = 1_000_000;
const FIRST_MOMENT_NS: u64 = 1_767_225_600_000_000_000;

/// The distance of sparse keys on average.
const SPARSE: u64 = 1 << 16;

/// The first number of absent dense keys, which have no gaps.
const DENSE_ABSENT: u64 = 1 << 62;

/// The bytes that repeat in values: all of them cycle through these.
const REPEATED: &[u8; 32] = b"the quick brown fox jumps again ";

/// The records.
pub(super) struct Records {
    schema: Schema,
    key: Key,
    columns: Columns,
    /// Bytes of the payload area before the value.
    value_at: usize,
    value: Sizes,
    compressible: f64,
    /// The keys' numbers: the first one, and the width of each record's part of the range.
    first: u64,
    part: u64,
    /// Which record has which part; none: by their numbers.
    spread: Option<Bijection>,
    seed: u64,
    is_fixed: bool,
}

impl Records {
    pub(super) fn new(spec: &Spec, seed: u64) -> Self {
        let key_type = match spec.records.key.kind {
            KeyType::U64 => ColumnType::U64,
            KeyType::Text(size) => ColumnType::Text(size),
            KeyType::Bytes(size) => ColumnType::Bytes(size),
        };
        let value = spec.records.value.clone();
        let is_fixed = value.is_constant();
        let value_type = if is_fixed {
            ColumnType::Bytes(value.most() as u32)
        } else {
            ColumnType::VarBytes(value.most() as u32)
        };
        let capacity = if spec.scans() { spec.most_rows().unwrap_or(SPACIOUS) } else { SPACIOUS };
        let (first, part) = match spec.records.key.made {
            Made::Dense => (0, 1),
            Made::Sparse => (0, SPARSE),
            Made::Time => (FIRST_MOMENT_NS, MOMENT_NS),
            // Below 2^63, which every engine's numbers reach.
            Made::Hashed => (0, i64::MAX.cast_unsigned() / capacity),
        };
        let spread = (spec.records.key.made == Made::Hashed)
            .then(|| Bijection::new(derive(seed, "keys"), capacity));
        let between = &spec.records.columns;
        let mut columns = vec![("id", key_type)];
        columns.extend(declared(between));
        columns.push(("value", value_type));
        let indexed = (1..).zip(between).filter(|(_, column)| column.is_indexed);
        let schema = Schema::new("records", &columns, 1);
        let schema = indexed.fold(schema, |schema, (at, _)| schema.with_index(at));
        Self {
            columns: Columns::new(between, &schema, derive(seed, "columns")),
            value_at: schema.last_offset() - schema.key_size(),
            schema,
            key: spec.records.key,
            value,
            compressible: spec.records.compressible,
            first,
            part,
            spread,
            seed: derive(seed, "values"),
            is_fixed,
        }
    }

    /// Returns the place of a record in the order of keys.
    pub(super) fn rank(&self, row: u64) -> u64 {
        self.spread.as_ref().map_or(row, |spread| spread.at(row))
    }

    /// Returns the record at a place in the order of keys, if there are `rows` of them.
    pub(super) fn row_of_rank(&self, rank: u64, rows: u64) -> Option<u64> {
        rank.lt(&self.ranks(rows)).then(|| match &self.spread {
            Some(spread) => spread.position_of(rank),
            None => rank,
        })
    }

    /// Returns the number of places in the order of keys.
    pub(super) fn ranks(&self, rows: u64) -> u64 {
        self.spread.as_ref().map_or(rows, Bijection::size)
    }

    /// Writes the key area of a record.
    pub(super) fn write_key(&self, row: u64, area: &mut [u8]) {
        let rank = self.rank(row);
        let within = draw(self.seed, rank, self.part.saturating_sub(1).max(1));
        let number = self.first.wrapping_add(rank * self.part).wrapping_add(within);
        self.write_number(number, area);
    }

    /// Writes the key area of a key that no record has.
    pub(super) fn write_absent(&self, row: u64, area: &mut [u8]) {
        let number = match self.part {
            1 => DENSE_ABSENT + row,
            part => self.first + self.rank(row) * part + part - 1,
        };
        self.write_number(number, area);
    }

    fn write_number(&self, number: u64, area: &mut [u8]) {
        match self.key.kind {
            KeyType::U64 => area.copy_from_slice(&number.to_le_bytes()),
            KeyType::Bytes(size) => {
                area.fill(0);
                area[..size as usize][..8].copy_from_slice(&number.to_be_bytes());
            }
            KeyType::Text(size) => {
                area.fill(0);
                texts::write(number, &mut area[..size as usize]);
            }
        }
    }

    /// Returns the record with a key, whether or not there is one; none if no record can have it.
    pub(super) fn row_of_key(&self, area: &[u8]) -> Option<u64> {
        let number = match self.key.kind {
            KeyType::U64 => u64::from_le_bytes(*area.first_chunk()?),
            KeyType::Bytes(_) => u64::from_be_bytes(*area.first_chunk()?),
            KeyType::Text(size) => texts::read(area.get(..size as usize)?)?,
        };
        let row = self.row_of_rank(number.checked_sub(self.first)? / self.part, u64::MAX)?;
        let mut expected = vec![0; area.len()];
        self.write_key(row, &mut expected);
        (expected == area).then_some(row)
    }

    /// Returns the number of bytes of a value.
    pub(super) fn value_bytes(&self, row: u64, version: u32) -> usize {
        self.value.of(mix(mix(self.seed, row), u64::from(version))) as usize
    }

    /// Returns the bytes of a key.
    pub(super) fn key_bytes(&self) -> u64 {
        self.key.kind.bytes()
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
        self.write_key(row, key);
    }

    fn payload(&self, row: u64, _: u32, payload: &mut [u8]) {
        // A record is loaded as its first version; version 0 is that of one that is absent.
        self.write_payload(row, LOADED, payload);
    }
}

/// The version of a record that was loaded or inserted for the first time.
pub(super) const LOADED: u32 = 1;
