//! Databases that SQL names by their directories, and tables that it creates.

use crate::support::{refusal, rows};
use lode::{Database, Options};
use rusqlite::{Connection, OpenFlags, ffi};

/// A connection with the module and the functions.
fn registered() -> Connection {
    let connection = Connection::open_in_memory().expect("a connection");
    lode_sqlite::register(&connection).expect("the module");
    connection
}

const CREATE: &str = "SELECT lode_create('CREATE TABLE city (country TEXT(2), name VARTEXT(40), \
                      people U64 NOT NULL, PRIMARY KEY (country, name))')";

#[test]
fn a_directory_is_made_used_by_several_connections_and_closed_by_the_last() {
    let folder = tempfile::tempdir().expect("a directory");
    let dir = folder.path().join("it's");
    let name = dir.to_str().expect("text").replace('\'', "''");
    let one = registered();
    let other = registered();
    let attach = format!("SELECT lode_attach('{name}')");
    assert!(refusal(&one, &attach).1.contains("No such file or directory"));
    assert_eq!(rows(&one, &format!("SELECT lode_attach('{name}', 'create')")), ["0"]);
    assert_eq!(rows(&one, CREATE), ["city"]);
    assert_eq!(rows(&other, &attach), ["1"]);
    one.execute_batch("INSERT INTO city VALUES ('CH', 'Bern', 134591)").expect("a row");
    assert_eq!(rows(&other, "SELECT * FROM city"), ["CH|Bern|134591"]);

    // A table that was made since is seen when it is attached again.
    one.execute_batch("SELECT lode_create('CREATE TABLE n (i INT PRIMARY KEY) USING HASH')")
        .expect("a table");
    assert_eq!(rows(&other, &attach), ["2"]);
    assert_eq!(rows(&other, "SELECT count(*) FROM n"), ["0"]);
    assert_eq!(rows(&one, "SELECT lode_drop('n')"), ["n"]);
    assert_eq!(refusal(&one, "SELECT * FROM n").1, "no such table: n");

    drop(one);
    let open = || Options::new().open_existing(&dir);
    assert!(matches!(open(), Err(lode::Error::Locked)), "the other still has it");
    drop(other);
    let db = open().expect("it was closed");
    assert_eq!(db.table_names(), ["city"]);
}

#[test]
fn a_table_is_found_by_a_file_of_sqlite_and_only_read_where_that_is() {
    let folder = tempfile::tempdir().expect("a directory");
    let dir = folder.path().join("db");
    let file = folder.path().join("file.db");
    let writer = Connection::open(&file).expect("a file");
    lode_sqlite::register(&writer).expect("the module");
    let dir = dir.to_str().expect("text");
    rows(&writer, &format!("SELECT lode_attach('{dir}', 'create')"));
    rows(&writer, CREATE);
    writer
        .execute_batch(&format!(
            "CREATE VIRTUAL TABLE main.town USING lode('{dir}', 'city');
             INSERT INTO town VALUES ('CH', 'Thun', 43743)"
        ))
        .expect("both");
    drop(writer);

    let reader = Connection::open_with_flags(&file, OpenFlags::SQLITE_OPEN_READ_ONLY);
    let reader = reader.expect("the file is there");
    lode_sqlite::register(&reader).expect("the module");
    assert_eq!(rows(&reader, "SELECT name FROM town"), ["Thun"]);
    let db = Database::open_read_only(dir).expect("several can read");
    assert_eq!(rows(&reader, &format!("SELECT lode_attach('{dir}')")), ["1"]);
    let (code, why) = refusal(&reader, "INSERT INTO temp.city VALUES ('CH', 'Biel', 1)");
    assert_eq!(code, ffi::SQLITE_READONLY, "{why}");
    drop(db);
}

#[test]
fn what_is_wrong_with_a_directory_or_a_table_is_said() {
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().to_str().expect("text");
    let connection = registered();
    let said = |statement: &str| refusal(&connection, statement);
    let (_, why) = said(&format!("SELECT lode_attach('{path}')"));
    assert!(why.contains("there is no database in"), "{why}");
    assert_eq!(said(CREATE).1, "there is no database of Lode; attach one with lode_attach('DIR')");
    let why = "name a directory, and then 'read_only' or 'create' if you like";
    assert_eq!(said("SELECT lode_attach('a', 'b')").1, why);
    let _held = Database::open(folder.path().join("db")).expect("it opens");
    let (_, why) = said(&format!("SELECT lode_attach('{path}/db')"));
    assert!(why.contains("the database is in use by another process"), "{why}");
    assert_eq!(said("CREATE VIRTUAL TABLE t USING lode('x')").1, "write lode('DIR', 'TABLE')");

    rows(&connection, &format!("SELECT lode_attach('{path}/other', 'create')"));
    let (_, why) = said("SELECT lode_create('CREATE TABLE t (a U9)')");
    assert!(why.starts_with("at character 19 of CREATE TABLE: there is no type \"U9\""), "{why}");
    let (_, why) = said(&format!("CREATE VIRTUAL TABLE t USING lode('{path}/other', 't')"));
    assert_eq!(why, "there is no table t; create it");
    assert_eq!(said("SELECT lode_drop('t')").1, "there is no table t; create it");
    let why =
        "tables of Lode are created, altered and dropped outside of transactions; commit it first";
    assert_eq!(said(&format!("BEGIN; {CREATE}")).1, why);
    connection.execute_batch("ROLLBACK").expect("a transaction");
    let (_, why) = said("SELECT lode_create('CREATE TABLE sqlite_t (a U8 PRIMARY KEY)')");
    assert!(why.contains("SQLite keeps names that start with sqlite_ for itself"), "{why}");
    assert_eq!(said("SELECT lode_drop('sqlite_t')").1, "there is no table sqlite_t; create it");
}
