//! The additions of `--details`: intervals, the suite's own statistic, memory and space below each
//! table; settings and the instrument's share; warnings, the machine and the build.

use std::collections::HashMap;

use assay_core::doctor::{Finding, Gravity};
use assay_core::estimate::{Bounds, Spread, TRIALS_LEAST};
use assay_core::plan::Cell as Work;
use assay_core::run_file::{CellResult, Phase, RunFile};

use super::grid::{Cell, Column, Grid, paragraph, shown};
use super::ranking::{Figure, Group, Ranked};
use super::{NAME_WIDTH, concerns, first_lines};
use crate::blocks::{Block, Distinct, Line};
use crate::format::{bytes, duration_ns, quantity};

/// Adds what each line has besides its rates.
pub(super) fn of_lines(out: &mut String, groups: &[Group<'_>], phases: &[&str], width: usize) {
    let lines: Vec<_> = groups.iter().flat_map(|group| &group.lines).collect();
    let parts = [
        spreads(&lines, phases),
        published(&lines, phases),
        costs(&lines, phases),
        resources(&lines),
    ];
    for figures in parts {
        if figures.is_empty() {
            continue;
        }
        out.push('\n');
        Grid { titles: titles(&lines), figures, groups: first_lines(groups) }.draw(out, width);
    }
}

fn titles(lines: &[&Ranked<'_>]) -> Vec<Column> {
    let cells = |of: &dyn Fn(&Work) -> String| {
        lines.iter().map(|ranked| Cell::plain(of(ranked.line.cell()))).collect::<Vec<_>>()
    };
    let mut titles =
        vec![Column::of_words("engine", cells(&|cell| shown(&cell.engine, NAME_WIDTH)))];
    if lines.iter().any(|ranked| ranked.line.cell().threads != 1) {
        titles.push(Column::of_figures("threads", cells(&|cell| cell.threads.to_string())));
    }
    titles
}

/// Returns a column for each phase that has a text for some line.
fn of_phases(
    lines: &[&Ranked<'_>],
    phases: &[&str],
    head: impl Fn(&str) -> String,
    text: impl Fn(&Figure) -> Option<String>,
) -> Vec<Column> {
    let columns = phases.iter().enumerate().filter_map(|(at, phase)| {
        let texts = lines.iter().map(|ranked| ranked.figures[at].as_ref().and_then(&text));
        let texts: Vec<_> = texts.collect();
        let cells = texts.iter().map(|text| Cell::plain(text.as_deref().unwrap_or("–"))).collect();
        texts.iter().any(Option::is_some).then(|| Column::of_figures(&head(phase), cells))
    });
    columns.collect()
}

/// Returns intervals, or if there are too few trials the ranges of rounds: in parentheses if others
/// have an interval.
fn spreads(lines: &[&Ranked<'_>], phases: &[&str]) -> Vec<Column> {
    let figures = lines.iter().flat_map(|ranked| ranked.figures.iter().flatten());
    let has_interval = figures.into_iter().any(|figure| figure.rate.estimate.interval().is_some());
    let what = if has_interval { "95 % interval" } else { "range of rounds" };
    of_phases(
        lines,
        phases,
        |phase| format!("{phase}/s {what}"),
        |figure| {
            let text = |Bounds { low, high }| format!("{} – {}", quantity(low), quantity(high));
            match figure.rate.estimate.spread {
                Spread::Interval(bounds) => Some(text(bounds)),
                Spread::Range(bounds) if has_interval => Some(format!("({})", text(bounds))),
                Spread::Range(bounds) => Some(text(bounds)),
                Spread::Unknown => None,
            }
        },
    )
}

fn published(lines: &[&Ranked<'_>], phases: &[&str]) -> Vec<Column> {
    let head = |phase: &str| format!("{phase}/s top rounds");
    of_phases(lines, phases, head, |figure| {
        let rate = figure.rate;
        let has_one = rate.rounds > 1 && rate.published_top > 1;
        has_one.then(|| format!("top {}: {}", rate.published_top, quantity(rate.published)))
    })
}

/// Returns the share of the wall time on the clock, and the operations of the whole process for a
/// second of processor time.
fn costs(lines: &[&Ranked<'_>], phases: &[&str]) -> Vec<Column> {
    let share = |figure: &Figure| Some(format!("{:.0} %", figure.rate.timed_share? * 100.0));
    let per_second = |figure: &Figure| figure.rate.operations_per_cpu_second.map(quantity);
    let mut columns = of_phases(lines, phases, |phase| format!("{phase} on the clock"), share);
    columns.extend(of_phases(lines, phases, |phase| format!("{phase}/ CPU s"), per_second));
    columns
}

/// Returns memory, space, bytes written, and time to close.
fn resources(lines: &[&Ranked<'_>]) -> Vec<Column> {
    type Of = fn(&Line<'_>) -> Option<String>;
    let columns: [(&str, Of); 4] = [
        ("memory", |line| {
            let peak = |trial: &CellResult| trial.measurement.resources.peak_rss_bytes;
            line.figure(|trial| Some(peak(trial)).filter(|&bytes| bytes > 0)).map(bytes)
        }),
        ("on disk", |line| {
            line.figure(|trial| trial.measurement.resources.store_peak_bytes).map(bytes)
        }),
        ("written", |line| {
            let written = line.figure(|trial| {
                let resources = &trial.measurement.resources;
                resources.store_peak_bytes.and(resources.written_bytes)
            });
            written.map(bytes)
        }),
        ("close", |line| {
            let close = |trial: &CellResult| trial.measurement.resources.close_ns;
            line.figure(|trial| Some(close(trial)).filter(|&ns| ns > 0)).map(duration_ns)
        }),
    ];
    let columns = columns.into_iter().map(|(head, of)| {
        let text = |ranked: &&Ranked<'_>| of(ranked.line).unwrap_or_else(|| "–".into());
        Column::of_figures(head, lines.iter().map(|ranked| Cell::plain(text(ranked))).collect())
    });
    columns.collect()
}

/// The cells that show the instrument's cost, by their work.
#[derive(Default)]
pub(super) struct Calibrations<'r>(HashMap<(&'r str, u64, u32, &'r str), &'r CellResult>);

impl<'r> Calibrations<'r> {
    pub(super) fn of(run: &'r RunFile) -> Self {
        let calibrations = run.cells.iter().rev().filter(|result| result.cell.calibration);
        Self(calibrations.map(|result| (Self::key(&result.cell), result)).collect())
    }

    fn key(cell: &Work) -> (&str, u64, u32, &str) {
        (&cell.suite, cell.rows, cell.threads, &cell.variant)
    }
}

/// Adds the explanation of a block: settings, and the instrument's cost.
pub(super) fn of_block(
    out: &mut String,
    block: &Block<'_>,
    calibrations: &Calibrations<'_>,
    width: usize,
) {
    settings(out, block, width);
    if let Some(null) = calibrations.0.get(&Calibrations::key(block.cell)) {
        instrument(out, null, width);
    }
}

fn settings(out: &mut String, block: &Block<'_>, width: usize) {
    let mut texts = Distinct::default();
    // Cells with different threads may have the same settings, or others.
    for line in &block.lines {
        let measurement = &line.trials[0].measurement;
        if !measurement.settings.is_empty() {
            let engine = shown(&line.cell().engine, NAME_WIDTH);
            let settings = measurement.settings.join(" · ");
            texts.add(format!("{engine} {}: {settings}", measurement.engine_version));
        }
    }
    if !texts.in_order.is_empty() {
        *out += "\n settings\n";
    }
    for text in texts.in_order {
        paragraph(out, &[text], "", width);
    }
}

/// Returns what makes the cost of a phase of the `null` engine a bad measure of the instrument.
fn doubts(phase: &Phase) -> &'static str {
    match (phase.rounds.len(), phase.disturbed()) {
        (1, 0) => " (one round)",
        (1, _) => " (one round, disturbed)",
        (_, 0) => "",
        (_, _) => " (disturbed)",
    }
}

/// Adds the times of the `null` engine in this run, in this work.
fn instrument(out: &mut String, null: &CellResult, width: usize) {
    let costs = null.measurement.phases.iter().filter_map(|phase| {
        let threads = f64::from(phase.threads.max(1));
        let per_operation: Vec<_> = phase.rates().iter().map(|rate| threads * 1e9 / rate).collect();
        let time = match assay_core::stats::median(&per_operation) {
            Some(median) => format!("{median:.1} ns{}", doubts(phase)),
            None if phase.is_without_time() => "too short to measure".into(),
            None => return None,
        };
        Some(format!("{} {time}", phase.name))
    });
    let costs = costs.collect::<Vec<_>>().join(", ");
    out.push('\n');
    let text = format!("instrument: {costs} an operation (the null engine in this run)");
    paragraph(out, &[text], "", width);
    let latencies = null.measurement.phases.iter().flat_map(|phase| &phase.latencies);
    let stalls = latencies.map(|latency| {
        let operation = latency.operation.to_lowercase();
        let p999 = duration_ns(latency.p999_ns);
        format!("{operation} {p999} (the longest {})", duration_ns(latency.max_ns))
    });
    let stalls = stalls.collect::<Vec<_>>().join(", ");
    if !stalls.is_empty() {
        let text = format!("p99.9 of the null engine, which does nothing: {stalls}");
        paragraph(out, &[text], "", width);
    }
}

/// Adds the explanation of all tables: the meaning of columns, and the machine and its problems.
pub(super) fn of_run(out: &mut String, run: &RunFile, width: usize) {
    out.push('\n');
    let explanations = [
        "/s: operations a second, the median over trials of the median of a trial's rounds",
        &format!("95 % interval: of that, from {TRIALS_LEAST} trials on"),
        "range of rounds: the smallest and the largest, with fewer trials",
        "top rounds: the mean of the fastest rounds, the suite's own statistic",
        "on the clock: the share of the wall time that was timed",
        "/ CPU s: operations for a second of processor time of the whole process",
        "memory: peak of the whole worker",
        "on disk: the most that was seen of the store",
        "written: bytes of pages dirtied for the device",
        "close: time to close the store",
    ];
    for text in explanations {
        paragraph(out, &[text.to_string()], "", width);
    }
    let serious = |finding: &&Finding| finding.gravity == Gravity::Warning;
    let mut warnings = run.findings.iter().filter(serious).peekable();
    if warnings.peek().is_some() {
        out.push('\n');
    }
    for Finding { subject, found, advice, .. } in warnings.filter(|found| concerns(found, run)) {
        paragraph(out, &[format!("warning: {subject}: {found}; {advice}")], "", width);
    }
    machine(out, run, width);
}

fn machine(out: &mut String, run: &RunFile, width: usize) {
    let machine = &run.environment;
    let governor = machine.governor.as_deref().unwrap_or("none visible");
    let mut filesystems = Distinct::default();
    for result in run.results() {
        if let Some(fs) = &result.measurement.filesystem {
            let place = fs.mount_point.display();
            filesystems.add(format!("{} on {} ({place})", result.cell.storage, fs.kind));
        }
    }
    let build = &run.build;
    let lines = [
        vec![
            format!("machine: {}", machine.cpu_model),
            format!("{} CPUs", machine.cpus),
            format!("{} memory", bytes(machine.memory_bytes)),
            machine.kernel.clone(),
            machine.distribution.clone(),
        ],
        vec![
            format!("state: load {:.2} at the start", machine.load_1min),
            format!("governor {governor}"),
            format!("clock {}", machine.clock_source),
            format!("huge pages {}", machine.transparent_huge_pages),
        ],
        vec![
            format!("build: assay {}", build.version),
            build.rustc.clone(),
            format!("opt-level {}", build.opt_level),
            build.target.clone(),
        ],
    ];
    out.push('\n');
    for parts in lines {
        paragraph(out, &parts, " · ", width);
    }
    if !filesystems.in_order.is_empty() {
        let mut stores = filesystems.in_order;
        stores[0] = format!("stores: {}", stores[0]);
        paragraph(out, &stores, " · ", width);
    }
}
