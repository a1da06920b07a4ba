//! Secondary indexes are created, listed and dropped, and loading keeps to them.

use crate::support::Bench;

#[test]
fn indexes_are_created_listed_and_dropped() {
    let bench = Bench::with_animals();
    let created = bench.succeeds(&["index", "create", "zoo", "animal", "by_name", "name"]);
    assert_eq!(created, "index by_name of table animal created\n");
    bench.succeeds(&["index", "create", "zoo", "animal", "by_tag", "tag", "name", "--unique"]);
    let listed = "animal\tby_name\tindex\tname\nanimal\tby_tag\tunique\ttag, name\n";
    assert_eq!(bench.succeeds(&["index", "list", "zoo"]), listed);
    assert_eq!(bench.succeeds(&["index", "list", "zoo", "animal"]), listed);
    let stat = bench.succeeds(&["stat", "zoo"]);
    assert!(stat.contains("index by_name of animal: name\n"), "{stat}");
    assert!(stat.contains("unique index by_tag of animal: tag, name\n"), "{stat}");
    let json = bench.succeeds(&["stat", "zoo", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&json).expect("it is JSON");
    let first = &json["tables"][0]["indexes"][0];
    assert_eq!((&first["name"], &first["unique"]), (&"by_name".into(), &false.into()));
    bench.refuses(
        &["index", "create", "zoo", "animal", "by_name", "tag"],
        2,
        "zoo: table animal has an index by_name already; use it, or choose another name",
    );
    bench.refuses(
        &["index", "create", "zoo", "animal", "x", "colour"],
        2,
        "zoo: table animal: there is no column colour",
    );
    bench.refuses(
        &["index", "drop", "zoo", "animal", "x"],
        2,
        "zoo: table animal has no index x, or had none at this moment; create it",
    );
    let dropped = bench.succeeds(&["index", "drop", "zoo", "animal", "by_tag"]);
    assert_eq!(dropped, "index by_tag of table animal dropped\n");
    assert_eq!(bench.succeeds(&["index", "list", "zoo"]), "animal\tby_name\tindex\tname\n");
    bench.succeeds(&["check", "zoo"]);
}

#[test]
fn a_unique_index_refuses_the_line_with_a_value_that_is_there() {
    let bench = Bench::with_animals();
    bench.succeeds(&["index", "create", "zoo", "animal", "by_name", "name", "--unique"]);
    bench.write(
        "more.jsonl",
        "{\"id\":4,\"name\":\"Di\",\"tag\":null}\n{\"id\":5,\"name\":\"Bo\",\"tag\":null}\n\
         {\"id\":6,\"name\":\"Ed\",\"tag\":null}\n",
    );
    bench.refuses(
        &["load", "zoo", "animal", "more.jsonl"],
        1,
        "more.jsonl:2:1: table animal: another record has (\"Bo\") in the unique index \
         by_name; 1 record before was loaded, and stays",
    );
    let dumped = bench.succeeds(&["dump", "zoo", "animal"]);
    assert_eq!(dumped.lines().count(), 4, "the line before is loaded: {dumped}");
    let json =
        "{\"id\":1,\"name\":\"Ada\",\"tag\":null}\n{\"id\":2,\"name\":\"Ada\",\"tag\":null}\n";
    bench.feeds(&["load", "zoo", "twins", "--schema", crate::support::ANIMALS], json);
    bench.refuses(
        &["index", "create", "zoo", "twins", "by_name", "name", "--unique"],
        1,
        "zoo: table twins: several records have (\"Ada\") in the columns of the unique index \
         by_name; change them first",
    );
    assert_eq!(bench.succeeds(&["index", "list", "zoo", "twins"]), "");
}
