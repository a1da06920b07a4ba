//! The output of Tonbo's benches, from a run file.

use std::fmt::{self, Write};

use assay_core::engine::EngineRef;
use assay_core::run_file::{CellResult, NO_TIME, Phase, RunFile, Status};
use assay_core::slope::{Sample, outliers, slope};
use assay_core::stats::median;

use crate::phases::LOAD;

/// Returns the boxed table of `tonbo-write` and `tonbo-read`: phases down, engines across,
/// milliseconds. A phase of several rounds has a line for each.
pub(super) fn times(run: &RunFile) -> Result<String, fmt::Error> {
    let mut out = String::new();
    let results: Vec<_> = run.results().collect();
    let mut seen: Vec<&CellResult> = Vec::new();
    for result in &results {
        if seen.iter().any(|first| first.cell.same_workload(&result.cell)) {
            continue;
        }
        let group: Vec<_> =
            results.iter().copied().filter(|r| r.cell.same_workload(&result.cell)).collect();
        if !seen.is_empty() {
            writeln!(out)?;
        }
        seen.push(result);
        table(&mut out, &group)?;
    }
    Ok(out)
}

fn table(out: &mut String, results: &[&CellResult]) -> fmt::Result {
    let mut engines: Vec<&EngineRef> = Vec::new();
    for result in results {
        if !engines.contains(&&result.cell.engine) {
            engines.push(&result.cell.engine);
        }
    }
    let mut lines: Vec<(&str, usize)> = Vec::new();
    let phases = results.iter().flat_map(|result| &result.measurement.phases);
    // The published table has no line for the loading.
    for phase in phases.filter(|phase| phase.name != LOAD) {
        for round in 0..phase.rounds.len() {
            if !lines.contains(&(phase.name.as_str(), round)) {
                lines.push((&phase.name, round));
            }
        }
    }
    let cell = |engine: &EngineRef, (name, round): (&str, usize)| {
        let times: Vec<_> = results
            .iter()
            .filter(|r| r.cell.engine == *engine && !matches!(r.status, Status::Wrong(_)))
            .filter_map(|r| r.measurement.phase(name)?.rounds.get(round))
            .map(|round| round.time_ns as f64 / 1e6)
            .collect();
        median(&times).map_or("–".into(), |median| format!("{median:.0}ms"))
    };
    let first = lines.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let columns: Vec<(usize, Vec<String>)> = engines
        .iter()
        .map(|engine| {
            let cells: Vec<_> = lines.iter().map(|&line| cell(engine, line)).collect();
            let widest = cells.iter().map(|c| c.chars().count()).max().unwrap_or(0);
            (widest.max(engine.to_string().len()), cells)
        })
        .collect();
    let rule = |of: char, left: char, last: char| {
        let parts = columns.iter().map(|(width, _)| of.to_string().repeat(width + 2));
        let parts: Vec<_> =
            std::iter::once(of.to_string().repeat(first + 2)).chain(parts).collect();
        let between = if of == '=' { '=' } else { '+' };
        format!("{left}{}{last}", parts.join(&between.to_string()))
    };
    writeln!(out, "{}", rule('-', '+', '+'))?;
    write!(out, "| {:first$} |", "")?;
    for (engine, (width, _)) in engines.iter().zip(&columns) {
        write!(out, " {engine:width$} |")?;
    }
    writeln!(out, "\n{}", rule('=', '+', '+'))?;
    for (at, (name, _)) in lines.iter().enumerate() {
        if at > 0 {
            writeln!(out, "{}", rule('-', '|', '|'))?;
        }
        write!(out, "| {name:first$} |")?;
        for (width, cells) in &columns {
            write!(out, " {:width$} |", cells[at])?;
        }
        writeln!(out)?;
    }
    writeln!(out, "{}", rule('-', '+', '+'))
}

/// Returns the lines of `tonbo-micro`, as Criterion.rs prints them.
pub(super) fn estimates(run: &RunFile) -> Result<String, fmt::Error> {
    let mut out = String::new();
    let with_storage = crate::has_several_storages(run);
    for result in run.results() {
        for phase in &result.measurement.phases {
            let engine = result.published_name();
            let storage =
                if with_storage { format!("-{}", result.cell.storage) } else { String::new() };
            let name = phase.name.replacen("write/", &format!("write/{engine}{storage}/"), 1);
            lines(&mut out, &name, phase)?;
        }
    }
    Ok(out)
}

fn lines(out: &mut String, name: &str, phase: &Phase) -> fmt::Result {
    let samples: Vec<_> = phase
        .rounds
        .iter()
        .map(|round| Sample { iterations: round.operations, time_ns: round.time_ns })
        .collect();
    let Some(slope) = slope(&samples) else {
        return Ok(());
    };
    let [low, middle, high] = [slope.low_ns, slope.slope_ns, slope.high_ns].map(time);
    // A name that leaves no room for the times has a separate line.
    let name = if name.len() > 23 { format!("{name}\n{:23}", "") } else { format!("{name:<23}") };
    if slope.slope_ns == 0.0 {
        return writeln!(out, "{name} time:   – ({NO_TIME})");
    }
    writeln!(out, "{name} time:   [{low} {middle} {high}]")?;
    let found = outliers(&samples);
    if found.total() == 0 {
        return Ok(());
    }
    let share = |count: usize| count as f64 * 100.0 / samples.len() as f64;
    let total = found.total();
    let all = samples.len();
    let percent = share(total);
    writeln!(out, "Found {total} outliers among {all} measurements ({percent:.2}%)")?;
    for (count, class) in [
        (found.low_severe, "low severe"),
        (found.low_mild, "low mild"),
        (found.high_mild, "high mild"),
        (found.high_severe, "high severe"),
    ] {
        if count > 0 {
            writeln!(out, "  {count} ({:.2}%) {class}", share(count))?;
        }
    }
    Ok(())
}

/// Returns a time with five significant characters and a unit, as Criterion.rs shows times.
fn time(ns: f64) -> String {
    let (value, unit) = match ns {
        ns if ns < 1.0 => (ns * 1e3, "ps"),
        ns if ns < 1e3 => (ns, "ns"),
        ns if ns < 1e6 => (ns / 1e3, "µs"),
        ns if ns < 1e9 => (ns / 1e6, "ms"),
        ns => (ns / 1e9, "s"),
    };
    let digits = match value {
        v if v < 10.0 => 4,
        v if v < 100.0 => 3,
        v if v < 1000.0 => 2,
        _ => 0,
    };
    format!("{value:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_core::run_file::Round;

    #[test]
    fn times_have_five_digits() {
        let shown = [3.8809e3, 83.793e3, 678.61e3, 1.0089e6, 0.5].map(time);
        assert_eq!(shown, ["3.8809 µs", "83.793 µs", "678.61 µs", "1.0089 ms", "500.00 ps"]);
    }

    #[test]
    fn an_outlier_is_told_as_criterion_tells_it() {
        let rounds = (1..=100)
            .map(|at| Round {
                operations: at,
                time_ns: at * (1_000 + at % 7) * if at == 50 { 9 } else { 1 },
                usage: None,
            })
            .collect();
        let phase = Phase { name: "write/16".into(), rounds, ..Phase::default() };
        let mut out = String::new();
        lines(&mut out, "write/sled/16", &phase).expect("text");
        let told: Vec<_> = out.lines().collect();
        assert!(told[0].starts_with("write/sled/16           time:   [1.0"), "{out}");
        assert_eq!(told[1], "Found 1 outliers among 100 measurements (1.00%)");
        assert_eq!(told[2], "  1 (1.00%) high severe");
    }
}
