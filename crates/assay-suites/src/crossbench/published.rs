//! The output of CrossBench, from a run file: for scripts that parse it.

use std::collections::HashMap;
use std::fmt::{self, Write};

use assay_core::run_file::{CellResult, NO_TIME, Phase, Round, RunFile, Status};
use assay_core::stats::mean_of_top;
use assay_driver::{KeyKind, Storage};

use super::{CrossBench, DELETE, INSERT, QUERY, UPDATE};
use crate::phases::LOAD;
use crate::suite::options;

/// The parts of the output that `-Q` and `-H` select.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Show {
    /// True if only the result at the end is printed.
    pub quiet: bool,
    /// True if, with `quiet`, the row is printed without its header.
    pub header_off: bool,
}

/// Returns the header of the result table, as `-H -r 0` prints it.
pub fn header() -> String {
    header_for("Insert")
}

fn header_for(filled: &str) -> String {
    columns(["DB", "Rows", filled, "Query", "Update", "Delete"].map(String::from))
}

/// Returns CrossBench's output for one cell.
pub fn text(result: &CellResult, show: Show) -> Result<String, fmt::Error> {
    let mut out = String::new();
    let cell = &result.cell;
    let options = options::<CrossBench>(cell);
    let access =
        if options.is_ok_and(|options| options.sequential) { "Sequential" } else { "Random" };
    let key = match (cell.key_kind_named, cell.key_kind) {
        (false, _) => "Default",
        (true, KeyKind::Hash) => "HASH",
        (true, KeyKind::Tree) => "TREE",
    };
    let storage = match cell.storage {
        Storage::Memory => "INMEM",
        Storage::Ramdisk => "RAMDISK",
        Storage::Disk => "ONDISK",
    };
    let name = result.published_name();
    if !show.quiet && !result.measurement.phases.is_empty() {
        let location = match &cell.dir {
            Some(dir) => dir.display().to_string(),
            None => ":memory:".into(),
        };
        writeln!(out, "{name} Database Benchmark\n")?;
        writeln!(out, "Location: {location}\nType: {storage}\nKey: {key}\nAccess: {access}")?;
        if cell.threads > 1 {
            writeln!(out, "Threads: {}", cell.threads)?;
        }
        if !cell.cpus.is_empty() {
            let cpus: Vec<_> = cell.cpus.iter().map(ToString::to_string).collect();
            writeln!(out, "\nRun test on CPU {}", cpus.join(","))?;
        }
        for phase in &result.measurement.phases {
            rounds(&mut out, phase)?;
        }
        writeln!(out)?;
    }
    if let Status::Measured = result.status {
        let rows = cell.rows;
        if !show.quiet {
            writeln!(
                out,
                "{name} Benchmark Result: {storage} Access={access} Key={key} Rows={rows}"
            )?;
        }
        if !(show.quiet && show.header_off) {
            let inserted = result.measurement.phase(INSERT).is_some();
            writeln!(out, "{}", header_for(if inserted { "Insert" } else { "Load" }))?;
        }
        writeln!(out, "{}", row(result))?;
    }
    Ok(out)
}

/// The storage modes in the order of the published tables, with their titles.
const SECTIONS: [(Storage, &str); 3] = [
    (Storage::Disk, "On-Disk Benchmark Test"),
    (Storage::Ramdisk, "On-RamDisk Benchmark Test"),
    (Storage::Memory, "In-Memory Benchmark Test"),
];

/// Returns CrossBench's output for the cells of a run, one after another; for a run of several
/// trials, the tables that the published scripts make of it.
pub(super) fn run(run: &RunFile) -> Result<String, fmt::Error> {
    let of_suite: Vec<_> = run.results().filter(|result| result.cell.suite == super::ID).collect();
    if of_suite.iter().any(|result| result.cell.trial > 1) {
        return sections(&of_suite);
    }
    of_suite.into_iter().map(|result| text(result, Show::default())).collect()
}

/// Returns a table for each storage mode, with the rows of each engine together.
fn sections(results: &[&CellResult]) -> Result<String, fmt::Error> {
    let rows_only = Show { quiet: true, header_off: true };
    let mut out = String::new();
    for (storage, title) in SECTIONS {
        let is_of_section =
            |r: &&&CellResult| r.cell.storage == storage && r.status == Status::Measured;
        let mut of_section: Vec<_> = results.iter().filter(is_of_section).collect();
        let mut engines = HashMap::new();
        for result in &of_section {
            let next = engines.len();
            engines.entry(&result.cell.engine).or_insert(next);
        }
        of_section.sort_by_key(|result| engines[&result.cell.engine]);
        if !of_section.is_empty() {
            writeln!(out, "{title}\n{}\n", header())?;
        }
        for result in of_section {
            out += &text(result, rows_only)?;
        }
    }
    Ok(out)
}

/// The sign for a rate that could not be measured.
const NO_RATE: &str = "–";

