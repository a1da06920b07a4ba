//! The view for a terminal: for each kind of work a table with one line an engine, best first, each
//! figure with its ratio to the best of its column. `ranking` compares, `details` has what few
//! readers want, `grid` fits columns into a width.

mod ageing;
mod details;
pub(crate) mod grid;
mod latency;
mod ranking;
mod speed_up;

use std::collections::{HashMap, HashSet};

use assay_core::doctor::{Finding, Gravity};
use assay_core::engine::{EngineRef, WhichBuild};
use assay_core::plan::{Cell, PageCache};
use assay_core::run_file::{NO_TIME, RunFile, Status};
use assay_driver::{Durability, Storage};
use console::Style;

use crate::blocks::{Block, Distinct, Line, blocks};
use crate::format::{quantity, row_count, work};
use crate::marks::{self, Legend, Mark, Marked, PhaseMarks, untested};
use details::Calibrations;
use grid::{Column, Grid, paragraph, shown};
use ranking::{Group, Ranked, groups, is_absent};

/// The settings of the view of a run.
#[derive(Clone, Copy, Debug)]
pub struct View {
    /// True if intervals, the suite's own statistic, memory, space, settings and machine are shown.
    pub details: bool,
    /// True if there are colours and bold letters.
    pub color: bool,
    /// The columns that the view may take.
    pub width: usize,
}

impl View {
    /// The view that fits everywhere: 80 columns without colours.
    pub const PLAIN: Self = Self { details: false, color: false, width: 80 };
}

/// The most characters of an engine's name that is shown whole.
const NAME_WIDTH: usize = 24;

/// Renders a whole run.
pub fn render(run: &RunFile, view: View) -> String {
    let mut out = String::new();
    let blocks = blocks(run);
    let known = Known {
        elsewhere: if run.is_complete() { Elsewhere::of(&blocks) } else { Elsewhere::default() },
        calibrations: Calibrations::of(run),
    };
    for block in &blocks {
        Drawing { block, view, legend: Legend::default() }.draw(&mut out, &known);
    }
    if !run.is_complete() {
        let there = run.cells.len();
        let planned = run.planned_cells;
        out += &format!("\n not complete: {there} of {planned} cells are done\n");
    }
    if let Some(baseline) = &run.baseline {
        out.push('\n');
        paragraph(
            &mut out,
            &[format!("{}: {}", WhichBuild::Other, baseline.words())],
            "",
            view.width,
        );
    }
    if view.details {
        details::of_run(&mut out, run, view.width)
    } else {
        warnings_in_short(&mut out, run, view.width)
    }
    out
}

/// The parts of the rest of the run that a table needs.
struct Known<'r> {
    elsewhere: Elsewhere<'r>,
    calibrations: Calibrations<'r>,
}

/// The engines that did the same work in another storage mode.
#[derive(Default)]
struct Elsewhere<'r>(HashMap<(&'r str, u64, &'r str), Distinct<&'r EngineRef>>);

impl<'r> Elsewhere<'r> {
    fn of(blocks: &'r [Block<'r>]) -> Self {
        let mut engines: HashMap<_, Distinct<&EngineRef>> = HashMap::new();
        for block in blocks {
            let of_work = engines.entry(Self::key(block.cell)).or_default();
            block.lines.iter().for_each(|line| of_work.add(&line.cell().engine));
        }
        Self(engines)
    }

    fn key(cell: &Cell) -> (&str, u64, &str) {
        (&cell.suite, cell.rows, &cell.variant)
    }

    /// Returns the engines that have no line in a block.
    fn without_line_in(&self, block: &Block<'_>) -> Vec<&'r EngineRef> {
        let here: HashSet<_> = block.lines.iter().map(|line| &line.cell().engine).collect();
        let all = self.0.get(&Self::key(block.cell));
        let all = all.into_iter().flat_map(|engines| &engines.in_order);
        all.copied().filter(|engine| !here.contains(engine)).collect()
    }
}

/// A block that is being drawn.
struct Drawing<'b, 'r> {
    block: &'b Block<'r>,
    view: View,
    legend: Legend,
}

