//! Marks: signs for what a reader should know about an engine or a figure. This is the only list of
//! them: the table, CSV, Markdown, the page, the index of a site and pictures all use it.

mod legend;
pub(crate) mod untested;

use std::collections::HashMap;

use assay_core::plan::Cell;
use assay_core::run_file::{NOTE_BLIND_WRITES, NOTE_STRONGER};

use crate::blocks::{Block, Distinct, LITTLE_TIMED, Line, Rate};

pub(crate) use legend::Legend;

/// The meaning of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Mark {
    /// The engine is by the authors of this instrument.
    OwnEngine,
    /// The engine does more for durability than the view is for.
    Stronger,
    /// The engine does less for durability than the view is for.
    Weaker,
    /// A crash test refuted the engine's level.
    Refuted,
    /// The engine's writes do not check that the key exists.
    BlindWrites,
    /// Parameters of the engine were set, so it is not as its authors recommend.
    OtherSettings,
    /// The driver or the suite noted something else.
    Noted,
    /// The figure is of fewer operations than those of other engines.
    FewerOperations,
    /// The figure has disturbed rounds.
    Disturbed,
    /// Much of the figure's wall time was off the clock.
    LittleTimed,
}

impl Mark {
    /// All marks, those of engines first.
    pub const ALL: [Self; 10] = [
        Self::OwnEngine,
        Self::Stronger,
        Self::Weaker,
        Self::Refuted,
        Self::BlindWrites,
        Self::OtherSettings,
        Self::Noted,
        Self::FewerOperations,
        Self::Disturbed,
        Self::LittleTimed,
    ];

    /// Returns the sign after a name or a figure. If notes are numbered, a number in brackets
    /// replaces that of [`Mark::Noted`].
    pub fn sign(self) -> &'static str {
        match self {
            Self::OwnEngine => "⌂",
            Self::Stronger => "▲",
            Self::Weaker => "▼",
            Self::Refuted => "†",
            Self::BlindWrites => "○",
            Self::OtherSettings => "◇",
            Self::Noted => "§",
            Self::FewerOperations => "‡",
            Self::Disturbed => "!",
            Self::LittleTimed => "◔",
        }
    }

    /// Returns the name in CSV.
    pub fn id(self) -> &'static str {
        match self {
            Self::OwnEngine => "own_engine",
            Self::Stronger => "stronger",
            Self::Weaker => "weaker",
            Self::Refuted => "refuted",
            Self::BlindWrites => "blind_writes",
            Self::OtherSettings => "other_settings",
            Self::Noted => "noted",
            Self::FewerOperations => "fewer_operations",
            Self::Disturbed => "disturbed",
            Self::LittleTimed => "little_timed",
        }
    }

    /// Returns a word or two for places without room for a sentence.
    pub fn short(self) -> &'static str {
        match self {
            Self::OwnEngine => "the authors' own",
            Self::Stronger => "stronger",
            Self::Weaker => "weaker",
            Self::Refuted => "refuted",
            Self::BlindWrites => "blind writes",
            Self::OtherSettings => "other settings",
            Self::Noted => "noted",
            Self::FewerOperations => "fewer operations",
            Self::Disturbed => "disturbed",
            Self::LittleTimed => "little on the clock",
        }
    }

    /// Returns true if the mark is about single figures, not about an engine.
    pub fn is_of_figures(self) -> bool {
        matches!(self, Self::FewerOperations | Self::Disturbed | Self::LittleTimed)
    }

    /// Returns true if the mark is about the measuring, so that a whole column may have it.
    pub(crate) fn is_of_measuring(self) -> bool {
        matches!(self, Self::Disturbed | Self::LittleTimed)
    }
}

/// A mark, with its text for one engine or figure.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Marked {
    /// The mark.
    pub mark: Mark,
    /// The text, a sentence.
    pub text: String,
}

impl Marked {
    fn new(mark: Mark, text: impl Into<String>) -> Self {
        Self { mark, text: text.into() }
    }

    /// Returns the mark of the authors' own engine.
    pub(crate) fn own_engine() -> Self {
        Self::new(Mark::OwnEngine, "the authors' own engine")
    }

    /// Returns the mark's text in a few words.
    pub(crate) fn short(&self) -> &str {
        match self.mark {
            Mark::Stronger | Mark::Weaker => {
                let level =
                    self.text.strip_prefix(NOTE_STRONGER).and_then(|of| of.split_once(": "));
                match level {
                    Some((_, does)) => does,
                    None => self.text.split(',').next().unwrap_or_default(),
                }
            }
            other => other.short(),
        }
    }
}

