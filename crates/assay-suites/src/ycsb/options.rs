//! The options of YCSB.

use clap::Args;
use serde::Serialize;

use super::users::STAMP_SIZE;
use super::workload::{Distribution, Workload};
use crate::options::{MostRepeats, Part, Threads, count, defaults};

/// The options of YCSB.
#[derive(Args, Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Options {
    /// Workloads, separated by commas
    #[arg(short, long, value_name = "A-F", value_delimiter = ',', default_value = "a,b,c,d,e,f")]
    pub workload: Vec<Workload>,
    /// Records to load
    #[arg(long, value_name = "COUNT", value_parser = parse_records, default_value = "100k")]
    pub records: u64,
    /// Operations of all threads together
    #[arg(long, value_name = "COUNT", value_parser = count::parse_positive, default_value = "100k")]
    pub operations: u64,
    /// Numbers of threads, separated by commas
    #[arg(short, long, value_name = "THREADS", value_delimiter = ',', default_value = "1")]
    pub threads: Vec<Threads>,
    /// Distribution of keys [default: latest in workload d, zipfian in the others]
    #[arg(long, value_name = "DISTRIBUTION")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distribution: Option<Distribution>,
    /// Measure latencies in an open loop: COUNT operations a second arrive at random, and latency
    /// counts from the intended start of each; for about a minute at most [default: a closed loop]
    #[arg(long, value_name = "COUNT", value_parser = count::parse_rate)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<u64>,
    /// Fields of a record
    #[arg(long, value_name = "COUNT", default_value = "10",
          value_parser = count::between::<u32>(1, 32))]
    pub field_count: u32,
    /// Bytes of a field
    #[arg(long, value_name = "BYTES", default_value = "100",
          value_parser = count::between::<u32>(STAMP_SIZE as u64, 1 << 20))]
    pub field_length: u32,
    /// The repeats of disturbed rounds.
    #[command(flatten)]
    #[serde(flatten)]
    pub repeats: MostRepeats,
}

impl Default for Options {
    fn default() -> Self {
        defaults()
    }
}

impl Options {
    /// Returns the workload of a cell.
    pub(super) fn workload(&self) -> Workload {
        self.workload.first().copied().unwrap_or(Workload::A)
    }

    /// Returns the distribution by which a cell's operations choose records.
    pub(super) fn distribution(&self) -> Distribution {
        self.distribution.unwrap_or(self.workload().distribution())
    }

    /// Returns the options of each cell: one for each workload and number of threads.
    pub(super) fn parts(&self) -> Vec<Part<Self>> {
        let mut parts = Vec::new();
        for &workload in &self.workload {
            for threads in Threads::each(&self.threads) {
                let options = Self {
                    workload: vec![workload],
                    threads: vec![Threads::one(threads)],
                    distribution: self.distribution.or(Some(workload.distribution())),
                    ..self.clone()
                };
                parts.push(Part { rows: self.records, threads, options });
            }
        }
        parts
    }
}

/// Reads a number of records, of which the distribution of the latest has a term for each.
fn parse_records(text: &str) -> Result<u64, String> {
    match count::parse_positive(text)? {
        count if count <= MOST_RECORDS => Ok(count),
        _ => Err("too large; there can be at most 1000m records".into()),
    }
}

const MOST_RECORDS: u64 = 1_000_000_000;
