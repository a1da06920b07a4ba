//! The index of a site: how engines stand, what was measured where and when, and the run files.

use std::collections::{BTreeSet, HashSet};

use assay_core::durability::Verdicts;
use assay_core::environment::Environment;
use assay_core::run_file::{RunFile, Status};

use super::frame::{self, Cell, table};
use super::standing::{Column, Score, Standing};
use super::{CRASHES, INDEX, SitePage, suite_file};
use crate::format::{bytes, rows};
use crate::html::data::{self, PageData};
use crate::html::{Link, PageError, Part};
use crate::markup::{name, text};

/// The index of all runs, each with its file.
pub(super) fn page(
    parts: &[Part],
    suites: &[String],
    verdicts: &Verdicts,
    links: &[Link],
) -> Result<SitePage, PageError> {
    let data = data::of(parts);
    if !data.has_figures() {
        return Err(PageError::Nothing);
    }
    let runs: Vec<&RunFile> = parts.iter().map(|part| &part.run).collect();
    let machines = machines(&runs);
    let mut body = format!("<header><h1>Assay results</h1>{}</header>\n<main>\n", facts(&runs));
    for machine in &machines {
        let title = match machines.len() {
            1 => "How engines stand".to_string(),
            _ => format!("How engines stand on {}", text(machine)),
        };
        let standing = Standing::of(&data, |run| of_machine(&runs[run].environment) == *machine);
        body += &format!("<section><h2>{title}</h2>\n{}</section>\n", standing_table(&standing));
    }
    body +=
        &format!("<section><h2>What was measured</h2>\n{}</section>\n", measured(&data, suites));
    body += &crashes(verdicts);
    body += &format!("<section><h2>Run files</h2>\n{}</section>\n", files(parts));
    body += &format!("<section><h2>Machines</h2>\n{}</section>\n</main>\n", machine_list(&runs));
    Ok(SitePage { file: INDEX.into(), text: frame::page("Assay results", links, &body) })
}

/// What was measured, when and with what, in two lines.
fn facts(runs: &[&RunFile]) -> String {
    let day = |run: &&RunFile| run.created.strftime("%Y-%m-%d").to_string();
    let days: BTreeSet<_> = runs.iter().map(day).collect();
    let when = match (days.first(), days.last()) {
        (Some(first), Some(last)) if first != last => format!("{first} to {last}"),
        (Some(first), _) => first.clone(),
        _ => String::new(),
    };
    let results = || runs.iter().flat_map(|run| run.results());
    let engines: HashSet<_> = results().map(|result| &result.cell.engine).collect();
    let measured = results().filter(|result| result.status == Status::Measured).count();
    let builds: BTreeSet<_> = runs.iter().map(|run| &run.build.version).collect();
    let builds: Vec<_> = builds.into_iter().map(|build| format!("assay {}", text(build))).collect();
    let count_of_runs = match runs.len() {
        1 => "1 run".to_string(),
        count => format!("{count} runs"),
    };
    format!(
        "<p class=\"facts\">{count_of_runs} · {} engines · {measured} cells · {when} · {}</p>",
        engines.len(),
        builds.join(", ")
    )
}

fn of_machine(machine: &Environment) -> String {
    let memory = bytes(machine.memory_bytes);
    format!("{} · {} CPUs · {memory} · {}", machine.cpu_model, machine.cpus, machine.kernel)
}

fn machines(runs: &[&RunFile]) -> Vec<String> {
    let all: BTreeSet<_> = runs.iter().map(|run| of_machine(&run.environment)).collect();
    all.into_iter().collect()
}

const STANDING_NOTE: &str = "\
<p class=\"note\">A figure is the geometric mean of (10 ns + time) ÷ (10 ns + best time) over all \
operations, sizes and numbers of threads: 1.0× would be the fastest at each of them. A fraction \
below it says over how many of them it is. An engine stands below each that is faster over what \
both have. A column is a suite, where its data is, and the durability that was asked for; it leads \
to all figures, and an engine that lacks that durability runs at a stronger one and is marked \
there.</p>\n";

fn standing_table(standing: &Standing) -> String {
    let head = |column: &Column| {
        Cell::plain(format!(
            "<a href=\"{}\">{}</a><small>{}</small><small>{}</small>",
            place_of(column),
            name(&column.suite),
            text(&column.storage),
            text(&column.level)
        ))
    };
    let mut heads = vec![Cell::words("engine")];
    heads.extend(standing.columns.iter().map(head));
    let rows = standing.engines.iter().map(|(engine, scores)| {
        let mut row = vec![Cell::plain(name(engine))];
        row.extend(
            scores.iter().zip(&standing.columns).map(|(score, column)| cell(*score, column)),
        );
        row
    });
    table("How engines stand", &heads, &rows.collect::<Vec<_>>()) + STANDING_NOTE
}

fn place_of(column: &Column) -> String {
    let (file, part) = (suite_file(&column.suite), "storage");
    format!("{file}#{part}={}&amp;level={}", text(&column.storage), text(&column.level))
}

fn cell(score: Option<Score>, column: &Column) -> Cell {
    let Some(Score { value, cells, of }) = score else {
        return Cell { class: "none", html: "<span title=\"no figures\">–</span>".into() };
    };
    let few = match cells < of {
        true => format!("<small>{cells} of {of}</small>"),
        false => String::new(),
    };
    let html = format!("<a href=\"{}\">{}</a>{few}", place_of(column), times(value));
    Cell { class: shade(value), html }
}

