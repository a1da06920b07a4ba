//! The facts about a trace that was read. They decide the shape of the records, and cells have them
//! among their options.

use serde::{Deserialize, Serialize};

use super::line::Act;

/// Figures of a trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// True if its operations have times.
    pub has_times: bool,
    /// The number of operations.
    pub operations: u64,
    /// The number of operations of each kind, as the trace names them.
    pub acts: [u64; Act::ALL.len()],
    /// The number of keys.
    pub keys: u64,
    /// The number of keys that are stored at some time.
    pub stored: u64,
    /// The number of records that are filled in before.
    pub filled: u64,
    /// The bytes of a key on average.
    pub key_bytes: u64,
    /// The fewest bytes of a value that is stored.
    pub least_bytes: u32,
    /// The most bytes of a value that is stored.
    pub most_bytes: u32,
    /// The bytes of all values that are written.
    pub written_bytes: u64,
    /// The time from the first operation to the end of the last one.
    pub time_ns: u64,
    /// A hash of all operations.
    pub digest: u64,
    /// The number of lines that were skipped.
    pub broken: u64,
    /// The fault of the first of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_broken: Option<String>,
}

impl Facts {
    /// Returns the number of operations of a kind.
    pub fn count(&self, act: Act) -> u64 {
        self.acts[act as usize]
    }

    /// Returns the number of operations that write.
    pub fn writes(&self) -> u64 {
        self.sum(Act::writes)
    }

    /// Returns the bytes of a written value on average.
    pub(super) fn mean_bytes(&self) -> u64 {
        self.written_bytes / self.sum(Act::has_value).max(1)
    }

    fn sum(&self, which: fn(Act) -> bool) -> u64 {
        let acts = Act::ALL.into_iter().filter(|act| which(*act));
        acts.map(|act| self.count(act)).fold(0, u64::saturating_add)
    }

    /// Reads the figures in the form that cells have.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        serde_json::from_str(text).map_err(|why| why.to_string())
    }
}
