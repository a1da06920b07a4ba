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
    let input = "\n.tables\n.schema city\n.mode csv\nSELECT name\n  FROM city -- ;\n \
                 WHERE people > 100000;\nBEGIN; DELETE FROM city;\nROLLBACK;\n\
                 SELECT count(*) AS n FROM city\n";
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
    // All of it, with the rows.
    bench.with_numbers("map", lode::KeyKind::Hash, 250);
    let more = "CREATE TABLE odd (x F64 PRIMARY KEY, t BOOLEAN, s VARTEXT(9));
                INSERT INTO odd VALUES (9e999, 1, 'it''s'), (-1.5, NULL, ''), (-9e999, 0, NULL),
                                       (7, 1, 'a' || char(0) || '?');
                CREATE TABLE price (id DECIMAL(18) PRIMARY KEY, short DECIMAL(9, 2),
                                    long DECIMAL(38, 4));
                INSERT INTO price VALUES (-999999999999999999, '-0.05', '12.3'),
                                         (7, NULL, '-9999999999999999999999999999999999.9999')";
    bench.succeeds(&["sql", "map", more]);
    let dump = bench.feeds(&["sql", "map"], ".dump\n");
    assert_eq!(bench.succeeds(&["sql", "map", ".dump"]), dump);
    bench.write("dump.sql", &dump);
    assert_eq!(bench.succeeds(&["sql", "copy", ".read dump.sql"]), "");
    for table in ["city", "number", "odd", "price"] {
        let sorted = |name: &str| {
            let text = bench.succeeds(&["dump", name, table]);
            let mut lines: Vec<_> = text.lines().map(String::from).collect();
            lines.sort_unstable();
            lines
        };
        assert_eq!(sorted("copy"), sorted("map"), "{table}");
    }
}

#[test]
fn definitions_are_kept_wherever_they_stand() {
    let bench = Bench::new();
    let text = "-- my schema\nCREATE TABLE t(id INTEGER PRIMARY KEY -- ;\n);\nINSERT INTO t \
                VALUES(1); SELECT 1 AS x; CREATE TABLE u(id INT PRIMARY KEY); INSERT INTO u SELECT \
                id + 1 FROM t;\n";
    assert_eq!(bench.feeds(&["sql", "a", "--create"], text), " x\n 1\n");
    let both = "SELECT 1 AS x; CREATE TABLE v(id INT PRIMARY KEY); DROP TABLE t; SELECT * FROM u";
    assert_eq!(bench.succeeds(&["sql", "a", both]), " x\n 1\n id\n 2\n");
    assert_eq!(bench.feeds(&["sql", "a"], ".tables\n"), "u\nv\n");
    let altered = "ALTER TABLE u ADD n U8 DEFAULT 7;\nALTER TABLE u RENAME TO x; SELECT * FROM x;\n\
                   ALTER TABLE x RENAME TO u;\n";
    assert_eq!(bench.feeds(&["sql", "a"], altered), " id  n\n 2   7\n");
    for (statement, why) in [
        (
            "ALTER TABLE v ADD n U8 NOT NULL",
            "at character 33 of ALTER TABLE: records that exist need a value in a column that is \
             NOT NULL; add DEFAULT value",
        ),
        (
            "SELECT 1; CREATE VIEW w AS SELECT 1",
            "CREATE VIEW w would be kept nowhere; CREATE TEMP VIEW makes one for this session",
        ),
    ] {
        let refused = bench.feed(&["sql", "a"], statement);
        assert_eq!(refused.code, Some(1), "{statement}");
        assert_eq!(refused.stderr, format!("lode: standard input:1: {why}\n"));
    }
    let script = "CREATE TABLE w(id INT PRIMARY KEY);\n\nSELECT *\nFROM none;\n";
    bench.write("part.sql", script);
    let why = "standard input:2: part.sql:3: no such table: none";
    bench.refuses_input(&["sql", "a"], "SELECT 1;\n.read part.sql\n", 1, why);
    assert_eq!(bench.feeds(&["sql", "a"], ".tables\n"), "u\nv\nw\n");
    let why = "standard input:1: none.sql: No such file or directory (os error 2)";
    bench.refuses_input(&["sql", "a"], ".read none.sql\n", 1, why);
}

#[test]
fn a_table_that_sql_cannot_show_is_named_and_can_be_dropped() {
    let bench = Bench::with_animals();
    for (table, schema) in [("case", "id:u8 key, x:u8, X:u8"), ("Animal", "id:u8 key")] {
        bench.feeds(&["load", "zoo", table, "--schema", schema], "");
    }
    let why = "SQL cannot show table \"case\": columns \"x\" and \"X\" have the same name to \
               SQLite, \
               but for the case; lode dump writes its records, lode drop drops it";
    bench.refuses(&["sql", "zoo", "SELECT * FROM \"case\""], 1, why);
    let tables = bench.feeds(&["sql", "zoo"], ".tables\n");
    assert!(tables.contains("case -- hidden from SQL: columns \"x\" and \"X\" have"), "{tables}");
    assert!(
        bench.lode(&["sql", "zoo", "SELECT * FROM animal"]).stderr.contains("table \"Animal\"")
    );
    assert_eq!(bench.succeeds(&["drop", "zoo", "Animal"]), "table Animal dropped: 0 records\n");
    let count = ["sql", "zoo", "SELECT count(*) AS n FROM animal", "--format", "csv"];
    assert_eq!(bench.succeeds(&count), "n\n3\n");
    assert_eq!(bench.succeeds(&["drop", "zoo", "animal"]), "table animal dropped: 3 records\n");
    let why = "zoo: there is no table animal; the only one is case";
    bench.refuses(&["drop", "zoo", "animal"], 2, why);
    let why = "none: there is no database; name the directory of one, or make one with lode \
               load --schema or lode sql --create";
    bench.refuses(&["drop", "none", "animal"], 2, why);
}