impl Drawing<'_, '_> {
    fn draw(mut self, out: &mut String, known: &Known<'_>) {
        let block = self.block;
        let view = self.view;
        heading(out, block, view);
        let phases = block.phases();
        let groups = groups(block, &phases);
        let lines = || groups.iter().flat_map(|group| &group.lines);
        if lines().next().is_some() {
            out.push('\n');
            let titles = self.titles(&groups);
            let figures = self.figures(&groups, &phases);
            Grid { titles, figures, groups: first_lines(&groups) }.draw(out, view.width);
        }
        speed_up::draw(out, block, &groups, &phases, view);
        ageing::draw(out, &groups, view.width);
        latency::draw(out, &groups, view);
        if view.details {
            details::of_lines(out, &groups, &phases, view.width);
        }
        let mut below = String::new();
        if lines().count() > groups.len() && lines().any(Ranked::is_compared) {
            let text = "× how many times faster the best figure of the column is".into();
            paragraph(&mut below, &[text], "", view.width);
        }
        for text in self.legend.texts() {
            paragraph(&mut below, &[text], "", view.width);
        }
        if let Some(text) = untested::of_block(block) {
            paragraph(&mut below, &[text], "", view.width);
        }
        not_measured(&mut below, block, &known.elsewhere, view.width);
        if !below.is_empty() {
            *out += &format!("\n{below}");
        }
        if view.details {
            details::of_block(out, block, &known.calibrations, view.width);
        }
    }

