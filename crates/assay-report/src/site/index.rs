//! The index of a site: the standing of engines, the measurements, and the run files.

use std::collections::{BTreeSet, HashSet};

use assay_core::durability::{Promise, Verdicts};
use assay_core::environment::Environment;
use assay_core::isolation;
use assay_core::run_file::{RunFile, Status};

use super::frame::{self, Cell, table};
use super::standing_table::{standing, switch};
use super::{CRASHES, INDEX, ISOLATION, SitePage, Tests, suite_file};
use crate::format::{bytes, rows};
use crate::html::data::{self, PageData};
use crate::html::{About, Link, PageError, Part};
use crate::markup::{name, text};

/// Returns the index of all runs, each with its file.
pub(super) fn page(
    parts: &[Part],
    suites: &[String],
    tests: Tests<'_>,
    links: &[Link],
    about: About<'_>,
) -> Result<SitePage, PageError> {
    let data = data::of(parts, about);
    if !data.has_figures() {
        return Err(PageError::Nothing);
    }
    let runs: Vec<&RunFile> = parts.iter().map(|part| &part.run).collect();
    let machines = machines(&runs);
    let mut body = format!(
        "<header><h1>Assay results</h1>{LEAD}{}</header>\n<main>\n{}",
        facts(&runs),
        switch(&data)
    );
    for machine in &machines {
        let title = match machines.len() {
            1 => "How engines stand".to_string(),
            _ => format!("How engines stand on {}", text(machine)),
        };
        let standing = standing(&data, |line| of_machine(&runs[line.run].environment) == *machine);
        body += &format!("<section><h2>{title}</h2>\n{standing}</section>\n");
    }
    body +=
        &format!("<section><h2>What was measured</h2>\n{}</section>\n", measured(&data, suites));
    body += &crashes(tests.crashes);
    body += &isolated(tests.isolation);
    body += &format!("<section><h2>Run files</h2>\n{}</section>\n", files(parts));
    body += &format!("<section><h2>Machines</h2>\n{}</section>\n</main>\n", machine_list(&runs));
    Ok(SitePage { file: INDEX.into(), text: frame::page("Assay results", links, &body) })
}

const LEAD: &str = "\
<p class=\"lead\">How fast embedded databases do the work of published benchmarks, and what of it \
survives a crash. Assay ran each engine in a process of its own and compared every answer with \
what it had to be. The run files below have all that was measured.</p>\n";

