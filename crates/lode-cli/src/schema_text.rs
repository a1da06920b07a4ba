//! The grammar of `--schema`, which `lode schema` prints:
//!
//! ```text
//! columns = column { "," column }
//! column  = name ":" type [ "?" ] [ "key" | "expires" ]
//! type    = "u8" | … | "timestamp" | sized "(" bytes ")" | "decimal" "(" digits "," digits ")"
//! sized   = "text" | "bytes" | "vartext" | "varbytes"
//! name    = letters, digits, "_", "-", "." | a JSON string
//! ```
//!
//! White space may stand between all of them. The columns of the key come first, and have no "?".

use lode::{Schema, Type};
use program_support::printable::is_hidden;

/// The words of types, for those who wrote another.
const TYPES: &str = "u8, u16, u32, u64, i8, i16, i32, i64, f32, f64, bool, timestamp, text(BYTES), \
                     bytes(BYTES), vartext(BYTES), varbytes(BYTES) and decimal(DIGITS,DIGITS)";

/// Returns the columns of a schema, as [`parse`] reads them.
pub(crate) fn print(schema: &Schema) -> String {
    let columns = schema.columns().iter().enumerate().map(|(at, column)| {
        let suffix = match (at < schema.key_columns(), column.nullable) {
            (true, _) => " key",
            (false, true) => "?",
            (false, false) => "",
        };
        let expires = if schema.expires() == Some(column.id()) { " expires" } else { "" };
        format!("{}:{}{suffix}{expires}", name(&column.name), column.kind)
    });
    columns.collect::<Vec<_>>().join(", ")
}

/// Returns a name as it is if it is plain, and otherwise as a JSON string.
pub(crate) fn name(name: &str) -> String {
    if !name.is_empty() && name.chars().all(is_plain) {
        name.into()
    } else {
        let mut text = String::new();
        for character in serde_json::Value::from(name).to_string().chars() {
            if is_hidden(character) {
                // Hidden characters are all below U+10000.
                text += &format!("\\u{:04x}", u32::from(character))
            } else {
                text.push(character)
            }
        }
        text
    }
}

fn is_plain(character: char) -> bool {
    character.is_alphanumeric() || "_-.".contains(character)
}

/// Reads the columns of a table.
///
/// # Errors
/// The fault, and its character.
pub(crate) fn parse(table: &str, text: &str) -> Result<Schema, String> {
    let mut reader = Reader { text, rest: text };
    let mut builder = Schema::build(table);
    loop {
        let name = reader.name()?;
        reader.expect(':')?;
        let kind = reader.kind()?;
        let is_nullable = reader.takes('?');
        let word = reader.column_word()?;
        let is_key = word == Some(ColumnWord::Key);
        builder = match (is_key, is_nullable) {
            (true, true) => {
                return Err(reader.wrong(&format!("{name} is of the key, so it cannot be null")));
            }
            (true, false) => builder.key(&name, kind),
            (false, true) => builder.nullable(&name, kind),
            (false, false) => builder.column(&name, kind),
        };
        if word == Some(ColumnWord::Expires) {
            builder = builder.expires(&name);
        }
        if reader.rest.is_empty() {
            return builder.finish().map_err(|error| error.to_string());
        }
        reader.expect(',')?;
    }
}

/// A word after the type of a column.
#[derive(Clone, Copy, PartialEq)]
enum ColumnWord {
    Key,
    Expires,
}

/// The rest of a text.
struct Reader<'t> {
    text: &'t str,
    rest: &'t str,
}

