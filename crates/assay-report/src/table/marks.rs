//! What a reader has to know of a line or a figure: a mark on it, and below the table what the mark
//! means.

use crate::blocks::{Distinct, Mark};

/// The kinds of marks that have a sign of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    signs: Vec<Meaning>,
    notes: Distinct<String>,
}

/// What a sign says of some lines of the table; the same sign may say another thing of others.
struct Meaning {
    sign: Sign,
    text: String,
    engines: Distinct<String>,
}

impl Legend {
    /// The mark for what a sign and a text say of any line.
    pub(super) fn sign(&mut self, sign: Sign, text: &str) -> &'static str {
        self.meaning(sign, text);
        sign.letter()
    }

    /// The mark for what a sign and a text say of an engine.
    pub(super) fn sign_of(&mut self, engine: &str, sign: Sign, text: &str) -> &'static str {
        self.meaning(sign, text).engines.add(engine.into());
        sign.letter()
    }

    fn meaning(&mut self, sign: Sign, text: &str) -> &mut Meaning {
        let is_it = |meaning: &Meaning| meaning.sign == sign && meaning.text == text;
        let at = self.signs.iter().position(is_it).unwrap_or_else(|| {
            self.signs.push(Meaning { sign, text: text.into(), engines: Distinct::default() });
            self.signs.len() - 1
        });
        &mut self.signs[at]
    }

    /// The number for what a text says.
    pub(super) fn note(&mut self, text: String) -> String {
        self.notes.add(text.clone());
        let at = self.notes.in_order.iter().position(|note| *note == text);
        format!("[{}]", at.map_or(0, |at| at + 1))
    }

    /// What the marks mean, signs first.
    pub(super) fn texts(&self) -> Vec<String> {
        let of_sign = |meaning: &Meaning| {
            let Meaning { sign, text, engines } = meaning;
            let is_alone = self.signs.iter().filter(|other| other.sign == *sign).count() == 1;
            match is_alone || engines.in_order.is_empty() {
                true => format!("{} {text}", sign.letter()),
                false => format!("{} {}: {text}", sign.letter(), engines.in_order.join(", ")),
            }
        };
        let notes =
            (1..).zip(&self.notes.in_order).map(|(number, text)| format!("[{number}] {text}"));
        self.signs.iter().map(of_sign).chain(notes).collect()
    }
}
