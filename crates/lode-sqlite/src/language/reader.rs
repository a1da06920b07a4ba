//! Reading the text of a statement word by word.

use crate::language::lexer::after_blank;

/// The rest of a statement.
pub(crate) struct Reader<'t> {
    text: &'t str,
    rest: &'t str,
    /// The words for the statement, for errors.
    what: &'static str,
}

impl<'t> Reader<'t> {
    pub(crate) fn of(text: &'t str) -> Self {
        Self::of_statement("CREATE TABLE", text)
    }

    /// Reads a statement of this kind.
    pub(super) fn of_statement(what: &'static str, text: &'t str) -> Self {
        Self { text, rest: text, what }
    }

    pub(super) fn rest(&self) -> &'t str {
        self.rest
    }

    /// Returns true if nothing is left but a semicolon.
    pub(crate) fn is_at_end(&self) -> bool {
        let rest = after_blank(self.rest);
        after_blank(rest.strip_prefix(';').unwrap_or(rest)).is_empty()
    }

    pub(super) fn wrong(&self, why: &str) -> String {
        let before = &self.text[..self.text.len() - after_blank(self.rest).len()];
        let what = self.what;
        format!("at character {} of {what}: {why}", before.chars().count() + 1)
    }

    pub(crate) fn takes(&mut self, character: char) -> bool {
        let after = after_blank(self.rest).strip_prefix(character);
        self.rest = after.unwrap_or(self.rest);
        if after.is_some() && after_blank(self.rest).is_empty() {
            self.rest = "";
        }
        after.is_some()
    }

    pub(super) fn expect(&mut self, character: char) -> Result<(), String> {
        if self.takes(character) {
            Ok(())
        } else {
            Err(self.wrong(&format!("{character:?} should be here")))
        }
    }

    /// Returns the next word, and does not take it.
    pub(super) fn word(&self) -> &'t str {
        let rest = after_blank(self.rest);
        let is_plain = |character: char| character.is_alphanumeric() || character == '_';
        &rest[..rest.find(|character| !is_plain(character)).unwrap_or(rest.len())]
    }

    pub(super) fn pass(&mut self, word: &str) {
        let rest = after_blank(self.rest);
        self.rest = &rest[word.len()..];
        if after_blank(self.rest).is_empty() {
            self.rest = "";
        }
    }

    pub(crate) fn takes_word(&mut self, wanted: &str) -> bool {
        let word = self.word();
        let is_it = word.eq_ignore_ascii_case(wanted);
        if is_it {
            self.pass(word);
        }
        is_it
    }

    pub(super) fn expect_word(&mut self, wanted: &str) -> Result<(), String> {
        if self.takes_word(wanted) {
            Ok(())
        } else {
            Err(self.wrong(&format!("{wanted} should be here")))
        }
    }

    /// Takes a name, in quotes or not.
    pub(crate) fn name(&mut self, what: &str) -> Result<String, String> {
        let rest = after_blank(self.rest);
        let (open, close) = match rest.chars().next() {
            Some('[') => ('[', ']'),
            Some(quote @ ('"' | '`' | '\'')) => (quote, quote),
            _ => {
                let word = self.word();
                if word.is_empty() {
                    return Err(self.wrong(&format!("{what} should be here")));
                }
                self.pass(word);
                return Ok(word.into());
            }
        };
        let mut name = String::new();
        let mut inside = &rest[open.len_utf8()..];
        loop {
            let Some((part, after)) = inside.split_once(close) else {
                return Err(self.wrong("this name has no end"));
            };
            name += part;
            // Two quotes stand for one.
            match after.strip_prefix(close).filter(|_| open == close) {
                Some(after) => (name, inside) = (name + &String::from(close), after),
                None => {
                    self.rest = after;
                    return Ok(name);
                }
            }
        }
    }
}