#[test]
fn what_was_dropped_gives_its_space_back() {
    let bench = Bench::new();
    bench.with_numbers("db", lode::KeyKind::Tree, 200_000);
    let size = || std::fs::metadata(bench.path("db/data")).expect("it is there").len();
    let before = size();
    bench.succeeds(&["drop", "db", "number"]);
    let said = bench.succeeds(&["compact", "db"]);
    assert!(said.starts_with("data: ") && said.ends_with(" after\n"), "{said}");
    assert!(size() < before / 4, "{before} {}", size());
    assert_eq!(bench.succeeds(&["sql", "db", "VACUUM; SELECT 1 AS x"]), " x\n 1\n");
    let why = "ANALYZE has nothing to do: Lode estimates from its indexes; ANALYZE FILE.TABLE is \
               for attached files";
    bench.refuses(&["sql", "db", "ANALYZE"], 1, why);
}

#[test]
fn vacuum_into_backs_the_database_up() {
    let bench = Bench::with_animals();
    bench.succeeds(&["sql", "zoo", "VACUUM INTO 'copy'"]);
    assert_eq!(
        bench.succeeds(&["dump", "copy", "animal"]),
        bench.succeeds(&["dump", "zoo", "animal"])
    );
    bench.succeeds(&["sql", "zoo", "DELETE FROM animal WHERE id = 2; vacuum main into \"copy\";"]);
    assert_eq!(bench.succeeds(&["sql", "copy", "SELECT count(*) AS n FROM animal"]), " n\n 2\n");
    std::fs::create_dir(bench.path("full")).expect("it is new");
    bench.write("full/file", "");
    let why = "the directory cannot take the backup: it has other files than those of a backup; \
               choose an empty one, or one with an earlier backup of this database";
    bench.refuses(&["sql", "zoo", "VACUUM INTO 'full'"], 1, why);
    assert_eq!(bench.list("full"), ["file"]);
}

#[test]
fn nulls_and_truth_values_are_shown_as_imports_take_them() {
    let bench = Bench::new();
    let text = "CREATE TABLE t (id INT PRIMARY KEY, yes BOOLEAN, word VARTEXT(9));
                INSERT INTO t VALUES (0, NULL, NULL), (1, 1, ''), (2, 0, 'a,b')";
    bench.succeeds(&["sql", "db", "--create", text]);
    for (query, csv, json) in [
        (
            "SELECT yes FROM t",
            "yes\n\ntrue\nfalse\n",
            "{\"yes\":null}\n{\"yes\":true}\n{\"yes\":false}\n",
        ),
        (
            "SELECT word, id FROM t",
            "word,id\n,0\n\"\",1\n\"a,b\",2\n",
            "{\"word\":null,\"id\":0}\n{\"word\":\"\",\"id\":1}\n{\"word\":\"a,b\",\"id\":2}\n",
        ),
    ] {
        assert_eq!(bench.succeeds(&["sql", "db", query, "--format", "csv"]), csv, "{query}");
        assert_eq!(bench.succeeds(&["sql", "db", query, "--format", "json"]), json, "{query}");
    }
    let shown = bench.succeeds(&["sql", "db", "SELECT yes, 'é漢' AS word, id FROM t"]);
    assert_eq!(shown, " yes    word  id\n NULL   é漢   0\n true   é漢   1\n false  é漢   2\n");
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
    bench.refuses(&["sql", "map", "DROP TABLE t"], 1, "no such table: t");
    for (command, why) in [
        (".import", "there is no command .import; see .help"),
        (".read", "name a file with statements"),
        (".dump town", "there is no table town; create it"),
        (".mode xml", "there is no mode xml; modes are table, json and csv"),
        (".mode", "name a mode: table, json or csv"),
        (".timer", "write .timer on, or .timer off"),
        (".quit now", ".quit has no argument; see .help"),
        (".schema a b", ".schema: \"b\" is too much; see .help"),
        (".schema town", "there is no table town; create it"),
    ] {
        let line = format!("standard input:1: {why}");
        bench.refuses_input(&["sql", "map"], command, 1, &line);
        bench.refuses(&["sql", "map", command], 1, &format!("the query:1: {why}"));
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
    let writer = lode::Database::open(bench.path("map")).expect("it opens");
    let query = "SELECT count(*) AS n FROM city";
    assert_eq!(bench.succeeds(&["sql", "map", "--read-only", query, "--format", "csv"]), "n\n3\n");
    let locked = bench.lode(&["sql", "map", query]);
    let why = "lode: map: the database is in use by another process";
    assert!(locked.code == Some(3) && locked.stderr.starts_with(why), "{locked:?}");
    drop(writer);
    let why = "none: there is no database; name the directory of one, or make one with lode \
               load --schema or lode sql --create";
    bench.refuses(&["sql", "none", query], 2, why);
    assert!(!bench.path("none").exists());
}
