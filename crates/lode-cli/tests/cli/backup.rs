//! Backups: whole ones, and directories that take none.

use crate::support::Bench;

#[test]
fn a_backup_is_a_database_that_grows_by_what_has_changed() {
    let bench = Bench::with_animals();
    let first = bench.succeeds(&["backup", "zoo", "copies/zoo"]);
    let bytes: Vec<&str> = first.split([' ', ',']).filter(|word| !word.is_empty()).collect();
    assert_eq!((bytes[0], bytes[1], bytes[4]), ("pages:", bytes[3], "copied\n"));
    assert_eq!(bench.list("copies/zoo"), ["data", "lock"]);
    let checked = bench.succeeds(&["check", "copies/zoo"]);
    assert_eq!(checked, "animal: tree, 3 records\nno faults found\n");
    let again = bench.succeeds(&["backup", "zoo", "copies/zoo"]);
    assert_eq!(again, format!("pages: {} bytes, 0 copied\n", bytes[1]));
    bench.feeds(&["load", "zoo", "animal"], "{\"id\":4,\"name\":\"Di\",\"tag\":null}\n");
    bench.succeeds(&["backup", "zoo", "copies/zoo"]);
    let dump = bench.succeeds(&["dump", "zoo", "animal"]);
    assert_eq!(bench.succeeds(&["dump", "copies/zoo", "animal"]), dump);
}

#[test]
fn a_backup_goes_to_no_directory_of_something_else() {
    let bench = Bench::with_animals();
    let inside = "this is inside the database; choose another directory";
    for place in ["zoo", "zoo/copy", "./zoo/../zoo/a/b"] {
        bench.refuses(&["backup", "zoo", place], 2, &format!("{place}: {inside}"));
    }
    assert_eq!(bench.list("."), ["zoo"]);
    bench.refuses(
        &["backup", "nosuch", "copy"],
        2,
        "nosuch: there is no database; name the directory of one, or make one with \
         lode load --schema or lode sql --create",
    );
    std::fs::create_dir(bench.path("taken")).expect("a directory");
    bench.write("taken/letter", "dear");
    bench.refuses(
        &["backup", "zoo", "taken"],
        2,
        "taken: the directory cannot take the backup: it has other files than those of a backup; \
         choose an empty one, or one with an earlier backup of this database",
    );
    assert_eq!(bench.list("taken"), ["letter"]);
    // Opened for writing, a backup takes no further one.
    bench.succeeds(&["backup", "zoo", "copy"]);
    bench.feeds(&["load", "copy", "animal"], "{\"id\":5,\"name\":\"Ed\",\"tag\":null}\n");
    bench.refuses(
        &["backup", "zoo", "copy"],
        2,
        "copy: the directory cannot take the backup: its database is no backup, or was opened for \
         writing since; choose an empty one, or one with an earlier backup of this database",
    );
    assert!(bench.succeeds(&["check", "copy"]).starts_with("animal: tree, 4 records"));
}