/// Returns the marks of an engine at its level, which apply to all of its figures.
pub fn of_line(line: &Line<'_>) -> Vec<Marked> {
    let cell = line.cell();
    let mut marks = Distinct::default();
    if cell.engine.is_own() {
        marks.add(Marked::own_engine());
    }
    let wanted = cell.durability_wanted;
    let level = cell.durability;
    if level > wanted {
        let text = format!("at {level}, its weakest level that survives as much");
        marks.add(Marked::new(Mark::Stronger, text));
    }
    if level < wanted {
        let text = format!("at {level}, its strongest level, which survives less");
        marks.add(Marked::new(Mark::Weaker, text));
    }
    let notes: Vec<_> = line.trials.iter().flat_map(|trial| &trial.measurement.notes).collect();
    let of_notes = |mark| notes.iter().filter(move |note| mark_of(note) == mark);
    of_notes(Mark::Stronger).for_each(|note| marks.add(Marked::new(Mark::Stronger, *note)));
    for why in line.trials.iter().filter_map(|trial| trial.refuted.as_ref()).take(1) {
        marks.add(Marked::new(Mark::Refuted, why));
    }
    of_notes(Mark::BlindWrites).for_each(|note| marks.add(Marked::new(Mark::BlindWrites, *note)));
    if let Some(set) = set_parameters(cell) {
        marks.add(Marked::new(Mark::OtherSettings, format!("with {set}, not its default")));
    }
    of_notes(Mark::Noted).for_each(|note| marks.add(Marked::new(Mark::Noted, *note)));
    marks.in_order
}

/// Returns the parameters of an engine that were set, in words; none if none was.
fn set_parameters(cell: &Cell) -> Option<String> {
    let set = cell.engine_options.iter().chain(&cell.engine_parameters);
    let set: Vec<_> = set.map(|(name, value)| format!("{name}={value}")).collect();
    (!set.is_empty()).then(|| set.join(", "))
}

/// Returns the mark that a driver's or a suite's note stands for.
fn mark_of(note: &str) -> Mark {
    match note {
        note if note.starts_with(NOTE_STRONGER) => Mark::Stronger,
        note if note.starts_with(NOTE_BLIND_WRITES) => Mark::BlindWrites,
        _ => Mark::Noted,
    }
}

impl Rate {
    /// Returns the marks about how the rate was measured.
    pub fn marks(&self) -> Vec<Marked> {
        let is_little = self.timed_share.is_some_and(|share| share < LITTLE_TIMED);
        let disturbed = (self.disturbed > 0).then(|| {
            let text =
                "disturbed: in some of its rounds the worker had less than 95 % of a processor";
            Marked::new(Mark::Disturbed, text)
        });
        let little = is_little.then(|| {
            let text = "less than 80 % of the wall time was on the clock: in the rest an engine's \
                        own threads can work, at no cost to its rate";
            Marked::new(Mark::LittleTimed, text)
        });
        disturbed.into_iter().chain(little).collect()
    }
}

/// Marks the figures of one phase of a block.
pub(crate) struct PhaseMarks<'p> {
    phase: &'p str,
    /// True if the plan gave engines with one number of threads different options.
    options_differ: bool,
    most_operations: u64,
}

impl<'p> PhaseMarks<'p> {
    pub(crate) fn of(block: &Block<'_>, phase: &'p str) -> Self {
        let mut first_options = HashMap::new();
        let mut cells = block.lines.iter().map(Line::cell);
        let operations = block.lines.iter().map(|line| round_operations(line, phase));
        Self {
            phase,
            options_differ: cells.any(|cell| {
                *first_options.entry(cell.threads).or_insert(&cell.options) != &cell.options
            }),
            most_operations: operations.max().unwrap_or(0),
        }
    }

    /// Returns the marks of a line's figure.
    pub(crate) fn of_figure(&self, line: &Line<'_>, rate: &Rate) -> Vec<Marked> {
        let has_fewer = round_operations(line, self.phase) < self.most_operations;
        let fewer = (self.options_differ && has_fewer).then(|| {
            let text = "of fewer operations than the others, since the engine is slow at them";
            Marked::new(Mark::FewerOperations, text)
        });
        fewer.into_iter().chain(rate.marks()).collect()
    }
}

/// Returns the operations of a round.
fn round_operations(line: &Line<'_>, phase: &str) -> u64 {
    let phase = line.trials[0].measurement.phase(phase);
    phase.and_then(|phase| phase.rounds.first()).map_or(0, |round| round.operations)
}

/// The fewest marked figures of a column that share one sign at its head.
const LEAST_IN_COMMON: usize = 3;

/// Returns the marks that most figures of a column have because of how they were measured. A view
/// shows them once, at the column's head, so that signs on figures are exceptions.
pub(crate) fn in_common(figures: &[Vec<Marked>]) -> Vec<Marked> {
    let most = of_most(figures);
    let count = |marked: &Marked| figures.iter().filter(|of| of.contains(marked)).count();
    let is_common =
        |marked: &Marked| marked.mark.is_of_measuring() && count(marked) >= LEAST_IN_COMMON;
    most.into_iter().filter(is_common).collect()
}

/// Returns the marks that more than half of some figures have.
pub(crate) fn of_most(figures: &[Vec<Marked>]) -> Vec<Marked> {
    let mut all = Distinct::default();
    figures.iter().flatten().for_each(|marked| all.add(marked.clone()));
    let count = |marked: &Marked| figures.iter().filter(|of| of.contains(marked)).count();
    all.in_order.into_iter().filter(|marked| 2 * count(marked) > figures.len()).collect()
}
