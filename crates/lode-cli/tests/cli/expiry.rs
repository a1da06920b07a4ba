//! Checks tables whose records expire.

use crate::support::Bench;

/// Microseconds since the start of 1970 that are long over.
const OVER: &str = "1000000";

/// Microseconds since the start of 1970 that are far away.
const FAR: &str = "9000000000000000";

#[test]
fn no_command_shows_an_expired_record() {
    let bench = Bench::new();
    let schema = "id:u64 key, until:timestamp? expires";
    let record = |id: u64, until: &str| format!("{{\"id\":{id},\"until\":{until}}}\n");
    let kept = record(2, FAR) + &record(3, "null");
    let all = record(1, OVER) + &kept;
    let load = ["load", "web", "session", "--schema", schema];
    assert_eq!(bench.feeds(&load, &all), "3 records loaded\n");
    assert_eq!(bench.succeeds(&["schema", "web"]), format!("session\ttree\t{schema}\n"));
    assert_eq!(bench.succeeds(&["dump", "web", "session"]), kept);
    assert_eq!(bench.succeeds(&["check", "web"]), "session: tree, 2 records\nno faults found\n");
    let count = "SELECT count(*) AS n, max(id) AS last FROM session";
    assert_eq!(bench.succeeds(&["sql", "web", count, "--format", "csv"]), "n,last\n2,3\n");
    bench.succeeds(&["export", "web", "session", "session.parquet"]);
    bench.succeeds(&["import", "web", "copy", "session.parquet"]);
    let copy = format!("copy\ttree\t{schema}\n");
    assert_eq!(bench.succeeds(&["schema", "web", "copy"]), copy);
    bench.succeeds(&["compact", "web"]);
    assert_eq!(bench.succeeds(&["dump", "web", "session"]), kept);
}

#[test]
fn sql_says_when_records_expire() {
    let bench = Bench::new();
    let create = "CREATE TABLE session (id U64 PRIMARY KEY, until TIMESTAMP EXPIRES, user U64)";
    assert_eq!(bench.succeeds(&["sql", "web", "--create", create]), "");
    let insert = format!("INSERT INTO session VALUES (1, {OVER}, 7), (2, {FAR}, 8)");
    assert_eq!(bench.succeeds(&["sql", "web", &insert]), "");
    let dump = bench.succeeds(&["sql", "web", "SELECT id FROM session", "--format", "csv"]);
    assert_eq!(dump, "id\n2\n");
    // The key is free again.
    let again = format!("INSERT INTO session VALUES (1, {FAR}, 9)");
    assert_eq!(bench.succeeds(&["sql", "web", &again]), "");
    let update = format!("UPDATE session SET until = {OVER} WHERE id = 2");
    assert_eq!(bench.succeeds(&["sql", "web", &update]), "");
    let users = ["sql", "web", "SELECT user FROM session", "--format", "csv"];
    assert_eq!(bench.succeeds(&users), "user\n9\n");
    let schema = |wanted: &str| {
        let wanted = format!("session\ttree\tid:u64 key, until:timestamp?{wanted}, user:u64?\n");
        assert_eq!(bench.succeeds(&["schema", "web"]), wanted);
    };
    schema(" expires");
    assert_eq!(bench.succeeds(&["sql", "web", "ALTER TABLE session EXPIRE NEVER"]), "");
    schema("");
    assert_eq!(bench.succeeds(&users), "user\n9\n");
    assert_eq!(bench.succeeds(&["sql", "web", "ALTER TABLE session EXPIRE BY until"]), "");
    schema(" expires");
    let refused = "ALTER TABLE session EXPIRE BY user";
    let why = "records cannot expire by user; that takes a timestamp column after the key";
    let ended = bench.lode(&["sql", "web", refused]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""));
    assert!(ended.stderr.contains(why), "{}", ended.stderr);
}
