//! Statements of PostgreSQL that the server has not, and says so.

use crate::refusal::{NOT_SUPPORTED, Refusal};
use crate::sql::tokens::Token;

const STATEMENTS: [(&str, &str); 11] = [
    ("LISTEN", "there are no notifications"),
    ("NOTIFY", "there are no notifications"),
    ("DECLARE", "fetch the rows of a portal in portions, as drivers do without cursors of SQL"),
    ("FETCH", "there are no cursors of SQL"),
    ("MOVE", "there are no cursors of SQL"),
    ("LOCK", "transactions are serializable without locks"),
    ("PREPARE", "have the driver prepare the statement"),
    ("EXECUTE", "have the driver prepare the statement"),
    ("TRUNCATE", "write DELETE FROM"),
    ("GRANT", "every user reads and writes"),
    ("REVOKE", "every user reads and writes"),
];

/// Refuses a statement that is deliberately not there, with what to do.
pub(crate) fn refuse(tokens: &[Token<'_>]) -> Result<(), Refusal> {
    let first = tokens.first().filter(|first| first.is_name());
    let known = first.and_then(|first| STATEMENTS.iter().find(|(word, _)| first.is_word(word)));
    if let Some((word, instead)) = known {
        let line = format!("{word} is not supported: {instead}");
        return Err(Refusal::new(NOT_SUPPORTED, line));
    }
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        if token.is_sign("(") {
            depth += 1;
        } else if token.is_sign(")") {
            depth = depth.saturating_sub(1);
        } else if depth == 0 && token.is_word("FOR") {
            let rest = &tokens[at + 1..];
            let is = |at: usize, word: &str| rest.get(at).is_some_and(|token| token.is_word(word));
            let of_key = is(0, "NO") && is(1, "KEY") || is(0, "KEY") && is(1, "SHARE");
            if is(0, "UPDATE") || is(0, "SHARE") || of_key {
                let line = "FOR UPDATE is not supported: transactions are serializable without it";
                return Err(Refusal::new(NOT_SUPPORTED, line));
            }
        }
    }
    Ok(())
}
