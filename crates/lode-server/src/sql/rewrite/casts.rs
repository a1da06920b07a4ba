//! Casts: `x::type` becomes `CAST(x AS TYPE)`.

use rusqlite::types::Value;

use crate::refusal::{NO_SETTING, Refusal};
use crate::sql::rewrite::{Placed, Rewritten};
use crate::sql::tokens::{Form, Token};
use crate::types::{Kind, Taken, decode};

/// Returns the name of the type after `::`, and how many tokens both are.
pub(super) fn type_after(rest: &[Token<'_>]) -> (String, usize) {
    let is = |at: usize, word: &str| rest.get(at).is_some_and(|token| token.is_word(word));
    let has = |at: usize, sign: &str| rest.get(at).is_some_and(|token| token.is_sign(sign));
    let mut at = 1;
    if is(1, "pg_catalog") && has(2, ".") {
        at = 3;
    }
    let name = rest.get(at).filter(|token| token.is_name()).map(Token::content);
    let Some(mut name) = name else { return (String::new(), at.min(rest.len())) };
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
    // Where brackets are quotes, both are one token.
    while has(at, "[") && has(at + 1, "]") || rest.get(at).is_some_and(|next| next.text == ARRAY) {
        at += if has(at, "[") { 2 } else { 1 };
        name += ARRAY;
    }
    (name, at)
}

/// The end of the name of a type of arrays.
const ARRAY: &str = "[]";

/// Types that name things of the catalogue, whose names and numbers pass for each other.
const NAMES: [&str; 6] =
    ["regproc", "regprocedure", "regnamespace", "regrole", "regoper", "regoperator"];
/// The types of which functions of the server find the other form.
const FOUND: [&str; 2] = ["regclass", "regtype"];

/// Casts what was written last.
pub(super) fn cast(
    result: &mut Rewritten,
    placed: &mut Vec<Placed<'_>>,
    name: &str,
) -> Result<(), Refusal> {
    let Some(last) = placed.last() else { return Ok(()) };
    if let Some(element) = name.strip_suffix(ARRAY) {
        // Arrays are texts.
        if let Some(number) = last.token.parameter()
            && let Some(taken) = Taken::array_of_name(element)
        {
            result.casts.entry(number).or_insert(taken);
        }
        return Ok(());
    }
    let kind = Kind::of_name(name);
    if let Some(number) = last.token.parameter()
        && !FOUND.iter().any(|known| name.eq_ignore_ascii_case(known))
    {
        if let Some(kind) = kind {
            result.casts.entry(number).or_insert(kind.into());
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
    if literal(result, placed, kind)? {
        return Ok(());
    }
    let words = match kind {
        Some(Kind::Bool | Kind::Int) => "INTEGER",
        Some(Kind::Float) => "REAL",
        Some(Kind::Text) => "TEXT",
        Some(Kind::Bytes) => "BLOB",
        Some(Kind::Numeric) => "NUMERIC",
        // Anything but a text is a number already.
        Some(Kind::Time) => return Ok(()),
        None => return Err(Refusal::new(NO_SETTING, format!("there is no type {name}"))),
    };
    wrap(result, placed, "CAST(", &format!(" AS {words})"));
    Ok(())
}

/// Puts text before and after the operand that was written last.
pub(super) fn wrap(
    result: &mut Rewritten,
    placed: &mut Vec<Placed<'_>>,
    before: &str,
    after: &str,
) {
    let first = primary(placed);
    result.text.insert_str(placed[first].start, before);
    result.text += after;
    placed.truncate(first + 1);
    // From here on one operand, whatever it was.
    placed[first].token.form = Form::Number;
}

/// Replaces a text that is cast to a type whose values SQLite does not make of texts. Returns false
/// for anything else.
fn literal(
    result: &mut Rewritten,
    placed: &mut [Placed<'_>],
    kind: Option<Kind>,
) -> Result<bool, Refusal> {
    let Some(last) = placed.last_mut().filter(|last| last.token.form == Form::Text) else {
        return Ok(false);
    };
    let Some(kind @ (Kind::Time | Kind::Bool | Kind::Bytes)) = kind else { return Ok(false) };
    if last.token.text.starts_with(['x', 'X']) {
        return Ok(false);
    }
    let value = decode::of_text(kind, &last.token.content())?;
    result.text.truncate(last.start);
    result.text += &sql_of(&value);
    last.token.form = Form::Number;
    Ok(true)
}

/// Returns a value, which is a whole number or bytes, as SQLite reads it.
pub(crate) fn sql_of(value: &Value) -> String {
    match value {
        Value::Integer(number) => number.to_string(),
        Value::Blob(bytes) => {
            let digits = bytes.iter().map(|byte| format!("{byte:02x}"));
            format!("x'{}'", digits.collect::<String>())
        }
        _ => "NULL".into(),
    }
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
pub(super) fn is_keyword(token: &Token<'_>) -> bool {
    let words = ["AND", "OR", "NOT", "IN", "SELECT", "WHERE", "ON", "VALUES", "THEN", "ELSE", "BY"];
    words.iter().any(|word| token.is_word(word))
}
