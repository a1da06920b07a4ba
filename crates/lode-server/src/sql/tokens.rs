//! The tokens of a statement.

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Word,
    /// A name in quotes.
    Quoted,
    /// A text or bytes in single quotes.
    Text,
    Number,
    /// `$` and a number.
    Parameter,
    /// `::`
    Cast,
    /// Any other character.
    Sign,
}

/// A token, and where it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token<'t> {
    pub form: Form,
    pub text: &'t str,
    pub start: usize,
}

impl Token<'_> {
    /// Returns true for a word, in upper or lower case.
    pub(crate) fn is_word(&self, word: &str) -> bool {
        self.form == Form::Word && self.text.eq_ignore_ascii_case(word)
    }

    pub(crate) fn is_sign(&self, sign: &str) -> bool {
        self.form == Form::Sign && self.text == sign
    }

    /// Returns true for what can be a name.
    pub(crate) fn is_name(&self) -> bool {
        matches!(self.form, Form::Word | Form::Quoted)
    }

    /// Returns the name, or the content of quotes.
    pub(crate) fn content(&self) -> String {
        // What is not closed ends with the statement.
        let inner = |start: usize, close: char| {
            let rest = &self.text[start..];
            rest.strip_suffix(close).unwrap_or(rest)
        };
        if self.form == Form::Text && self.text.starts_with(['e', 'E']) {
            return without_escapes(inner(2, '\''));
        }
        let quote = match self.form {
            Form::Quoted | Form::Text => self.text.chars().next(),
            _ => None,
        };
        match quote {
            None => self.text.into(),
            Some('[') => inner(1, ']').into(),
            Some(quote) => {
                let twice = String::from_iter([quote, quote]);
                inner(1, quote).replace(&twice, &quote.to_string())
            }
        }
    }

    /// Returns the number of a parameter.
    pub(crate) fn parameter(&self) -> Option<usize> {
        if self.form == Form::Parameter { self.text[1..].parse().ok() } else { None }
    }

    pub(crate) fn end(&self) -> usize {
        self.start + self.text.len()
    }
}

/// Returns the tokens of a statement, without white space and comments.
pub(crate) fn tokens(text: &str) -> Vec<Token<'_>> {
    tokens_with(text, false)
}

/// Returns the tokens of a statement in which `[` and `]` are quotes, or signs if it has
/// `ARRAY[…]`.
pub(crate) fn tokens_of(text: &str) -> Vec<Token<'_>> {
    let found = tokens(text);
    let is_array = |pair: &[Token<'_>]| pair[0].is_word("ARRAY") && pair[1].text.starts_with('[');
    if found.windows(2).any(is_array) { tokens_of_arrays(text) } else { found }
}

/// Returns the tokens of a statement in which `[` and `]` are signs, as PostgreSQL has them, and
/// no quotes.
pub(crate) fn tokens_of_arrays(text: &str) -> Vec<Token<'_>> {
    tokens_with(text, true)
}

fn tokens_with(text: &str, has_arrays: bool) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let is_sign = has_arrays && first == '[';
        let (form, length) =
            if is_sign { (Some(Form::Sign), 1) } else { token(&text[at..], first) };
        if let Some(form) = form {
            found.push(Token { form, text: &text[at..at + length], start: at });
        }
        at += length;
    }
    found
}

