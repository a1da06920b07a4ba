//! PostgreSQL's notation in SQLite's language: `$1` becomes `?1`, `x::text` becomes `CAST(x AS
//! TEXT)`, and what tools write for `pg_catalog` loses its schema where SQLite takes none.

mod casts;
mod notation;

use std::collections::HashMap;

use crate::refusal::{Refusal, TOO_LARGE};
pub(crate) use crate::sql::rewrite::casts::sql_of;
use crate::sql::rewrite::casts::{cast, is_keyword, type_after, wrap};
use crate::sql::rewrite::notation::Edits;
use crate::sql::tokens::{Form, Token, closing};
use crate::types::Taken;

/// A statement for SQLite.
#[derive(Debug, Default)]
pub(crate) struct Rewritten {
    pub text: String,
    /// The types that parameters are cast to.
    pub casts: HashMap<usize, Taken>,
}

/// The most casts of a statement: each moves what comes after it.
const MOST_CASTS: usize = 5_000;

/// Words that are functions without brackets in PostgreSQL, and not in SQLite.
const CALLS: [&str; 6] = [
    "current_user",
    "session_user",
    "current_schema",
    "current_catalog",
    "current_role",
    "localtimestamp",
];

/// A token of the result: where it starts there.
struct Placed<'t> {
    token: Token<'t>,
    start: usize,
}

/// Rewrites a statement. `texts` stand for some of the tokens, by their places.
pub(crate) fn rewrite(
    source: &str,
    tokens: &[Token<'_>],
    texts: &[(usize, String)],
) -> Result<Rewritten, Refusal> {
    let mut result = Rewritten::default();
    let mut placed: Vec<Placed<'_>> = Vec::new();
    let mut copied = 0;
    let mut casts = 0;
    let mut at = 0;
    let mut edits = Edits::of(source, tokens)?;
    edits.replaced.extend(texts.iter().cloned());
    while let Some(token) = tokens.get(at) {
        let rest = &tokens[at..];
        result.text += &source[copied..token.start];
        if let Some(text) = edits.before.get(&at) {
            result.text += text;
        }
        let start = result.text.len();
        let kind = Moving::of(source, rest, placed.last());
        if kind.is_some() {
            casts += 1;
            if casts > MOST_CASTS {
                let line = format!("a statement can have {MOST_CASTS} casts");
                return Err(Refusal::new(TOO_LARGE, line));
            }
        }
        let used = if let Some(text) = edits.replaced.get(&at) {
            result.text += text;
            if !text.is_empty() {
                placed.push(Placed { token: *token, start });
            }
            1
        } else if let Some(kind) = kind {
            match kind {
                Moving::Cast => {
                    let (name, used) = type_after(rest);
                    cast(&mut result, &mut placed, &name)?;
                    used
                }
                Moving::Element => {
                    element(&mut result, &mut placed);
                    1
                }
                Moving::Field => {
                    let after = format!(", {})", text_of(&format!("$.{}", rest[1].content())));
                    wrap(&mut result, &mut placed, "json_extract(", &after);
                    2
                }
            }
        } else {
            let used = replace(&mut result.text, rest, placed.last().map(|last| last.token));
            if used > 0 {
                let text = match token.text {
                    "[" if token.form == Form::Sign => "(",
                    "]" => ")",
                    other => other,
                };
                placed.push(Placed { token: Token { text, ..*token }, start });
            }
            if used > 0 { used } else { skipped(rest).min(rest.len()) }
        };
        at += used;
        copied = tokens[at - 1].end();
    }
    result.text += &source[copied..];
    if let Some(text) = edits.before.get(&tokens.len()) {
        result.text += text;
    }
    Ok(result)
}

/// A notation that moves what was written before it.
enum Moving {
    /// `x::type`
    Cast,
    /// `x[1]`
    Element,
    /// `(x).name`
    Field,
}

impl Moving {
    fn of(source: &str, rest: &[Token<'_>], last: Option<&Placed<'_>>) -> Option<Self> {
        let token = rest.first()?;
        if token.form == Form::Cast {
            return Some(Self::Cast);
        }
        let last = last?.token;
        let is_bracket = last.is_sign(")");
        if token.is_sign("[") && (is_bracket || last.is_name()) && !last.is_word("ARRAY") {
            return Some(Self::Element);
        }
        let is_next = source[..token.start].ends_with(')');
        let is_field = token.is_sign(".") && is_bracket && is_next;
        (is_field && rest.get(1).is_some_and(Token::is_name)).then_some(Self::Field)
    }
}

/// Starts the call that finds an element of the array that was written last.
fn element(result: &mut Rewritten, placed: &mut Vec<Placed<'_>>) {
    wrap(result, placed, "array_at(", ", ");
    if let Some(call) = placed.last_mut() {
        call.token = Token { form: Form::Word, text: "array_at", ..call.token };
        let start = call.start;
        let open = Token { form: Form::Sign, text: "(", start: call.token.start };
        placed.push(Placed { token: open, start });
    }
}

/// Returns a text in quotes.
fn text_of(content: &str) -> String {
    format!("'{}'", content.replace('\'', "''"))
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
        *out += &text_of(&token.content());
        return 1;
    }
    if token.is_sign("[") || token.is_sign("]") {
        *out += if token.is_sign("[") { "(" } else { ")" };
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
    let follows = last.is_some_and(|last| last.is_sign(".") || last.is_word("AS"));
    let is_alone = !follows && !has(1, "(") && !has(1, ".");
    *out += token.text;
    if is_alone && CALLS.iter().any(|call| is(0, call)) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::refusal::NO_SETTING;
    use crate::sql::tokens::tokens;
    use crate::types::Kind;

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
            ("SELECT 't'::bool, 'no'::boolean, '\\x0aFF'::bytea", "SELECT 1, 0, x'0aff'"),
            ("SELECT a::text[], x'00'::bytea", "SELECT a, CAST(x'00' AS BLOB)"),
            ("SELECT E'a\\n''b', ARRAY(SELECT 1), f(2)", "SELECT 'a\n''b', NULL, f(2)"),
            ("SELECT current_user, t.current_user", "SELECT current_user(), t.current_user"),
            (
                "SELECT CURRENT_TIMESTAMP, localtimestamp",
                "SELECT CURRENT_TIMESTAMP, localtimestamp()",
            ),
            (
                "x = ANY($1::int8[]) AND y <> ALL ($2)",
                "x   IN (SELECT +value FROM json_each(array_json(ifnull(?1, '{NULL}')))) AND y   \
                 NOT IN  (SELECT +value FROM json_each(array_json(ifnull(?2, '{NULL}'))))",
            ),
            ("SELECT 'x::int $1' -- $2::int", "SELECT 'x::int $1' -- $2::int"),
        ] {
            let rewritten = rewrite(source, &tokens(source), &[]).expect("it is rewritten");
            assert_eq!(rewritten.text, expected, "{source}");
        }
        let source = "SELECT $2::bytea";
        let casts = rewrite(source, &tokens(source), &[]).expect("it is rewritten").casts;
        assert_eq!(casts, HashMap::from([(2, Kind::Bytes.into())]));
        let source = "SELECT 1::zebra";
        assert_eq!(rewrite(source, &tokens(source), &[]).expect_err("no type").code, NO_SETTING);
        for odd in ["::", "::int", "SELECT ::", "COLLATE", "OPERATOR(pg_catalog.", "x::", "x::int("]
        {
            let _ = rewrite(odd, &tokens(odd), &[]);
        }
    }
}