/// Returns numbers of runs, engines, cells and trials, with dates and builds, in two lines.
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
    let measured = || results().filter(|result| result.status == Status::Measured);
    let cells: HashSet<_> = measured().map(|result| result.cell.line()).collect();
    let builds: BTreeSet<_> = runs.iter().map(|run| &run.build.version).collect();
    let builds: Vec<_> = builds.into_iter().map(|build| format!("assay {}", text(build))).collect();
    let count_of_runs = match runs.len() {
        1 => "1 run".to_string(),
        count => format!("{count} runs"),
    };
    format!(
        "<p class=\"facts\">{count_of_runs} · {} engines · {} cells in {} trials · {when} · {}</p>",
        engines.len(),
        cells.len(),
        measured().count(),
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

/// Returns each suite with the work that it was asked to do.
fn measured(data: &PageData, suites: &[String]) -> String {
    let [storage, level, work] = ["storage", "durability", "work"].map(Cell::words);
    let [rows_of, threads, trials_of] = ["rows", "threads", "trials"].map(Cell::plain);
    let heads = [Cell::words("suite"), storage, level, rows_of, threads, trials_of, work];
    let mut lines = Vec::new();
    for suite in suites {
        let of_suite = || data.lines.iter().filter(|line| line.suite == *suite);
        let distinct = |values: BTreeSet<String>| Vec::from_iter(values).join(", ");
        let numbers = |values: BTreeSet<u64>| {
            // A suite whose work has no size gives 0.
            let values: Vec<_> = values.into_iter().filter(|value| *value > 0).collect();
            let are_next = |pair: &[u64]| pair[0] + 1 == pair[1];
            match values.as_slice() {
                [] => "–".into(),
                [first, .., last] if values.len() > 3 && values.windows(2).all(are_next) => {
                    format!("{first} to {last}")
                }
                _ => values.into_iter().map(rows).collect::<Vec<_>>().join(", "),
            }
        };
        let threads = || of_suite().flat_map(|line| &line.phases).map(|phase| phase.threads);
        let trials: BTreeSet<_> = of_suite().map(|line| line.trials).collect();
        let trials = match (trials.first(), trials.last()) {
            (Some(least), Some(most)) if least != most => format!("{least} to {most}"),
            (Some(all), _) => all.to_string(),
            _ => String::new(),
        };
        let works: BTreeSet<_> = of_suite().map(|line| text(&line.work)).collect();
        lines.push(vec![
            Cell::plain(format!("<a href=\"{}\">{}</a>", suite_file(suite), name(suite))),
            Cell::words(distinct(of_suite().map(|line| text(&line.storage)).collect())),
            Cell::words(distinct(of_suite().map(|line| text(&line.wanted)).collect())),
            Cell::plain(numbers(of_suite().map(|line| line.rows).collect())),
            Cell::plain(numbers(threads().map(u64::from).collect())),
            Cell::plain(trials),
            Cell::words(folded(works)),
        ]);
    }
    table("What was measured", &heads, &lines)
}

/// The most texts that are shown; more are behind a line that counts them.
const MOST_TEXTS: usize = 2;

fn folded(works: BTreeSet<String>) -> String {
    let count = works.len();
    let list = Vec::from_iter(works).join("<br>");
    if count > MOST_TEXTS {
        format!("<details><summary>{count} kinds</summary>{list}</details>")
    } else {
        list
    }
}

fn crashes(verdicts: &Verdicts) -> String {
    let all: Vec<_> = verdicts.verdicts.iter().filter(|verdict| verdict.faults.is_none()).collect();
    if all.is_empty() {
        return String::new();
    }
    let engines: HashSet<_> = all.iter().map(|verdict| &verdict.engine).collect();
    let crashed = all.iter().filter(|verdict| verdict.promise != Promise::Copy);
    let rounds: u64 = crashed.map(|verdict| u64::from(verdict.rounds)).sum();
    let promised = |is_strict: bool| {
        all.iter().filter(move |verdict| {
            let is_promise = !matches!(verdict.promise, Promise::Nothing | Promise::Copy);
            is_promise && verdict.strict_directories == is_strict
        })
    };
    let broken = |is_strict| promised(is_strict).filter(|verdict| verdict.is_refuted());
    let list: BTreeSet<_> = broken(false)
        .map(|verdict| format!("{} at {}", name(&verdict.engine), verdict.durability))
        .collect();
    let named = if list.is_empty() {
        String::new()
    } else {
        format!(" ({})", Vec::from_iter(list).join(", "))
    };
    let strict = match promised(true).count() {
        0 => String::new(),
        count => format!(
            " By the strict rule, under which a file's name survives only if its directory was \
             synchronised, {} of {count} more broke it.",
            broken(true).count()
        ),
    };
    format!(
        "<section><h2>What survives a crash</h2>\n<p>{rounds} killed processes and power cuts of \
         {} engines. On file systems that keep a synchronised file's name, as ext4 does, {} of {} \
         tests of a level's promise broke it{named}.{strict} \
         <a href=\"{CRASHES}\">Engine by level</a>.</p></section>\n",
        engines.len(),
        broken(false).count(),
        promised(false).count(),
    )
}

/// Returns the section of isolation; nothing if no engine was looked at.
fn isolated(verdicts: &isolation::Verdicts) -> String {
    let all = &verdicts.verdicts;
    if all.is_empty() {
        return String::new();
    }
    let engines: HashSet<_> = all.iter().map(|verdict| &verdict.engine).collect();
    let refuted: BTreeSet<_> = all
        .iter()
        .filter(|verdict| verdict.is_refuted())
        .map(|verdict| name(&verdict.engine))
        .collect();
    let against = if refuted.is_empty() {
        "none showed an anomaly that its documentation excludes".into()
    } else {
        let list = Vec::from_iter(refuted).join(", ");
        format!("anomalies that the documentation, or every level, excludes were seen of {list}")
    };
    format!(
        "<section><h2>{}</h2>\n<p>{} engines: {against}. <a href=\"{ISOLATION}\">Engine by \
         anomaly</a>.</p></section>\n",
        super::isolation::TITLE,
        engines.len()
    )
}

/// Returns each run file with the command that repeats it.
fn files(parts: &[Part]) -> String {
    let [begun, cells, failed] = ["begun", "cells", "failed"].map(Cell::plain);
    let heads = [Cell::words("run file"), begun, cells, failed, Cell::words("command")];
    let line = |part: &Part| {
        let run = &part.run;
        let file = part.file.as_deref().unwrap_or_default();
        let shown = file.rsplit('/').next().unwrap_or_default();
        let cells = if run.is_complete() {
            run.cells.len().to_string()
        } else {
            format!("{} of {}", run.cells.len(), run.planned_cells)
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
