//! `lode sql`

use crate::support::Bench;

const CREATE: &str = "CREATE TABLE city (country TEXT(2), name VARTEXT(40), people U64, \
                      flag VARBYTES(9), PRIMARY KEY (country, name))";

/// A bench with a database `map` and three cities.
fn bench() -> Bench {
    let bench = Bench::new();
    assert_eq!(bench.succeeds(&["sql", "map", "--create", CREATE]), "");
    let insert = "INSERT INTO city VALUES ('CH', 'Bern', 134591, x'00ff'), \
                  ('CH', 'Thun, \"Tor\"', 43743, NULL), ('FR', 'Évian', 9e0, x'')";
    assert_eq!(bench.succeeds(&["sql", "map", insert]), "");
    bench
}

#[test]
fn rows_are_shown_in_each_format() {
    let bench = bench();
    let all = "SELECT * FROM city; SELECT 9e999 AS x, 0.5 AS y, count(*) AS n FROM city";
    assert_eq!(
        bench.succeeds(&["sql", "map", all]),
        " country  name         people  flag\n CH       Bern         134591  x'00ff'\n \
         CH       Thun, \"Tor\"  43743   NULL\n FR       Évian        9       x''\n \
         x    y    n\n inf  0.5  3\n"
    );
    assert_eq!(
        bench.succeeds(&["sql", "map", all, "--format", "json"]),
        "{\"country\":\"CH\",\"name\":\"Bern\",\"people\":134591,\"flag\":{\"hex\":\"00ff\"}}\n\
         {\"country\":\"CH\",\"name\":\"Thun, \\\"Tor\\\"\",\"people\":43743,\"flag\":null}\n\
         {\"country\":\"FR\",\"name\":\"Évian\",\"people\":9,\"flag\":{\"hex\":\"\"}}\n\
         {\"x\":\"inf\",\"y\":0.5,\"n\":3}\n"
    );
    assert_eq!(
        bench.succeeds(&["sql", "map", all, "--format", "csv"]),
        "country,name,people,flag\nCH,Bern,134591,x'00ff'\nCH,\"Thun, \"\"Tor\"\"\",43743,\n\
         FR,Évian,9,x''\nx,y,n\ninf,0.5,3\n"
    );
}

#[test]
fn statements_and_commands_come_from_standard_input() {
    let bench = bench();
    let input = "\n.tables\n.schema city\n.mode csv\nSELECT name\n  FROM city -- ;\n WHERE people > \
                 100000;\nBEGIN; DELETE FROM city;\nROLLBACK;\nSELECT count(*) AS n FROM city\n";
    assert_eq!(
        bench.feeds(&["sql", "map"], input),
        "city\nCREATE TABLE \"city\" (\"country\" TEXT(2) NOT NULL, \"name\" VARTEXT(40) NOT NULL, \
         \"people\" U64, \"flag\" VARBYTES(9), PRIMARY KEY (\"country\", \"name\")) USING TREE;\n\
         name\nBern\nn\n3\n"
    );
    let timed = bench.feeds(&["sql", "map"], ".timer on\nSELECT 1 AS x;\n.quit\nSELECT 2;\n");
    assert!(timed.starts_with(" x\n 1\n") && timed.ends_with(" ms\n"), "{timed}");
    assert!(bench.feeds(&["sql", "map"], ".help\n").contains("\n.schema [TABLE]  "));
}

#[test]
fn what_was_printed_makes_the_same_table() {
    let bench = bench();
    let schema = bench.feeds(&["sql", "map"], ".schema\n");
    bench.feeds(&["sql", "copy", "--create"], &schema);
    assert_eq!(bench.succeeds(&["schema", "copy"]), bench.succeeds(&["schema", "map"]));
    bench.feeds(&["sql", "copy"], "drop table if exists none;\nDrop Table \"city\" ;\n");
    assert_eq!(bench.succeeds(&["schema", "copy"]), "");
}

#[test]
fn the_first_statement_that_fails_ends_it() {
    let bench = bench();
    let input = "INSERT INTO city VALUES ('CH', 'Biel', 1, NULL);\n\nSELECT *\nFROM town;\n\
                 DELETE FROM city;\n";
    let line = "standard input:3: no such table: town";
    bench.refuses_input(&["sql", "map"], input, 1, line);
    let count = ["sql", "map", "SELECT count(*) AS n FROM city", "--format", "csv"];
    assert_eq!(bench.succeeds(&count), "n\n4\n");

    bench.refuses(&["sql", "map", "SELEC 1"], 1, "near \"SELEC\": syntax error");
    let unique = "INSERT INTO city VALUES ('CH', 'Bern', 1, NULL)";
    let why = "UNIQUE constraint failed: city.country, city.name";
    bench.refuses(&["sql", "map", unique], 1, why);
    let large = "UPDATE city SET people = -1";
    let why = "cannot store -1 in column city.people: it takes 0 to 9223372036854775807";
    bench.refuses(&["sql", "map", large], 1, why);
    let why = "lode: at character 17 of CREATE TABLE: there is no type \"\"; types are U8";
    let refused = bench.lode(&["sql", "map", "CREATE TABLE t(a)"]);
    assert!(refused.stderr.starts_with(why) && refused.code == Some(1), "{refused:?}");
    bench.refuses(&["sql", "map", "DROP TABLE t"], 1, "there is no table t; create it");
    for (command, why) in [
        (".dump", "there is no command .dump; see .help"),
        (".mode xml", "there is no mode xml; modes are table, json and csv"),
        (".mode", "name a mode: table, json or csv"),
        (".timer", "write .timer on, or .timer off"),
        (".quit now", ".quit has no argument; see .help"),
        (".schema a b", ".schema: \"b\" is too much; see .help"),
        (".schema town", "there is no table town; create it"),
    ] {
        let line = format!("standard input:1: {why}");
        bench.refuses_input(&["sql", "map"], command, 1, &line);
    }
}

#[test]
fn what_is_not_committed_does_not_happen_and_is_said() {
    let bench = bench();
    let why = "the transaction was not committed, so nothing of it happened; end it with \
               COMMIT";
    bench.refuses(&["sql", "map", "BEGIN; DELETE FROM city"], 1, why);
    bench.refuses_input(&["sql", "map"], "BEGIN;\nDELETE FROM city;\n.quit\n", 1, why);
    let count = ["sql", "map", "SELECT count(*) AS n FROM city", "--format", "csv"];
    assert_eq!(bench.succeeds(&count), "n\n3\n");
}

#[test]
fn a_database_is_only_read_if_that_is_asked_for() {
    let bench = bench();
    let why = "the database was opened for reading only; open it for writing";
    bench.refuses(&["sql", "map", "--read-only", "DELETE FROM city"], 1, why);
    let reader = lode::Database::open_read_only(bench.path("map")).expect("it opens");
    let query = "SELECT count(*) AS n FROM city";
    assert_eq!(bench.succeeds(&["sql", "map", "--read-only", query, "--format", "csv"]), "n\n3\n");
    let locked = bench.lode(&["sql", "map", query]);
    let why = "lode: map: the database is in use by another process";
    assert!(locked.code == Some(3) && locked.stderr.starts_with(why), "{locked:?}");
    drop(reader);
    let why = "none: there is no database; name the directory of one, or make one with lode \
               load and --schema";
    bench.refuses(&["sql", "none", query], 2, why);
    assert!(!bench.path("none").exists());
}
