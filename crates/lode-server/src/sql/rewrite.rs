//! PostgreSQL's notation in SQLite's language: `$1` becomes `?1`, `x::text` becomes `CAST(x AS
//! TEXT)`, and what tools write for `pg_catalog` loses its schema where SQLite takes none.

use std::collections::HashMap;

use crate::refusal::{NO_SETTING, Refusal, TOO_LARGE};
use crate::sql::tokens::{Form, Token, closing};
use crate::types::{Kind, decode};

/// A statement for SQLite.
#[derive(Debug, Default)]
pub(crate) struct Rewritten {
    pub text: String,
    /// The types that parameters are cast to.
    pub casts: HashMap<usize, Kind>,
}

/// The most casts of a statement: each moves what comes after it.
const MOST_CASTS: usize = 5_000;

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
    let mut casts = 0;
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let rest = &tokens[at..];
        result.text += &source[copied..token.start];
        let start = result.text.len();
        let used = if token.form == Form::Cast {
            casts += 1;
            if casts > MOST_CASTS {
                let line = format!("a statement can have {MOST_CASTS} casts");
                return Err(Refusal::new(TOO_LARGE, line));
            }
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
            "~" => "REGEXP",
            "!~" => "NOT REGEXP",
            "~*" => "REGEXP '(?i)' ||",
            "!~*" => "NOT REGEXP '(?i)' ||",
            "~~" => "LIKE",
            other => other,
        };
        return close + 1;
    }
    if token.form == Form::Text && token.text.starts_with(['e', 'E']) {
        *out += &format!("'{}'", token.content().replace('\'', "''"));
        return 1;
    }
    // There are no arrays.
    if is(0, "ARRAY") && has(1, "(") && is(2, "SELECT") {
        *out += "NULL";
        return closing(rest, 1).min(rest.len() - 1) + 1;
    }
    if let Some(used) = matches(out, rest, last) {
        return used;
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

/// Appends what stands for an operator of regular expressions between two operands, and returns
/// how many tokens that is.
fn matches(out: &mut String, rest: &[Token<'_>], last: Option<Token<'_>>) -> Option<usize> {
    let has = |at: usize, sign: &str| rest.get(at).is_some_and(|token| token.is_sign(sign));
    let last = last.filter(|last| last.form != Form::Sign || last.is_sign(")"))?;
    if last.form == Form::Word && is_keyword(&last) {
        return None;
    }
    let not = usize::from(has(0, "!"));
    if !has(not, "~") {
        return None;
    }
    *out += if not == 1 { " NOT REGEXP " } else { " REGEXP " };
    let ignores_case = has(not + 1, "*");
    if ignores_case {
        // It binds more than any operator of comparison.
        *out += "'(?i)' || ";
    }
    Some(not + 1 + usize::from(ignores_case))
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

/// Types that name things of the catalogue, whose names and numbers pass for each other.
const NAMES: [&str; 6] =
    ["regproc", "regprocedure", "regnamespace", "regrole", "regoper", "regoperator"];
/// The types of which functions of the server find the other form.
const FOUND: [&str; 2] = ["regclass", "regtype"];

/// Casts what was written last.
fn cast(result: &mut Rewritten, placed: &mut Vec<Placed<'_>>, name: &str) -> Result<(), Refusal> {
    let Some(last) = placed.last() else { return Ok(()) };
    let kind = Kind::of_name(name);
    if let Some(number) = last.token.parameter()
        && !FOUND.iter().any(|known| name.eq_ignore_ascii_case(known))
    {
        if let Some(kind) = kind {
            result.casts.entry(number).or_insert(kind);
        }
        return Ok(());
    }
    if NAMES.iter().any(|known| name.eq_ignore_ascii_case(known)) {
        return Ok(());
    }
    if let Some(function) = FOUND.iter().find(|known| name.eq_ignore_ascii_case(known)) {
        wrap(result, placed, &format!("{function}("), ")");
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
    wrap(result, placed, "CAST(", &format!(" AS {words})"));
    Ok(())
}

/// Puts text before and after the operand that was written last.
fn wrap(result: &mut Rewritten, placed: &mut Vec<Placed<'_>>, before: &str, after: &str) {
    let first = primary(placed);
    result.text.insert_str(placed[first].start, before);
    result.text += after;
    placed.truncate(first + 1);
    // From here on one operand, whatever it was.
    placed[first].token.form = Form::Number;
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
    let mut first = placed.len() - 1;
    if placed[first].token.is_sign(")") {
        let mut depth = 1_usize;
        while first > 0 && depth > 0 {
            first -= 1;
            depth += usize::from(placed[first].token.is_sign(")"));
            depth -= usize::from(placed[first].token.is_sign("("));
        }
        let before = first.checked_sub(1).map(|at| placed[at].token);
        if before.is_some_and(|before| before.is_name() && !is_keyword(&before)) {
            first -= 1;
        }
    }
    while first >= 2 && placed[first].token.is_name() && placed[first - 1].token.is_sign(".") {
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
            ("SELECT 't'::pg_catalog.regclass", "SELECT regclass('t')"),
            (
                "WHERE n.name !~ '^a' AND ~1 = x~* 'b'",
                "WHERE n.name  NOT REGEXP  '^a' AND ~1 = x REGEXP '(?i)' ||  'b'",
            ),
            ("'1970-01-01 00:00:01'::timestamp with time zone", "1000000"),
            ("SELECT E'a\\n''b', ARRAY(SELECT 1), f(2)", "SELECT 'a\n''b', NULL, f(2)"),
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
