//! The four tables that SKVDB publishes, from a run file: threads down, entries across.

use std::collections::BTreeSet;
use std::fmt::{self, Write};

use assay_core::plan::Cell;
use assay_core::run_file::{CellResult, RunFile, Status};
use assay_core::stats::median;

use super::{ID, Options};

/// A published table.
pub(super) struct Table {
    pub(super) phase: &'static str,
    pub(super) title: &'static str,
    pub(super) file: &'static str,
}

/// The published tables, in order.
pub(super) const TABLES: [Table; 4] = [
    Table {
        phase: super::PHASES[0],
        title: "one record, all threads write its properties",
        file: "one-record-writing",
    },
    Table {
        phase: super::PHASES[1],
        title: "one record, all threads read its properties",
        file: "one-record-reading",
    },
    Table {
        phase: super::PHASES[2],
        title: "a record for each thread, which writes its properties",
        file: "own-records-writing",
    },
    Table {
        phase: super::PHASES[3],
        title: "a record for each thread, which reads its properties",
        file: "own-records-reading",
    },
];

/// Rates by threads and entries.
pub(super) struct Rates {
    /// Numbers of entries, descending.
    pub(super) entries: Vec<u32>,
    /// Threads, with the rate for each number of entries.
    pub(super) rows: Vec<(u32, Vec<Option<f64>>)>,
}

/// The engines of a run, in its order.
pub(super) fn engines(run: &RunFile) -> Vec<String> {
    let mut engines = Vec::new();
    for result in of_suite(run) {
        let label = crate::label(&result.cell, run);
        if !engines.contains(&label) {
            engines.push(label);
        }
    }
    engines
}

/// The suite's results, without those of engines that cannot do it.
fn of_suite(run: &RunFile) -> impl Iterator<Item = &CellResult> {
    let cannot =
        |status: &Status| matches!(status, Status::Unsupported(_) | Status::Unavailable(_));
    run.results().filter(move |r| r.cell.suite == ID && !cannot(&r.status))
}

fn entries(cell: &Cell) -> Option<u32> {
    crate::options::<Options>(cell).map(|options| options.entries)
}

/// An engine's rates in a phase, in operations per second and thread: medians over the trials.
pub(super) fn table(run: &RunFile, engine: &str, phase: &str) -> Rates {
    let of_engine = || of_suite(run).filter(|r| crate::label(&r.cell, run) == engine);
    let mut columns: Vec<u32> = of_engine().filter_map(|r| entries(&r.cell)).collect();
    columns.sort_unstable_by(|a, b| b.cmp(a));
    columns.dedup();
    let threads: BTreeSet<u32> = of_engine().map(|result| result.cell.threads).collect();
    let rate = |threads: u32, of: u32| {
        let rates: Vec<_> = of_engine()
            .filter(|r| r.cell.threads == threads && entries(&r.cell) == Some(of))
            .filter(|r| r.status == Status::Measured)
            .filter_map(|r| r.measurement.phase(phase)?.rates().first().copied())
            .collect();
        Some(median(&rates)?.value / f64::from(threads))
    };
    let rows = threads
        .into_iter()
        .map(|threads| (threads, columns.iter().map(|&entries| rate(threads, entries)).collect()));
    Rates { rows: rows.collect(), entries: columns.clone() }
}

/// The published text.
pub fn text(run: &RunFile) -> Result<String, fmt::Error> {
    let mut out = String::new();
    for engine in engines(run) {
        writeln!(out, "# {engine}\n")?;
        for (published, number) in TABLES.iter().zip(1..) {
            let table = table(run, &engine, published.phase);
            writeln!(
                out,
                "**Table {number}**. Properties/sec. per thread: {}.\n",
                published.title
            )?;
            let header = table.entries.iter().map(|&entries| {
                let variant = Options { operations: 0, children: 0, entries }.variant();
                format!(" {variant} |")
            });
            writeln!(out, "No. threads |{}", header.collect::<String>())?;
            writeln!(out, "---|{}", vec!["-------"; table.entries.len()].join("|"))?;
            for (threads, rates) in &table.rows {
                let cells = rates.iter().map(|rate| match rate {
                    Some(rate) => format!("{rate:.0}"),
                    None => "–".into(),
                });
                writeln!(out, "{threads:<3}|\t{}", cells.collect::<Vec<_>>().join(" |\t"))?;
            }
            writeln!(out)?;
        }
    }
    Ok(out)
}
