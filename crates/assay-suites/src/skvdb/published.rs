//! The four tables that SKVDB publishes, from a run file: threads down, entries across.

use std::collections::BTreeSet;
use std::fmt::{self, Write};

use assay_core::plan::Cell;
use assay_core::run_file::{CellResult, NO_TIME, Phase, Round, RunFile, Status};
use assay_core::stats::median;

use super::{ID, Options};

/// A published table, and the picture of it.
pub(super) struct Table {
    pub(super) phase: &'static str,
    pub(super) title: &'static str,
    pub(super) picture: &'static str,
    pub(super) file: &'static str,
}

/// The published tables, in order.
pub(super) const TABLES: [Table; 4] = [
    Table {
        phase: super::PHASES[0],
        title: "One record, multiple threads writing properties to it",
        picture: "One Record Multiple Threads Writing",
        file: "one_record_multiple_threads_set_prop",
    },
    Table {
        phase: super::PHASES[1],
        title: "One record, multiple threads reading properties from it",
        picture: "One Record Multiple Threads Reading",
        file: "one_record_multiple_threads_get_prop",
    },
    Table {
        phase: super::PHASES[2],
        title: "Multiple records, multiple threads writing properties to them (each thread to \
                owned record)",
        picture: "Multiple Records Multiple Threads Writing",
        file: "multiple_records_multiple_threads_set_prop",
    },
    Table {
        phase: super::PHASES[3],
        title: "Multiple records, multiple threads reading properties from them (each thread from \
                owned record)",
        picture: "Multiple Records Multiple Threads Reading",
        file: "multiple_records_multiple_threads_get_prop",
    },
];

/// The name of an engine's picture of a table, without what the run file's pictures begin with.
pub(super) fn picture_name(engine: &str, table: &Table) -> String {
    format!("{engine}-{}", table.file)
}

/// Rates by threads and entries.
pub(super) struct Rates {
    /// Numbers of entries, descending.
    pub(super) entries: Vec<u32>,
    /// Threads, with the rate for each number of entries.
    pub(super) rows: Vec<(u32, Vec<Option<f64>>)>,
    /// Whether one is missing since the clock saw no time pass.
    pub(super) is_without_time: bool,
}

/// The engines of a run, in its order.
pub(super) fn engines(run: &RunFile) -> Vec<String> {
    let (mut engines, labels) = (Vec::new(), crate::Labels::of(run));
    for result in of_suite(run) {
        let label = labels.label(&result.cell);
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
    let labels = crate::Labels::of(run);
    let of_engine = || of_suite(run).filter(|r| labels.label(&r.cell) == engine);
    let mut columns: Vec<u32> = of_engine().filter_map(|r| entries(&r.cell)).collect();
    columns.sort_unstable_by(|a, b| b.cmp(a));
    columns.dedup();
    let threads: BTreeSet<u32> = of_engine().map(|result| result.cell.threads).collect();
    let measured = || of_engine().filter(|r| r.status == Status::Measured);
    let rate = |threads: u32, of: u32| {
        let rates: Option<Vec<_>> = measured()
            .filter(|r| r.cell.threads == threads && entries(&r.cell) == Some(of))
            .filter_map(|r| r.measurement.phase(phase)?.rounds.first().map(Round::rate))
            .collect();
        Some(median(&rates?)?.value / f64::from(threads))
    };
    let mut phases = measured().filter_map(|r| r.measurement.phase(phase));
    let is_without_time = phases.any(Phase::is_without_time);
    let rows = threads
        .into_iter()
        .map(|threads| (threads, columns.iter().map(|&entries| rate(threads, entries)).collect()));
    Rates { rows: rows.collect(), entries: columns.clone(), is_without_time }
}

/// The published text; `name` is what the run file's pictures begin with.
pub fn text(run: &RunFile, name: &str) -> Result<String, fmt::Error> {
    let mut out = String::new();
    for engine in engines(run) {
        writeln!(out, "# {engine}\n")?;
        for (published, number) in TABLES.iter().zip(1..) {
            let title = published.title;
            writeln!(out, "**Table {number}**. {title}. Properties/sec. per-thread\n")?;
            lines(&mut out, &table(run, &engine, published.phase))?;
            let file = picture_name(&engine, published);
            writeln!(out, "\n![{}]({name}-{file}.png)\n", published.picture)?;
        }
    }
    Ok(out)
}

/// The first column is a little wider than the others, as published.
fn lines(out: &mut String, table: &Rates) -> fmt::Result {
    write!(out, "No. threads |")?;
    for (at, &entries) in table.entries.iter().enumerate() {
        let variant = Options { operations: 0, children: 0, entries }.variant();
        write!(out, " {variant}{}|", if at == 0 { " " } else { "" })?;
    }
    let rules = (0..table.entries.len()).map(|at| if at == 0 { "--------" } else { "-------" });
    writeln!(out, "\n---|{}", rules.collect::<Vec<_>>().join("|"))?;
    for (threads, rates) in &table.rows {
        let cells = rates.iter().map(|rate| match rate {
            Some(rate) => format!("{rate:.0}"),
            None => "–".into(),
        });
        writeln!(out, "{threads:<3}|\t{}", cells.collect::<Vec<_>>().join(" |\t"))?;
    }
    match table.is_without_time {
        true => writeln!(out, "\n–: {NO_TIME}"),
        false => Ok(()),
    }
}
