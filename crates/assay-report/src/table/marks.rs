//! What a reader has to know of a line or a figure: a mark on it, and below the table what the mark
//! means.

use std::collections::HashMap;

use crate::blocks::Mark;

/// The kinds of marks that have a sign of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Sign {
    /// The engine runs at a stronger level than the table is for.
    Stronger,
    /// It runs at a weaker one.
    Weaker,
    /// A crash test found that it breaks its promise.
    Refuted,
    /// The figure is of fewer operations than those of other engines.
    FewerOperations,
    /// What its rate says of itself.
    OfRate(Mark),
}

impl Sign {
    fn letter(self) -> &'static str {
        match self {
            Self::Stronger => "*",
            Self::Weaker => "°",
            Self::Refuted => "†",
            Self::FewerOperations => "‡",
            Self::OfRate(Mark::Disturbed) => "!",
            Self::OfRate(Mark::LittleTimed) => "◔",
        }
    }
}

/// The marks of a table, each text once, in the order in which they first occur. A text without a
/// sign gets a number.
#[derive(Default)]
pub(super) struct Legend {
    lines: Vec<(String, String)>,
    marks: HashMap<(Option<Sign>, String), String>,
    numbers: usize,
}

impl Legend {
    /// The mark for what a sign and a text say.
    pub(super) fn sign(&mut self, sign: Sign, text: String) -> String {
        self.mark(Some(sign), text)
    }

    /// The number for what a text says.
    pub(super) fn note(&mut self, text: String) -> String {
        self.mark(None, text)
    }

    fn mark(&mut self, sign: Option<Sign>, text: String) -> String {
        if let Some(mark) = self.marks.get(&(sign, text.clone())) {
            return mark.clone();
        }
        let mark = match sign {
            Some(sign) => sign.letter().to_string(),
            None => {
                self.numbers += 1;
                format!("[{}]", self.numbers)
            }
        };
        self.lines.push((mark.clone(), text.clone()));
        self.marks.insert((sign, text), mark.clone());
        mark
    }

    /// What the marks mean, signs first.
    pub(super) fn texts(&self) -> Vec<String> {
        let mut lines: Vec<_> = self.lines.iter().collect();
        lines.sort_by_key(|(mark, _)| mark.starts_with('['));
        lines.into_iter().map(|(mark, text)| format!("{mark} {text}")).collect()
    }
}
