//! Statements of a console: what is for the database, what is for SQLite, and what is refused.

use lode::{Database, KeyKind, ReadTable, Schema, Type, Value};
use lode_sqlite::{Console, Step};

fn console() -> (Database, Console) {
    let db = Database::in_memory().expect("memory");
    let console = Console::new(&db).expect("a console");
    (db, console)
}

/// Returns what statements show: rows with bars between the values, and the rows changed.
fn run(console: &Console, text: &str) -> Result<Vec<String>, String> {
    let mut shown = Vec::new();
    let done = console.run::<rusqlite::Error>(text, &mut |step| {
        match step {
            Step::Rows(statement) => {
                let columns = statement.column_count();
                let mut rows = statement.query([])?;
                while let Some(row) = rows.next()? {
                    let value = |at| row.get::<_, rusqlite::types::Value>(at);
                    let text = |value| match value {
                        rusqlite::types::Value::Null => "NULL".into(),
                        rusqlite::types::Value::Integer(number) => number.to_string(),
                        rusqlite::types::Value::Text(text) => text,
                        other => format!("{other:?}"),
                    };
                    let texts = (0..columns).map(|at| value(at).map(text));
                    shown.push(texts.collect::<rusqlite::Result<Vec<_>>>()?.join("|"));
                }
            }
            Step::Changed(count) => shown.push(format!("changed {count}")),
            Step::Compacted(_) => shown.push("compacted".into()),
            Step::BackedUp(_) => shown.push("backed up".into()),
        }
        Ok(())
    });
    match done {
        Ok(()) => Ok(shown),
        Err(rusqlite::Error::SqliteFailure(_, Some(why))) => Err(why),
        Err(rusqlite::Error::SqlInputError { msg, .. }) => Err(msg),
        Err(other) => Err(other.to_string()),
    }
}

#[test]
fn definitions_are_found_wherever_they_stand_in_a_text() {
    let (db, console) = console();
    for (text, shown, tables) in [
        (
            "-- my schema\nCREATE TABLE t(id INTEGER PRIMARY KEY);\nINSERT INTO t VALUES(1);",
            &["changed 1"][..],
            &["t"][..],
        ),
        (
            "SELECT 1; /* ; */ CREATE TABLE u(id INT PRIMARY KEY, x INT -- ;\n); INSERT INTO u \
              VALUES \
          (1, 2), (2, 3)",
            &["1", "changed 2"],
            &["t", "u"],
        ),
        (
            "CREATE TABLE v(id INT PRIMARY KEY) USING HASH; INSERT INTO v VALUES (7); SELECT * \
             FROM v",
            &["changed 1", "7"],
            &["t", "u", "v"],
        ),
        ("SELECT 1; DROP TABLE t;", &["1"], &["u", "v"]),
        (
            "DROP TABLE -- it\n temp.\"V\"; DROP TABLE IF EXISTS none; SELECT count(*) FROM u",
            &["2"],
            &["u"],
        ),
        (
            "CREATE TABLE IF NOT EXISTS U (a INT PRIMARY KEY); SELECT x FROM u ORDER BY x LIMIT 1",
            &["2"],
            &["u"],
        ),
        (
            "CREATE TEMP TABLE x AS SELECT x FROM u; CREATE TEMP VIEW y AS SELECT sum(x) FROM x; \
          SELECT * FROM y; DROP VIEW y; DROP TABLE x",
            &["5"],
            &["u"],
        ),
    ] {
        let shown = shown.iter().map(ToString::to_string).collect();
        assert_eq!(run(&console, text), Ok(shown), "{text}");
        assert_eq!(db.table_names(), tables, "{text}");
    }
}

