//! `ALTER TABLE` for tables of Lode:
//!
//! ```text
//! ALTER TABLE [temp.]name
//!     ADD [COLUMN] column type {NOT NULL | NULL} [DEFAULT value]
//!   | DROP [COLUMN] column
//!   | RENAME [COLUMN] column TO column
//!   | RENAME TO name
//!   | ALTER [COLUMN] column (SET NOT NULL | DROP NOT NULL | TYPE type)
//!   | USING HASH | USING TREE
//! ```

use std::borrow::Cow;

use lode::{Alteration, Decimal, KeyKind, Schema, Type, Value};

use crate::language::ddl::same_name;
use crate::language::lexer::after_blank;
use crate::language::reader::Reader;

/// A change as it is written.
#[derive(Debug, PartialEq)]
enum Change {
    Add {
        name: String,
        kind: Type,
        is_nullable: bool,
        value: Literal,
    },
    Drop {
        name: String,
    },
    Rename {
        from: String,
        to: String,
    },
    RenameTable {
        name: String,
    },
    SetNullable {
        name: String,
        nullable: bool,
    },
    SetType {
        name: String,
        kind: Type,
    },
    Using {
        kind: KeyKind,
    },
    /// `None` has records stay.
    ExpireBy {
        name: Option<String>,
    },
}

/// A value as it is written.
#[derive(Debug, PartialEq)]
enum Literal {
    Null,
    Bool(bool),
    Number(String),
    Text(String),
    Blob(Vec<u8>),
}

/// A change of a table.
#[derive(Debug)]
pub(crate) struct Alter {
    pub table: String,
    change: Change,
}

impl Alter {
    /// Reads an `ALTER TABLE`.
    ///
    /// # Errors
    /// The fault, and its place.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut reader = Reader::of_statement("ALTER TABLE", text);
        reader.expect_word("ALTER")?;
        reader.expect_word("TABLE")?;
        let mut table = reader.name("the name of a table")?;
        if table.eq_ignore_ascii_case("temp") && reader.takes('.') {
            table = reader.name("the name of a table")?;
        }
        let change = change(&mut reader)?;
        if !reader.is_at_end() {
            return Err(reader.wrong("the statement should end here"));
        }
        Ok(Self { table, change })
    }

    /// Returns true if the table gets one column more.
    pub(crate) fn adds_column(&self) -> bool {
        matches!(self.change, Change::Add { .. })
    }

    /// Returns the name that the table gets.
    pub(crate) fn new_name(&self) -> Option<&str> {
        match &self.change {
            Change::RenameTable { name } => Some(name),
            _ => None,
        }
    }

    /// Returns the change as one of a table with this schema, whose columns are found by their
    /// names in any case.
    ///
    /// # Errors
    /// The value of a new column is none of its type; a name is that of another column, or of
    /// several.
    pub(crate) fn alteration<'v>(&'v self, schema: &'v Schema) -> Result<Alteration<'v>, String> {
        let known = |name: &'v String| {
            let exact = schema.columns().iter().find(|column| column.name == *name);
            let same = || schema.columns().iter().filter(|column| same_name(&column.name, name));
            match (exact.or_else(|| same().next()), exact.map_or_else(|| same().count(), |_| 1)) {
                (Some(column), 1) => Ok(&column.name[..]),
                (Some(_), _) => Err(format!("there are several columns {name}; name one exactly")),
                (None, _) => Ok(&name[..]),
            }
        };
        let expect_new = |name: &String, instead_of: Option<&str>| {
            let others = schema.columns().iter().map(|column| &column.name[..]);
            let mut others = others.filter(|other| Some(*other) != instead_of);
            match others.find(|other| same_name(other, name)) {
                Some(other) => Err(format!("there is a column {other} already")),
                None => Ok(()),
            }
        };
        match &self.change {
            Change::Add { name, .. } => expect_new(name, None)?,
            Change::Rename { from, to } => expect_new(to, Some(known(from)?))?,
            _ => {}
        }
        let changes = Alteration::new();
        Ok(match &self.change {
            Change::Add { name, kind, is_nullable: true, value: Literal::Null } => {
                changes.add_nullable(name, *kind)
            }
            Change::Add { name, kind, is_nullable, value } => {
                let value = value.of(*kind).ok_or_else(|| {
                    format!("{value} is no value of column {name}; give another DEFAULT")
                })?;
                changes.add_column(name, *kind, value).change_nullable(name, *is_nullable)
            }
            Change::Drop { name } => changes.drop_column(known(name)?),
            Change::Rename { from, to } => changes.rename_column(known(from)?, to),
            Change::RenameTable { name } => changes.rename_table(name),
            Change::SetNullable { name, nullable } => {
                changes.change_nullable(known(name)?, *nullable)
            }
            Change::SetType { name, kind } => changes.change_type(known(name)?, *kind),
            Change::Using { kind } => changes.change_kind(*kind),
            Change::ExpireBy { name } => changes.expire_by(name.as_ref().map(known).transpose()?),
        })
    }
}

