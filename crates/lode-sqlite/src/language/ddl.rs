//! `CREATE TABLE` for tables of Lode:
//!
//! ```text
//! CREATE TABLE [IF NOT EXISTS] name
//!     ( column {"," column} ["," PRIMARY KEY "(" name {"," name} ")"] )
//!     [USING HASH | USING TREE]
//! column = name type ["(" bytes ")"] {NOT NULL | NULL | PRIMARY KEY}
//! ```
//!
//! Types are those of Lode by their names, and SQL's usual ones. Words may be in upper or lower
//! case, and names in quotes.

use lode::{IndexSchema, KeyKind, Schema, Table, Type};
use rusqlite::vtab::escape_double_quote;

use crate::language::reader::Reader;
use crate::language::types::type_words;

/// A column as it is written.
struct Column {
    name: String,
    kind: Type,
    is_nullable: bool,
    expires: bool,
}

/// A table as it is written.
#[derive(Debug)]
pub(crate) struct Definition {
    pub schema: Schema,
    pub kind: KeyKind,
    /// True if a table of the name may be there already, and stays as it is then.
    pub if_missing: bool,
}

/// Quotes a name for SQL.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", escape_double_quote(name))
}

/// Returns true if two names are one to SQLite.
pub(crate) fn same_name(one: &str, other: &str) -> bool {
    one.eq_ignore_ascii_case(other)
}

/// Returns the statement that makes an index of a table.
pub(crate) fn print_index(table: &Table, index: &IndexSchema) -> String {
    let unique = if index.is_unique() { "UNIQUE " } else { "" };
    let columns = index.columns().iter().map(|column| quoted(column)).collect::<Vec<_>>();
    let name = quoted(index.name());
    let table = quoted(table.schema().name());
    format!("CREATE {unique}INDEX {name} ON {table} ({})", columns.join(", "))
}

/// Returns the statement that makes a table like this one.
pub(crate) fn print(table: &Table) -> String {
    let schema = table.schema();
    let columns = schema.columns().iter().map(|column| {
        let not_null = if column.nullable { "" } else { " NOT NULL" };
        let expires = if schema.expires() == Some(column.id()) { " EXPIRES" } else { "" };
        format!("{} {}{not_null}{expires}", quoted(&column.name), type_words(column.kind))
    });
    let columns = columns.collect::<Vec<_>>().join(", ");
    let keys = schema.columns()[..schema.key_columns()].iter().map(|column| quoted(&column.name));
    let keys = keys.collect::<Vec<_>>().join(", ");
    let kind = match table.key_kind() {
        KeyKind::Hash => "HASH",
        KeyKind::Tree => "TREE",
    };
    let name = quoted(schema.name());
    format!("CREATE TABLE {name} ({columns}, PRIMARY KEY ({keys})) USING {kind}")
}

/// Reads a `CREATE TABLE`.
///
/// # Errors
/// The fault, and its place.
pub(crate) fn parse(text: &str) -> Result<Definition, String> {
    let mut reader = Reader::of(text);
    reader.expect_word("CREATE")?;
    reader.expect_word("TABLE")?;
    let if_missing = reader.takes_word("IF");
    if if_missing {
        reader.expect_word("NOT")?;
        reader.expect_word("EXISTS")?;
    }
    let name = reader.name("the name of a table")?;
    reader.expect('(')?;
    let mut columns = Vec::<Column>::new();
    let mut keys = Vec::<String>::new();
    loop {
        if reader.takes_word("PRIMARY") {
            reader.expect_word("KEY")?;
            reader.expect_no_key(&keys)?;
            reader.expect('(')?;
            keys.push(reader.name("the name of a column")?);
            while reader.takes(',') {
                keys.push(reader.name("the name of a column")?);
            }
            reader.expect(')')?;
            break;
        }
        columns.push(reader.column(&mut keys)?);
        if !reader.takes(',') {
            break;
        }
    }
    reader.expect(')')?;
    let has_kind = reader.takes_word("USING");
    let kind = if has_kind { reader.key_kind()? } else { KeyKind::Tree };
    if !reader.is_at_end() {
        return Err(reader.wrong("the statement should end here"));
    }
    Ok(Definition { schema: schema(&name, columns, &keys)?, kind, if_missing })
}

