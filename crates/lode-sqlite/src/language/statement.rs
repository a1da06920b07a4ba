//! The destination of a statement: the database itself, or SQLite.

use crate::language::reader::Reader;

/// The treatment of a statement.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `CREATE TABLE`, for the database.
    Create,
    /// `CREATE INDEX`; SQLite's if the database has no such table.
    CreateIndex { table: String },
    /// `ALTER TABLE`; SQLite's if the database has no such table.
    Alter { table: String },
    /// `DROP INDEX`; SQLite's if the database has no such index.
    DropIndex { name: String },
    /// `DROP TABLE`; SQLite's if the database has no such table.
    Drop { name: String },
    /// `DELETE FROM` without a condition.
    Clear { name: String },
    /// `VACUUM`.
    Compact,
    /// `VACUUM INTO`.
    BackUp { directory: String },
    /// A statement that would do nothing, or not what it says, and why.
    Refused(&'static str),
    /// SQLite carries it out. If it changes rows, they are counted.
    Other { changes_rows: bool },
}

const INTO: &str =
    "VACUUM is followed by nothing, or by INTO and the directory of a backup in quotes";

const OTHER: Kind = Kind::Other { changes_rows: false };

/// The object of a name with perhaps a schema before it.
enum Name {
    Alone(String),
    OfLode(String),
    OfMain,
    OfOther,
}

fn name(reader: &mut Reader<'_>) -> Option<Name> {
    let first = reader.name("a name").ok()?;
    if !reader.takes('.') {
        return Some(Name::Alone(first));
    }
    let second = reader.name("a name").ok()?;
    Some(match first.to_ascii_lowercase().as_str() {
        "temp" => Name::OfLode(second),
        "main" => Name::OfMain,
        _ => Name::OfOther,
    })
}

impl Kind {
    pub(crate) fn of(statement: &str) -> Self {
        let mut reader = Reader::of(statement);
        let reader = &mut reader;
        if reader.takes_word("CREATE") {
            if reader.takes_word("TABLE") {
                return Self::create(reader);
            }
            reader.takes_word("UNIQUE");
            return if reader.takes_word("INDEX") { Self::create_index(reader) } else { OTHER };
        }
        if reader.takes_word("DROP") {
            if reader.takes_word("INDEX") {
                return Self::drop_index(reader);
            }
            return if reader.takes_word("TABLE") { Self::drop(reader) } else { OTHER };
        }
        if reader.takes_word("ALTER") {
            return Self::alter(reader);
        }
        if reader.takes_word("DELETE") {
            return Self::delete(reader);
        }
        if reader.takes_word("VACUUM") {
            return Self::vacuum(reader);
        }
        if reader.takes_word("ANALYZE") {
            return Self::analyze(reader);
        }
        if reader.takes_word("REINDEX") {
            return Self::Refused(
                "REINDEX has nothing to do: each write keeps the indexes of Lode",
            );
        }
        let words = ["INSERT", "UPDATE", "REPLACE", "WITH"];
        Self::Other { changes_rows: words.iter().any(|word| reader.takes_word(word)) }
    }

    fn create(reader: &mut Reader<'_>) -> Self {
        let is_conditional = reader.takes_word("IF");
        if is_conditional && !(reader.takes_word("NOT") && reader.takes_word("EXISTS")) {
            return OTHER;
        }
        let created = name(reader);
        if reader.takes_word("AS") && !matches!(created, Some(Name::OfLode(_) | Name::OfOther)) {
            return Self::Refused(
                "CREATE TABLE … AS is not for tables of Lode, which need a key: write CREATE \
                 TABLE with columns, then INSERT INTO … SELECT; or CREATE TEMP TABLE … AS",
            );
        }
        match created {
            Some(Name::Alone(_)) | None => Self::Create,
            // A temporary table of SQLite, or one of an attached file.
            Some(Name::OfLode(_) | Name::OfOther | Name::OfMain) => OTHER,
        }
    }

    fn drop(reader: &mut Reader<'_>) -> Self {
        if reader.takes_word("IF") && !reader.takes_word("EXISTS") {
            return OTHER;
        }
        match name(reader).filter(|_| reader.is_at_end()) {
            Some(Name::Alone(name) | Name::OfLode(name)) => Self::Drop { name },
            Some(Name::OfMain | Name::OfOther) | None => OTHER,
        }
    }

    fn create_index(reader: &mut Reader<'_>) -> Self {
        let is_conditional = reader.takes_word("IF");
        if is_conditional && !(reader.takes_word("NOT") && reader.takes_word("EXISTS")) {
            return OTHER;
        }
        let is_ours = matches!(name(reader), Some(Name::Alone(_) | Name::OfLode(_)));
        let table = if reader.takes_word("ON") { reader.name("a name").ok() } else { None };
        match table.filter(|_| is_ours) {
            Some(table) => Self::CreateIndex { table },
            None => OTHER,
        }
    }

    fn alter(reader: &mut Reader<'_>) -> Self {
        match reader.takes_word("TABLE").then(|| name(reader)).flatten() {
            Some(Name::Alone(table) | Name::OfLode(table)) => Self::Alter { table },
            Some(Name::OfMain | Name::OfOther) | None => OTHER,
        }
    }

