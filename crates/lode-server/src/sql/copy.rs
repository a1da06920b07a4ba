//! `COPY … FROM STDIN` and `COPY … TO STDOUT`.

use crate::copy::Format;
use crate::refusal::{INVALID_SETTING, NOT_SUPPORTED, Refusal, SYNTAX};
use crate::sql::tokens::{Form, Token, closing};

/// The rows that are copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Rows {
    /// Columns of a table; all if none are named.
    Table { name: String, columns: Vec<String> },
    /// The rows of a query.
    Query(String),
}

/// A statement that copies rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Copy {
    pub rows: Rows,
    /// True if the client sends rows.
    pub is_from: bool,
    pub format: Format,
}

fn wrong(token: Option<&Token<'_>>) -> Refusal {
    let line = match token {
        Some(token) => format!("near \"{}\": syntax error", token.text),
        None => "the COPY statement is not whole".into(),
    };
    Refusal::new(SYNTAX, line)
}

impl Copy {
    /// Parses what comes after the word `COPY`.
    pub(crate) fn parse(tokens: &[Token<'_>]) -> Result<Self, Refusal> {
        let first = tokens.first().ok_or_else(|| wrong(None))?;
        let (rows, used) = if first.is_sign("(") {
            let close = closing(tokens, 0);
            let inner = tokens.get(1..close).unwrap_or_default();
            let verb = inner.first().ok_or_else(|| wrong(None))?;
            if !["SELECT", "WITH", "VALUES"].iter().any(|known| verb.is_word(known)) {
                return Err(wrong(Some(verb)));
            }
            (Rows::Query(text(inner)), close + 1)
        } else {
            table(tokens)?
        };
        let rest = tokens.get(used..).unwrap_or_default();
        let direction = rest.first().ok_or_else(|| wrong(None))?;
        let end = rest.get(1).ok_or_else(|| wrong(None))?;
        let is_from = direction.is_word("FROM");
        if !is_from && !direction.is_word("TO") {
            return Err(wrong(Some(direction)));
        }
        if !end.is_word(if is_from { "STDIN" } else { "STDOUT" }) {
            let line = "files of the server are not read or written; use STDIN or STDOUT";
            return Err(Refusal::new(NOT_SUPPORTED, line));
        }
        if is_from && matches!(rows, Rows::Query(_)) {
            return Err(wrong(Some(direction)));
        }
        let format = options(&rest[2..])?;
        if format.is_binary && format != (Format { is_binary: true, ..Format::of(false) }) {
            let line = "COPY in binary takes no DELIMITER, NULL, HEADER or QUOTE";
            return Err(Refusal::new(SYNTAX, line));
        }
        Ok(Self { rows, is_from, format })
    }
}

/// Returns tokens as a text.
fn text(tokens: &[Token<'_>]) -> String {
    let mut text = String::new();
    for (at, token) in tokens.iter().enumerate() {
        if at > 0 && tokens[at - 1].end() < token.start {
            text.push(' ');
        }
        text += token.text;
    }
    text
}

/// Returns the table, and how many tokens it is.
fn table(tokens: &[Token<'_>]) -> Result<(Rows, usize), Refusal> {
    let mut at = 0;
    if tokens.get(1).is_some_and(|token| token.is_sign(".")) {
        at = 2;
    }
    let name = tokens.get(at).filter(|token| token.is_name());
    let name = name.ok_or_else(|| wrong(tokens.get(at)))?.content();
    at += 1;
    let mut columns = Vec::new();
    if tokens.get(at).is_some_and(|token| token.is_sign("(")) {
        let close = closing(tokens, at);
        let inner = tokens.get(at + 1..close).unwrap_or_default();
        columns = inner.iter().filter(|token| token.is_name()).map(Token::content).collect();
        at = close + 1;
    }
    Ok((Rows::Table { name, columns }, at))
}

/// Parses options: `(FORMAT csv, HEADER)`, or PostgreSQL's earlier `CSV HEADER`.
fn options(tokens: &[Token<'_>]) -> Result<Format, Refusal> {
    let kept = |token: &&Token<'_>| {
        let is_sign = ["(", ")", ",", ";"].iter().any(|sign| token.is_sign(sign));
        !is_sign && !token.is_word("WITH") && !token.is_word("AS")
    };
    let words: Vec<_> = tokens.iter().filter(kept).collect();
    let names_csv = |at: usize| {
        let word = words[at];
        let follows = at > 0 && words[at - 1].is_word("FORMAT");
        word.is_word("csv") || follows && word.content().eq_ignore_ascii_case("csv")
    };
    let mut format = Format::of((0..words.len()).any(names_csv));
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let value = words.get(at + 1);
        at += 1 + set(&mut format, word, value.copied())?;
    }
    Ok(format)
}

/// Sets an option, and returns how many tokens its value is.
fn set(format: &mut Format, name: &Token<'_>, value: Option<&Token<'_>>) -> Result<usize, Refusal> {
    let text = || {
        let value = value.filter(|value| value.form == Form::Text).map(Token::content);
        value.ok_or_else(|| wrong(Some(name)))
    };
    let byte = || {
        let text = text()?;
        match text.as_bytes() {
            [byte] if !b"\r\n\\".contains(byte) => Ok(*byte),
            _ => Err(Refusal::new(INVALID_SETTING, format!("{} must be one byte", name.text))),
        }
    };
    let is = |word: &str| name.is_word(word);
    if is("FORMAT") {
        let value = value.map(Token::content).unwrap_or_default().to_ascii_lowercase();
        format.is_binary |= value == "binary";
        if !matches!(&value[..], "csv" | "text" | "binary") {
            let line = format!("there is no COPY format \"{value}\"; use csv, text or binary");
            return Err(Refusal::new(INVALID_SETTING, line));
        }
    } else if is("CSV") || is("BINARY") {
        format.is_binary |= is("BINARY");
        return Ok(0);
    } else if is("HEADER") {
        let off = value.is_some_and(|value| {
            ["false", "off"].iter().any(|word| value.is_word(word)) || value.text == "0"
        });
        let on = value.is_some_and(|value| {
            ["true", "on"].iter().any(|word| value.is_word(word)) || value.text == "1"
        });
        format.has_header = !off;
        return Ok(usize::from(on || off));
    } else if is("DELIMITER") || is("DELIMITERS") {
        format.delimiter = byte()?;
    } else if is("NULL") {
        format.null = text()?;
    } else if is("QUOTE") {
        format.quote = byte()?;
    } else if is("ESCAPE") {
        if byte()? != format.quote {
            let line = "ESCAPE must be the QUOTE, and stand after it";
            return Err(Refusal::new(NOT_SUPPORTED, line));
        }
    } else if is("ENCODING") {
        if !matches!(&text()?.to_ascii_lowercase()[..], "utf8" | "utf-8") {
            return Err(Refusal::new(NOT_SUPPORTED, "COPY reads and writes UTF-8 only"));
        }
    } else {
        return Err(wrong(Some(name)));
    }
    Ok(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::tokens::tokens;

    #[test]
    fn statements_say_what_is_copied_and_how() {
        let parse = |source: &str| Copy::parse(&tokens(source));
        let table = |columns: &[&str]| Rows::Table {
            name: "t".into(),
            columns: columns.iter().map(ToString::to_string).collect(),
        };
        let plain = parse("t FROM STDIN").expect("it is parsed");
        assert_eq!((plain.rows, plain.is_from), (table(&[]), true));
        assert_eq!(plain.format, Format::of(false));
        let csv = parse("public.t (a, \"b\") TO STDOUT WITH (FORMAT csv, HEADER, NULL 'x');");
        let csv = csv.expect("it is parsed");
        assert_eq!(csv.rows, table(&["a", "b"]));
        let expected = Format { null: "x".into(), has_header: true, ..Format::of(true) };
        assert_eq!(csv.format, expected);
        let query = parse("(SELECT 'a b', f(1) FROM t) TO STDOUT DELIMITER AS '|' CSV");
        let query = query.expect("it is parsed");
        assert_eq!(query.rows, Rows::Query("SELECT 'a b', f(1) FROM t".into()));
        assert_eq!(query.format, Format { delimiter: b'|', ..Format::of(true) });
        for source in ["t FROM STDIN (FORMAT binary)", "t TO STDOUT BINARY;"] {
            assert!(parse(source).expect("it is parsed").format.is_binary, "{source}");
        }
        for (wrong, code) in [
            ("", SYNTAX),
            ("t", SYNTAX),
            ("t FROM '/etc/passwd'", NOT_SUPPORTED),
            ("t TO PROGRAM 'x'", NOT_SUPPORTED),
            ("t FROM STDIN (FORMAT parquet)", INVALID_SETTING),
            ("t FROM STDIN (FORMAT binary, HEADER)", SYNTAX),
            ("t FROM STDIN BINARY CSV", SYNTAX),
            ("t FROM STDIN DELIMITER 'ab'", INVALID_SETTING),
            ("t FROM STDIN FREEZE", SYNTAX),
            ("(SELECT 1) FROM STDIN", SYNTAX),
            ("(SELECT", SYNTAX),
            ("(COPY t TO STDOUT) TO STDOUT", SYNTAX),
        ] {
            assert_eq!(parse(wrong).expect_err(wrong).code, code, "{wrong}");
        }
    }
}
