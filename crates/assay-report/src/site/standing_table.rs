//! The standing of engines, as HTML: a verdict, a table with marks, and the table without the
//! authors' own engine.

use super::frame::{Cell, table};
use super::standing::{Column, Entry, Score, Standing};
use super::suite_file;
use crate::html::data::PageData;
use crate::html::lines::LineData;
use crate::marks::untested::Untested;
use crate::marks::{Legend, Mark, Marked};
use crate::markup::{name, text};

/// Returns the switch that hides the authors' own engine, for pages that have it. It is before all
/// tables, so that style alone can hide the engine.
pub(super) fn switch(data: &PageData) -> String {
    let Some(engine) = data.engines.iter().find(|engine| engine.is_own) else {
        return String::new();
    };
    format!(
        "<input type=\"checkbox\" id=\"hide-own\"> <label for=\"hide-own\">hide {}, the authors' \
         own engine</label>\n",
        name(&engine.of_any_keys)
    )
}

/// Returns the standing of the engines in the lines for which `is_here` holds.
pub(super) fn standing(data: &PageData, is_here: impl Fn(&LineData) -> bool) -> String {
    let with_own = Standing::of(data, &is_here);
    let table = standing_table(&with_own, untested_levels(data, &is_here));
    if !with_own.engines.iter().any(|entry| entry.is_own) {
        return table;
    }
    let is_other = |line: &LineData| is_here(line) && !data.engines[line.engine].is_own;
    let without_own = Standing::of(data, is_other);
    format!(
        "<div class=\"with-own\">\n{}{table}</div>\n<div class=\"without-own\">\n{}</div>\n",
        verdict(&with_own),
        standing_table(&without_own, untested_levels(data, is_other))
    )
}

/// Returns the engines and levels that no crash test has tested.
fn untested_levels(data: &PageData, is_here: impl Fn(&LineData) -> bool) -> Option<String> {
    let mut untested = Untested::default();
    let counts = |line: &&LineData| is_here(line) && line.has_figures() && line.promises();
    for line in data.lines.iter().filter(counts) {
        let engine = format!("{} at {}", data.engines[line.engine].of_any_keys, line.level);
        untested.add(engine, line.is_crash_tested());
    }
    untested.says()
}

/// Returns where the authors' own engine is behind, and how often it is first.
fn verdict(standing: &Standing) -> String {
    let own = standing
        .engines
        .iter()
        .filter(|entry| entry.is_own)
        .min_by_key(|own| own.scores.iter().filter(|score| score.is_none()).count());
    let Some(own) = own else { return String::new() };
    let mut behind = Vec::new();
    let mut first = 0;
    for (at, column) in standing.columns.iter().enumerate() {
        let Some(score) = &own.scores[at] else { continue };
        let leader = leader(standing, at);
        match leader.filter(|(_, leader)| leader.value < score.value) {
            None => first += 1,
            Some((engine, leader)) => behind.push(format!(
                "{} · {} ({}: {})",
                text(&column.suite),
                text(&column.storage),
                name(engine),
                times(score.value / leader.value)
            )),
        }
    }
    let title = name(&own.engine);
    let words = match behind.len() {
        0 => format!("{title}, the authors' own engine, is first in every column"),
        count => format!(
            "{title}, the authors' own engine, is behind another in {count} of {} columns, by \
             this many times: {}",
            count + first,
            behind.join(", ")
        ),
    };
    format!("<p class=\"verdict\">{words}.</p>\n")
}

/// Returns the best engine of a column among those that have most of its cells.
fn leader(standing: &Standing, at: usize) -> Option<(&str, &Score)> {
    let scores = || standing.engines.iter().filter_map(|one| Some((one, one.scores[at].as_ref()?)));
    let most = scores().map(|(_, score)| score.cells).max()?;
    let whole = scores().filter(|(_, score)| score.cells == most);
    let best = whole.min_by(|(_, a), (_, b)| a.value.total_cmp(&b.value))?;
    Some((&best.0.engine, best.1))
}

const NOTE: &str = "\
<p class=\"note\">A figure is the geometric mean of (10 ns + time) ÷ (10 ns + best time) over all \
operations, sizes and numbers of threads: 1.0× would be the fastest at each of them. A fraction \
below it says over how many of them it is. An engine stands below each that is faster over what \
both have. A column is a suite, where its data is, and the durability that was asked for; it leads \
to all figures.</p>\n";

fn standing_table(standing: &Standing, untested: Option<String>) -> String {
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
    let mut legend = Legend::default();
    let rows: Vec<_> =
        standing.engines.iter().map(|entry| row(entry, standing, &mut legend)).collect();
    let says: Vec<_> = legend
        .texts()
        .iter()
        .chain(&untested)
        .map(|words| format!("<li>{}</li>\n", text(words)))
        .collect();
    let signs = if says.is_empty() {
        String::new()
    } else {
        format!("<ul class=\"marks\" aria-label=\"Signs\">\n{}</ul>\n", says.concat())
    };
    table("How engines stand", &heads, &rows) + &signs + NOTE
}

fn row(entry: &Entry, standing: &Standing, legend: &mut Legend) -> Vec<Cell> {
    let own = if entry.is_own {
        let sign = legend.of_engine(&entry.engine, &Marked::own_engine());
        format!(" {sign}<small>{}</small>", Mark::OwnEngine.short())
    } else {
        String::new()
    };
    let mut row = vec![Cell::plain(name(&entry.engine) + &own)];
    let scores = entry.scores.iter().zip(&standing.columns);
    row.extend(scores.map(|(score, column)| cell(score.as_ref(), &entry.engine, column, legend)));
    row
}

fn place_of(column: &Column) -> String {
    let file = suite_file(&column.suite);
    let part = "storage";
    format!("{file}#{part}={}&amp;level={}", text(&column.storage), text(&column.level))
}

fn cell(score: Option<&Score>, engine: &str, column: &Column, legend: &mut Legend) -> Cell {
    let Some(Score { value, cells, of, marks }) = score else {
        return Cell { class: "none", html: "<span title=\"no figures\">–</span>".into() };
    };
    let few = if cells < of { format!("<small>{cells} of {of}</small>") } else { String::new() };
    let html = format!(
        "<a href=\"{}\">{}</a>{}{few}",
        place_of(column),
        times(*value),
        signs(marks, engine, legend)
    );
    Cell { class: shade(*value), html }
}

fn signs(marks: &[Marked], engine: &str, legend: &mut Legend) -> String {
    // The mark of the authors' engine is at its name.
    let marks: Vec<_> = marks.iter().filter(|marked| marked.mark != Mark::OwnEngine).collect();
    let all: String = marks
        .iter()
        .map(|marked| {
            if marked.mark.is_of_figures() {
                legend.of_most(marked).into()
            } else {
                legend.of_engine(engine, marked)
            }
        })
        .collect();
    let words: Vec<_> = marks.iter().map(|marked| marked.text.as_str()).collect();
    if all.is_empty() {
        String::new()
    } else {
        format!(" <span title=\"{}\">{}</span>", text(&words.join("; ")), text(&all))
    }
}

/// Returns a factor as text: `1.0×`, `2.34×`, `23×`.
fn times(value: f64) -> String {
    match value {
        value if value < 1.095 => format!("{value:.1}×"),
        value if value < 9.95 => format!("{value:.2}×"),
        value => format!("{value:.0}×"),
    }
}

/// Returns the shade of a ratio, on the scale of a suite's page.
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
