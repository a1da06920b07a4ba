//! A run as Markdown: for each kind of work a table of rates and one of latencies, with the meaning
//! of their marks below.

use assay_core::estimate::{Bounds, Estimate, Spread};
use assay_core::run_file::{NO_TIME, RunFile, Status};

use crate::ageing::{Steady, aged, by_phase};
use crate::blocks::{Block, Line, blocks};
use crate::format::{bytes, duration_ns, engine, percent, quantity, rows, times, work};
use crate::latencies::{of_trials, percentiles};
use crate::marks::{self, Legend, PhaseMarks, untested};
use crate::rows::{Usage, plain_markdown as plain, status};
use crate::speed_up::{SpeedUp, Table};

/// Returns a run as Markdown.
pub fn markdown(run: &RunFile) -> String {
    let mut out = String::new();
    for block in &blocks(run) {
        heading(&mut out, block);
        let mut legend = Legend::default();
        rates(&mut out, block, &mut legend);
        speed_ups(&mut out, block);
        stores(&mut out, block);
        latencies(&mut out, block);
        below(&mut out, block, &legend);
    }
    out
}

fn heading(out: &mut String, block: &Block<'_>) {
    let cell = block.cell;
    let size = match cell.rows {
        0 => String::new(),
        count => format!(" · {} rows", rows(count)),
    };
    let suite = plain(&cell.suite);
    let what = plain(&work(cell));
    *out += &format!("\n### {suite} · {}{size} · {what}\n", cell.storage);
}

fn dash() -> String {
    "–".into()
}

/// Adds the table of rates.
fn rates(out: &mut String, block: &Block<'_>, legend: &mut Legend) {
    let phases = block.phases();
    let mut heads = Vec::new();
    // For each phase, the figure of each line with its signs.
    let mut columns: Vec<Vec<String>> = Vec::new();
    for phase in &phases {
        let of_phase = PhaseMarks::of(block, phase);
        let rate = |line: &Line<'_>| line.rate(phase).filter(|_| line.trouble().is_none());
        let marks: Vec<_> = block
            .lines
            .iter()
            .filter_map(|line| Some(of_phase.of_figure(line, &rate(line)?)))
            .collect();
        let common = marks::in_common(&marks);
        let mut marks = marks.into_iter();
        let figure = |line: &Line<'_>| match rate(line) {
            None => dash(),
            Some(rate) => {
                let own = marks.next().unwrap_or_default();
                let own = own.iter().filter(|marked| !common.contains(marked));
                let signs: String = own.map(|marked| legend.of_figure(marked)).collect();
                with_spread(&rate.estimate, &signs)
            }
        };
        columns.push(block.lines.iter().map(figure).collect());
        let signs: String = common.iter().map(|marked| legend.of_head(marked)).collect();
        heads.push(format!("{}/s{signs}", plain(phase)));
    }
    let heads = heads.join(" | ");
    *out += &format!("\n| engine | threads | durability | {heads} | memory | on disk | close |\n");
    *out += &format!("|---|---:|---|{}---:|---:|---:|\n", "---:|".repeat(phases.len()));
    for (at, line) in block.lines.iter().enumerate() {
        let cell = line.cell();
        let usage = Usage::of(line);
        let id = plain(&engine(cell));
        let signs = marks::of_line(line);
        let signs: String = signs.iter().map(|marked| legend.of_engine(&id, marked)).collect();
        let rates: Vec<_> = columns.iter().map(|column| column[at].as_str()).collect();
        *out += &format!(
            "| {id}{} | {} | {} | {} | {} | {} | {} |\n",
            plain(&signs),
            cell.threads,
            cell.durability,
            rates.join(" | "),
            usage.memory_bytes.map_or_else(dash, bytes),
            usage.disk_bytes.map_or_else(dash, bytes),
            usage.close_ns.map_or_else(dash, duration_ns),
        );
    }
}

/// Returns a rate with its signs, and its interval or the range of its rounds.
fn with_spread(rate: &Estimate, signs: &str) -> String {
    let value = quantity(rate.value) + signs;
    let between = |Bounds { low, high }| format!("{} – {}", quantity(low), quantity(high));
    match rate.spread {
        Spread::Interval(bounds) => format!("{value} (95 %: {})", between(bounds)),
        Spread::Range(bounds) => format!("{value} (range: {})", between(bounds)),
        Spread::Unknown => value,
    }
}