    fn drop_index(reader: &mut Reader<'_>) -> Self {
        if reader.takes_word("IF") && !reader.takes_word("EXISTS") {
            return OTHER;
        }
        match name(reader).filter(|_| reader.is_at_end()) {
            Some(Name::Alone(name) | Name::OfLode(name)) => Self::DropIndex { name },
            Some(Name::OfMain | Name::OfOther) | None => OTHER,
        }
    }

    fn delete(reader: &mut Reader<'_>) -> Self {
        if !reader.takes_word("FROM") {
            return Self::Other { changes_rows: true };
        }
        match name(reader).filter(|_| reader.is_at_end()) {
            Some(Name::Alone(name) | Name::OfLode(name)) => Self::Clear { name },
            _ => Self::Other { changes_rows: true },
        }
    }

    fn vacuum(reader: &mut Reader<'_>) -> Self {
        let of_database = ["main", "temp"].iter().any(|schema| reader.takes_word(schema));
        if reader.is_at_end() {
            return Self::Compact;
        }
        if !reader.takes_word("INTO") {
            return if of_database { Self::Refused(INTO) } else { OTHER };
        }
        let is_quoted = reader.rest().trim_start().starts_with(['\'', '"']);
        match reader.name("a directory") {
            Ok(directory) if is_quoted && reader.is_at_end() && !directory.is_empty() => {
                Self::BackUp { directory }
            }
            _ => Self::Refused(INTO),
        }
    }

    fn analyze(reader: &mut Reader<'_>) -> Self {
        let analyzed = if reader.is_at_end() { None } else { name(reader) };
        match analyzed {
            Some(Name::OfOther) => OTHER,
            _ => Self::Refused(
                "ANALYZE has nothing to do: Lode estimates from its indexes; ANALYZE FILE.TABLE is \
                 for attached files",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_known_by_its_words_wherever_comments_stand() {
        let clear = |name: &str| Kind::Clear { name: name.into() };
        let drop = |name: &str| Kind::Drop { name: name.into() };
        let create_index = |table: &str| Kind::CreateIndex { table: table.into() };
        let alter = |table: &str| Kind::Alter { table: table.into() };
        let drop_index = |name: &str| Kind::DropIndex { name: name.into() };
        for (statement, kind) in [
            ("-- a\n/* b */create /* c */ TABLE t (a INT)", Kind::Create),
            ("CREATE TABLE IF NOT EXISTS \"a b\" (a INT)", Kind::Create),
            ("\u{feff} \u{feff}CREATE TABLE t (a INT)", Kind::Create),
            ("CREATE TEMP TABLE t (a)", OTHER),
            ("CREATE TABLE temp.t (a)", OTHER),
            ("CREATE TABLE file.t AS SELECT 1", OTHER),
            ("DROP TABLE -- t\n t;", drop("t")),
            ("drop table if exists [a ;b] ; -- end", drop("a ;b")),
            ("DROP TABLE temp.\"t\"\"u\"", drop("t\"u")),
            ("DROP TABLE main.t", OTHER),
            ("DROP TABLE t t", OTHER),
            ("create unique index if not exists i on [a b] (c)", create_index("a b")),
            ("CREATE INDEX temp.i ON t (c)", create_index("t")),
            ("CREATE INDEX main.i ON t (c)", OTHER),
            ("CREATE UNIQUE TABLE t (a)", OTHER),
            ("alter /* it */ table \"a\" add b u8", alter("a")),
            ("ALTER TABLE temp.t USING HASH", alter("t")),
            ("ALTER TABLE main.t RENAME TO u", OTHER),
            ("DROP INDEX i", drop_index("i")),
            ("drop index if exists temp.\"i\";", drop_index("i")),
            ("DROP INDEX file.i", OTHER),
            ("DELETE FROM t", clear("t")),
            ("delete from temp . t;", clear("t")),
            ("DELETE FROM t WHERE 1", Kind::Other { changes_rows: true }),
            ("DELETE FROM main.t", Kind::Other { changes_rows: true }),
            ("DELETE FROM t RETURNING a", Kind::Other { changes_rows: true }),
            ("VACUUM ;", Kind::Compact),
            ("VACUUM main", Kind::Compact),
            ("VACUUM file", OTHER),
            ("VACUUM file INTO 'x'", OTHER),
            ("VACUUM INTO 'it''s'", Kind::BackUp { directory: "it's".into() }),
            ("vacuum main into \"x\";", Kind::BackUp { directory: "x".into() }),
            ("ANALYZE file.t", OTHER),
            ("WITH a AS (SELECT 1) INSERT INTO t SELECT 1", Kind::Other { changes_rows: true }),
            ("SELECT 'DROP TABLE t'", OTHER),
        ] {
            assert_eq!(Kind::of(statement), kind, "{statement}");
        }
        for refused in [
            "CREATE TABLE t AS SELECT 1",
            "CREATE TABLE main.t AS SELECT 1",
            "VACUUM INTO",
            "VACUUM INTO ''",
            "VACUUM INTO 'x' || 'y'",
            "VACUUM main x",
            "ANALYZE",
            "ANALYZE t",
            "REINDEX",
        ] {
            assert!(matches!(Kind::of(refused), Kind::Refused(_)), "{refused}");
        }
    }
}
