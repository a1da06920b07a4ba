//! The options of YCSB.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use clap::Args;
use program_support::exit::Outcome;
use serde::Serialize;

use super::core_workload::{Draft, FIELD_BYTES, FIELDS, Workload};
use super::properties::{self, Property};
use super::users::STAMP_SIZE;
use super::workload::Distribution;
use crate::options::{MostRepeats, Part, Threads, count, defaults};

/// The fewest and the most fields of a record, and bytes of a field.
pub(super) const FIELDS_BETWEEN: RangeInclusive<u64> = 1..=32;
pub(super) const FIELD_BYTES_BETWEEN: RangeInclusive<u64> = STAMP_SIZE as u64..=1 << 20;

/// The options of YCSB.
#[derive(Args, Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Options {
    /// Workloads, separated by commas
    #[arg(
        short,
        long,
        value_name = "A-F",
        value_delimiter = ',',
        default_value = "a,b,c,d,e,f",
        conflicts_with = "property_file"
    )]
    pub workload: Vec<Workload>,
    /// Property file of YCSB, such as its own workloada, in place of a workload; a later one wins
    #[arg(short = 'P', long, value_name = "FILE")]
    #[serde(skip)]
    pub property_file: Vec<PathBuf>,
    /// Property of YCSB, such as recordcount=1000; it wins over files
    #[arg(short, long, value_name = "NAME=VALUE")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub property: Vec<Property>,
    /// Name of a workload of property files, as cells have it
    #[arg(long, value_name = "NAME", hide = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Records to load [default: 100k]
    #[arg(long, value_name = "COUNT", value_parser = parse_records)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub records: Option<u64>,
    /// Operations of all threads together [default: 100k]
    #[arg(long, value_name = "COUNT", value_parser = count::parse_positive)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operations: Option<u64>,
    /// Numbers of threads, separated by commas [default: 1]
    #[arg(short, long, value_name = "THREADS", value_delimiter = ',')]
    #[serde(skip_serializing_if = "Vec::is_empty")]
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
    /// Fields of a record [default: 10]
    #[arg(long, value_name = "COUNT",
          value_parser = count::between::<u32>(*FIELDS_BETWEEN.start(), *FIELDS_BETWEEN.end()))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field_count: Option<u32>,
    /// Bytes of a field [default: 100]
    #[arg(long, value_name = "BYTES", value_parser = count::between::<u32>(
          *FIELD_BYTES_BETWEEN.start(), *FIELD_BYTES_BETWEEN.end()))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field_length: Option<u32>,
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
        self.workload.first().copied().unwrap_or(Workload::CORE)
    }

    /// Returns the name of a cell's workload.
    pub(super) fn workload_name(&self) -> String {
        self.name.clone().unwrap_or_else(|| self.workload().to_string())
    }

    /// Returns the most bytes of a field.
    pub(super) fn field_length(&self) -> u32 {
        self.field_length.unwrap_or(FIELD_BYTES)
    }

    /// Returns the options of each cell: one for each workload and number of threads.
    pub(super) fn parts(mut self) -> Outcome<Vec<Part<Self>>> {
        if !self.property_file.is_empty() {
            self.workload = vec![Workload::CORE];
        }
        properties::take(&mut self)?;
        if self.threads.is_empty() {
            self.threads = vec![Threads::one(1)];
        }
        let mut parts = Vec::new();
        for &workload in &self.workload {
            let draft = Draft::of(workload);
            for threads in Threads::each(&self.threads) {
                let mut options = Self {
                    workload: vec![workload],
                    threads: vec![Threads::one(threads)],
                    distribution: self.distribution.or(Some(draft.distribution)),
                    records: self.records.or(Some(draft.records)),
                    operations: self.operations.or(Some(draft.operations)),
                    ..self.clone()
                };
                options.field_length = Some(options.field_length());
                options.field_count = self.field_count.or(Some(FIELDS));
                parts.push(Part {
                    rows: options.records.unwrap_or(draft.records),
                    threads,
                    options,
                });
            }
        }
        Ok(parts)
    }
}

/// Reads a number of records, of which the distribution of the latest has a term for each.
fn parse_records(text: &str) -> Result<u64, String> {
    match count::parse_positive(text)? {
        count if count <= MOST_RECORDS => Ok(count),
        _ => Err("too large; there can be at most 1000m records".into()),
    }
}

pub(super) const MOST_RECORDS: u64 = 1_000_000_000;
