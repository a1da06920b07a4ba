//! Counts of cells, and the file that keeps them.

use std::collections::BTreeMap;
use std::path::Path;

use assay_core::plan::Cell;
use program_support::exit::{Failure, Outcome};
use program_support::{given_file, whole_file};
use serde::{Deserialize, Serialize};

/// The name of the format, and its version.
const FORMAT: &str = "assay-counts";
const VERSION: u32 = 2;
/// The most bytes of a file of counts.
const MOST_BYTES: u64 = 64 << 20;

pub(crate) const INSTRUCTIONS: &str = "instructions";
pub(crate) const READS: &str = "memory_reads";
pub(crate) const WRITES: &str = "memory_writes";
pub(crate) const FIRST_LEVEL: &str = "first_level_misses";
pub(crate) const LAST_LEVEL: &str = "last_level_misses";
pub(crate) const BRANCHES: &str = "mispredicted_branches";
pub(crate) const ALLOCATIONS: &str = "allocations";
pub(crate) const PAGE_FAULTS: &str = "page_faults";
pub(crate) const READ_BYTES: &str = "read_bytes";
pub(crate) const WRITTEN_BYTES: &str = "written_bytes";
pub(crate) const SYNCS: &str = "syncs";
/// The system calls that have data reach a device, which `syncs` adds up.
pub(crate) const SYNC_CALLS: [&str; 5] =
    ["fdatasync", "fsync", "msync", "sync_file_range", "syncfs"];
/// The prefix of the quantity of a system call, before its name.
pub(crate) const CALL: &str = "call:";

/// The counts of a command.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Counts {
    format: String,
    schema_version: u32,
    pub made_with: MadeWith,
    pub cells: Vec<Counted>,
}

/// The means by which it was counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MadeWith {
    /// The version of Assay.
    pub assay: String,
    /// Valgrind's name and version.
    pub instructions_by: String,
    /// The kind of processor, by which libraries choose their code.
    pub processor: String,
}

/// The counts of a cell.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Counted {
    pub cell: Cell,
    pub engine_version: String,
    /// The reason why there are no counts; none if there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    pub phases: Vec<Phase>,
    /// Counts of the engine's own threads in the whole cell, with opening and closing.
    pub background: Quantities,
}

/// The counts of a phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Phase {
    pub name: String,
    /// The operations of each repetition.
    pub operations: Vec<u64>,
    pub counts: Quantities,
}

/// Each quantity in each repetition. One that is missing is zero in all of them.
pub(crate) type Quantities = BTreeMap<String, Vec<u64>>;

impl Counts {
    pub(crate) fn new(made_with: MadeWith, cells: Vec<Counted>) -> Self {
        Self { format: FORMAT.into(), schema_version: VERSION, made_with, cells }
    }

    /// Reads a file of counts; none if the file is something else.
    pub(crate) fn read(path: &Path) -> Outcome<Option<Self>> {
        let refused = |why: &dyn std::fmt::Display| {
            Failure::Refused(format!("--against {}: {why}", path.display()))
        };
        let first = given_file::first_bytes(path, 1).map_err(|e| refused(&e))?;
        if first != b"{" {
            return Ok(None);
        }
        let text = given_file::read_text(path, MOST_BYTES).map_err(|e| refused(&e))?;
        let no_counts = "is no file of counts; assay gate --save FILE writes one";
        let value: serde_json::Value =
            serde_json::from_str(&text).map_err(|e| refused(&format!("{no_counts}: {e}")))?;
        if value["format"] != FORMAT {
            return Err(refused(&no_counts));
        }
        if value["schema_version"] != VERSION {
            let version = &value["schema_version"];
            return Err(refused(&format!(
                "its counts are of version {version}, this assay's of {VERSION}; count anew"
            )));
        }
        let counts: Self =
            serde_json::from_value(value).map_err(|e| refused(&format!("{no_counts}: {e}")))?;
        Ok(Some(counts))
    }

    /// Writes the file, whole or not at all.
    pub(crate) fn save(&self, path: &Path) -> Outcome {
        let text = serde_json::to_string_pretty(self).expect("counts are plain data");
        whole_file::write(path, (text + "\n").as_bytes()).map_err(|e| {
            let shown = path.display();
            Failure::Refused(format!("{shown}: {e}; choose another file with --save"))
        })
    }
}

impl Counted {
    /// Adds the repetitions of another count of the same cell.
    pub(crate) fn add(&mut self, other: Self) {
        self.failed = self.failed.take().or(other.failed);
        if self.phases.is_empty() {
            self.phases = other.phases;
        } else {
            for phase in other.phases {
                if let Some(own) = self.phases.iter_mut().find(|own| own.name == phase.name) {
                    let before = own.operations.len();
                    own.operations.extend(&phase.operations);
                    add(&mut own.counts, before, &phase.counts, phase.operations.len());
                }
            }
        }
    }
}

/// Adds repetitions to quantities that have `before` of them.
fn add(all: &mut Quantities, before: usize, more: &Quantities, count: usize) {
    for (name, values) in more {
        let own = all.entry(name.clone()).or_insert_with(|| vec![0; before]);
        own.extend(values);
    }
    for values in all.values_mut() {
        values.resize(before + count, 0);
    }
}

/// Returns the repetitions of a quantity.
pub(crate) fn of<'q>(counts: &'q Quantities, name: &str) -> &'q [u64] {
    counts.get(name).map_or(&[0], Vec::as_slice)
}

/// Returns the median of repetitions.
pub(crate) fn median(values: &[u64]) -> u64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).copied().unwrap_or(0)
}