#[test]
fn what_would_be_kept_nowhere_or_do_nothing_is_refused_by_name() {
    let (db, console) = console();
    run(&console, "CREATE TABLE t(id INT PRIMARY KEY, x INT)").expect("it is new");
    for (text, why) in [
        ("CREATE VIEW v AS SELECT 1", "CREATE VIEW v would be kept nowhere; CREATE TEMP VIEW"),
        ("CREATE TABLE a AS SELECT 1", "CREATE TABLE … AS is not for tables of Lode"),
        ("CREATE TABLE main.a(x)", "CREATE TABLE a would be kept nowhere"),
        ("EXPLAIN CREATE TABLE a(x)", "CREATE TABLE a would be kept nowhere"),
        ("CREATE TRIGGER g AFTER INSERT ON t BEGIN SELECT 1; SELECT 2; END", "cannot create trig"),
        ("CREATE VIRTUAL TABLE f USING none(x)", "CREATE VIRTUAL TABLE f would be kept nowhere"),
        ("EXPLAIN CREATE INDEX i ON t(x)", "virtual tables may not be indexed"),
        ("ALTER TABLE t ADD COLUMN y", "at character 27 of ALTER TABLE: there is no type"),
        ("DROP TABLE t RESTRICT", "drop table t of Lode in a statement by itself"),
        ("EXPLAIN DROP TABLE t", "drop table t of Lode in a statement by itself"),
        ("DROP TABLE none", "no such table: none"),
        ("ANALYZE", "ANALYZE has nothing to do"),
        ("REINDEX t", "REINDEX has nothing to do"),
        ("VACUUM INTO '/tmp/x'", "a database in memory has no files to back up"),
        ("VACUUM INTO 1", "VACUUM is followed by nothing, or by INTO"),
        ("PRAGMA user_version = 7", "PRAGMA user_version means nothing for a database of Lode"),
        ("PRAGMA integrity_check", "PRAGMA integrity_check means nothing"),
        ("PRAGMA journal_mode = WAL", "PRAGMA journal_mode means nothing"),
        ("ATTACH ':memory:' AS m; CREATE TABLE m.x(a)", "CREATE TABLE x would be kept nowhere"),
        (
            "BEGIN; CREATE TABLE b(x INT PRIMARY KEY)",
            "tables of Lode are created, altered and dropped",
        ),
        ("VACUUM INTO '/tmp/x'", "VACUUM is for outside of transactions"),
        ("ROLLBACK; SELECT 1 -- \0", "the statement has a zero byte"),
        ("ROLLBACK", "cannot rollback - no transaction is active"),
    ] {
        let said = run(&console, text).expect_err(text);
        assert!(said.starts_with(why), "{text}: {said}");
        assert_eq!(db.table_names(), ["t"], "{text}");
    }
    let schema = "SELECT count(*) FROM main.sqlite_schema";
    assert_eq!(run(&console, schema), Ok(vec!["0".into()]));
    let tables =
        "SELECT name FROM pragma_table_info('t'); VACUUM; SELECT sqrt(pow(3, 2) + 16) > 4.9";
    assert_eq!(run(&console, tables), Ok(["id", "x", "compacted", "1"].map(Into::into).into()));
}

#[test]
fn a_file_of_sqlite_can_be_read_and_written() {
    let (_db, console) = console();
    let folder = tempfile::tempdir().expect("a directory");
    let file = folder.path().join("own.db");
    let text = format!(
        "ATTACH '{}' AS own; CREATE TABLE own.x(a); INSERT INTO own.x VALUES (1), (2);
         CREATE TABLE y(a INT PRIMARY KEY); INSERT INTO y SELECT * FROM own.x;
         SELECT sum(a) FROM y",
        file.display()
    );
    assert_eq!(run(&console, &text), Ok(["changed 2", "changed 2", "3"].map(Into::into).into()));
}

