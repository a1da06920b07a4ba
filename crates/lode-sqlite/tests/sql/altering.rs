//! Changes of tables by SQL: columns, names, kinds.

use lode::{Database, KeyKind};
use lode_sqlite::{Console, Step};

use crate::support::{connect, rows};

fn run(console: &Console, text: &str) -> Result<Vec<String>, String> {
    let mut found = Vec::new();
    let shown = &mut |step: Step<'_, '_>| {
        if let Step::Rows(statement) = step {
            let columns = statement.column_count();
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                let values = (0..columns).map(|at| {
                    row.get_ref(at).map(|value| match value {
                        rusqlite::types::ValueRef::Null => "null".into(),
                        rusqlite::types::ValueRef::Integer(number) => number.to_string(),
                        rusqlite::types::ValueRef::Real(number) => number.to_string(),
                        rusqlite::types::ValueRef::Text(text) => {
                            String::from_utf8_lossy(text).into()
                        }
                        rusqlite::types::ValueRef::Blob(bytes) => format!("{bytes:?}"),
                    })
                });
                found.push(values.collect::<Result<Vec<_>, _>>()?.join("|"));
            }
        }
        Ok(())
    };
    console.run(text, shown).map_err(|error: rusqlite::Error| error.to_string())?;
    Ok(found)
}

#[test]
fn statements_alter_tables() {
    let db = Database::in_memory().expect("memory");
    let console = Console::new(&db).expect("a console");
    let text = "CREATE TABLE person (id U32 PRIMARY KEY, name VARTEXT(40), age U8) USING HASH;
                CREATE INDEX by_name ON person (name);
                INSERT INTO person VALUES (1, 'Ada', 36), (2, 'Bo', NULL);
                ALTER TABLE Person ADD COLUMN city VARTEXT(20) NOT NULL DEFAULT 'Bern';
                ALTER TABLE person ADD mail TEXT;
                ALTER TABLE person RENAME COLUMN NAME TO first_name;
                ALTER TABLE person ALTER age TYPE I64;
                SELECT * FROM person ORDER BY id";
    let shown = ["1|Ada|36|Bern|null", "2|Bo|null|Bern|null"].map(String::from);
    assert_eq!(run(&console, text), Ok(shown.to_vec()));
    let text = "UPDATE person SET age = -1, mail = 'bo@example.org' WHERE first_name = 'Bo';
                ALTER TABLE person USING TREE; ALTER TABLE person DROP city;
                ALTER TABLE person ALTER COLUMN age SET NOT NULL;
                ALTER TABLE person RENAME TO People;
                SELECT * FROM people WHERE id >= 2";
    assert_eq!(run(&console, text), Ok(vec!["2|Bo|-1|bo@example.org".into()]));
    assert_eq!(db.table_names(), ["People"]);
    let table = db.table("People").expect("it is there");
    assert_eq!(table.key_kind(), KeyKind::Tree);
    assert!(run(&console, "SELECT * FROM person").is_err(), "it has another name");
    for (wrong, why) in [
        ("ALTER TABLE people DROP id", "table People: column id is of the key; it stays"),
        (
            "ALTER TABLE people DROP FIRST_NAME",
            "table People: index by_name has column first_name; drop the index first",
        ),
        ("ALTER TABLE people DROP none", "table People: there is no column none"),
        (
            "ALTER TABLE people ALTER age TYPE U8",
            "table People: -1 does not fit column age: U8, in record (2); change the record first",
        ),
        ("ALTER TABLE people ADD x U8 DEFAULT 256", "table People: 256 does not fit column x: U8"),
        (
            "ALTER TABLE people ADD x U8 DEFAULT 'abc'",
            "'abc' is no value of column x; give another DEFAULT",
        ),
        (
            "ALTER TABLE people ADD x TEXT(2) DEFAULT 'abc'",
            "table People: \"abc\" does not fit column x: Text(2)",
        ),
        ("ALTER TABLE people ADD Mail U8", "there is a column mail already"),
        ("ALTER TABLE people RENAME age TO MAIL", "there is a column mail already"),
        ("ALTER TABLE people RENAME TO SQLite_x", "SQLite keeps names that start with sqlite_"),
        ("ALTER TABLE none ADD x U8", "no such table: none"),
        ("BEGIN; ALTER TABLE people ADD x U8", "outside of transactions; commit it first"),
        (
            "ROLLBACK; CREATE TABLE t (a U8 PRIMARY KEY); ALTER TABLE people RENAME TO T",
            "there is a table t already; choose another name",
        ),
    ] {
        let said = run(&console, wrong).expect_err(wrong);
        assert!(said.contains(why), "{wrong}: {said}");
    }
    let shown = ["1|Ada|36|null", "2|Bo|-1|bo@example.org"].map(String::from);
    assert_eq!(run(&console, "SELECT * FROM people"), Ok(shown.to_vec()));
}

#[test]
fn other_connections_alter_tables_by_a_function() {
    let db = Database::in_memory().expect("memory");
    let connection = connect(&db);
    let create = "SELECT lode_create('CREATE TABLE t (id U8 PRIMARY KEY)')";
    assert_eq!(rows(&connection, create), ["t"]);
    let alter = "SELECT lode_alter('ALTER TABLE t ADD n I64 NOT NULL DEFAULT -7')";
    connection.execute("INSERT INTO t VALUES (1)", []).expect("room");
    assert_eq!(rows(&connection, alter), ["t"]);
    assert_eq!(rows(&connection, "SELECT * FROM t"), ["1|-7"]);
    assert_eq!(rows(&connection, "SELECT lode_alter('ALTER TABLE t RENAME TO u')"), ["u"]);
    assert_eq!(rows(&connection, "SELECT n FROM u"), ["-7"]);
}

#[test]
fn of_columns_that_differ_in_case_the_exact_one_is_altered() {
    let db = Database::in_memory().expect("memory");
    let console = Console::new(&db).expect("a console");
    let schema = lode::Schema::build("t").key("id", lode::Type::U8);
    let schema = schema.column("aa", lode::Type::U8).column("AA", lode::Type::U16);
    let schema = schema.finish().expect("a schema");
    db.create_table(&schema, KeyKind::Tree).expect("room");
    let said = run(&console, "ALTER TABLE t DROP Aa").expect_err("it may be either");
    assert!(said.contains("there are several columns Aa; name one exactly"), "{said}");
    assert_eq!(run(&console, "ALTER TABLE t DROP AA; SELECT aa FROM t"), Ok(vec![]));
    let table = db.table("t").expect("it is there");
    assert_eq!(table.schema().columns()[1].kind, lode::Type::U8);
}