    /// Returns the columns that name a line.
    fn titles(&mut self, groups: &[Group<'_>]) -> Vec<Column> {
        let plain = grid::Cell::plain;
        let mut names = Vec::new();
        for group in groups {
            let most = group.most_ratios();
            names.extend(group.lines.iter().map(|ranked| plain(self.name(ranked, most))));
        }
        let each = |of: fn(&Cell) -> String| {
            let lines = groups.iter().flat_map(|group| &group.lines);
            lines.map(|ranked| plain(of(ranked.line.cell()))).collect::<Vec<_>>()
        };
        let mut titles = vec![Column::of_words("engine", names)];
        if has_several_threads(self.block) {
            let threads = each(|cell| cell.threads.to_string());
            titles.push(Column::of_figures("threads", threads));
        }
        titles.push(Column::of_words("keys", each(|cell| cell.key_kind.to_string())));
        if wanted_level(self.block).is_none() {
            let levels = each(|cell| cell.durability.to_string());
            titles.push(Column::of_words("durability", levels));
        }
        titles
    }

    /// Returns the engine's name with its marks.
    fn name(&mut self, ranked: &Ranked<'_>, most_ratios: usize) -> String {
        let line = ranked.line;
        let cell = line.cell();
        let name = shown(&cell.engine, NAME_WIDTH);
        let marks = marks::of_line(line);
        let (notes, marks): (Vec<_>, Vec<_>) =
            marks.into_iter().partition(|marked| marked.mark == Mark::Noted);
        let signs: String =
            marks.iter().map(|marked| self.legend.of_engine(&name, marked)).collect();
        let mut parts = Distinct::default();
        parts.add(name + &signs);
        match line.trouble() {
            Some(Status::Wrong(why)) => {
                parts.add(format!("wrong {}", self.legend.note(why.clone())));
            }
            Some(Status::Failed(why)) => {
                parts.add(format!("failed {}", self.legend.note(why.clone())));
            }
            Some(Status::Killed(why)) => {
                parts.add(format!("killed {}", self.legend.note(why.clone())));
            }
            _ => {}
        }
        for note in notes {
            parts.add(self.legend.note(note.text));
        }
        if let Some(count) = ranked.ranked_by(most_ratios) {
            let text = format!("ranked by {count} of {most_ratios} figures");
            parts.add(self.legend.note(text));
        }
        parts.in_order.join(" ")
    }

    /// Returns a column for each phase.
    fn figures(&mut self, groups: &[Group<'_>], phases: &[&str]) -> Vec<Column> {
        let lines: Vec<_> = groups.iter().flat_map(|group| &group.lines).collect();
        let columns = phases.iter().enumerate().map(|(at, phase)| {
            let marks = PhaseMarks::of(self.block, phase);
            let of_line = |ranked: &&Ranked<'_>| {
                let figure = ranked.figures[at].as_ref()?;
                Some(marks.of_figure(ranked.line, &figure.rate))
            };
            let mut marks: Vec<_> = lines.iter().filter_map(of_line).collect();
            let common = marks::in_common(&marks);
            marks.iter_mut().for_each(|of| of.retain(|marked| !common.contains(marked)));
            let mut marks = marks.into_iter();
            let shown = lines.iter().map(|ranked| match ranked.figures[at] {
                Some(figure) => Shown {
                    text: quantity(figure.rate.estimate.value),
                    marks: marks.next().map_or_else(String::new, |of| self.signs(&of)),
                    ratio: figure.ratio,
                },
                None => Shown {
                    text: self.missing(ranked.line, phase),
                    marks: String::new(),
                    ratio: None,
                },
            });
            let shown: Vec<_> = shown.collect();
            let head: String = common.iter().map(|marked| self.legend.of_head(marked)).collect();
            Column::of_figures(&format!("{phase}/s{head}"), cells(&shown, self.view.color))
        });
        columns.collect()
    }

    fn signs(&mut self, of: &[Marked]) -> String {
        of.iter().map(|marked| self.legend.of_figure(marked)).collect()
    }

    /// Returns the text in place of a missing figure.
    fn missing(&mut self, line: &Line<'_>, phase: &str) -> String {
        let why = if line.is_without_time(phase) { Some(NO_TIME) } else { line.not_offered(phase) };
        match why {
            Some(why) => format!("– {}", self.legend.note(why.into())),
            None => "–".into(),
        }
    }
}

/// A figure as a table shows it.
struct Shown {
    text: String,
    marks: String,
    ratio: Option<f64>,
}

/// Returns figures, marks and ratios of a column, which are aligned at their ends.
fn cells(column: &[Shown], color: bool) -> Vec<grid::Cell> {
    let widest = |texts: &mut dyn Iterator<Item = usize>| texts.max().unwrap_or(0);
    let ratios: Vec<_> =
        column.iter().map(|shown| shown.ratio.map(ratio_text).unwrap_or_default()).collect();
    let of_ratios = widest(&mut ratios.iter().map(|ratio| ratio.chars().count()));
    let of_marks = widest(&mut column.iter().map(|shown| shown.marks.chars().count()));
    let cells = column.iter().zip(ratios).map(|(Shown { text, marks, ratio }, shown)| grid::Cell {
        text: format!("{text}{marks:of_marks$} {shown:>of_ratios$}"),
        style: style(*ratio, color),
    });
    cells.collect()
}

/// Returns the first lines of groups, without the first group's.
fn first_lines(groups: &[Group<'_>]) -> Vec<usize> {
    let ends = groups.iter().scan(0, |lines, group| {
        *lines += group.lines.len();
        Some(*lines)
    });
    ends.collect()
}

/// Returns how many times as fast the best of a column is.
fn ratio_text(ratio: f64) -> String {
    match ratio {
        near if near < 9.95 => format!("{near:.1}×"),
        far if far < 9_999.5 => format!("{far:.0}×"),
        _ => "10k×".into(),
    }
}

/// Returns the style of a figure. The best figures are bold; those near to the best or far from it
/// have colours that people who do not tell red from green can tell apart.
fn style(ratio: Option<f64>, color: bool) -> Style {
    let style = Style::new().force_styling(color);
    match ratio {
        Some(best) if best <= 1.0 => style.cyan().bold(),
        Some(near) if near <= 2.0 => style.cyan(),
        Some(far) if far > 10.0 => style.yellow(),
        _ => style,
    }
}

/// Adds the work that was measured, and its place.
fn heading(out: &mut String, block: &Block<'_>, view: View) {
    let cell = block.cell;
    let mut parts = vec![shown(&cell.suite, NAME_WIDTH), place(cell.storage).to_string()];
    if cell.rows > 0 {
        parts.push(row_count(cell.rows));
    }
    parts.extend(
        wanted_level(block).and_then(|level| promise(level, cell.storage)).map(String::from),
    );
    if !has_several_threads(block) && cell.threads > 1 {
        parts.push(format!("{} threads", cell.threads));
    }
    parts.push(trials(block));
    let title = Style::new().force_styling(view.color).bold();
    out.push('\n');
    let mut text = String::new();
    paragraph(&mut text, &parts, " · ", view.width);
    for line in text.lines() {
        *out += &format!("{}\n", title.apply_to(line));
    }
    let mut parts = vec![work(cell)];
    parts.extend(wanted_level(block).map(|level| format!("durability {level}")));
    parts.extend((cell.storage == Storage::Disk).then(|| match cell.page_cache {
        PageCache::Warm => "page cache warm".to_string(),
        PageCache::Cold => "page cache cold".to_string(),
    }));
    parts.push(format!("seed {}", cell.seed));
    parts.retain(|part| !part.is_empty());
    paragraph(out, &parts, " · ", view.width);
}

fn place(storage: Storage) -> &'static str {
    match storage {
        Storage::Memory => "memory",
        Storage::Ramdisk => "RAM disk",
        Storage::Disk => "disk",
    }
}

/// Returns the level that all lines of a block were to have; none if they differ.
fn wanted_level(block: &Block<'_>) -> Option<Durability> {
    let wanted = block.cell.durability_wanted;
    block.lines.iter().all(|line| line.cell().durability_wanted == wanted).then_some(wanted)
}

/// Returns a level's promise in words; none if nothing could be promised.
fn promise(level: Durability, storage: Storage) -> Option<&'static str> {
    match level {
        Durability::None if storage == Storage::Memory => None,
        Durability::None => Some("survives no crash"),
        Durability::Process => Some("survives a killed process"),
        Durability::Periodic => Some("power loss costs an interval"),
        Durability::Commit => Some("survives power loss"),
    }
}

