//! The starts and ends of SQL statements: SQLite's own rules for strings, names, comments and
//! triggers, in one pass over a text that may come piece by piece.

/// Returns true if a byte is white space of SQL.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\x0c' | b'\r')
}

/// Returns true if a byte is one of a word.
fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || byte >= 0x80
}

/// Returns the text after the white space and the comments at its start.
pub(crate) fn after_blank(text: &str) -> &str {
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches(|letter: char| {
            letter == '\u{feff}' || letter.is_ascii() && is_space(letter as u8)
        });
        rest = if rest.starts_with("--") {
            rest.split_once('\n').map_or("", |(_, after)| after)
        } else if let Some(comment) = rest.strip_prefix("/*") {
            comment.split_once("*/").map_or("", |(_, after)| after)
        } else {
            return rest;
        };
    }
}

/// The part of a statement that the next byte belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Inside {
    #[default]
    Nothing,
    Word,
    /// A string or a name in quotes, up to this byte.
    Quotes(u8),
    LineComment,
    BlockComment,
    /// A block comment, after a star.
    BlockCommentStar,
    /// Text after a dash or a slash, which may start a comment.
    Dash,
    Slash,
}

/// The progress of a statement, as `sqlite3_complete` has it: a trigger has semicolons inside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    /// A statement of which only white space and comments have come.
    #[default]
    Blank,
    Normal,
    Explain,
    Create,
    Trigger,
    /// A semicolon inside a trigger.
    TriggerSemicolon,
    /// `END` after such a semicolon.
    TriggerEnd,
}

/// Finds the ends of statements, byte by byte.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scanner {
    inside: Inside,
    phase: Phase,
    /// The word so far, as long as it may be one that counts.
    word: Vec<u8>,
}

/// The most bytes that are kept of a word: the longest that counts is `TEMPORARY`.
const MOST_WORD_BYTES: usize = 10;

impl Scanner {
    /// Takes a byte; returns true if it is the semicolon that ends a statement.
    pub(crate) fn take(&mut self, byte: u8) -> bool {
        match self.inside {
            Inside::Quotes(close) => {
                if byte == close {
                    self.inside = Inside::Nothing;
                }
                return false;
            }
            Inside::LineComment => {
                if byte == b'\n' {
                    self.inside = Inside::Nothing;
                }
                return false;
            }
            Inside::BlockComment | Inside::BlockCommentStar => {
                self.inside = match (self.inside, byte) {
                    (Inside::BlockCommentStar, b'/') => Inside::Nothing,
                    (_, b'*') => Inside::BlockCommentStar,
                    _ => Inside::BlockComment,
                };
                return false;
            }
            Inside::Dash if byte == b'-' => {
                self.inside = Inside::LineComment;
                return false;
            }
            Inside::Slash if byte == b'*' => {
                self.inside = Inside::BlockComment;
                return false;
            }
            Inside::Word if is_of_word(byte) => {
                if self.word.len() < MOST_WORD_BYTES {
                    self.word.push(byte.to_ascii_uppercase());
                }
                return false;
            }
            Inside::Word => self.end_word(),
            Inside::Dash | Inside::Slash => self.other(),
            Inside::Nothing => {}
        }
        self.inside = Inside::Nothing;
        match byte {
            b';' => return self.semicolon(),
            b'-' => self.inside = Inside::Dash,
            b'/' => self.inside = Inside::Slash,
            b'\'' | b'"' | b'`' | b'[' => {
                self.other();
                self.inside = Inside::Quotes(if byte == b'[' { b']' } else { byte });
            }
            byte if is_space(byte) => {}
            byte if is_of_word(byte) => {
                self.word.clear();
                self.word.push(byte.to_ascii_uppercase());
                self.inside = Inside::Word;
            }
            _ => self.other(),
        }
        false
    }

    /// Takes a semicolon that is in no string and no comment; returns true if it ends the
    /// statement.
    fn semicolon(&mut self) -> bool {
        self.phase = match self.phase {
            Phase::Trigger | Phase::TriggerSemicolon => Phase::TriggerSemicolon,
            _ => Phase::Blank,
        };
        self.phase == Phase::Blank
    }

    /// Takes something that is neither a word that counts nor a semicolon.
    fn other(&mut self) {
        self.phase = match self.phase {
            Phase::Blank | Phase::Normal | Phase::Create => Phase::Normal,
            Phase::Explain => Phase::Explain,
            Phase::Trigger | Phase::TriggerSemicolon | Phase::TriggerEnd => Phase::Trigger,
        };
    }

    fn end_word(&mut self) {
        self.phase = match (self.phase, &self.word[..]) {
            (Phase::Blank, b"EXPLAIN") => Phase::Explain,
            (Phase::Blank | Phase::Explain, b"CREATE") => Phase::Create,
            (Phase::Explain, b"EXPLAIN" | b"TEMP" | b"TEMPORARY" | b"TRIGGER" | b"END") => {
                Phase::Normal
            }
            (Phase::Create, b"TEMP" | b"TEMPORARY") => Phase::Create,
            (Phase::Create, b"TRIGGER") => Phase::Trigger,
            (Phase::TriggerSemicolon, b"END") => Phase::TriggerEnd,
            _ => return self.other(),
        };
    }

