//! The options of CrossBench: the published ones, and some more.

use std::fmt;

use assay_driver::Storage;
use clap::Args;
use serde::Serialize;

use super::latencies::Latencies;
use super::script::{Counts, Script};
use crate::options::{Continuous, MostRepeats, Threads, count, defaults, words};

/// The published default of every count.
const DEFAULT_COUNT: u64 = 1_000_000;

/// The keys of the routes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keys {
    /// Consecutive prefixes from 10.1.1.0 upward, as published. They flatter hashes that leave
    /// integers as they are.
    Dense,
    /// Prefixes spread over the whole 32-bit range, as many as the dense ones.
    Sparse,
}

words!(Keys { Dense = "dense", Sparse = "sparse", });

/// Writes the name for variants and the markers of stores: the words must never change.
impl fmt::Display for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Dense => "dense keys",
            Self::Sparse => "sparse keys",
        })
    }
}

/// The way in which the store gets its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    /// One transaction a row.
    Insert,
    /// One transaction for all.
    Load,
    /// The rows exist from an earlier run.
    Open,
}

/// The options of CrossBench.
#[derive(Args, Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Options {
    /// Rows to insert, one transaction each [default: 1m]
    #[arg(short, long, value_name = "COUNT", value_parser = count::parse_positive,
          conflicts_with_all = ["load", "rows"])]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub insert: Option<u64>,
    /// Open the store that an earlier run left, with this number of rows; 0 with -H prints only the
    /// header
    #[arg(short, long, value_name = "COUNT", value_parser = count::parse)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
    /// Rows to look up in each of ten rounds
    #[arg(short, long, value_name = "COUNT", value_parser = count::parse, default_value = "1m")]
    pub query: u64,
    /// Rows to update in each of ten rounds
    #[arg(short, long, value_name = "COUNT", value_parser = count::parse, default_value = "1m")]
    pub update: u64,
    /// Rows to delete, at most all; rows that are left stay for -r
    #[arg(short, long, value_name = "COUNT", value_parser = count::parse, default_value = "1m")]
    pub delete: u64,
    /// Rows to load in one transaction, instead of inserting them
    #[arg(short, long, value_name = "COUNT", value_parser = count::parse_positive,
          conflicts_with = "rows")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load: Option<u64>,
    /// Numbers of threads, separated by commas; they divide the rows of each phase, but -l loads
    /// with one
    #[arg(short, long, value_name = "THREADS", value_delimiter = ',', default_value = "1")]
    pub threads: Vec<Threads>,
    /// Visit rows in order [default: at random]
    #[arg(short = 'S', long)]
    pub sequential: bool,
    /// Keys: dense are the published consecutive prefixes, which flatter identity hashes; sparse
    /// are spread over the whole 32-bit range
    #[arg(long, default_value = "dense")]
    pub keys: Keys,
    /// Query and update as often as the published scripts at this size, and delete all rows:
    /// CrossDB's script for crossdb and engines in memory only, SQLite's for all others
    #[arg(long, conflicts_with_all = ["query", "update", "delete", "rows", "load"])]
    #[serde(skip)]
    pub script_counts: bool,
    /// The clock.
    #[command(flatten)]
    #[serde(flatten)]
    pub continuous: Continuous,
    /// The repeats of disturbed rounds.
    #[command(flatten)]
    #[serde(flatten)]
    pub repeats: MostRepeats,
    /// Measure latencies too, in a further round of query and update that times each operation;
    /// for insert and delete, the deleted rows are inserted and deleted again
    #[arg(long)]
    pub latency: bool,
    /// Measure latencies in an open loop: COUNT operations a second arrive at random, and latency
    /// counts from the intended start of each; for about a minute at most
    #[arg(long, value_name = "COUNT", requires = "latency", value_parser = count::parse_rate)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<u64>,
}

impl Default for Options {
    fn default() -> Self {
        defaults()
    }
}

impl Options {
    /// Returns the way in which the store gets its rows, and their number.
    pub fn filled(&self) -> (Fill, u64) {
        match (self.rows, self.load, self.insert) {
            (Some(rows), _, _) => (Fill::Open, rows),
            (_, Some(rows), _) => (Fill::Load, rows),
            (_, _, rows) => (Fill::Insert, rows.unwrap_or(DEFAULT_COUNT)),
        }
    }

    /// Returns these options with another way to fill the store.
    pub fn filled_by(self, fill: Fill, rows: u64) -> Self {
        let of = |way| (way == fill).then_some(rows);
        let insert = of(Fill::Insert);
        let load = of(Fill::Load);
        let rows = of(Fill::Open);
        Self { insert, load, rows, ..self }
    }

    /// Returns these options with the counts of a script, if they ask for these.
    pub(super) fn with_counts_of(self, script: Script, storage: Storage) -> Self {
        if !self.script_counts {
            return self;
        }
        let (_, rows) = self.filled();
        let Counts { query, update } = script.counts(storage, rows);
        Self { query, update, delete: rows, script_counts: false, ..self }
    }

    /// Returns how latencies are taken, if they are.
    pub fn latencies(&self) -> Option<Latencies> {
        self.latency.then_some(Latencies { rate: self.rate })
    }
}