impl Literal {
    /// Returns the value as one of a type, if it is one.
    fn of(&self, kind: Type) -> Option<Value<'_>> {
        use Type::{F32, F64, I8, I16, I32, I64, Timestamp, U8, U16, U32, U64};
        Some(match (self, kind) {
            (Self::Bool(is_so), Type::Bool) => Value::Bool(*is_so),
            (Self::Number(text), Type::Bool) => Value::Bool(text.parse::<u8>().ok()? != 0),
            (Self::Number(text), U8 | U16 | U32 | U64) => Value::Unsigned(text.parse().ok()?),
            (Self::Number(text), I8 | I16 | I32 | I64) => Value::Signed(text.parse().ok()?),
            (Self::Number(text), Timestamp) => Value::Timestamp(text.parse().ok()?),
            (Self::Number(text), F32 | F64) => Value::Float(text.parse().ok()?),
            (Self::Number(text) | Self::Text(text), Type::Decimal { .. }) => {
                Value::Decimal(text.parse::<Decimal>().ok()?)
            }
            (Self::Text(text), Type::Text(_) | Type::VarText(_)) => Value::Text(text),
            (Self::Blob(bytes), Type::Bytes(_) | Type::VarBytes(_)) => Value::Bytes(bytes),
            _ => return None,
        })
    }
}

impl std::fmt::Display for Literal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Null => f.write_str("NULL"),
            Self::Bool(is_so) => write!(f, "{is_so}"),
            Self::Number(text) => f.write_str(text),
            Self::Text(text) => write!(f, "'{text}'"),
            Self::Blob(_) => f.write_str("a blob"),
        }
    }
}

fn change(reader: &mut Reader<'_>) -> Result<Change, String> {
    const COLUMN: &str = "the name of a column";
    if reader.takes_word("ADD") {
        reader.takes_word("COLUMN");
        return added(reader);
    }
    if reader.takes_word("DROP") {
        reader.takes_word("COLUMN");
        return Ok(Change::Drop { name: reader.name(COLUMN)? });
    }
    if reader.takes_word("RENAME") {
        if reader.takes_word("TO") {
            return Ok(Change::RenameTable { name: reader.name("the name of a table")? });
        }
        reader.takes_word("COLUMN");
        let from = reader.name(COLUMN)?;
        reader.expect_word("TO")?;
        return Ok(Change::Rename { from, to: reader.name(COLUMN)? });
    }
    if reader.takes_word("ALTER") {
        reader.takes_word("COLUMN");
        let name = reader.name(COLUMN)?;
        if reader.takes_word("TYPE") {
            return Ok(Change::SetType { name, kind: reader.kind()? });
        }
        let is_dropped = reader.takes_word("DROP");
        if !is_dropped && !reader.takes_word("SET") {
            return Err(reader.wrong("TYPE, SET NOT NULL or DROP NOT NULL should be here"));
        }
        reader.expect_word("NOT")?;
        reader.expect_word("NULL")?;
        return Ok(Change::SetNullable { name, nullable: is_dropped });
    }
    if reader.takes_word("USING") {
        return Ok(Change::Using { kind: reader.key_kind()? });
    }
    if reader.takes_word("EXPIRE") {
        if reader.takes_word("NEVER") {
            return Ok(Change::ExpireBy { name: None });
        }
        reader.expect_word("BY")?;
        return Ok(Change::ExpireBy { name: Some(reader.name(COLUMN)?) });
    }
    Err(reader.wrong("ADD, DROP, RENAME, ALTER, USING or EXPIRE should be here"))
}

/// Reads a new column.
fn added(reader: &mut Reader<'_>) -> Result<Change, String> {
    let name = reader.name("the name of a column")?;
    let kind = reader.kind()?;
    let mut is_nullable = true;
    let mut value = Literal::Null;
    loop {
        if reader.takes_word("NOT") {
            reader.expect_word("NULL")?;
            is_nullable = false;
        } else if reader.takes_word("DEFAULT") {
            value = literal(reader)?;
        } else if !reader.takes_word("NULL") {
            break;
        }
    }
    if !is_nullable && value == Literal::Null {
        let why = "records that exist need a value in a column that is NOT NULL; add DEFAULT value";
        return Err(reader.wrong(why));
    }
    if !reader.is_at_end() {
        return Err(reader.wrong("NOT NULL, NULL or DEFAULT can come after a type"));
    }
    Ok(Change::Add { name, kind, is_nullable, value })
}

