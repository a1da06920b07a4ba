//! Texts that mean something else where their column has another type: `'2026-01-02'` is a moment,
//! `'t'` is true, `'\\x00'` is a byte.

use crate::sql::infer::Known;
use crate::sql::rewrite::sql_of;
use crate::sql::tokens::{Form, Token};
use crate::types::{Kind, decode};

/// The most bytes of such a text that is no bytes itself: a moment with all that it can have.
const MOST_BYTES: usize = 40;

/// Returns true for a text that may mean something else, as far as it shows by itself.
pub(crate) fn is_literal(token: &Token<'_>) -> bool {
    if token.form != Form::Text || token.text.starts_with(['x', 'X']) {
        return false;
    }
    let text = token.content();
    if text.starts_with("\\x") {
        return true;
    }
    let is_moment = text.starts_with(|first: char| first.is_ascii_digit()) && text.contains('-');
    text.len() <= MOST_BYTES && (is_moment || decode::of_text(Kind::Bool, &text).is_ok())
}

impl Known {
    /// Returns what SQLite takes for the texts, by the places of their tokens.
    pub(crate) fn meant(&self, tokens: &[Token<'_>]) -> Vec<(usize, String)> {
        let mut found = Vec::new();
        for (at, token) in tokens.iter().enumerate() {
            let is_cast = tokens.get(at + 1).is_some_and(|next| next.form == Form::Cast);
            let Some(kind) = self.literals.get(&token.start).filter(|_| !is_cast) else { continue };
            if !matches!(kind, Kind::Time | Kind::Bool | Kind::Bytes) {
                continue;
            }
            // One that makes no sense stays, and is refused where it is stored.
            if let Ok(value) = decode::of_text(*kind, &token.content()) {
                found.push((at, sql_of(&value)));
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::rewrite::rewrite;
    use crate::sql::tokens::tokens;

    #[test]
    fn texts_mean_what_their_columns_take() {
        let columns = |name: &str| {
            if name == "u" {
                return Some(vec![("at".into(), Kind::Text)]);
            }
            let columns = [("at", Kind::Time), ("ok", Kind::Bool), ("raw", Kind::Bytes)];
            let columns = columns.into_iter().chain([("note", Kind::Text)]);
            (name == "t").then(|| columns.map(|(name, kind)| (name.into(), kind)).collect())
        };
        for (source, expected) in [
            (
                "INSERT INTO t VALUES ('1970-01-01 00:00:01Z', 'T', '\\x0aFF', 't')",
                "INSERT INTO t VALUES (1000000, 1, x'0aff', 't')",
            ),
            (
                "UPDATE t SET ok = 'no', note = '1970-01-01' WHERE at < E'1970-01-01'",
                "UPDATE t SET ok = 0, note = '1970-01-01' WHERE at < 0",
            ),
            (
                "SELECT ok FROM t WHERE at IN ('1970-01-01', 'soon-ish') AND ok = 'perhaps'",
                "SELECT ok FROM t WHERE at IN (0, 'soon-ish') AND ok = 'perhaps'",
            ),
            // Of two columns of one name, the one that is meant; or neither.
            (
                "SELECT 1 FROM t a, u WHERE a.at > '1970-01-01' AND u.at > '1970-01-01'",
                "SELECT 1 FROM t a, u WHERE a.at > 0 AND u.at > '1970-01-01'",
            ),
            (
                "SELECT 1 FROM t a, u WHERE at > '1970-01-01'",
                "SELECT 1 FROM t a, u WHERE at > '1970-01-01'",
            ),
            (
                "SELECT 't' WHERE at BETWEEN '1970-01-01' AND '1970-01-01'::timestamptz",
                "SELECT 't' WHERE at BETWEEN 0 AND 0",
            ),
        ] {
            let found = tokens(source);
            let table = tokens("t");
            let mut known = Known::of(&[&found[..], &table].concat(), &columns);
            known.find_parameters(&found);
            let rewritten = rewrite(source, &found, &known.meant(&found)).expect("rewritten");
            assert_eq!(rewritten.text, expected, "{source}");
        }
    }
}