/// How many times: `1.0×`, `2.34×`, `23×`.
fn times(value: f64) -> String {
    match value {
        value if value < 1.095 => format!("{value:.1}×"),
        value if value < 9.95 => format!("{value:.2}×"),
        value => format!("{value:.0}×"),
    }
}

/// The shade of a ratio, on the same scale as the page of a suite.
fn shade(value: f64) -> &'static str {
    match value {
        value if value <= 1.1 => "r3",
        value if value <= 2.0 => "r4",
        value if value <= 5.0 => "r5",
        value if value <= 20.0 => "r6",
        value if value <= 100.0 => "r7",
        _ => "r8",
    }
}

/// Each suite with what it was asked to do.
fn measured(data: &PageData, suites: &[String]) -> String {
    let [storage, level, work] = ["storage", "durability", "work"].map(Cell::words);
    let [rows_of, threads, trials_of] = ["rows", "threads", "trials"].map(Cell::plain);
    let heads = [Cell::words("suite"), storage, level, rows_of, threads, trials_of, work];
    let mut lines = Vec::new();
    for suite in suites {
        let of_suite = || data.lines.iter().filter(|line| line.suite == *suite);
        let distinct = |values: BTreeSet<String>| Vec::from_iter(values).join(", ");
        let numbers = |values: BTreeSet<u64>| {
            let values: Vec<_> = values.into_iter().map(rows).collect();
            values.join(", ")
        };
        let trials: BTreeSet<_> = of_suite().map(|line| line.trials).collect();
        let trials = match (trials.first(), trials.last()) {
            (Some(least), Some(most)) if least != most => format!("{least} to {most}"),
            (Some(all), _) => all.to_string(),
            _ => String::new(),
        };
        let works = distinct(of_suite().map(|line| text(&line.work)).collect());
        lines.push(vec![
            Cell::plain(format!("<a href=\"{}\">{}</a>", suite_file(suite), name(suite))),
            Cell::words(distinct(of_suite().map(|line| text(&line.storage)).collect())),
            Cell::words(distinct(of_suite().map(|line| text(&line.wanted)).collect())),
            Cell::plain(numbers(of_suite().map(|line| line.rows).collect())),
            Cell::plain(numbers(of_suite().map(|line| u64::from(line.threads)).collect())),
            Cell::plain(trials),
            Cell::words(works),
        ]);
    }
    table("What was measured", &heads, &lines)
}

fn crashes(verdicts: &Verdicts) -> String {
    let all = &verdicts.verdicts;
    if all.is_empty() {
        return String::new();
    }
    let engines: HashSet<_> = all.iter().map(|verdict| &verdict.engine).collect();
    let rounds: u64 = all.iter().map(|verdict| u64::from(verdict.rounds)).sum();
    let broken = all.iter().filter(|verdict| verdict.is_refuted()).count();
    format!(
        "<section><h2>What survives a crash</h2>\n<p>{rounds} killed processes and power cuts of \
         {} engines; {broken} of {} levels did not keep their promise. \
         <a href=\"{CRASHES}\">Engine by level</a>.</p></section>\n",
        engines.len(),
        all.len()
    )
}

/// Each run file with the command that repeats it.
fn files(parts: &[Part]) -> String {
    let [begun, cells, failed] = ["begun", "cells", "failed"].map(Cell::plain);
    let heads = [Cell::words("run file"), begun, cells, failed, Cell::words("command")];
    let line = |part: &Part| {
        let (run, file) = (&part.run, part.file.as_deref().unwrap_or_default());
        let shown = file.rsplit('/').next().unwrap_or_default();
        let cells = match run.is_complete() {
            true => run.cells.len().to_string(),
            false => format!("{} of {}", run.cells.len(), run.planned_cells),
        };
        let failed = run.results().filter(|result| result.status.is_failure()).count();
        vec![
            Cell::plain(format!("<a href=\"{}\">{}</a>", text(file), name(shown))),
            Cell::plain(run.created.strftime("%Y-%m-%d %H:%M UTC").to_string()),
            Cell::plain(cells),
            Cell { class: if failed > 0 { "broken" } else { "" }, html: failed.to_string() },
            Cell::words(format!("<code>{}</code>", text(&run.command.join(" ")))),
        ]
    };
    table("Run files", &heads, &parts.iter().map(line).collect::<Vec<_>>())
        + "<p class=\"note\"><code>assay show FILE --details</code> prints a run file; \
           <code>assay compare</code> compares two.</p>\n"
}

fn machine_list(runs: &[&RunFile]) -> String {
    let of_run = |run: &&RunFile| {
        let Environment { distribution, governor, clock_source, transparent_huge_pages, .. } =
            &run.environment;
        format!(
            "<li>{}<br><span class=\"note\">{} · governor {} · clock {} · huge pages {} · {} · \
             opt-level {} · {}</span></li>\n",
            text(&of_machine(&run.environment)),
            text(distribution),
            text(governor.as_deref().unwrap_or("none visible")),
            text(clock_source),
            text(transparent_huge_pages),
            text(&run.build.rustc),
            text(&run.build.opt_level),
            text(&run.build.target),
        )
    };
    let all: BTreeSet<_> = runs.iter().map(of_run).collect();
    format!("<ul>\n{}</ul>\n", Vec::from_iter(all).concat())
}
