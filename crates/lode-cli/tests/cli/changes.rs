//! The change feed on the command line: `lode changes`.

use std::io::{BufRead, BufReader};

use crate::support::{Bench, close, start};

/// Returns the position of a line.
fn position(line: &str) -> &str {
    let rest = line.strip_prefix("{\"position\":\"").expect("a line starts with its position");
    rest.split('"').next().expect("it ends")
}

/// Returns lines without their positions.
fn without_positions(lines: &str) -> Vec<String> {
    let without = |line: &str| line.replace(position(line), "P");
    lines.lines().map(without).collect()
}

/// The line of the last change of a commit.
fn line(rest: &str) -> String {
    format!("{{\"position\":\"P\",\"last\":true,{rest}}}")
}

/// One whose zoo keeps its changes.
fn kept() -> Bench {
    let bench = Bench::with_animals();
    assert_eq!(bench.succeeds(&["changes", "zoo", "--keep", "1M"]), "");
    bench
}

#[test]
fn changes_are_printed_line_by_line_and_from_a_position_on() {
    let bench = kept();
    let start = bench.succeeds(&["changes", "zoo", "--position"]);
    assert_eq!(bench.succeeds(&["changes", "zoo"]), "");
    let lines =
        "{\"id\":2,\"name\":\"Bob\",\"tag\":null}\n{\"id\":4,\"name\":\"Di\",\"tag\":null}\n";
    bench.feeds(&["load", "zoo", "animal", "--replace"], lines);
    bench.succeeds(&["index", "create", "zoo", "animal", "by_name", "name", "--unique"]);
    bench.succeeds(&["index", "drop", "zoo", "animal", "by_name"]);
    bench.feeds(
        &["load", "zoo", "plant", "--schema", "id:u8 key", "--kind", "hash"],
        "{\"id\":9}\n",
    );
    bench.succeeds(&["drop", "zoo", "plant"]);
    let all = bench.succeeds(&["changes", "zoo"]);
    let wanted = [
        "\"change\":\"row\",\"table\":\"animal\",\
         \"before\":{\"id\":2,\"name\":\"Bo\",\"tag\":null},\
         \"after\":{\"id\":2,\"name\":\"Bob\",\"tag\":null}",
        "\"change\":\"row\",\"table\":\"animal\",\"before\":null,\
         \"after\":{\"id\":4,\"name\":\"Di\",\"tag\":null}",
        "\"change\":\"create index\",\"table\":\"animal\",\"index\":\"by_name\",\
         \"columns\":[\"name\"],\"unique\":true",
        "\"change\":\"drop index\",\"table\":\"animal\",\"index\":\"by_name\"",
        "\"change\":\"create table\",\"table\":\"plant\",\"kind\":\"hash\",\
         \"schema\":\"id:u8 key\"",
        "\"change\":\"row\",\"table\":\"plant\",\"before\":null,\"after\":{\"id\":9}",
        "\"change\":\"drop table\",\"table\":\"plant\"",
    ];
    let mut wanted = wanted.map(line);
    // The records of a file are one commit.
    wanted[0] = wanted[0].replace("true", "false");
    assert_eq!(without_positions(&all), wanted);
    assert_eq!(bench.succeeds(&["changes", "zoo", "--since", start.trim()]), all);
    let lines: Vec<_> = all.lines().collect();
    let rest = bench.succeeds(&["changes", "zoo", "--since", position(lines[3])]);
    assert_eq!(rest.lines().collect::<Vec<_>>(), lines[4..]);
    assert_eq!(bench.succeeds(&["changes", "zoo", "--keep", "0"]), "");
    bench.refuses(
        &["changes", "zoo"],
        3,
        "zoo: the database keeps no changes; have it keep them (`keep_changes`, or `lode changes \
         --keep`), and take those from then on",
    );
}

#[test]
fn changes_are_followed_while_another_process_writes() {
    let bench = kept();
    let db = bench.open("zoo");
    let mut follower = start(&mut bench.command(&["changes", "zoo", "--follow"]));
    let mut lines = BufReader::new(follower.stdout.take().expect("it is piped")).lines();
    let table = db.table("animal").expect("it is there");
    for id in 10..13 {
        let record = table.schema().pack(&[
            lode::Value::Unsigned(id),
            lode::Value::Text("Eve"),
            lode::Value::Null,
        ]);
        table.insert(&record.expect("it fits")).expect("there is room");
        let line = lines.next().expect("there is one").expect("it can be read");
        assert!(line.contains(&format!("\"after\":{{\"id\":{id},")), "{line}");
    }
    follower.kill().expect("it runs");
    follower.wait().expect("it has ended");
    close(db);
}

#[test]
fn a_position_that_is_none_or_gone_is_refused_with_what_to_do() {
    let bench = kept();
    bench.refuses(
        &["changes", "zoo", "--since", "yesterday"],
        2,
        "invalid value 'yesterday' for '--since <POSITION>': \"yesterday\" is no position; one \
         looks like 12-8192-00c0ffee; see --help",
    );
    bench.refuses(
        &["changes", "zoo", "--since", "99-8192-00000000"],
        3,
        "zoo: 99-8192-00000000 is no position of this database, or was lost in a crash; take a new \
         copy and continue at its position",
    );
    let start = bench.succeeds(&["changes", "zoo", "--position"]);
    let start = start.trim();
    let line = |id| format!("{{\"id\":{id},\"name\":\"A\",\"tag\":null}}\n");
    let lines: String = (0..10_000).map(line).collect();
    for _ in 0..3 {
        bench.feeds(&["load", "zoo", "animal", "--replace"], &lines);
    }
    let refused = bench.lode(&["changes", "zoo", "--since", start]);
    assert_eq!(refused.code, Some(3), "{}", refused.stderr);
    let words =
        format!("lode: zoo: the changes since {start} are not kept any more, but those since");
    assert!(refused.stderr.starts_with(&words), "{}", refused.stderr);
}

#[test]
fn a_backup_and_the_changes_since_its_position_are_the_database() {
    let bench = kept();
    bench.feeds(&["load", "zoo", "animal"], "{\"id\":7,\"name\":\"Flo\",\"tag\":null}\n");
    bench.succeeds(&["backup", "zoo", "copy"]);
    let position = bench.succeeds(&["changes", "copy", "--position"]);
    bench.feeds(&["load", "zoo", "animal"], "{\"id\":8,\"name\":\"Gus\",\"tag\":null}\n");
    let since = bench.succeeds(&["changes", "zoo", "--since", position.trim()]);
    let row = "\"change\":\"row\",\"table\":\"animal\",\"before\":null,\
               \"after\":{\"id\":8,\"name\":\"Gus\",\"tag\":null}";
    assert_eq!(without_positions(&since), [line(row)]);
    // A later backup has a later position, and a backup can be written to.
    bench.succeeds(&["backup", "zoo", "copy"]);
    let later = bench.succeeds(&["changes", "copy", "--position"]);
    assert_eq!(bench.succeeds(&["changes", "zoo", "--since", later.trim()]), "");
    bench.feeds(&["load", "copy", "animal"], "{\"id\":9,\"name\":\"Hal\",\"tag\":null}\n");
    assert!(bench.succeeds(&["check", "copy"]).starts_with("animal: tree, 6 records\n"));
}