/// A secondary index as it is written.
#[derive(Debug)]
pub(crate) struct IndexDefinition {
    pub table: String,
    pub index: IndexSchema,
    /// True if an index of the name may be there already, and stays as it is then.
    pub if_missing: bool,
}

/// Reads a `CREATE INDEX`:
///
/// ```text
/// CREATE [UNIQUE] INDEX [IF NOT EXISTS] [temp.]name ON table ( column {"," column} )
/// ```
///
/// # Errors
/// The fault, and its place.
pub(crate) fn parse_index(text: &str) -> Result<IndexDefinition, String> {
    let mut reader = Reader::of_statement("CREATE INDEX", text);
    reader.expect_word("CREATE")?;
    let is_unique = reader.takes_word("UNIQUE");
    reader.expect_word("INDEX")?;
    let if_missing = reader.takes_word("IF");
    if if_missing {
        reader.expect_word("NOT")?;
        reader.expect_word("EXISTS")?;
    }
    let mut name = reader.name("the name of an index")?;
    if name.eq_ignore_ascii_case("temp") && reader.takes('.') {
        name = reader.name("the name of an index")?;
    }
    reader.expect_word("ON")?;
    let table = reader.name("the name of a table")?;
    reader.expect('(')?;
    let mut columns = Vec::new();
    loop {
        columns.push(reader.name("the name of a column")?);
        reader.takes_word("ASC");
        if !reader.takes(',') {
            break;
        }
    }
    if !reader.takes(')') {
        return Err(reader.wrong(
            "an index of Lode has columns, without DESC, COLLATE and expressions; ')' should be \
             here",
        ));
    }
    if !reader.is_at_end() {
        return Err(reader.wrong("the statement should end here; an index of Lode has no WHERE"));
    }
    let index = IndexSchema::new(&name, columns);
    let index = if is_unique { index.unique() } else { index };
    Ok(IndexDefinition { table, index, if_missing })
}

/// Makes a schema of columns in any order: those of the key come first.
fn schema(name: &str, mut columns: Vec<Column>, keys: &[String]) -> Result<Schema, String> {
    let mut builder = Schema::build(name);
    for key in keys {
        let at = columns.iter().position(|column| column.name == *key);
        let at = at.ok_or_else(|| format!("the key has a column {key}, and the table has not"))?;
        let column = columns.remove(at);
        builder = builder.key(&column.name, column.kind);
    }
    for column in &columns {
        builder = if column.is_nullable {
            builder.nullable(&column.name, column.kind)
        } else {
            builder.column(&column.name, column.kind)
        };
    }
    for column in columns.iter().filter(|column| column.expires) {
        builder = builder.expires(&column.name);
    }
    builder.finish().map_err(|error| error.to_string())
}