/// Reads a value.
fn literal(reader: &mut Reader<'_>) -> Result<Literal, String> {
    let words = [("NULL", Literal::Null), ("TRUE", Literal::Bool(true))];
    for (word, literal) in words.into_iter().chain([("FALSE", Literal::Bool(false))]) {
        if reader.takes_word(word) {
            return Ok(literal);
        }
    }
    let rest = after_blank(reader.rest());
    if rest.starts_with('\'') {
        return Ok(Literal::Text(reader.name("a value")?));
    }
    if rest.starts_with("x'") || rest.starts_with("X'") {
        reader.takes(rest.chars().next().unwrap_or_default());
        let digits = reader.name("a value")?;
        let bytes = blob(&digits).ok_or_else(|| reader.wrong("a blob has pairs of digits"))?;
        return Ok(Literal::Blob(bytes));
    }
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || "+-.".contains(letter);
    let number: Cow<'_, str> =
        rest[..rest.find(|letter| !is_part(letter)).unwrap_or(rest.len())].into();
    if number.parse::<f64>().is_err() || number.contains(|letter: char| "niNI".contains(letter)) {
        return Err(reader.wrong("a number, 'text', x'blob', TRUE, FALSE or NULL should be here"));
    }
    reader.pass(&number);
    Ok(Literal::Number(number.strip_prefix('+').unwrap_or(&number).into()))
}

/// Returns the bytes of pairs of hexadecimal digits.
fn blob(digits: &str) -> Option<Vec<u8>> {
    let digits: Vec<_> = digits.chars().map(|digit| digit.to_digit(16)).collect::<Option<_>>()?;
    let pairs = digits.chunks(2).map(|pair| match pair {
        [high, low] => u8::try_from(high << 4 | low).ok(),
        _ => None,
    });
    pairs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_is_read() {
        let read = |text: &str| Alter::parse(text).map(|alter| (alter.table, alter.change));
        let name = || "c".to_string();
        let add = |kind, is_nullable, value| Change::Add { name: name(), kind, is_nullable, value };
        let number = |text: &str| Literal::Number(text.into());
        for (text, change) in [
            ("ADD COLUMN c U8", add(Type::U8, true, Literal::Null)),
            ("add c u8 not null default 7;", add(Type::U8, false, number("7"))),
            ("ADD c F64 DEFAULT -1.5e3 NOT NULL", add(Type::F64, false, number("-1.5e3"))),
            ("ADD c TEXT(4) DEFAULT 'a''b'", add(Type::Text(4), true, Literal::Text("a'b".into()))),
            (
                "ADD c BLOB(4) DEFAULT x'0aFF'",
                add(Type::VarBytes(4), true, Literal::Blob(vec![10, 255])),
            ),
            ("ADD c BOOL NOT NULL DEFAULT TRUE", add(Type::Bool, false, Literal::Bool(true))),
            ("DROP COLUMN \"c\"", Change::Drop { name: name() }),
            ("DROP c -- gone", Change::Drop { name: name() }),
            ("RENAME COLUMN c TO d", Change::Rename { from: name(), to: "d".into() }),
            ("RENAME c TO d", Change::Rename { from: name(), to: "d".into() }),
            ("RENAME TO u", Change::RenameTable { name: "u".into() }),
            ("ALTER c TYPE I64", Change::SetType { name: name(), kind: Type::I64 }),
            ("ALTER COLUMN c SET NOT NULL", Change::SetNullable { name: name(), nullable: false }),
            ("ALTER c DROP NOT NULL", Change::SetNullable { name: name(), nullable: true }),
            ("USING HASH", Change::Using { kind: KeyKind::Hash }),
            ("EXPIRE BY c", Change::ExpireBy { name: Some(name()) }),
            ("EXPIRE NEVER", Change::ExpireBy { name: None }),
        ] {
            assert_eq!(read(&format!("ALTER TABLE t {text}")), Ok(("t".into(), change)), "{text}");
        }
        assert!(read("alter table temp.[a b] using tree").is_ok_and(|(table, _)| table == "a b"));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        let why = |text: &str| Alter::parse(&format!("ALTER TABLE t {text}")).expect_err("refused");
        let at = |place: usize, why: &str| format!("at character {place} of ALTER TABLE: {why}");
        assert_eq!(why(""), at(15, "ADD, DROP, RENAME, ALTER, USING or EXPIRE should be here"));
        assert_eq!(why("RENAME a b"), at(24, "TO should be here"));
        assert!(why("ADD c U9").starts_with(&at(21, "there is no type \"U9\"")));
        let no_default = "records that exist need a value in a column that is NOT NULL; add \
                          DEFAULT value";
        assert_eq!(why("ADD c U8 NOT NULL"), at(32, no_default));
        assert_eq!(
            why("ADD c U8 UNIQUE"),
            at(24, "NOT NULL, NULL or DEFAULT can come after a type")
        );
        let number = "a number, 'text', x'blob', TRUE, FALSE or NULL should be here";
        for value in ["nan", "inf", "1x", "(1)", "", "now()"] {
            assert_eq!(why(&format!("ADD c F64 DEFAULT {value}")), at(33, number), "{value}");
        }
        assert_eq!(why("ADD c BLOB DEFAULT x'123'"), at(40, "a blob has pairs of digits"));
        assert_eq!(why("USING X"), at(21, "HASH or TREE should be here"));
        assert_eq!(why("DROP c CASCADE"), at(22, "the statement should end here"));
    }
}