impl<'t> Reader<'t> {
    fn wrong(&self, why: &str) -> String {
        let before = &self.text[..self.text.len() - self.rest.len()];
        format!("at character {}: {why}", before.chars().count() + 1)
    }

    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start();
    }

    /// Takes a character and the white space after it, if it is there.
    fn takes(&mut self, character: char) -> bool {
        let after = self.rest.strip_prefix(character);
        self.rest = after.unwrap_or(self.rest);
        self.skip_space();
        after.is_some()
    }

    fn expect(&mut self, character: char) -> Result<(), String> {
        let found = match self.rest.chars().next() {
            Some(found) if found == character => {
                self.takes(character);
                return Ok(());
            }
            Some(found) => format!("{found:?}"),
            None => "the end".into(),
        };
        Err(self.wrong(&format!("{character:?} should be here, and not {found}")))
    }

    /// Takes plain characters and the white space after them; there may be none.
    fn word(&mut self) -> &'t str {
        let end = self.rest.find(|character| !is_plain(character)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        self.skip_space();
        word
    }

    fn name(&mut self) -> Result<String, String> {
        self.skip_space();
        if !self.rest.starts_with('"') {
            let before = Self { ..*self };
            return match self.word() {
                "" => Err(before.wrong("the name of a column should be here")),
                word => Ok(word.into()),
            };
        }
        let mut strings = serde_json::Deserializer::from_str(self.rest).into_iter::<String>();
        let Some(Ok(name)) = strings.next() else {
            return Err(self.wrong("this name is no JSON string"));
        };
        self.rest = &self.rest[strings.byte_offset()..];
        self.skip_space();
        Ok(name)
    }

    fn kind(&mut self) -> Result<Type, String> {
        let before = Self { ..*self };
        let word = self.word();
        if let Ok(kind) = word.parse() {
            return Ok(kind);
        }
        if word == "decimal" {
            self.expect('(')?;
            let precision = self.digits()?;
            self.expect(',')?;
            let scale = self.digits()?;
            self.expect(')')?;
            return Ok(Type::Decimal { precision, scale });
        }
        if !["text", "bytes", "vartext", "varbytes"].contains(&word) {
            return Err(before.wrong(&format!("there is no type {word:?}; types are {TYPES}")));
        }
        self.expect('(')?;
        let before = Self { ..*self };
        let no_size = || before.wrong("a number of bytes should be here");
        let size: u32 = self.word().parse().map_err(|_| no_size())?;
        self.expect(')')?;
        format!("{word}({size})").parse().map_err(|_| no_size())
    }

    /// Takes a number of digits.
    fn digits(&mut self) -> Result<u8, String> {
        let before = Self { ..*self };
        self.word().parse().map_err(|_| before.wrong("a number of digits should be here"))
    }

    /// Takes the word after a type, if there is one.
    fn column_word(&mut self) -> Result<Option<ColumnWord>, String> {
        let before = Self { ..*self };
        match self.word() {
            "" => Ok(None),
            "key" => Ok(Some(ColumnWord::Key)),
            "expires" => Ok(Some(ColumnWord::Expires)),
            other => Err(before.wrong(&format!(
                "{other:?} means nothing here; a comma, a ?, or the word key or expires can come \
                 after a type"
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_is_read_back() {
        let mut builder = Schema::build("t").key("id", Type::VarText(7)).key("a b", Type::I64);
        for word in TYPES.split(", ").take(12) {
            let kind = word.parse().expect("a type");
            builder = builder.column(word, kind).nullable(&format!("{word}?"), kind);
        }
        let schema = builder
            .column("", Type::Bytes(1))
            .column("key", Type::U8)
            .column("größe", Type::U8)
            .nullable("a,\"\n:\t", Type::Text(9))
            .column("long", Type::VarText(1_000_000))
            .nullable("raw", Type::VarBytes(1))
            .nullable("price", Type::Decimal { precision: 12, scale: 2 })
            .nullable("until", Type::Timestamp)
            .expires("until")
            .finish()
            .expect("a schema");
        let text = print(&schema);
        assert!(
            text.starts_with(r#"id:vartext(7) key, "a b":i64 key, u8:u8, "u8?":u8?"#),
            "{text}"
        );
        let front = r#""":bytes(1), key:u8, größe:u8, "a,\"\n:\t":text(9)?"#;
        let long = "long:vartext(1000000), raw:varbytes(1)?, price:decimal(12,2)?";
        let end = format!("{front}, {long}, until:timestamp? expires");
        assert!(text.ends_with(&end), "{text}");
        assert_eq!(parse("t", &text).as_ref(), Ok(&schema));
        let loose = text.replace(", ", " , ").replace(":", " : ").replace('(', " ( ");
        let loose = loose.replace(r#"\n : \t"#, r#"\n:\t"#);
        assert_eq!(parse("t", &format!("  {loose}\n")), Ok(schema));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        let why = |text: &str| parse("t", text).expect_err("refused");
        assert_eq!(why(""), "at character 1: the name of a column should be here");
        assert_eq!(why("a:u8 key,"), "at character 10: the name of a column should be here");
        assert_eq!(why("a u8"), "at character 3: ':' should be here, and not 'u'");
        assert_eq!(why("ä"), "at character 2: ':' should be here, and not the end");
        assert!(
            why("a:u9 key").starts_with("at character 3: there is no type \"u9\"; types are u8,")
        );
        assert_eq!(why("a:text key"), "at character 8: '(' should be here, and not 'k'");
        assert_eq!(why("a:text(x)"), "at character 8: a number of bytes should be here");
        assert_eq!(why("a:text(99999999999)"), "at character 8: a number of bytes should be here");
        assert_eq!(why("a:text(5"), "at character 9: ')' should be here, and not the end");
        assert_eq!(why("a:decimal(5)"), "at character 12: ',' should be here, and not ')'");
        assert_eq!(why("a:decimal(5,x)"), "at character 13: a number of digits should be here");
        assert!(why("a:decimal(5,6) key").contains("a decimal of 1 to 38 digits"));
        assert_eq!(why("\"a:u8"), "at character 1: this name is no JSON string");
        assert_eq!(
            why("a:u8 kye"),
            "at character 6: \"kye\" means nothing here; a comma, a ?, or the word key or \
             expires can come after a type"
        );
        assert_eq!(why("a:u8? key"), "at character 10: a is of the key, so it cannot be null");
        assert_eq!(why("a:u8"), "table t: it has no key; begin with a key column");
        assert!(why("a:u8 key, a:u8").contains("two columns a"));
        assert!(why("a:u8 key, b:u8 expires").contains("records cannot expire by b"));
        assert!(why("a:u8 key, b:u8, c:u8 key").contains("put it first"));
        assert!(why("a:vartext(1023) key").contains("keys can have at most 1024 bytes"));
        assert!(why("a:u8 key, b:varbytes(9999999)").contains("at most 1048576 bytes"));
    }
}
