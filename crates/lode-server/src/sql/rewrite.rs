//! PostgreSQL's notation in SQLite's language: `$1` becomes `?1`, `x::text` becomes `CAST(x AS
//! TEXT)`, and what tools write for `pg_catalog` loses its schema where SQLite takes none.

use std::collections::HashMap;

use crate::refusal::{NO_SETTING, Refusal};
use crate::sql::tokens::{Form, Token, opening};
use crate::types::{Kind, decode};

/// A statement for SQLite.
#[derive(Debug, Default)]
pub(crate) struct Rewritten {
    pub text: String,
    /// The types that parameters are cast to.
    pub casts: HashMap<usize, Kind>,
}

/// Words that are functions without brackets in PostgreSQL, and not in SQLite.
const CALLS: [&str; 5] =
    ["current_user", "session_user", "current_schema", "current_catalog", "current_role"];

/// A token of the result: where it starts there.
struct Placed<'t> {
    token: Token<'t>,
    start: usize,
}

/// Rewrites a statement.
pub(crate) fn rewrite(source: &str, tokens: &[Token<'_>]) -> Result<Rewritten, Refusal> {
    let mut result = Rewritten::default();
    let mut placed: Vec<Placed<'_>> = Vec::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let rest = &tokens[at..];
        result.text += &source[copied..token.start];
        let start = result.text.len();
        let used = if token.form == Form::Cast {
            let (name, used) = type_after(rest);
            cast(&mut result, &mut placed, &name)?;
            used
        } else {
            let used = replace(&mut result.text, rest, placed.last().map(|last| last.token));
            if used > 0 {
                placed.push(Placed { token: *token, start });
            }
            if used > 0 { used } else { skipped(rest).min(rest.len()) }
        };
        at += used;
        copied = tokens[at - 1].end();
    }
    result.text += &source[copied..];
    Ok(result)
}