/// Returns the form of the first token and its bytes; no form for white space and comments.
fn token(rest: &str, first: char) -> (Option<Form>, usize) {
    let run = |is_part: &dyn Fn(char) -> bool| {
        rest.find(|letter: char| !is_part(letter)).unwrap_or(rest.len())
    };
    let is_of_word =
        |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || !letter.is_ascii();
    match first {
        _ if first.is_ascii_whitespace() => {
            (None, run(&|letter: char| letter.is_ascii_whitespace()))
        }
        // SQLite skips it, too.
        '\u{feff}' => (None, first.len_utf8()),
        _ if rest.starts_with("--") => (None, rest.find('\n').unwrap_or(rest.len())),
        _ if rest.starts_with("/*") => {
            (None, rest[2..].find("*/").map_or(rest.len(), |end| end + 4))
        }
        _ if rest.starts_with("::") => (Some(Form::Cast), 2),
        '\'' => (Some(Form::Text), quoted(rest, '\'')),
        '"' | '`' => (Some(Form::Quoted), quoted(rest, first)),
        '[' => (Some(Form::Quoted), rest.find(']').map_or(rest.len(), |end| end + 1)),
        'e' | 'E' | 'x' | 'X' if rest[1..].starts_with('\'') => {
            (Some(Form::Text), 1 + quoted(&rest[1..], '\''))
        }
        '$' if rest[1..].starts_with(|next: char| next.is_ascii_digit()) => {
            let digits = rest[1..].find(|letter: char| !letter.is_ascii_digit());
            (Some(Form::Parameter), digits.map_or(rest.len(), |end| end + 1))
        }
        '0'..='9' => (Some(Form::Number), run(&|letter| is_of_word(letter) || letter == '.')),
        _ if is_of_word(first) => {
            (Some(Form::Word), run(&|letter| is_of_word(letter) || letter == '$'))
        }
        other => (Some(Form::Sign), other.len_utf8()),
    }
}

/// Returns the bytes of a text in quotes, where two quotes stand for one.
fn quoted(rest: &str, quote: char) -> usize {
    let mut at = 1;
    while let Some(end) = rest[at..].find(quote) {
        at += end + 1;
        if !rest[at..].starts_with(quote) {
            return at;
        }
        at += 1;
    }
    rest.len()
}

/// Returns the text that `E'…'` means.
fn without_escapes(text: &str) -> String {
    let text = text.replace("''", "'");
    let mut found = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        found.push(match (letter, letter == '\\') {
            (_, true) => match letters.next() {
                Some('n') => '\n',
                Some('r') => '\r',
                Some('t') => '\t',
                Some(other) => other,
                None => break,
            },
            (letter, false) => letter,
        });
    }
    found
}

/// Returns the place of the bracket that closes the one at `open`, or the end.
pub(crate) fn closing(tokens: &[Token<'_>], open: usize) -> usize {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        if token.is_sign("(") {
            depth += 1;
        } else if token.is_sign(")") {
            depth = depth.saturating_sub(1);
            if depth == 0 {
                return at;
            }
        }
    }
    tokens.len()
}

/// Returns the place of the bracket that opens what the one at `close` closes, or 0.
pub(crate) fn opening(tokens: &[Token<'_>], close: usize) -> usize {
    let mut depth = 0_usize;
    for at in (0..=close).rev() {
        if tokens[at].is_sign(")") {
            depth += 1;
        } else if tokens[at].is_sign("(") {
            depth = depth.saturating_sub(1);
            if depth == 0 {
                return at;
            }
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_found_between_comments() {
        let text = "SELECT 'a''b'::text, \"c\"\"d\", $12 -- e\n FROM/* f */t WHERE é=x'00';'open";
        let found = tokens(text);
        let texts: Vec<_> = found.iter().map(|token| token.text).collect();
        let expected = [
            "SELECT",
            "'a''b'",
            "::",
            "text",
            ",",
            "\"c\"\"d\"",
            ",",
            "$12",
            "FROM",
            "t",
            "WHERE",
            "é",
            "=",
            "x'00'",
            ";",
            "'open",
        ];
        assert_eq!(texts, expected);
        assert_eq!(found[1].content(), "a'b");
        assert_eq!(found[5].content(), "c\"d");
        assert_eq!(found[7].parameter(), Some(12));
        for (open, content) in [("'é", "é"), ("E'é", "é"), ("\"é", "é"), ("[é", "é"), ("'", "")]
        {
            assert_eq!(tokens(open)[0].content(), content, "{open}");
        }
        let nested = tokens("a(b(c), d) e");
        assert_eq!((closing(&nested, 1), opening(&nested, 8)), (8, 1));
    }
}
