//! The report: one page with everything in it, for people to look at. It needs no network, and
//! without JavaScript it is still a report, only not sorted and filtered.

use std::fmt::{self, Write};

use assay_core::chart::LineChart;
use assay_core::doctor::{Finding, Gravity};
use assay_core::estimate::{Bounds, TRIALS_LEAST};
use assay_core::run_file::RunFile;

use crate::blocks::Distinct;
use crate::format::{bytes, duration_ns, quantity, rows as row_count};
use crate::latencies::{Taken, charts, of_first_trials, percentiles};
use crate::plot::{PlotError, Svg, line_svgs, svgs};
use crate::rows::{Row, of_run};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// A run, and the line charts that its suites publish.
pub struct Part {
    /// The run.
    pub run: RunFile,
    /// The charts.
    pub charts: Vec<LineChart>,
}

/// Renders runs as one page.
///
/// # Errors
/// When nothing was measured in any of them, or a picture cannot be drawn.
pub fn render(parts: &[Part]) -> Result<String, PlotError> {
    let all: Vec<Row> = parts.iter().flat_map(|part| of_run(&part.run)).collect();
    if all.iter().all(|row| row.rate.is_none()) {
        return Err(PlotError::Nothing);
    }
    let mut pictures = Vec::new();
    for part in parts {
        let published = line_svgs(&part.charts)?;
        // A suite that publishes lines is not drawn as bars too.
        pictures.extend(if published.is_empty() { svgs(&part.run)? } else { published });
        pictures.extend(line_svgs(&charts([&part.run]))?);
    }
    let mut page = String::new();
    write_page(&mut page, parts, &all, &pictures).expect("text can be written to memory");
    Ok(page)
}

fn write_page(out: &mut String, parts: &[Part], all: &[Row], pictures: &[Svg]) -> fmt::Result {
    let mut suites: Vec<&str> = all.iter().map(|row| row.suite.as_str()).collect();
    suites.sort_unstable();
    suites.dedup();
    let title = format!("Assay: {}", suites.join(", "));
    writeln!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{}</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>\n{STYLE}</style>\n\
         </head>\n<body>",
        escape(&title)
    )?;
    writeln!(out, "<header><h1>{}</h1>", escape(&title))?;
    for part in parts {
        let machine = &part.run.environment;
        writeln!(
            out,
            "<p class=\"faint\">{} · {} · {} CPUs · {} memory · {}</p>",
            part.run.created.strftime("%Y-%m-%d %H:%M UTC"),
            escape(&machine.cpu_model),
            machine.cpus,
            bytes(machine.memory_bytes),
            escape(&machine.kernel)
        )?;
        if !part.run.is_complete() {
            writeln!(
                out,
                "<p class=\"warning\">not complete: {} of {} cells are in this run</p>",
                part.run.cells.len(),
                part.run.planned_cells
            )?;
        }
        for finding in part.run.findings.iter().filter(|f| f.gravity == Gravity::Warning) {
            let Finding { subject, found, advice, .. } = finding;
            writeln!(
                out,
                "<p class=\"warning\"><strong>{}</strong>: {}; {}</p>",
                escape(subject),
                escape(found),
                escape(advice)
            )?;
        }
    }
    writeln!(
        out,
        "<nav><a href=\"#pictures\">Pictures</a><a href=\"#figures\">Figures</a>\
         <a href=\"#latencies\">Latencies</a><a href=\"#how\">How</a></nav></header>\n<main>"
    )?;
    writeln!(out, "<h2 id=\"pictures\">Pictures</h2>")?;
    for picture in pictures {
        writeln!(
            out,
            "<figure role=\"img\" aria-label=\"{}\">{}</figure>",
            escape(&picture.title),
            picture.text
        )?;
    }
    figures(out, all)?;
    latencies(out, parts)?;
    how(out, parts)?;
    writeln!(out, "</main>\n<script>\n{SCRIPT}</script>\n</body>\n</html>")
}

