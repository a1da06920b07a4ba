//! The default view: for each kind of work a table of engines, side by side.

use std::collections::{HashMap, HashSet};
use std::fmt::{self, Write};

use assay_core::doctor::{Finding, Gravity};
use assay_core::estimate::{Bounds, Spread, TRIALS_LEAST};
use assay_core::plan::{Cell, PageCache};
use assay_core::run_file::{CellResult, NO_TIME, RunFile, Status};
use assay_driver::Storage;
use comfy_table::{CellAlignment, Table, presets};

use crate::blocks::{Block, Distinct, Line, Rate, blocks};
use crate::format::{bytes, duration_ns, quantity, rows, work};
use crate::latencies::percentiles;

/// Renders a whole run; `brief` leaves out what explains it. Never fails but for want of memory.
pub fn render(run: &RunFile, brief: bool) -> Result<String, fmt::Error> {
    let mut out = String::new();
    let null: HashMap<_, _> = run
        .cells
        .iter()
        .rev()
        .filter(|result| result.cell.calibration)
        .map(|result| (calibrated(&result.cell), result))
        .collect();
    for block in blocks(run) {
        render_block(&mut out, &block)?;
        warnings(&mut out, run, Some(block.cell.storage))?;
        if !brief {
            settings(&mut out, &block)?;
        }
        if let Some(null) = null.get(&calibrated(block.cell)) {
            instrument(&mut out, null)?;
        }
    }
    warnings(&mut out, run, None)?;
    if !run.is_complete() {
        let (there, planned) = (run.cells.len(), run.planned_cells);
        writeln!(out, "\n not complete: {there} of {planned} cells are in this run file")?;
    }
    if !brief {
        explain(&mut out)?;
        machine(&mut out, run)?;
    }
    Ok(out)
}

fn render_block(out: &mut String, block: &Block<'_>) -> fmt::Result {
    let cell = block.cell;
    let trials = block.lines.iter().map(|line| line.trials.len()).max().unwrap_or(0);
    let rows = match cell.rows {
        0 => String::new(),
        count => format!(" · {} rows", rows(count)),
    };
    writeln!(
        out,
        "\n{} · {}{rows} · {} · {trials} trial{} · seed {}{}\n",
        cell.suite,
        cell.storage,
        work(cell),
        if trials == 1 { "" } else { "s" },
        cell.seed,
        match (cell.storage, cell.page_cache) {
            (Storage::Disk, PageCache::Warm) => " · page cache warm",
            (_, PageCache::Warm) => "",
            (_, PageCache::Cold) => " · page cache cold",
        }
    )?;
    let phases = block.phases();
    let mut notes = Notes::default();
    let several = block.lines.iter().any(|line| line.cell().threads != cell.threads);
    let with_threads = several || cell.threads > 1;
    let mut header = vec!["engine".to_string()];
    header.extend(with_threads.then(|| "threads".to_string()));
    let titles = header.len() + 2;
    header.extend(["key", "durability"].map(String::from));
    header.extend(phases.iter().map(|phase| format!("{phase}/s")));
    header.extend(["memory", "on disk", "written", "close"].map(String::from));
    let mut lines: Vec<Vec<String>> = vec![header];
    for line in &block.lines {
        lines.push(table_row(line, with_threads, &phases, &mut notes));
    }
    // Many phases are lines, so that the table is not wider than a window.
    match phases.len() > MOST_COLUMNS && !several {
        true => grid(out, transposed(&lines), 1)?,
        false => grid(out, lines, titles)?,
    }
    writeln!(out)?;
    latencies(out, block, with_threads)?;
    for (note, number) in notes.texts.iter().zip(1..) {
        writeln!(out, " [{number}] {note}")?;
    }
    Ok(())
}

/// A block with more phases has them as lines.
const MOST_COLUMNS: usize = 5;

fn transposed(lines: &[Vec<String>]) -> Vec<Vec<String>> {
    let columns = lines.iter().map(Vec::len).max().unwrap_or(0);
    (0..columns)
        .map(|at| lines.iter().map(|line| line.get(at).cloned().unwrap_or_default()).collect())
        .collect()
}

