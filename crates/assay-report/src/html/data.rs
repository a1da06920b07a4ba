//! The data of the page, as its scripts read it: runs, engines, and a line for each engine and
//! workload. What is absent is left out.

use std::collections::{HashMap, HashSet};

use assay_core::chart::{Axes, LineChart};
use assay_core::plan::Cell;
use assay_driver::KeyKind;
use serde::Serialize;

use super::Part;
use super::facts::RunFacts;
use super::lines::{LineData, of_run};
use crate::palette::{Look, ON_DARK, ON_WHITE, looks};

/// All of it.
#[derive(Serialize)]
pub(crate) struct PageData {
    /// The colours of engines on white and on a dark page.
    palette: [Vec<String>; 2],
    runs: Vec<RunFacts>,
    pub(crate) engines: Vec<EngineData>,
    /// Texts that many lines share: settings and notes.
    texts: Vec<String>,
    pub(crate) lines: Vec<LineData>,
    charts: Vec<ChartData>,
}

impl PageData {
    pub(crate) fn has_figures(&self) -> bool {
        self.lines.iter().any(LineData::has_figures)
    }
}

/// An engine with chosen settings: a column of the matrix.
#[derive(Serialize)]
pub(crate) struct EngineData {
    name: String,
    /// The same for keys of both kinds.
    #[serde(skip)]
    pub(crate) of_any_keys: String,
    colour: usize,
    mark: usize,
}

/// A chart that a suite publishes.
#[derive(Serialize)]
struct ChartData {
    run: usize,
    title: String,
    x_label: String,
    y_label: String,
    is_log_x: bool,
    is_log_y: bool,
    lines: Vec<ChartLine>,
}

#[derive(Serialize)]
struct ChartLine {
    label: String,
    points: Vec<(f64, f64)>,
}

/// Finds the places of engines and of texts.
#[derive(Default)]
pub(super) struct Places {
    engines: HashMap<String, usize>,
    engine_data: Vec<EngineData>,
    texts: HashMap<String, usize>,
    text_data: Vec<String>,
    /// The engines that a suite measured with keys of both kinds: each kind is a column.
    of_both_kinds: HashSet<(String, String)>,
}

impl Places {
    pub(super) fn engine(&mut self, cell: &Cell, looks: &HashMap<&str, Look>) -> usize {
        let of_any_keys = crate::rows::engine(cell);
        let mut name = of_any_keys.clone();
        if self.of_both_kinds.contains(&(cell.suite.clone(), cell.engine.clone())) {
            name += match cell.key_kind {
                KeyKind::Hash => " hash",
                KeyKind::Tree => " tree",
            };
        }
        let next = self.engine_data.len();
        *self.engines.entry(name).or_insert_with_key(|name| {
            let Look { colour, mark } =
                looks.get(cell.engine.as_str()).copied().unwrap_or_default();
            let name = name.clone();
            self.engine_data.push(EngineData { name, of_any_keys, colour, mark });
            next
        })
    }

    pub(super) fn text(&mut self, text: String) -> usize {
        let next = self.text_data.len();
        *self.texts.entry(text).or_insert_with_key(|text| {
            self.text_data.push(text.clone());
            next
        })
    }
}

pub(crate) fn of(parts: &[Part]) -> PageData {
    let looks = looks(parts.iter().map(|part| &part.run));
    let mut places = Places { of_both_kinds: of_both_kinds(parts), ..Places::default() };
    let mut lines = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        lines.extend(of_run(&part.run, at, &mut places, &looks));
    }
    let charts = parts
        .iter()
        .enumerate()
        .flat_map(|(run, part)| part.charts.iter().map(move |chart| ChartData::of(run, chart)));
    let hex = |palette: [[u8; 3]; 8]| {
        palette.into_iter().map(|[red, green, blue]| format!("#{red:02x}{green:02x}{blue:02x}"))
    };
    PageData {
        palette: [hex(ON_WHITE).collect(), hex(ON_DARK).collect()],
        runs: parts.iter().map(RunFacts::of).collect(),
        charts: charts.filter(|chart| !chart.lines.is_empty()).collect(),
        engines: places.engine_data,
        texts: places.text_data,
        lines,
    }
}

/// Suites and engines.
fn of_both_kinds(parts: &[Part]) -> HashSet<(String, String)> {
    let mut first = HashMap::new();
    let mut both = HashSet::new();
    for result in parts.iter().flat_map(|part| part.run.results()) {
        let cell = &result.cell;
        let kind = *first.entry((&cell.suite, &cell.engine)).or_insert(cell.key_kind);
        if kind != cell.key_kind {
            both.insert((cell.suite.clone(), cell.engine.clone()));
        }
    }
    both
}

impl ChartData {
    fn of(run: usize, chart: &LineChart) -> Self {
        let line = |line: &assay_core::chart::Line| ChartLine {
            label: line.label.clone(),
            points: line.points.clone(),
        };
        Self {
            run,
            title: chart.title.clone(),
            x_label: chart.x_label.clone(),
            y_label: chart.y_label.clone(),
            is_log_x: chart.axes == Axes::Logarithmic,
            is_log_y: chart.axes != Axes::Linear,
            lines: chart.lines.iter().filter(|line| !line.points.is_empty()).map(line).collect(),
        }
    }
}
