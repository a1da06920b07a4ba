//! The output of YCSB, from a run file.

use std::fmt::{self, Write};

use assay_core::run_file::{NO_TIME, RunFile, Status};

use super::{Options, Ycsb};
use crate::suite::results;

/// Returns what follows `workload` in the name of a cell's workload.
fn name_of(options: &Options) -> String {
    match &options.name {
        Some(name) => name.strip_prefix("workload").unwrap_or(name).into(),
        None => options.workload().to_string().to_lowercase(),
    }
}

/// Returns the published text: for each cell its totals, and its latencies by kind of operation.
pub(super) fn text(run: &RunFile) -> Result<String, fmt::Error> {
    let mut out = String::new();
    for (result, options) in results::<Ycsb>(run) {
        let cell = &result.cell;
        let measurement = &result.measurement;
        let (Status::Measured, Some(options), Some(phase)) =
            (&result.status, options, measurement.phase("run"))
        else {
            continue;
        };
        let Some(round) = phase.rounds.first() else { continue };
        writeln!(
            out,
            "{} workload{} {} records {} threads",
            cell.engine,
            name_of(&options),
            cell.rows,
            cell.threads
        )?;
        writeln!(out, "[OVERALL], RunTime(ms), {}", round.time_ns / 1_000_000)?;
        let rate = round.rate().map_or_else(|| format!("– ({NO_TIME})"), |rate| rate.to_string());
        writeln!(out, "[OVERALL], Throughput(ops/sec), {rate}")?;
        for latency in &phase.latencies {
            let us = |ns: u64| ns as f64 / 1e3;
            for (name, value) in [
                ("Operations", latency.count as f64),
                ("AverageLatency(us)", latency.mean_ns / 1e3),
                ("MinLatency(us)", us(latency.min_ns)),
                ("MaxLatency(us)", us(latency.max_ns)),
                ("50thPercentileLatency(us)", us(latency.p50_ns)),
                ("95thPercentileLatency(us)", us(latency.p95_ns)),
                ("99thPercentileLatency(us)", us(latency.p99_ns)),
                ("99.9PercentileLatency(us)", us(latency.p999_ns)),
            ] {
                writeln!(out, "[{}], {name}, {value}", latency.operation)?;
            }
            writeln!(out, "[{}], Return=OK, {}", latency.operation, latency.count)?;
        }
        writeln!(out)?;
    }
    Ok(out)
}