/// Returns the number of tokens that have no counterpart in SQLite.
fn skipped(rest: &[Token<'_>]) -> usize {
    let is = |at: usize, word: &str| rest.get(at).is_some_and(|token| token.is_word(word));
    // COLLATE pg_catalog.default
    if is(0, "COLLATE") { 4 } else { 2 }
}

/// Appends what stands for the first tokens, and returns how many these are; 0 if nothing does.
fn replace(out: &mut String, rest: &[Token<'_>], last: Option<Token<'_>>) -> usize {
    let is = |at: usize, word: &str| rest.get(at).is_some_and(|token| token.is_word(word));
    let has = |at: usize, sign: &str| rest.get(at).is_some_and(|token| token.is_sign(sign));
    let token = rest[0];
    if let Some(number) = token.parameter() {
        *out += &format!("?{number}");
        return 1;
    }
    if is(0, "COLLATE") && is(1, "pg_catalog") && has(2, ".") && rest.len() > 3 {
        return 0;
    }
    let is_call = rest.get(2).is_some_and(Token::is_name) && has(3, "(");
    if is(0, "pg_catalog") && has(1, ".") && is_call {
        return 0;
    }
    if is(0, "OPERATOR") && has(1, "(") && is(2, "pg_catalog") && has(3, ".") {
        let close = rest.iter().position(|token| token.is_sign(")")).unwrap_or(rest.len() - 1);
        let signs: String = rest[4.min(close)..close].iter().map(|token| token.text).collect();
        *out += match &signs[..] {
            "~" | "~*" => "REGEXP",
            "!~" | "!~*" => "NOT REGEXP",
            "~~" => "LIKE",
            other => other,
        };
        return close + 1;
    }
    if is(0, "ILIKE") {
        *out += "LIKE";
        return 1;
    }
    let is_alone = !last.is_some_and(|last| last.is_sign(".") || last.is_word("AS"));
    *out += token.text;
    if is_alone && !has(1, "(") && !has(1, ".") && CALLS.iter().any(|call| is(0, call)) {
        *out += "()";
    }
    1
}

/// Returns the name of the type after `::`, and how many tokens both are.
fn type_after(rest: &[Token<'_>]) -> (String, usize) {
    let is = |at: usize, word: &str| rest.get(at).is_some_and(|token| token.is_word(word));
    let has = |at: usize, sign: &str| rest.get(at).is_some_and(|token| token.is_sign(sign));
    let mut at = 1;
    if is(1, "pg_catalog") && has(2, ".") {
        at = 3;
    }
    let name = rest.get(at).filter(|token| token.is_name()).map(Token::content);
    let Some(name) = name else { return (String::new(), at.min(rest.len())) };
    at += 1;
    if is(at, "precision") || is(at, "varying") {
        at += 1;
    }
    if has(at, "(") {
        let close = rest.iter().skip(at).position(|token| token.is_sign(")"));
        at = close.map_or(rest.len(), |close| at + close + 1);
    }
    if (is(at, "with") || is(at, "without")) && is(at + 1, "time") && is(at + 2, "zone") {
        at += 3;
    }
    (name, at)
}

/// Types that name things of the catalogue, whose names and numbers pass for each other here.
const NAMES: [&str; 8] =
    ["regclass", "regtype", "regproc", "regprocedure", "regnamespace", "regrole", "regoper", "oid"];

/// Casts what was written last.
fn cast(result: &mut Rewritten, placed: &mut Vec<Placed<'_>>, name: &str) -> Result<(), Refusal> {
    let Some(last) = placed.last() else { return Ok(()) };
    let kind = Kind::of_name(name);
    if let Some(number) = last.token.parameter() {
        if let Some(kind) = kind {
            result.casts.entry(number).or_insert(kind);
        }
        return Ok(());
    }
    if NAMES.iter().any(|known| name.eq_ignore_ascii_case(known)) {
        return Ok(());
    }
    let words = match kind {
        Some(Kind::Bool | Kind::Int) => "INTEGER",
        Some(Kind::Float) => "REAL",
        Some(Kind::Text) => "TEXT",
        Some(Kind::Bytes) => "BLOB",
        Some(Kind::Numeric) => "NUMERIC",
        Some(Kind::Time) => return moment(result, placed),
        None => return Err(Refusal::new(NO_SETTING, format!("there is no type {name}"))),
    };
    let first = primary(placed);
    let start = placed[first].start;
    result.text.insert_str(start, "CAST(");
    result.text += &format!(" AS {words})");
    placed.truncate(first + 1);
    // From here on one operand, whatever it was.
    placed[first].token.form = Form::Number;
    Ok(())
}

/// Makes a number of a text that is cast to a moment; anything else is a number already.
fn moment(result: &mut Rewritten, placed: &mut [Placed<'_>]) -> Result<(), Refusal> {
    let Some(last) = placed.last_mut().filter(|last| last.token.form == Form::Text) else {
        return Ok(());
    };
    let value = decode::of_text(Kind::Time, &last.token.content())?;
    if let rusqlite::types::Value::Integer(number) = value {
        result.text.truncate(last.start);
        result.text += &number.to_string();
        last.token.form = Form::Number;
    }
    Ok(())
}

/// Returns the place of the first token of the operand that ends with the last one.
fn primary(placed: &[Placed<'_>]) -> usize {
    let tokens: Vec<_> = placed.iter().map(|placed| placed.token).collect();
    let mut first = tokens.len() - 1;
    if tokens[first].is_sign(")") {
        first = opening(&tokens, first);
        if first > 0 && tokens[first - 1].is_name() && !is_keyword(&tokens[first - 1]) {
            first -= 1;
        }
    }
    while first >= 2 && tokens[first].is_name() && tokens[first - 1].is_sign(".") {
        first -= 2;
    }
    first
}

/// Returns true for a word that a bracket can follow and that names no function.
fn is_keyword(token: &Token<'_>) -> bool {
    let words = ["AND", "OR", "NOT", "IN", "SELECT", "WHERE", "ON", "VALUES", "THEN", "ELSE", "BY"];
    words.iter().any(|word| token.is_word(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::tokens::tokens;

    #[test]
    fn notations_become_those_of_sqlite() {
        for (source, expected) in [
            ("SELECT $1, $2::int8 + 1", "SELECT ?1, ?2 + 1"),
            (
                "SELECT 'a'::text || t.b::VARCHAR(3)",
                "SELECT CAST('a' AS TEXT) || CAST(t.b AS TEXT)",
            ),
            (
                "SELECT (1 + 2)::float8, f(x)::int",
                "SELECT CAST((1 + 2) AS REAL), CAST(f(x) AS INTEGER)",
            ),
            ("SELECT '7'::int::text", "SELECT CAST(CAST('7' AS INTEGER) AS TEXT)"),
            ("SELECT pg_catalog.version()", "SELECT version()"),
            ("FROM pg_catalog.pg_class c", "FROM pg_catalog.pg_class c"),
            ("a OPERATOR(pg_catalog.~) '^(t)$' COLLATE pg_catalog.default", "a REGEXP '^(t)$' "),
            ("SELECT 't'::pg_catalog.regclass", "SELECT 't'"),
            ("'1970-01-01 00:00:01'::timestamp with time zone", "1000000"),
            ("SELECT current_user, t.current_user", "SELECT current_user(), t.current_user"),
            ("SELECT 'x::int $1' -- $2::int", "SELECT 'x::int $1' -- $2::int"),
        ] {
            let rewritten = rewrite(source, &tokens(source)).expect("it is rewritten");
            assert_eq!(rewritten.text, expected, "{source}");
        }
        let source = "SELECT $2::bytea";
        let casts = rewrite(source, &tokens(source)).expect("it is rewritten").casts;
        assert_eq!(casts, HashMap::from([(2, Kind::Bytes)]));
        let source = "SELECT 1::zebra";
        assert_eq!(rewrite(source, &tokens(source)).expect_err("no type").code, NO_SETTING);
        for odd in ["::", "::int", "SELECT ::", "COLLATE", "OPERATOR(pg_catalog.", "x::", "x::int("]
        {
            let _ = rewrite(odd, &tokens(odd));
        }
    }
}