impl Reader<'_> {
    fn expect_no_key(&self, keys: &[String]) -> Result<(), String> {
        match keys {
            [] => Ok(()),
            [..] => Err(self.wrong("there is a primary key already")),
        }
    }

    fn column(&mut self, keys: &mut Vec<String>) -> Result<Column, String> {
        let name = self.name("the name of a column")?;
        let kind = self.kind()?;
        let mut is_nullable = true;
        let mut expires = false;
        loop {
            if self.takes_word("NOT") {
                self.expect_word("NULL")?;
                is_nullable = false;
            } else if self.takes_word("PRIMARY") {
                self.expect_word("KEY")?;
                self.expect_no_key(keys)?;
                keys.push(name.clone());
            } else if self.takes_word("EXPIRES") {
                expires = true;
            } else if !self.takes_word("NULL") {
                break;
            }
        }
        match self.word() {
            "" => Ok(Column { name, kind, is_nullable, expires }),
            word => Err(self.wrong(&format!(
                "{word} means nothing here; NOT NULL, NULL, PRIMARY KEY or EXPIRES can come \
                 after a type"
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use lode::Database;

    use super::*;
    use crate::language::types::{PLAIN, SIZED};

    #[test]
    fn what_is_printed_makes_the_same_table() {
        let db = Database::in_memory().expect("memory");
        let mut builder =
            Schema::build("a \"b\"").key("id", Type::VarText(7)).key("x y", Type::I64);
        for (word, kind) in &PLAIN[..12] {
            builder = builder.column(word, *kind).nullable(&format!("{word}?"), *kind);
        }
        for (word, kind, _) in SIZED {
            builder = builder.column(word, kind(9));
        }
        builder = builder.nullable("d", Type::Decimal { precision: 12, scale: 2 });
        let builder = builder.nullable("until", Type::Timestamp).expires("until");
        let schema = builder.finish().expect("a schema");
        let table = db.create_table(&schema, KeyKind::Hash).expect("a table");
        let text = print(&table);
        let start = "CREATE TABLE \"a \"\"b\"\"\" (\"id\" VARTEXT(7) NOT NULL, \
                     \"x y\" I64 NOT NULL, \"U8\" U8 NOT NULL, \"U8?\" U8, ";
        assert!(text.starts_with(start), "{text}");
        let read = parse(&text).expect("it is read");
        assert_eq!((read.schema, read.kind, read.if_missing), (schema, KeyKind::Hash, false));
    }

    #[test]
    fn a_key_comes_first_wherever_it_stands() {
        let text = "/* ; */ create table if not exists t -- one (\n(name varchar, id integer \
                    /*,*/ primary key, note text(8) null);-- end";
        let read = parse(text).expect("it is read");
        let names = read.schema.columns().iter().map(|column| &column.name[..]);
        assert_eq!(names.collect::<Vec<_>>(), ["id", "name", "note"]);
        assert_eq!((read.schema.key_columns(), read.kind), (1, KeyKind::Tree));
        assert!(read.if_missing);
        assert_eq!(read.schema.columns()[1].kind, Type::VarText(1 << 20));
        let pair = parse("CREATE TABLE t (a U8, b U16 NOT NULL, c U32, PRIMARY KEY (c, a))");
        let pair = pair.expect("it is read").schema;
        let columns: Vec<_> = pair.columns().iter().map(|c| (&c.name[..], c.nullable)).collect();
        assert_eq!(columns, [("c", false), ("a", false), ("b", false)]);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        let why = |text: &str| parse(text).expect_err("refused");
        let at = |place: usize, why: &str| format!("at character {place} of CREATE TABLE: {why}");
        assert_eq!(why("CREATE VIEW v"), at(8, "TABLE should be here"));
        assert_eq!(why("CREATE TABLE (a U8)"), at(14, "the name of a table should be here"));
        assert_eq!(why("CREATE TABLE t"), at(15, "'(' should be here"));
        assert_eq!(why("CREATE TABLE t (a U8"), at(21, "')' should be here"));
        assert_eq!(why("CREATE TABLE t (\"a U8)"), at(17, "this name has no end"));
        assert!(
            why("CREATE TABLE t (a U9)").starts_with(&at(19, "there is no type \"U9\"; types"))
        );
        assert_eq!(
            why("CREATE TABLE t (a BYTES)"),
            at(24, "the number of bytes should be here, such as (16)")
        );
        assert_eq!(why("CREATE TABLE t (a TEXT(x))"), at(24, "a number of bytes should be here"));
        assert_eq!(
            why("CREATE TABLE t (a U8 PRIMARY KEY, PRIMARY KEY (a))"),
            at(47, "there is a primary key already")
        );
        assert!(why("CREATE TABLE t (a U8 UNIQUE)").contains("UNIQUE means nothing here"));
        assert_eq!(
            why("CREATE TABLE t (a U8, PRIMARY KEY (b))"),
            "the key has a column b, and the table has not"
        );
        assert_eq!(why("CREATE TABLE t (a U8)"), "table t: it has no key; begin with a key column");
        assert_eq!(
            why("CREATE TABLE t (a U8 PRIMARY KEY) USING X"),
            at(41, "HASH or TREE should be here")
        );
        assert_eq!(
            why("CREATE TABLE t (a U8 PRIMARY KEY) x"),
            at(35, "the statement should end here")
        );
    }
}