fn trials(block: &Block<'_>) -> String {
    let counts = || block.lines.iter().map(|line| line.trials.len());
    let least = counts().min().unwrap_or(0);
    let most = counts().max().unwrap_or(0);
    match (least, most) {
        (_, 1) => "1 trial".into(),
        (least, most) if least == most => format!("{most} trials"),
        _ => format!("{least} to {most} trials"),
    }
}

fn has_several_threads(block: &Block<'_>) -> bool {
    block.lines.iter().any(|line| line.cell().threads != block.cell.threads)
}

/// Adds the engines that are not in the table, with the reason if it is known.
fn not_measured(out: &mut String, block: &Block<'_>, elsewhere: &Elsewhere<'_>, width: usize) {
    let mut by_reason: Vec<(Option<&str>, Distinct<&EngineRef>)> = Vec::new();
    let mut positions = HashMap::new();
    let mut add = |why, engine| {
        let at = *positions.entry(why).or_insert(by_reason.len());
        if at == by_reason.len() {
            by_reason.push((why, Distinct::default()));
        }
        by_reason[at].1.add(engine);
    };
    for line in block.lines.iter().filter(|line| is_absent(line)) {
        if let Some(Status::Unsupported(why) | Status::Unavailable(why)) = line.trouble() {
            add(Some(why.as_str()), &line.cell().engine);
        }
    }
    elsewhere.without_line_in(block).into_iter().for_each(|engine| add(None, engine));
    if by_reason.is_empty() {
        return;
    }
    let texts = by_reason.into_iter().map(|(why, engines)| {
        let engines = engines.in_order.iter().map(|engine| shown(engine, NAME_WIDTH));
        let engines = engines.collect::<Vec<_>>().join(", ");
        match why {
            Some(why) => format!("{engines} ({why})"),
            None => engines,
        }
    });
    let text = format!("not here: {}", texts.collect::<Vec<_>>().join("; "));
    paragraph(out, &[text], "", width);
}

/// Adds a line with the names of `assay doctor`'s warnings at the start of the run.
fn warnings_in_short(out: &mut String, run: &RunFile, width: usize) {
    let mut subjects = Distinct::default();
    let about = |finding: &&Finding| finding.gravity == Gravity::Warning && concerns(finding, run);
    run.findings.iter().filter(about).for_each(|finding| subjects.add(finding.subject.as_str()));
    if !subjects.in_order.is_empty() {
        let text =
            format!("warnings: {} (--details says what to do)", subjects.in_order.join(", "));
        out.push('\n');
        paragraph(out, &[text], "", width);
    }
}

/// Returns true if a finding is about the machine, or about a storage mode that was measured.
fn concerns(finding: &Finding, run: &RunFile) -> bool {
    finding.storage.is_none_or(|of| run.results().any(|result| result.cell.storage == of))
}