/// Adds the table of speed-ups, if the engines had several numbers of threads.
fn speed_ups(out: &mut String, block: &Block<'_>) {
    let lines: Vec<_> = block.lines.iter().collect();
    let phases = block.phases();
    let Some(Table { works, rows }) = Table::of(block, &lines, &phases) else { return };
    let heads: Vec<_> = works.iter().map(|work| plain(work)).collect();
    *out += &format!("\n| speed-up of | threads | against | {} |\n", heads.join(" | "));
    *out += &format!("|---|---:|---:|{}\n", "---:|".repeat(works.len()));
    for row in rows {
        let texts = works.iter().map(|work| row.of_work(work).map_or_else(dash, speed_up));
        let texts: Vec<_> = texts.collect();
        let id = plain(&engine(row.line.cell()));
        *out += &format!("| {id} | {} | {} | {} |\n", row.threads, row.fewest, texts.join(" | "));
    }
}

/// Returns a speed-up with its efficiency, and its interval.
fn speed_up(of: &SpeedUp) -> String {
    let value = format!("{}, {}", times(of.times), percent(of.efficiency()));
    match of.interval {
        Some(Bounds { low, high }) => format!("{value} (95 %: {} – {})", times(low), times(high)),
        None => value,
    }
}

/// Adds the table of what stores on disk take, if any cell says it.
fn stores(out: &mut String, block: &Block<'_>) {
    let of_line = |line| aged(line).into_iter().map(move |of| (line.cell(), of));
    let mut all: Vec<_> = block.lines.iter().flat_map(of_line).collect();
    if all.is_empty() {
        return;
    }
    by_phase(&mut all, |(_, of)| of);
    *out += "\n| store after | engine | threads | on disk | live | on disk ÷ live \
             | written ÷ changed | longest stall | memory | steady |\n";
    *out += "|---|---|---:|---:|---:|---:|---:|---:|---:|---|\n";
    for (cell, of) in &all {
        *out += &format!(
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n",
            plain(&of.phase),
            plain(&engine(cell)),
            cell.threads,
            bytes(of.store_bytes),
            bytes(of.live_bytes),
            of.space.map_or_else(dash, times),
            of.written.map_or_else(dash, times),
            of.stall_ns.map_or_else(dash, duration_ns),
            bytes(of.memory_bytes),
            of.steady.map_or_else(dash, Steady::words),
        );
    }
}

/// Adds the table of latencies, if any were taken.
fn latencies(out: &mut String, block: &Block<'_>) {
    let is_wrong = |line: &&Line<'_>| matches!(line.trouble(), Some(Status::Wrong(_)));
    let mut all: Vec<_> = block
        .lines
        .iter()
        .filter(|line| !is_wrong(line))
        .flat_map(|line| of_trials(&line.trials).into_iter().map(move |(_, of)| (line.cell(), of)))
        .collect();
    if all.is_empty() {
        return;
    }
    all.sort_by_key(|(_, latency)| latency.operation.to_lowercase());
    *out +=
        "\n| latency of | engine | threads | operations | p50 | p90 | p99 | p99.9 | longest |\n";
    *out += "|---|---|---:|---:|---:|---:|---:|---:|---:|\n";
    for (cell, latency) in &all {
        let [p50, p90, _, p99, p999, _] =
            percentiles(latency).map(|(_, ns)| ns.map_or_else(dash, duration_ns));
        *out += &format!(
            "| {} | {} | {} | {} | {p50} | {p90} | {p99} | {p999} | {} |\n",
            plain(&latency.operation.to_lowercase()),
            plain(&engine(cell)),
            cell.threads,
            latency.count,
            duration_ns(latency.max_ns),
        );
    }
}

/// Adds the meaning of marks and the outcome of engines without figures, each once.
fn below(out: &mut String, block: &Block<'_>, legend: &Legend) {
    let mut says: Vec<String> = legend.texts().iter().map(|text| plain(text)).collect();
    let phases = block.phases();
    let is_without_time = |line: &Line<'_>| phases.iter().any(|phase| line.is_without_time(phase));
    if block.lines.iter().any(is_without_time) {
        says.push(format!("–: {NO_TIME}"));
    }
    says.extend(untested::of_block(block).map(|text| plain(&text)));
    for line in &block.lines {
        let id = plain(&engine(line.cell()));
        if line.trouble().is_some() {
            says.push(format!("{id}: {}", plain(&status(line, ""))));
        }
        for phase in &phases {
            if let Some(why) = line.not_offered(phase) {
                says.push(format!("{id}, {}: {}", plain(phase), plain(why)));
            }
        }
    }
    if !says.is_empty() {
        *out += &format!("\n- {}\n", says.join("\n- "));
    }
}
