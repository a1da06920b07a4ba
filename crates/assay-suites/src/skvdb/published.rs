//! The four tables that SKVDB publishes, from a run file: threads down, entries across.

use std::collections::BTreeSet;
use std::fmt::{self, Write};

use assay_core::run_file::{CellResult, NO_TIME, Phase, Round, RunFile, Status};
use assay_core::stats::median;

use super::{Options, Skvdb, entries_in_words};
use crate::suite::results;

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

/// Returns the name of an engine's picture of a table, without the run file's prefix.
pub(super) fn picture_name(engine: &str, table: &Table) -> String {
    format!("{engine}-{}", table.file)
}

/// Rates by threads and entries.
pub(super) struct Rates {
    /// Numbers of entries, descending.
    pub(super) entries: Vec<u32>,
    /// Threads, with the rate for each number of entries.
    pub(super) rows: Vec<(u32, Vec<Option<f64>>)>,
    /// True if a rate is missing because the clock saw no time pass.
    pub(super) is_without_time: bool,
}

/// A result of the suite, with its options where they can be read.
pub(super) type Found<'r> = (&'r CellResult, Option<Options>);

/// Returns the suite's results in a run.
pub(super) fn found(run: &RunFile) -> Vec<Found<'_>> {
    results::<Skvdb>(run)
}

/// Returns the engines of these results, in the order of the run.
pub(super) fn engines(run: &RunFile, found: &[Found<'_>]) -> Vec<String> {
    crate::Labels::of(run).of_all(found.iter().map(|(result, _)| *result))
}

/// Returns an engine's rates in a phase, per second and thread: medians over the trials.
pub(super) fn table(run: &RunFile, found: &[Found<'_>], engine: &str, phase: &str) -> Rates {
    let labels = crate::Labels::of(run);
    let of_engine = || found.iter().filter(|(result, _)| labels.label(&result.cell) == engine);
    let entries = |options: &Option<Options>| options.as_ref().map(Options::entries);
    let mut columns: Vec<u32> = of_engine().filter_map(|(_, options)| entries(options)).collect();
    columns.sort_unstable_by(|a, b| b.cmp(a));
    columns.dedup();
    let threads: BTreeSet<u32> = of_engine().map(|(result, _)| result.cell.threads).collect();
    let measured = || of_engine().filter(|(result, _)| result.status == Status::Measured);
    let rate = |threads: u32, of: u32| {
        let rates: Option<Vec<_>> = measured()
            .filter(|(r, options)| r.cell.threads == threads && entries(options) == Some(of))
            .filter_map(|(r, _)| r.measurement.phase(phase)?.rounds.first().map(Round::rate))
            .collect();
        Some(median(&rates?)? / f64::from(threads))
    };
    let mut phases = measured().filter_map(|(result, _)| result.measurement.phase(phase));
    let is_without_time = phases.any(Phase::is_without_time);
    let rows = threads
        .into_iter()
        .map(|threads| (threads, columns.iter().map(|&entries| rate(threads, entries)).collect()));
    Rates { rows: rows.collect(), entries: columns.clone(), is_without_time }
}

/// Returns the published text; names of the run file's pictures start with `name`.
pub(super) fn text(run: &RunFile, name: &str) -> Result<String, fmt::Error> {
    let mut out = String::new();
    let found = found(run);
    for engine in engines(run, &found) {
        writeln!(out, "# {engine}\n")?;
        for (published, number) in TABLES.iter().zip(1..) {
            let title = published.title;
            writeln!(out, "**Table {number}**. {title}. Properties/sec. per-thread\n")?;
            lines(&mut out, &table(run, &found, &engine, published.phase))?;
            let file = picture_name(&engine, published);
            writeln!(out, "\n![{}]({name}-{file}.png)\n", published.picture)?;
        }
    }
    Ok(out)
}

/// Adds the lines of a table. The first column is a little wider than the others, as published.
fn lines(out: &mut String, table: &Rates) -> fmt::Result {
    write!(out, "No. threads |")?;
    for (at, &entries) in table.entries.iter().enumerate() {
        let variant = entries_in_words(entries);
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
    if table.is_without_time { writeln!(out, "\n–: {NO_TIME}") } else { Ok(()) }
}
