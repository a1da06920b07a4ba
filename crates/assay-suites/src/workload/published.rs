//! The figures of a workload as plain lines, one for each phase.

use std::fmt::{self, Write};

use assay_core::run_file::{NO_TIME, RunFile, Status};

use crate::suite::{Suite, results};

/// Returns the phases of each cell, with their rates and latencies.
pub(crate) fn text<S: Suite>(run: &RunFile) -> Result<String, fmt::Error> {
    let mut out = String::new();
    for (result, _) in results::<S>(run) {
        let cell = &result.cell;
        let measurement = &result.measurement;
        if result.status != Status::Measured {
            continue;
        }
        writeln!(out, "{} {} {} {}", cell.engine, cell.storage, cell.durability, cell.variant)?;
        for phase in &measurement.phases {
            let rate = phase.trial_rate();
            let rate = rate.map_or_else(|| format!("– ({NO_TIME})"), |rate| format!("{rate:.0}"));
            writeln!(
                out,
                "  {}, threads {}, operations a second {rate}",
                phase.name, phase.threads
            )?;
            if phase.conflicts > 0 {
                writeln!(out, "    transactions done again {}", phase.conflicts)?;
            }
            for latency in &phase.latencies {
                writeln!(
                    out,
                    "    {}, count {}, p50 {} ns, p99 {} ns, p99.9 {} ns, most {} ns",
                    latency.operation,
                    latency.count,
                    latency.p50_ns,
                    latency.p99_ns,
                    latency.p999_ns,
                    latency.max_ns
                )?;
            }
        }
        writeln!(out)?;
    }
    Ok(out)
}