/// Returns the row of the result table; a phase that was not run is 0, as in the original.
fn row(result: &CellResult) -> String {
    let published = |names: &[&str]| {
        let Some(phase) = names.iter().find_map(|name| result.measurement.phase(name)) else {
            return "0".into();
        };
        let rates: Option<Vec<_>> = phase.rounds.iter().map(per_second).collect();
        let rates: Vec<_> = match rates {
            Some(rates) => rates.into_iter().map(|rate| rate as f64).collect(),
            None => return NO_RATE.into(),
        };
        mean_of_top(&rates, phase.published_top).map_or(0, |rate| rate as u64).to_string()
    };
    columns([
        result.published_name(),
        result.cell.rows.to_string(),
        published(&[INSERT, LOAD]),
        published(&[QUERY]),
        published(&[UPDATE]),
        published(&[DELETE]),
    ])
}

/// Returns the first cell in 16 characters, the others in 8 from the next tab stop on.
fn columns([first, others @ ..]: [String; 6]) -> String {
    others.iter().fold(format!("{first:>16}"), |line, cell| format!("{}{cell:>8}", tab(line)))
}

fn rounds(out: &mut String, phase: &Phase) -> fmt::Result {
    let Some(first) = phase.rounds.first() else {
        return Ok(());
    };
    let operations = first.operations;
    let figures = |round: &Round| {
        let rate = per_second(round).map_or_else(|| NO_RATE.into(), |rate| rate.to_string());
        (micros(round), rate)
    };
    let (time_us, rate) = figures(first);
    match phase.name.as_str() {
        name @ (QUERY | UPDATE) => {
            let (title, unit) = match name {
                QUERY => ("Query Test", "QPS"),
                _ => ("Update Test", "TPS"),
            };
            writeln!(out, "{title}: {operations}")?;
            for (round, number) in phase.rounds.iter().zip(1..) {
                let (time_us, rate) = figures(round);
                let label = tab(format!("  Round: {number}"));
                let time = tab(format!("{label}Use Time: {time_us}us"));
                writeln!(out, "{time}{unit}: {rate}")?;
            }
        }
        DELETE => {
            let label = tab(format!("Delete: {operations}"));
            let time = tab(format!("{label}Use Time: {time_us}us"));
            writeln!(out, "\n{time}TPS: {rate}")?;
        }
        filled => {
            let verb = if filled == LOAD { "Load" } else { "Insert" };
            let line = format!("{verb} rows: {operations}    Use time: {time_us}us");
            writeln!(out, "\n{line}    TPS: {rate}\n")?;
        }
    }
    if phase.is_without_time() {
        writeln!(out, "{NO_RATE} {NO_TIME}")?;
    }
    Ok(())
}

/// Pads a text with spaces to the next tab stop.
fn tab(mut text: String) -> String {
    let length = text.chars().count();
    text.extend(std::iter::repeat_n(' ', 8 - length % 8));
    text
}

/// Returns a round's time by CrossBench's clock, which counts microseconds.
fn micros(round: &Round) -> u64 {
    round.time_ns / 1_000
}

/// Returns operations per second by that clock; none if it saw no time pass.
fn per_second(round: &Round) -> Option<u64> {
    let rate = (u128::from(round.operations) * 1_000_000).checked_div(u128::from(micros(round)))?;
    Some(u64::try_from(rate).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phase(name: &str, operations: u64, times_us: &[u64], published_top: usize) -> Phase {
        Phase {
            name: name.into(),
            rounds: times_us
                .iter()
                .map(|us| Round { operations, time_ns: us * 1_000, usage: None })
                .collect(),
            published_top,
            tape_hash: String::new(),
            ..Phase::default()
        }
    }

    #[test]
    fn lines_are_those_of_the_published_sample() {
        let mut out = String::new();
        rounds(&mut out, &phase("insert", 1_000_000, &[272_466], 1)).expect("text");
        rounds(&mut out, &phase("query", 1_000_000, &[231_543, 244_874], 3)).expect("text");
        rounds(&mut out, &phase("delete", 1_000_000, &[401_207], 1)).expect("text");
        assert_eq!(
            out,
            "\nInsert rows: 1000000    Use time: 272466us    TPS: 3670182\n\n\
             Query Test: 1000000\n\
             \u{20} Round: 1      Use Time: 231543us      QPS: 4318852\n\
             \u{20} Round: 2      Use Time: 244874us      QPS: 4083732\n\n\
             Delete: 1000000 Use Time: 401207us      TPS: 2492478\n"
        );
    }

    #[test]
    fn columns_are_those_of_the_published_tables() {
        let published = "              DB            Rows          Insert           Query          \
                         Update          Delete";
        assert_eq!(header(), published);
        let row = ["CrossDB", "100000000", "429711", "3052691", "924709", "514820"];
        let published = "         CrossDB        100000000         429711         3052691          \
                         924709          514820";
        assert_eq!(columns(row.map(String::from)), published);
    }

    #[test]
    fn a_round_without_time_has_no_rate() {
        let mut out = String::new();
        rounds(&mut out, &phase("delete", 10, &[0], 1)).expect("text");
        assert!(out.contains("Use Time: 0us   TPS: –\n– a round took less"), "{out}");
    }
}
