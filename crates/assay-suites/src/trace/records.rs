//! The records of a trace: key and value are a function of the key's hash, and of the version and
//! the size that the trace gives the value.

use assay_core::random::{Words, derive, mix};
use assay_driver::schema::{ColumnType, LENGTH_SIZE, Schema, var_bytes};

use super::facts::Facts;
use super::state::State;

/// The fewest and the most bytes of a key: its hash, then zeros.
const KEY_BYTES: (u64, u64) = (8, 256);

/// The records.
pub(super) struct Records {
    schema: Schema,
    seed: u64,
    /// The bytes of every value, if they are equal.
    fixed: Option<usize>,
}

impl Records {
    pub(super) fn new(facts: &Facts, seed: u64) -> Self {
        let key = facts.key_bytes.clamp(KEY_BYTES.0, KEY_BYTES.1) as u32;
        let least = facts.least_bytes;
        let most = facts.most_bytes.max(1);
        let fixed = (least == most).then_some(most as usize);
        let value = match fixed {
            Some(_) => ColumnType::Bytes(most),
            None => ColumnType::VarBytes(most),
        };
        let columns = [("id", ColumnType::Bytes(key)), ("value", value)];
        Self { schema: Schema::new("records", &columns, 1), seed: derive(seed, "values"), fixed }
    }

    pub(super) fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Writes the key area of a record.
    pub(super) fn write_key(&self, key: u64, area: &mut [u8]) {
        area.fill(0);
        area[..8].copy_from_slice(&key.to_be_bytes());
    }

    /// Returns the key of a key area; none if no record has it.
    pub(super) fn key_of(&self, area: &[u8]) -> Option<u64> {
        let (front, rest) = area.split_first_chunk::<8>()?;
        let used = self.schema.columns()[0].kind.size_bytes() - front.len();
        rest[..used].iter().all(|byte| *byte == 0).then(|| u64::from_be_bytes(*front))
    }

    /// Returns a size that a value can have, for one that no record gets.
    pub(super) fn fitting(&self, size: u32) -> u32 {
        let most = match self.schema.columns()[1].kind {
            ColumnType::VarBytes(most) => most,
            other => return other.size_bytes() as u32,
        };
        size.min(most)
    }

    /// Returns the bytes of a value in its packed form.
    pub(super) fn packed_bytes(&self, state: State) -> usize {
        self.fixed.unwrap_or(LENGTH_SIZE + state.size as usize)
    }

    /// Returns the value in a payload area.
    pub(super) fn value_in<'p>(&self, payload: &'p [u8]) -> &'p [u8] {
        match self.fixed {
            Some(size) => &payload[..size],
            None => var_bytes(payload),
        }
    }

    /// Writes the packed form of the value of a state.
    pub(super) fn write_packed(&self, key: u64, state: State, packed: &mut [u8]) {
        let value = match self.fixed {
            Some(_) => packed,
            None => {
                let (length, value) = packed.split_at_mut(LENGTH_SIZE);
                length.copy_from_slice(&state.size.to_le_bytes());
                value
            }
        };
        self.write_value(key, state, &mut value[..state.size as usize]);
    }

    /// Writes the value of a state: random bytes, which are others in each version.
    pub(super) fn write_value(&self, key: u64, state: State, value: &mut [u8]) {
        let mut words = Words::new(mix(self.seed ^ u64::from(state.version()), key));
        let mut chunks = value.chunks_exact_mut(8);
        for chunk in &mut chunks {
            chunk.copy_from_slice(&words.next().to_le_bytes());
        }
        let end = chunks.into_remainder();
        let last = words.next().to_le_bytes();
        // A short value counts its versions, so that neighbours differ for sure.
        if let Some((first, others)) = end.split_first_mut() {
            let size = others.len();
            *first = state.version() as u8;
            others.copy_from_slice(&last[..size]);
        }
    }
}
