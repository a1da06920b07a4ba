//! The legend of a view: the meaning of its marks.

use super::{Mark, Marked};
use crate::blocks::Distinct;

/// Collects the marks that a view shows: each text once, in the order in which they first occur. A
/// text without a sign gets a number.
#[derive(Default)]
pub(crate) struct Legend {
    meanings: Vec<Meaning>,
    notes: Distinct<String>,
}

/// A sign's meaning for some engines; it may have another one for other engines.
struct Meaning {
    marked: Marked,
    engines: Distinct<String>,
    scope: Scope,
}

/// The figures that a sign is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    /// The figure at the sign, or all figures of an engine.
    Own,
    /// Most figures of a column, at whose head the sign is.
    Column,
    /// Most of the figures that one figure sums up.
    Sum,
}

impl Legend {
    /// Returns the sign of an engine's mark. Numbers of notes are in brackets.
    pub(crate) fn of_engine(&mut self, engine: &str, marked: &Marked) -> String {
        if marked.mark == Mark::Noted {
            return self.note(marked.text.clone());
        }
        self.meaning(marked).engines.add(engine.into());
        marked.mark.sign().into()
    }

    /// Returns the sign of a figure's mark.
    pub(crate) fn of_figure(&mut self, marked: &Marked) -> &'static str {
        self.meaning(marked);
        marked.mark.sign()
    }

    /// Returns the sign of a mark that most figures of a column have in common.
    pub(crate) fn of_head(&mut self, marked: &Marked) -> &'static str {
        self.meaning(marked).scope = Scope::Column;
        marked.mark.sign()
    }

    /// Returns the sign of a mark that most of the figures have that one figure sums up.
    pub(crate) fn of_most(&mut self, marked: &Marked) -> &'static str {
        self.meaning(marked).scope = Scope::Sum;
        marked.mark.sign()
    }

    /// Returns the number of a text without a sign, in brackets.
    pub(crate) fn note(&mut self, text: String) -> String {
        self.notes.add(text.clone());
        let at = self.notes.in_order.iter().position(|note| *note == text);
        format!("[{}]", at.map_or(0, |at| at + 1))
    }

    fn meaning(&mut self, marked: &Marked) -> &mut Meaning {
        let found = self.meanings.iter().position(|meaning| meaning.marked == *marked);
        let at = found.unwrap_or_else(|| {
            let marked = marked.clone();
            let engines = Distinct::default();
            self.meanings.push(Meaning { marked, engines, scope: Scope::Own });
            self.meanings.len() - 1
        });
        &mut self.meanings[at]
    }

    /// Returns the meanings of the marks, signs first.
    pub(crate) fn texts(&self) -> Vec<String> {
        let of_sign = |meaning: &Meaning| {
            let Meaning { marked: Marked { mark, text }, engines, scope } = meaning;
            let namesakes = self.meanings.iter().filter(|other| other.marked.mark == *mark);
            // A crash test's finding names its engine.
            let is_named = *mark == Mark::Refuted || engines.in_order.is_empty();
            let of = match scope {
                Scope::Column => " (at the head of a column: so are most of its figures)",
                Scope::Sum => " (most of the figures that are summed up)",
                Scope::Own => "",
            };
            if namesakes.count() == 1 || is_named {
                format!("{} {text}{of}", mark.sign())
            } else {
                format!("{} {}: {text}{of}", mark.sign(), engines.in_order.join(", "))
            }
        };
        // Equal signs are adjacent, in the order of the list of marks.
        let mut meanings: Vec<_> = self.meanings.iter().collect();
        meanings.sort_by_key(|meaning| meaning.marked.mark);
        let notes =
            (1..).zip(&self.notes.in_order).map(|(number, text)| format!("[{number}] {text}"));
        meanings.into_iter().map(of_sign).chain(notes).collect()
    }
}