#[test]
fn a_table_that_sql_cannot_show_keeps_no_other_from_being_seen() {
    let db = Database::in_memory().expect("memory");
    let many: Vec<_> = (0..2_001).map(|at| format!("c{at}")).collect();
    let many: Vec<_> = many.iter().map(|name| &name[..]).collect();
    for (name, columns) in [
        ("good", &["id", "x"][..]),
        ("case", &["id", "x", "X"]),
        ("T", &["id"]),
        ("t", &["id"]),
        ("sqlite_a", &["id"]),
        ("zero", &["id", "a\0b"]),
        ("many", &many),
    ] {
        let builder = Schema::build(name).key(columns[0], Type::U8);
        let builder = columns[1..].iter().fold(builder, |it, name| it.column(name, Type::U8));
        db.create_table(&builder.finish().expect("a schema"), KeyKind::Tree).expect("a table");
    }
    let console = Console::new(&db).expect("others are seen");
    let hidden = console.hidden();
    let names: Vec<_> = hidden.iter().map(|hidden| &hidden.name[..]).collect();
    assert_eq!(names, ["T", "case", "many", "sqlite_a", "t", "zero"]);
    assert_eq!(run(&console, "INSERT INTO good VALUES (1, 2)"), Ok(vec!["changed 1".into()]));
    for (text, why) in [
        (
            "SELECT * FROM \"case\"",
            "SQL cannot show table \"case\": columns \"x\" and \"X\" have the",
        ),
        ("SELECT 1 FROM good JOIN T", "SQL cannot show table \"T\": table \"t\" has the same name"),
        (
            "INSERT INTO sqlite_a VALUES (1)",
            "SQL cannot show table \"sqlite_a\": SQLite keeps names",
        ),
        ("DELETE FROM zero", "SQL cannot show table \"zero\": a name in it has a zero byte"),
        (
            "SELECT * FROM many",
            "SQL cannot show table \"many\": it has 2001 columns, and SQLite takes",
        ),
    ] {
        let said = run(&console, text).expect_err(text);
        assert!(said.starts_with(why) && said.ends_with("lode drop drops it"), "{text}: {said}");
    }
    // One of two is dropped: then the other can be seen.
    assert_eq!(run(&console, "DROP TABLE T; SELECT count(*) FROM t"), Ok(vec!["0".into()]));
    let said = run(&console, "CREATE TABLE Good (a INT PRIMARY KEY)").expect_err("it is there");
    assert!(said.contains("table good is there, and SQLite takes one for the other"), "{said}");
}

#[test]
fn all_rows_are_deleted_also_where_they_cannot_be_deleted_one_by_one() {
    let db = lode::Options::new().memory_bytes(16 << 20).in_memory().expect("memory");
    let schema = Schema::build("wide").key("id", Type::U64).column("x", Type::Bytes(4_000));
    let table = db.create_table(&schema.finish().expect("a schema"), KeyKind::Tree);
    let table = table.expect("a table");
    for id in [1, 1 << 63] {
        let values = [Value::Unsigned(id), Value::Bytes(&[7; 4_000])];
        table.insert(&table.schema().pack(&values).expect("fits")).expect("room");
    }
    let console = Console::new(&db).expect("a console");
    let all = "WITH RECURSIVE n(i) AS (VALUES (2) UNION ALL SELECT i + 1 FROM n WHERE i < 9000)
               INSERT INTO wide SELECT i, zeroblob(4000) FROM n";
    let said = run(&console, all).expect_err("it is too much");
    assert!(said.contains("change fewer records at a time: by ranges of the key"), "{said}");
    for text in ["DELETE FROM wide WHERE x IS NOT NULL", "BEGIN; DELETE FROM wide"] {
        let said = run(&console, text).expect_err("SQLite has no value for a key");
        assert!(said.contains("wide.id is 9223372036854775808, for which SQLite has no"), "{said}");
    }
    let _ = run(&console, "ROLLBACK");
    assert_eq!(run(&console, "DELETE FROM wide"), Ok(vec!["changed 2".into()]));
    assert_eq!(run(&console, "SELECT count(*) FROM wide"), Ok(vec!["0".into()]));
    assert_eq!(db.table("wide").and_then(|table| table.len()), Ok(0));
    assert!(db.check().expect("it is open").faults.is_empty());
}

#[test]
fn what_is_temporary_is_dropped_and_tables_of_lode_stay() {
    let db = lode::Database::in_memory().expect("a database");
    let console = Console::new(&db).expect("a console");
    let make = "CREATE TEMP TABLE \"a\"\"b\" (x UNIQUE); INSERT INTO \"a\"\"b\" VALUES (1);
                CREATE TEMP VIEW v AS SELECT * FROM \"a\"\"b\";
                CREATE VIRTUAL TABLE temp.words USING fts5(word)";
    run(&console, "CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (7)")
        .expect("a table");
    run(&console, make).expect("they are made");
    console.drop_temporary().expect("they are dropped");
    let left = "SELECT name FROM temp.sqlite_schema WHERE name NOT LIKE 'sqlite%'";
    assert_eq!(run(&console, left), Ok(vec!["t".into()]));
    assert_eq!(run(&console, "SELECT id FROM t"), Ok(vec!["7".into()]));
    run(&console, make).expect("they are made anew");
}