/// The columns of the table: title, and whether it sorts by number.
const HEADS: [(&str, bool); 13] = [
    ("engine", false),
    ("phase", false),
    ("operations/s", true),
    ("durability", false),
    ("storage", false),
    ("rows", true),
    ("threads", true),
    ("suite", false),
    ("work", false),
    ("memory", true),
    ("on disk", true),
    ("written", true),
    ("close", true),
];

/// A choice above the table.
struct Filter {
    /// The place of its column in [`HEADS`].
    column: usize,
    name: &'static str,
    value: fn(&Row) -> &str,
}

const FILTERS: [Filter; 5] = [
    Filter { column: 7, name: "suite", value: |row| &row.suite },
    Filter { column: 4, name: "storage", value: |row| &row.storage },
    Filter { column: 0, name: "engine", value: |row| &row.engine },
    Filter { column: 3, name: "durability", value: |row| &row.durability },
    Filter { column: 1, name: "phase", value: |row| &row.phase },
];

fn figures(out: &mut String, all: &[Row]) -> fmt::Result {
    writeln!(out, "<h2 id=\"figures\">Figures</h2>")?;
    writeln!(
        out,
        "<p>Operations a second are medians over trials of the median of a trial's rounds. Below \
         stands the 95 % interval, from {TRIALS_LEAST} trials on; with fewer, the range of rounds. \
         Click a heading to sort.</p>\n<div class=\"filters\">"
    )?;
    for Filter { column, name, value } in FILTERS {
        let mut values: Vec<&str> =
            all.iter().map(value).filter(|value| !value.is_empty()).collect();
        values.sort_unstable();
        values.dedup();
        write!(
            out,
            "<label>{name}<select data-column=\"{column}\"><option value=\"\">all</option>"
        )?;
        for value in values {
            write!(out, "<option>{}</option>", escape(value))?;
        }
        writeln!(out, "</select></label>")?;
    }
    writeln!(
        out,
        "<label>search<input id=\"search\" type=\"search\" placeholder=\"words\"></label></div>\n\
         <p id=\"shown\" class=\"faint\" aria-live=\"polite\"></p>\n\
         <div class=\"wide\"><table id=\"results\"><thead><tr>"
    )?;
    for (title, is_number) in HEADS {
        let kind = if is_number { "number" } else { "text" };
        writeln!(
            out,
            "<th data-kind=\"{kind}\" scope=\"col\"><button type=\"button\">{title}</button></th>"
        )?;
    }
    writeln!(out, "</tr></thead><tbody>")?;
    let most = all.iter().filter_map(|row| row.rate).map(|r| r.value).fold(0.0, f64::max);
    for row in all {
        figure_row(out, row, most)?;
    }
    writeln!(out, "</tbody></table></div>")
}

fn figure_row(out: &mut String, row: &Row, most: f64) -> fmt::Result {
    let text = |out: &mut String, value: &str| {
        let value = escape(value);
        write!(out, "<td data-value=\"{value}\">{value}</td>")
    };
    let number = |out: &mut String, value: Option<f64>, shown: &str| {
        let data = value.map_or_else(String::new, |value| value.to_string());
        write!(out, "<td class=\"number\" data-value=\"{data}\">{shown}</td>")
    };
    write!(out, "<tr>")?;
    text(out, &row.engine)?;
    text(out, &row.phase)?;
    match row.rate {
        Some(rate) => {
            let mut shown = quantity(rate.value);
            let word = if rate.interval().is_some() { "" } else { "range " };
            if let Some(Bounds { low, high }) = rate.spread.bounds() {
                let (low, high) = (quantity(low), quantity(high));
                let _ = write!(shown, "<span class=\"interval\">{word}{low} – {high}</span>");
            }
            let width = rate.value / most.max(1.0) * 100.0;
            let _ = write!(shown, "<span class=\"bar\" style=\"width:{width:.1}%\"></span>");
            number(out, Some(rate.value), &shown)?;
        }
        None => {
            let status = escape(&row.status);
            write!(out, "<td class=\"bad words\" data-value=\"\">{status}</td>")?;
        }
    }
    let level = escape(&row.durability);
    write!(out, "<td data-value=\"{level}\">{level}")?;
    if !row.refuted.is_empty() {
        let why = escape(&row.refuted);
        write!(out, " <span class=\"bad\" title=\"{why}\">refuted</span>")?;
    }
    write!(out, "</td>")?;
    text(out, &row.storage)?;
    number(out, Some(row.rows as f64), &row_count(row.rows))?;
    number(out, Some(f64::from(row.threads)), &row.threads.to_string())?;
    text(out, &row.suite)?;
    let work = escape(&row.work);
    write!(out, "<td class=\"words\" data-value=\"{work}\">{work}</td>")?;
    let dash = || "–".to_string();
    for value in [row.memory_bytes, row.disk_bytes, row.written_bytes] {
        number(out, value.map(|value| value as f64), &value.map_or_else(dash, bytes))?;
    }
    let close = row.close_ns;
    number(out, close.map(|value| value as f64), &close.map_or_else(dash, duration_ns))?;
    writeln!(out, "</tr>")
}

