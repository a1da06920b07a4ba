//! Which columns are imported, and which of them are the key.

use crate::support::Bench;

#[test]
fn only_the_columns_that_are_named_are_read() {
    for file in ["all.parquet", "all.arrow", "all.csv"] {
        let bench = Bench::with_animals();
        bench.succeeds(&["export", "zoo", "animal", file]);
        let args = ["import", "copy", "animal", file, "--columns", "name,id", "--key", "name"];
        bench.succeeds(&args);
        let dumped = bench.succeeds(&["dump", "copy", "animal"]);
        let wanted = "{\"name\":\"Ada\",\"id\":1}\n{\"name\":\"Bo\",\"id\":2}\n\
                      {\"name\":\"Cé\",\"id\":3}\n";
        assert_eq!(dumped, wanted, "{file}");
        bench.refuses(
            &["import", "new", "animal", file, "--columns", "id,age", "--key", "id"],
            1,
            &format!("{file}: there is no column age; columns are id, name, tag"),
        );
        bench.refuses(
            &["import", "zoo", "animal", file, "--columns", "id,id"],
            2,
            "--columns: id is there twice",
        );
    }
}

#[test]
fn columns_of_folders_can_be_named_too() {
    let bench = Bench::new();
    std::fs::create_dir_all(bench.path("t/day=7")).expect("a folder");
    bench.write("t/day=7/a.csv", "id,who,more\n1,Ada,x\n2,Bo,y\n");
    bench.succeeds(&["import", "db", "t", "t", "--columns", "day,id", "--key", "day,id"]);
    assert_eq!(
        bench.succeeds(&["dump", "db", "t"]),
        "{\"day\":7,\"id\":1}\n{\"day\":7,\"id\":2}\n"
    );
    bench.refuses(
        &["import", "db", "u", "t", "--columns", "day,id,x", "--key", "id"],
        1,
        "t/day=7/a.csv: there is no column x; columns are id, who, more",
    );
}

#[test]
fn the_key_of_a_table_that_is_there_is_not_changed() {
    let bench = Bench::with_animals();
    bench.write("new.csv", "id,name\n7,Gus\n");
    let args = ["import", "zoo", "animal", "new.csv"];
    bench.refuses(
        &[&args[..], &["--key", "name"]].concat(),
        2,
        "--key: table animal is there already, and its key is id",
    );
    bench.refuses(
        &[&args[..], &["--kind", "hash"]].concat(),
        2,
        "--kind: table animal is there already, and is of kind tree",
    );
    bench.refuses(
        &[&args[..], &["--key", "id", "--schema", "id:u64 key"]].concat(),
        2,
        "--key: --schema says already which columns are the key",
    );
    bench.refuses(
        &["import", "zoo", "unfinished import", "new.csv", "--key", "id"],
        2,
        "table unfinished import says which import is under way; choose another name",
    );
    let said = bench.succeeds(&[&args[..], &["--key", "id", "--kind", "tree"]].concat());
    assert_eq!(said, "1 record imported\n");
}

#[test]
fn rows_are_numbered_after_the_largest_key() {
    for kind in ["tree", "hash"] {
        let bench = Bench::new();
        bench.write("a.csv", "name\nAda\nBo\n");
        let args = ["import", "db", "t", "a.csv", "--key", "auto", "--kind", kind];
        bench.succeeds(&args);
        bench.succeeds(&args);
        let schema = bench.succeeds(&["schema", "db"]);
        assert_eq!(schema, format!("t\t{kind}\trow:i64 key, name:vartext(1048576)?\n"));
        let dumped = bench.succeeds(&["dump", "db", "t"]);
        let mut lines: Vec<_> = dumped.lines().collect();
        lines.sort_unstable();
        let names = ["Ada", "Bo", "Ada", "Bo"];
        let wanted =
            (1..).zip(names).map(|(row, name)| format!("{{\"row\":{row},\"name\":\"{name}\"}}"));
        assert_eq!(lines, wanted.collect::<Vec<_>>());
    }
}

#[test]
fn numbers_that_do_not_fit_are_refused() {
    let bench = Bench::new();
    bench.write("a.csv", "name\nAda\nBo\n");
    bench.write("row.csv", "row,name\n1,Ada\n");
    let load = |key: &str, largest: &str| {
        let schema = format!("n:{key} key, name:vartext(9)");
        let line = format!("{{\"n\":{largest},\"name\":\"x\"}}\n");
        bench.feeds(&["load", "db", key, "--schema", &schema], &line);
    };
    load("u8", "254");
    bench.refuses(
        &["import", "db", "u8", "a.csv", "--key", "auto"],
        1,
        "a.csv: row 2: column n (u8) cannot hold 256",
    );
    load("i64", "9223372036854775806");
    bench.refuses(
        &["import", "db", "i64", "a.csv", "--key", "auto"],
        1,
        "--key auto: column n (i64) has no numbers left",
    );
    load("u64", "18446744073709551615");
    bench.refuses(
        &["import", "db", "u64", "a.csv", "--key", "auto"],
        1,
        "--key auto: column n (u64) has no numbers left",
    );
    bench.feeds(&["load", "db", "text", "--schema", "name:vartext(9) key"], "{\"name\":\"x\"}\n");
    bench.refuses(
        &["import", "db", "text", "a.csv", "--key", "auto"],
        2,
        "--key auto: the key of table text is not a single integer",
    );
    bench.refuses(
        &["import", "db", "new", "row.csv", "--key", "auto"],
        2,
        "row.csv: it has a column row, which --key auto would number; --columns leaves it out",
    );
    assert_eq!(bench.succeeds(&["dump", "db", "u8"]).lines().count(), 1);
}
