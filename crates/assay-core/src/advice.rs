//! The demands of a program on an engine. The run file keeps it, so that every view draws the
//! conclusion of `assay advise` from the figures in the same way.

use serde::{Deserialize, Serialize};

/// A GiB of memory counts as this many processors in a cost, unless the user says otherwise: about
/// the ratio of their prices where machines are rented.
pub const PROCESSORS_PER_GIB_OF_MEMORY: f64 = 0.125;

/// A GiB on disk counts as this many processors in a cost, unless the user says otherwise.
pub const PROCESSORS_PER_GIB_ON_DISK: f64 = 0.004;

/// A question, and what is known of the engines besides figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Advice {
    /// The title of the workload.
    pub title: String,
    /// The quantity by which engines that qualify are ranked.
    pub rank: Rank,
    /// The operations a second for which a cost is; none: as many as the engine can do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_per_second: Option<f64>,
    /// The isolation of transactions that was asked for; none: any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<String>,
    /// The language of the program; none: any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// The phases, each with the operations that it counts as, alike for all engines.
    pub phases: Vec<PhaseWeight>,
    /// The bounds that an engine must keep within.
    pub limits: Limits,
    /// The weights of memory and disk in a cost.
    pub weights: Weights,
    /// The facts about engines.
    pub facts: Vec<Facts>,
    /// The engines that were left out before anything was measured.
    pub left_out: Vec<LeftOut>,
}

/// A phase of the workload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseWeight {
    /// The name.
    pub phase: String,
    /// The operations that it counts as: those of the file, or about as many as its time allows.
    pub operations: u64,
}

/// The limits that an engine must keep within; none: no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Memory, without the instrument's own part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Files of the store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_bytes: Option<u64>,
    /// 99.9 % of the operations of each kind in each phase take at most this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p999_ns: Option<u64>,
}

/// The quantity by which engines are ranked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rank {
    /// Processor time at the rate, memory and disk, in processors.
    Cost,
    /// Operations a second, as many as the engine can do.
    Throughput,
    /// The worst 99.9th percentile of a phase and a kind of operation.
    Latency,
    /// Memory.
    Memory,
    /// Files of the store.
    Disk,
}

/// The processors that a GiB counts as.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Weights {
    /// Of memory.
    pub memory: f64,
    /// On disk.
    pub disk: f64,
}

impl Default for Weights {
    fn default() -> Self {
        Self { memory: PROCESSORS_PER_GIB_OF_MEMORY, disk: PROCESSORS_PER_GIB_ON_DISK }
    }
}

/// Facts about an engine that need no measurement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// The engine's id.
    pub engine: String,
    /// The licence, as SPDX writes it.
    pub licence: String,
    /// The languages of programs that can use it, the engine's own first.
    pub languages: Vec<String>,
    /// The isolation that its documentation promises, and what tests say of it; none if no page
    /// names a level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<String>,
    /// The day of the version's release; none if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub released: Option<String>,
    /// Processor time to compile the engine, in seconds; none if it was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compile_s: Option<u32>,
    /// Bytes that the engine adds to a program; none if they were not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program_bytes: Option<u64>,
}

/// An engine that was left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// The engine's id.
    pub engine: String,
    /// The reason.
    pub why: String,
}