fn latencies(out: &mut String, parts: &[Part]) -> fmt::Result {
    writeln!(out, "<h2 id=\"latencies\">Latencies</h2>")?;
    let all: Vec<_> = parts.iter().flat_map(|part| of_first_trials(&part.run)).collect();
    if all.is_empty() {
        return writeln!(out, "<p class=\"faint\">None of these runs measured latencies.</p>");
    }
    writeln!(
        out,
        "<div class=\"wide\"><table><thead><tr><th>work</th><th>engine</th><th>operation</th>\
         <th>count</th><th>p50</th><th>p90</th><th>p95</th><th>p99</th><th>p99.9</th>\
         <th>p99.99</th><th>max</th></tr></thead><tbody>"
    )?;
    for Taken { work, engine, latency } in all {
        write!(
            out,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td class=\"number\">{}</td>",
            escape(&work),
            escape(&engine),
            escape(&latency.operation.to_lowercase()),
            latency.count
        )?;
        for (_, ns) in percentiles(latency) {
            let text = ns.map_or_else(|| "–".into(), duration_ns);
            write!(out, "<td class=\"number\">{text}</td>")?;
        }
        writeln!(out, "<td class=\"number\">{}</td></tr>", duration_ns(latency.max_ns))?;
    }
    writeln!(out, "</tbody></table></div>")
}

fn how(out: &mut String, parts: &[Part]) -> fmt::Result {
    writeln!(out, "<h2 id=\"how\">How</h2>")?;
    for part in parts {
        let run = &part.run;
        writeln!(out, "<p>This repeats it:</p><pre>{}</pre>", escape(&run.command.join(" ")))?;
        let machine = &run.environment;
        let governor = machine.governor.as_deref().unwrap_or("none visible");
        writeln!(
            out,
            "<dl><dt>machine</dt><dd>{} · {} CPUs · {} memory · {} · {}</dd>\
             <dt>state</dt><dd>load {:.2} at the start · governor {} · clock {} · \
             huge pages {}</dd>\
             <dt>build</dt><dd>assay {} · {} · opt-level {} · {}</dd></dl>",
            escape(&machine.cpu_model),
            machine.cpus,
            bytes(machine.memory_bytes),
            escape(&machine.kernel),
            escape(&machine.distribution),
            machine.load_1min,
            escape(governor),
            escape(&machine.clock_source),
            escape(&machine.transparent_huge_pages),
            escape(&run.build.version),
            escape(&run.build.rustc),
            escape(&run.build.opt_level),
            escape(&run.build.target)
        )?;
        let mut told = Distinct::default();
        for result in run.results().filter(|result| !result.measurement.settings.is_empty()) {
            let measurement = &result.measurement;
            let line = format!(
                "<li><strong>{}</strong> {}: {}</li>",
                escape(&result.cell.engine),
                escape(&measurement.engine_version),
                escape(&measurement.settings.join(" · "))
            );
            told.add(line);
        }
        let list = told.in_order.concat();
        writeln!(out, "<p>Settings of the engines:</p><ul>{list}</ul>")?;
    }
    Ok(())
}

fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            other => escaped.push(other),
        }
    }
    escaped
}