/// Lines in columns; the first line is the header, columns from `left` on are numbers.
fn grid(out: &mut String, lines: Vec<Vec<String>>, left: usize) -> fmt::Result {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    let mut lines = lines.into_iter();
    table.set_header(lines.next().unwrap_or_default());
    table.add_rows(lines);
    for column in table.column_iter_mut().skip(left) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    for line in table.to_string().lines() {
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

/// Latencies by engine and kind of operation, of the first trial that has some.
fn latencies(out: &mut String, block: &Block<'_>, with_threads: bool) -> fmt::Result {
    let mut header = vec!["latency of".to_string(), "engine".to_string()];
    header.extend(with_threads.then(|| "threads".to_string()));
    let titles = header.len();
    header.extend(["mean", "p50", "p90", "p95", "p99", "p99.9", "p99.99", "max"].map(String::from));
    let mut lines = vec![header];
    for line in block.lines.iter().filter(|line| !matches!(line.trouble(), Some(Status::Wrong(_))))
    {
        let phases = line.trials[0].measurement.phases.iter();
        for latency in phases.flat_map(|phase| &phase.latencies) {
            let cell = line.cell();
            let mut row = vec![latency.operation.to_lowercase(), cell.engine.clone()];
            row.extend(with_threads.then(|| cell.threads.to_string()));
            row.push(duration_ns(latency.mean_ns as u64));
            let values = percentiles(latency).into_iter().map(|(_, ns)| ns);
            let values = values.chain([Some(latency.max_ns)]);
            row.extend(values.map(|ns| ns.map_or_else(|| "–".into(), duration_ns)));
            lines.push(row);
        }
    }
    if lines.len() == 1 {
        return Ok(());
    }
    lines[1..].sort_by(|a, b| a[0].cmp(&b[0]));
    grid(out, lines, titles)?;
    writeln!(out)
}

/// What `assay doctor` warned of when the run began, of a storage mode or of the machine.
fn warnings(out: &mut String, run: &RunFile, storage: Option<Storage>) -> fmt::Result {
    let serious = |finding: &&Finding| finding.gravity == Gravity::Warning;
    for finding in run.findings.iter().filter(serious).filter(|f| f.storage == storage) {
        let Finding { subject, found, advice, .. } = finding;
        writeln!(out, " warning: {subject}: {found}; {advice}")?;
    }
    Ok(())
}

fn explain(out: &mut String) -> fmt::Result {
    writeln!(
        out,
        "\n /s: operations a second, the median over trials of the median of a trial's rounds; \
         below it its 95 % interval\n (from {TRIALS_LEAST} trials on) or the range of rounds \
         (with fewer), and the mean of the fastest rounds, the suite's\n own statistic. memory: \
         peak of the whole worker. on disk: the store at its fullest. written: bytes of\n pages \
         dirtied for the device. close: time to close the store."
    )
}

/// Footnotes, numbered in the order in which they first occur.
#[derive(Default)]
struct Notes {
    texts: Vec<String>,
    numbers: HashMap<String, usize>,
}

impl Notes {
    fn mark(&mut self, text: String) -> String {
        let next = self.texts.len() + 1;
        let number = *self.numbers.entry(text.clone()).or_insert(next);
        if number == next {
            self.texts.push(text);
        }
        format!("[{number}]")
    }
}

fn table_row(
    line: &Line<'_>,
    with_threads: bool,
    phases: &[&str],
    notes: &mut Notes,
) -> Vec<String> {
    let cell = line.cell();
    let mut engine = cell.engine.clone();
    for (name, value) in &cell.engine_options {
        let _ = write!(engine, "\n{name}={value}");
    }
    for (name, value) in &cell.engine_parameters {
        let _ = write!(engine, "\n{name}={value}");
    }
    let mut first = vec![engine];
    first.extend(with_threads.then(|| cell.threads.to_string()));
    first.extend([cell.key_kind.to_string(), durability(line, notes)]);
    let dash = || "–".to_string();
    if let Some(trouble) = line.trouble() {
        let (word, reason) = match trouble {
            Status::Unsupported(reason) | Status::Unavailable(reason) => ("–", reason),
            Status::Wrong(reason) => ("wrong", reason),
            Status::Failed(reason) => ("failed", reason),
            Status::Measured => ("", &String::new()),
        };
        let mark = notes.mark(reason.clone());
        first[0] = format!("{} {word} {mark}", first[0]);
    }
    for trial in &line.trials {
        for note in &trial.measurement.notes {
            let mark = notes.mark(note.clone());
            if !first[0].contains(&mark) {
                first[0] = format!("{} {mark}", first[0]);
            }
        }
    }
    first.extend(phases.iter().map(|phase| match line.rate(phase) {
        Some(found) => {
            let marks = found.marks().into_iter().map(|mark| notes.mark(mark.words().into()));
            marks.fold(rate(found), |text, mark| format!("{text} {mark}"))
        }
        None if line.is_without_time(phase) => format!("– {}", notes.mark(NO_TIME.into())),
        None => match line.not_offered(phase) {
            Some(why) => format!("– {}", notes.mark(why.into())),
            None => dash(),
        },
    }));
    let figures = [
        line.figure(|trial| Some(trial.measurement.resources.peak_rss_bytes).filter(|&b| b > 0))
            .map(bytes),
        line.figure(|trial| trial.measurement.resources.store_peak_bytes).map(bytes),
        line.figure(|trial| {
            let resources = &trial.measurement.resources;
            resources.store_peak_bytes.and(resources.written_bytes)
        })
        .map(bytes),
        line.figure(|trial| Some(trial.measurement.resources.close_ns).filter(|&ns| ns > 0))
            .map(duration_ns),
    ];
    first.extend(figures.map(|figure| figure.unwrap_or_else(dash)));
    first
}

fn durability(line: &Line<'_>, notes: &mut Notes) -> String {
    let cell = line.cell();
    let mut text = cell.durability.to_string();
    if cell.durability != cell.durability_wanted {
        let relation = match cell.durability > cell.durability_wanted {
            true => "the weakest level of this engine that promises as much",
            false => "the strongest level of this engine",
        };
        let mark = notes.mark(format!(
            "not at {}, which the table is for, but at {}: {relation}",
            cell.durability_wanted, cell.durability
        ));
        let _ = write!(text, " {mark}");
    }
    if let Some(why) = line.trials.iter().find_map(|trial| trial.refuted.as_ref()) {
        let _ = write!(text, "\nrefuted {}", notes.mark(why.clone()));
    }
    text
}

fn rate(rate: Rate) -> String {
    let mut text = quantity(rate.estimate.value);
    match rate.estimate.spread {
        Spread::Interval(Bounds { low, high }) => {
            let _ = write!(text, "\n{} – {}", quantity(low), quantity(high));
        }
        Spread::Range(Bounds { low, high }) => {
            let _ = write!(text, "\nrange {} – {}", quantity(low), quantity(high));
        }
        Spread::Unknown => {}
    }
    if rate.rounds > 1 && rate.published_top > 1 {
        let _ = write!(text, "\ntop {}: {}", rate.published_top, quantity(rate.published));
    }
    text
}

fn settings(out: &mut String, block: &Block<'_>) -> fmt::Result {
    let set = |line: &&Line<'_>| !line.trials[0].measurement.settings.is_empty();
    let lines: Vec<_> = block.lines.iter().filter(set).collect();
    if lines.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n settings")?;
    let width = lines.iter().map(|line| line.cell().engine.len()).max().unwrap_or(0);
    let mut told: HashSet<(&str, &[String])> = HashSet::new();
    for line in lines {
        let measurement = &line.trials[0].measurement;
        // Cells that differ in their threads have the same settings, or others.
        let these = (line.cell().engine.as_str(), measurement.settings.as_slice());
        if !told.insert(these) {
            continue;
        }
        writeln!(
            out,
            "  {:width$}  {}: {}",
            line.cell().engine,
            measurement.engine_version,
            measurement.settings.join(" · ")
        )?;
    }
    Ok(())
}

/// What a cell has in common with the one that calibrates it.
fn calibrated(cell: &Cell) -> (&str, u64, u32, &str) {
    (&cell.suite, cell.rows, cell.threads, &cell.variant)
}

/// What the `null` engine took in this run, in this work.
fn instrument(out: &mut String, null: &CellResult) -> fmt::Result {
    let costs: Vec<_> = null
        .measurement
        .phases
        .iter()
        .filter_map(|phase| {
            let per_operation: Vec<_> = phase.rates().iter().map(|rate| 1e9 / rate).collect();
            let time = match assay_core::stats::median(&per_operation) {
                Some(median) => format!("{median:.1} ns"),
                None if phase.is_without_time() => "too short to measure".into(),
                None => return None,
            };
            Some(format!("{} {time}", phase.name))
        })
        .collect();
    writeln!(out, "\n instrument: {} an operation (the null engine in this run)", costs.join(", "))
}

fn machine(out: &mut String, run: &RunFile) -> fmt::Result {
    let machine = &run.environment;
    let governor = machine.governor.as_deref().unwrap_or("none visible");
    writeln!(
        out,
        "\n machine: {} · {} CPUs · {} memory · {} · {}",
        machine.cpu_model,
        machine.cpus,
        bytes(machine.memory_bytes),
        machine.kernel,
        machine.distribution
    )?;
    writeln!(
        out,
        " state: load {:.2} at the start · governor {governor} · clock {} · huge pages {}",
        machine.load_1min, machine.clock_source, machine.transparent_huge_pages
    )?;
    let mut filesystems = Distinct::default();
    for result in run.results() {
        if let Some(fs) = &result.measurement.filesystem {
            let place = fs.mount_point.display();
            filesystems.add(format!("{} on {} ({place})", result.cell.storage, fs.kind));
        }
    }
    if !filesystems.in_order.is_empty() {
        writeln!(out, " stores: {}", filesystems.in_order.join(" · "))?;
    }
    writeln!(
        out,
        " build: assay {} · {} · opt-level {} · {}",
        run.build.version, run.build.rustc, run.build.opt_level, run.build.target
    )
}