    /// Returns true if only white space and comments have come since the last statement ended.
    pub(crate) fn is_blank(&self) -> bool {
        self.phase == Phase::Blank && matches!(self.inside, Inside::Nothing | Inside::LineComment)
    }
}

/// Returns true if a text ends with a semicolon that ends a statement: for shells, which read lines
/// until it comes.
///
/// ```
/// assert!(lode_sqlite::is_complete("SELECT ';';"));
/// assert!(!lode_sqlite::is_complete("SELECT ';"));
/// assert!(!lode_sqlite::is_complete("SELECT 1 -- ;"));
/// ```
pub fn is_complete(text: &str) -> bool {
    let mut scanner = Scanner::default();
    let ends = text.bytes().filter(|byte| scanner.take(*byte)).count();
    ends > 0 && scanner.is_blank()
}

/// Statements of a text that comes in pieces: each one as soon as its semicolon has come.
///
/// ```
/// let mut script = lode_sqlite::Script::default();
/// script.push("SELECT 1; SELECT ';'\n");
/// assert_eq!(script.next_statement().as_deref(), Some("SELECT 1;"));
/// assert_eq!(script.next_statement(), None);
/// script.push("AS x");
/// assert_eq!(script.take_rest(), " SELECT ';'\nAS x");
/// ```
#[derive(Debug, Default)]
pub struct Script {
    text: String,
    scanner: Scanner,
    /// The start of the statements that were not returned, and how far the text was looked at.
    start: usize,
    scanned: usize,
}

impl Script {
    /// Adds a piece at the end.
    pub fn push(&mut self, piece: &str) {
        self.text.drain(..self.start);
        self.scanned -= self.start;
        self.start = 0;
        self.text += piece;
    }

    /// Returns the next statement that is whole, with its semicolon and the comments before it.
    pub fn next_statement(&mut self) -> Option<String> {
        let scanner = &mut self.scanner;
        let rest = &self.text.as_bytes()[self.scanned..];
        let Some(at) = rest.iter().position(|byte| scanner.take(*byte)) else {
            self.scanned = self.text.len();
            return None;
        };
        let end = self.scanned + at + 1;
        let statement = self.text[self.start..end].to_string();
        (self.start, self.scanned) = (end, end);
        Some(statement)
    }

    /// Returns true if nothing but white space and comments is left.
    pub fn is_blank(&self) -> bool {
        self.scanned == self.text.len() && self.scanner.is_blank()
    }

    /// Takes what is left, which may be a last statement without a semicolon.
    pub fn take_rest(&mut self) -> String {
        let rest = self.text.split_off(self.start);
        *self = Self::default();
        rest
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::CString;

    use super::*;

    /// Returns true if SQLite takes a text for complete.
    fn is_complete_to_sqlite(text: &str) -> bool {
        let text = CString::new(text).expect("no zero byte");
        // SAFETY: it reads a text that ends with a zero byte.
        #[expect(unsafe_code)]
        let is_complete = unsafe { rusqlite::ffi::sqlite3_complete(text.as_ptr()) };
        is_complete != 0
    }

    #[test]
    fn statements_end_where_sqlite_says_so() {
        const PIECES: [&str; 26] = [
            ";",
            " ",
            "\n",
            "'",
            "\"",
            "`",
            "[",
            "]",
            "-",
            "--",
            "/",
            "*",
            "/*",
            "*/",
            "CREATE",
            "temp",
            "TRIGGER",
            "end",
            "Explain",
            "x",
            "é",
            "1",
            "(",
            "TEMPORARY",
            "END;",
            "ENDING",
        ];
        let mut state = 7u64;
        let mut complete = 0;
        for _ in 0..200_000 {
            let mut text = String::new();
            for _ in 0..8 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                text += PIECES[(state >> 33) as usize % PIECES.len()];
                if (state >> 20).is_multiple_of(3) {
                    text.push(' ');
                }
            }
            // To SQLite a comment ends with its line only, and to shells where the text does.
            let line = format!("{text}\n");
            assert_eq!(is_complete(&text), is_complete_to_sqlite(&line), "{text:?}");
            complete += usize::from(is_complete(&text));
        }
        assert!(complete > 1_000, "{complete}");
    }

    #[test]
    fn a_text_in_pieces_has_the_statements_of_the_whole() {
        let text = "-- a;\nCREATE TABLE t(a /*;*/ INT); SELECT ';';CREATE TRIGGER x BEGIN a; b; \
                    END; SELECT 'é";
        let whole = ["-- a;\nCREATE TABLE t(a /*;*/ INT);", " SELECT ';';"];
        let trigger = "CREATE TRIGGER x BEGIN a; b; END;";
        for size in 1..20 {
            let mut script = Script::default();
            let mut found = Vec::new();
            for piece in text.chars().collect::<Vec<_>>().chunks(size) {
                script.push(&piece.iter().collect::<String>());
                found.extend(std::iter::from_fn(|| script.next_statement()));
            }
            assert_eq!(found, [whole[0], whole[1], trigger], "{size}");
            assert_eq!((script.is_blank(), &script.take_rest()[..]), (false, " SELECT 'é"));
        }
    }
}
