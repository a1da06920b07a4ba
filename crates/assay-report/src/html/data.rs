//! The data of the page, as its scripts read it: runs, engines, and a line for each engine and
//! workload. Missing values are left out.

use std::collections::{BTreeMap, HashMap, HashSet};

use assay_core::chart::{Axes, LineChart};
use assay_core::engine::{EngineRef, OWN_ENGINES};
use assay_core::plan::Cell;
use assay_core::run_file::RunFile;
use assay_driver::KeyKind;
use serde::Serialize;

use super::facts::RunFacts;
use super::lines::{LineData, MarkData, is_not, of_run};
use super::{About, Part};
use crate::advice::sheet::Sheet;
use crate::marks::{Mark, Marked};
use crate::palette::{Look, MARKS, ON_DARK, ON_WHITE, looks};

/// The data of a page.
#[derive(Serialize)]
pub(crate) struct PageData {
    /// The colours of engines on white and on a dark page.
    palette: [Vec<String>; 2],
    runs: Vec<RunFacts>,
    /// Descriptions of suites, by their ids.
    suites: BTreeMap<String, &'static str>,
    pub(crate) engines: Vec<EngineData>,
    /// The list of marks.
    marks: [MarkFacts; Mark::ALL.len()],
    /// Texts that many lines share: settings and the texts of marks.
    pub(crate) texts: Vec<String>,
    pub(crate) lines: Vec<LineData>,
    charts: Vec<ChartData>,
    advice: Vec<AdviceData>,
}

impl PageData {
    pub(crate) fn has_figures(&self) -> bool {
        self.lines.iter().any(LineData::has_figures)
    }

    /// Returns a mark with its words.
    pub(crate) fn marked(&self, mark: MarkData) -> Marked {
        let (mark, text, _) = mark;
        Marked { mark: Mark::ALL[mark], text: self.texts[text].clone() }
    }
}

/// The conclusion of a run that answers a question.
#[derive(Serialize)]
struct AdviceData {
    whole: Sheet,
    /// The conclusion about the engines of others.
    without_own: Sheet,
}

impl AdviceData {
    fn of(run: &RunFile) -> Option<Self> {
        let whole = Sheet::of(run)?;
        let mut others = run.clone();
        others.cells.retain(|result| !result.cell.engine.is_own());
        if let Some(advice) = &mut others.advice {
            advice.left_out.retain(|left_out| !OWN_ENGINES.contains(&left_out.engine.as_str()));
        }
        Some(Self { whole, without_own: Sheet::of(&others)? })
    }
}

/// An engine with chosen settings: a column of the matrix.
#[derive(Serialize)]
pub(crate) struct EngineData {
    name: String,
    /// The engine's id.
    id: String,
    /// The engine's name without the kind of its keys.
    #[serde(skip)]
    pub(crate) of_any_keys: String,
    /// True if the engine is by the authors of this instrument.
    #[serde(skip_serializing_if = "is_not")]
    pub(crate) is_own: bool,
    colour: usize,
    mark: usize,
}

/// A mark, as the page shows it.
#[derive(Serialize)]
struct MarkFacts {
    sign: &'static str,
    id: &'static str,
    is_of_figures: bool,
    is_of_measuring: bool,
}

impl MarkFacts {
    fn of(mark: Mark) -> Self {
        Self {
            sign: mark.sign(),
            id: mark.id(),
            is_of_figures: mark.is_of_figures(),
            is_of_measuring: mark.is_of_measuring(),
        }
    }
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
    of_both_kinds: HashSet<(String, EngineRef)>,
    /// The looks in use, those of engines without settings first.
    looks: HashSet<Look>,
    /// The engines that have a column.
    seen: HashSet<EngineRef>,
}

impl Places {
    pub(super) fn engine(&mut self, cell: &Cell, looks: &HashMap<&EngineRef, Look>) -> usize {
        let of_any_keys = crate::format::engine(cell);
        let mut name = of_any_keys.clone();
        if self.of_both_kinds.contains(&(cell.suite.clone(), cell.engine.clone())) {
            name += match cell.key_kind {
                KeyKind::Hash => " hash",
                KeyKind::Tree => " tree",
            };
        }
        if let Some(place) = self.engines.get(&name) {
            return *place;
        }
        let base = looks.get(&cell.engine).copied().unwrap_or_default();
        let Look { colour, mark } = self.look(&cell.engine, base, looks);
        let is_own = cell.engine.is_own();
        let place = self.engine_data.len();
        self.engines.insert(name.clone(), place);
        let id = cell.engine.to_string();
        self.engine_data.push(EngineData { name, id, of_any_keys, is_own, colour, mark });
        place
    }

    /// Returns the look of an engine's next column: its own, and for other settings or keys its
    /// colour with a mark that no engine has.
    fn look(&mut self, engine: &EngineRef, base: Look, looks: &HashMap<&EngineRef, Look>) -> Look {
        if self.looks.is_empty() {
            self.looks.extend(looks.values().copied());
        }
        if self.seen.insert(engine.clone()) {
            return base;
        }
        let with = |mark| Look { mark, ..base };
        let next = (base.mark + 1..MARKS).map(with).find(|look| !self.looks.contains(look));
        let look = next.unwrap_or(base);
        self.looks.insert(look);
        look
    }

    pub(super) fn text(&mut self, text: String) -> usize {
        let next = self.text_data.len();
        *self.texts.entry(text).or_insert_with_key(|text| {
            self.text_data.push(text.clone());
            next
        })
    }
}

pub(crate) fn of(parts: &[Part], about: About<'_>) -> PageData {
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
        suites: suites(parts, about),
        charts: charts.filter(|chart| !chart.lines.is_empty()).collect(),
        engines: places.engine_data,
        marks: Mark::ALL.map(MarkFacts::of),
        texts: places.text_data,
        lines,
        advice: parts.iter().filter_map(|part| AdviceData::of(&part.run)).collect(),
    }
}

fn suites(parts: &[Part], about: About<'_>) -> BTreeMap<String, &'static str> {
    let names = parts.iter().flat_map(|part| part.run.results()).map(|result| &result.cell.suite);
    names.filter_map(|name| Some((name.clone(), about(name)?))).collect()
}

/// Returns the suites and engines with keys of both kinds.
fn of_both_kinds(parts: &[Part]) -> HashSet<(String, EngineRef)> {
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
