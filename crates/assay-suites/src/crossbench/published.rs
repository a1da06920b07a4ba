//! The text that CrossBench prints, from a run file: for scripts that were written for it.

use std::fmt::{self, Write};

use assay_core::driver::{KeyKind, Storage};
use assay_core::run_file::{CellResult, Phase, Round, RunFile, Status};
use assay_core::stats::mean_of_top;

use super::{Fill, Options};

/// What `-Q` and `-H` ask for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Show {
    /// Only the result at the end.
    pub quiet: bool,
    /// With `quiet`: the row alone, without its header.
    pub header_off: bool,
}

/// The header of the result table.
pub fn header() -> String {
    columns(["DB", "Rows", "Insert", "Query", "Update", "Delete"].map(String::from))
}

/// What CrossBench prints for one cell.
pub fn text(result: &CellResult, key_chosen: bool, show: Show) -> Result<String, fmt::Error> {
    let mut out = String::new();
    let options = serde_json::from_value::<Options>(result.cell.options.clone()).ok();
    let access = match options.as_ref().is_some_and(|options| options.sequential) {
        true => "Sequential",
        false => "Random",
    };
    let key = match (key_chosen, result.cell.key_kind) {
        (false, _) => "Default",
        (true, KeyKind::Hash) => "Hash",
        (true, KeyKind::Tree) => "Tree",
    };
    let storage = match result.cell.storage {
        Storage::Memory => "INMEM",
        Storage::Ramdisk => "RAMDISK",
        Storage::Disk => "ONDISK",
    };
    let name = &result.measurement.engine_name;
    if !show.quiet && !result.measurement.phases.is_empty() {
        let location = match &result.cell.dir {
            Some(dir) => dir.display().to_string(),
            None => ":memory:".into(),
        };
        writeln!(out, "{name} Database Benchmark\n")?;
        let threads = match result.cell.threads {
            1 => String::new(),
            threads => format!("Threads: {threads}\n"),
        };
        writeln!(
            out,
            "Location: {location}\nType: {storage}\nKey: {key}\nAccess: {access}\n{threads}"
        )?;
        for phase in &result.measurement.phases {
            rounds(&mut out, phase, options.as_ref())?;
        }
        writeln!(out)?;
    }
    if let Status::Measured = result.status {
        if !(show.quiet && show.header_off) {
            let rows = result.cell.rows;
            writeln!(
                out,
                "{name} Benchmark Result: {storage} Access={access} Key={key} Rows={rows}"
            )?;
            writeln!(out, "{}", header())?;
        }
        writeln!(out, "{}", row(result))?;
    }
    Ok(out)
}

/// What CrossBench prints for the cells of a run, one after another.
pub(super) fn run(run: &RunFile) -> Result<String, fmt::Error> {
    let of_suite = run.results().filter(|result| result.cell.suite == super::ID);
    of_suite.map(|result| text(result, false, Show::default())).collect()
}

/// The row of the result table; a phase that was not run is 0, as in the original.
fn row(result: &CellResult) -> String {
    let published = |names: &[&str]| {
        let phase = names.iter().find_map(|name| result.measurement.phase(name));
        phase
            .and_then(|phase| {
                let rates: Vec<_> = phase.rounds.iter().map(|r| per_second(r) as f64).collect();
                mean_of_top(&rates, phase.published_top)
            })
            .map_or(0, |rate| rate as u64)
            .to_string()
    };
    columns([
        result.measurement.engine_name.clone(),
        result.cell.rows.to_string(),
        published(&["insert", "load"]),
        published(&["query"]),
        published(&["update"]),
        published(&["delete"]),
    ])
}

fn columns(cells: [String; 6]) -> String {
    cells.iter().fold(String::new(), |mut line, cell| {
        let _ = write!(line, "{cell:>16}");
        line
    })
}

fn rounds(out: &mut String, phase: &Phase, options: Option<&Options>) -> fmt::Result {
    let Some(first) = phase.rounds.first() else {
        return Ok(());
    };
    let (operations, time_us, rate) = (first.operations, micros(first), per_second(first));
    match phase.name.as_str() {
        "query" | "update" => {
            let (title, unit) = match phase.name.as_str() {
                "query" => ("Query Test", "QPS"),
                _ => ("Update Test", "TPS"),
            };
            writeln!(out, "{title}: {operations}")?;
            for (round, number) in phase.rounds.iter().zip(1..) {
                let (time_us, rate) = (micros(round), per_second(round));
                let label = tab(format!("  Round: {number}"));
                let time = tab(format!("{label}Use Time: {time_us}us"));
                writeln!(out, "{time}{unit}: {rate}")?;
            }
            Ok(())
        }
        "delete" => {
            let label = tab(format!("Delete: {operations}"));
            let time = tab(format!("{label}Use Time: {time_us}us"));
            writeln!(out, "\n{time}TPS: {rate}")
        }
        _ => {
            let verb = match options.map(|options| options.fill) {
                Some(Fill::Load) => "Load",
                _ => "Insert",
            };
            writeln!(out, "{verb} rows: {operations}    Use time: {time_us}us    TPS: {rate}\n")
        }
    }
}

/// Fills up with spaces to the next tab stop.
fn tab(mut text: String) -> String {
    let width = (text.len() / 8 + 1) * 8;
    while text.len() < width {
        text.push(' ');
    }
    text
}

/// CrossBench's clock counts microseconds.
fn micros(round: &Round) -> u64 {
    (round.time_ns / 1_000).max(1)
}

fn per_second(round: &Round) -> u64 {
    let rate = u128::from(round.operations) * 1_000_000 / u128::from(micros(round));
    u64::try_from(rate).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phase(name: &str, operations: u64, times_us: &[u64], published_top: usize) -> Phase {
        Phase {
            name: name.into(),
            rounds: times_us.iter().map(|us| Round { operations, time_ns: us * 1_000 }).collect(),
            published_top,
            tape_hash: String::new(),
            ..Phase::default()
        }
    }

    #[test]
    fn lines_are_those_of_the_published_sample() {
        let mut out = String::new();
        rounds(&mut out, &phase("insert", 1_000_000, &[272_466], 1), None).expect("text");
        rounds(&mut out, &phase("query", 1_000_000, &[231_543, 244_874], 3), None).expect("text");
        rounds(&mut out, &phase("delete", 1_000_000, &[401_207], 1), None).expect("text");
        assert_eq!(
            out,
            "Insert rows: 1000000    Use time: 272466us    TPS: 3670182\n\n\
             Query Test: 1000000\n\
             \u{20} Round: 1      Use Time: 231543us      QPS: 4318852\n\
             \u{20} Round: 2      Use Time: 244874us      QPS: 4083732\n\n\
             Delete: 1000000 Use Time: 401207us      TPS: 2492478\n"
        );
    }

    #[test]
    fn the_header_is_that_of_the_published_sample() {
        let published = "              DB            Rows          Insert           Query          \
                         Update          Delete";
        assert_eq!(header(), published);
    }
}
