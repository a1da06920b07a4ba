//! CSV in its many forms, and values of text that are not what they seem.

use std::fs::File;
use std::io::Write;

use flate2::write::GzEncoder;

use crate::support::Bench;

/// Imports a file into a new database; returns the lines that are in it then.
fn imported(file: &str, content: &str, args: &[&str]) -> String {
    let bench = Bench::new();
    bench.write(file, content);
    bench.succeeds(&[&["import", "db", "t", file], args].concat());
    bench.succeeds(&["dump", "db", "t"])
}

/// Imports a file that is refused with this line, which is said after the file's name.
fn refused(content: &str, args: &[&str], line: &str) {
    let bench = Bench::new();
    bench.write("a.csv", content);
    let args = [&["import", "db", "t", "a.csv"], args].concat();
    bench.refuses(&args, 1, &format!("a.csv: {line}"));
    assert!(!bench.path("db").exists());
}

#[test]
fn a_number_beyond_the_largest_is_not_infinity() {
    let schema = ["--schema", "id:u8 key, small:f32?, large:f64?"];
    refused(
        "id,small,large\n1,1e38,1e308\n2,1e39,\n",
        &schema,
        "line 3: column small (f32) cannot hold 1e39",
    );
    refused(
        "id,small,large\n1,,-1e999\n",
        &schema,
        "line 2: column large (f64) cannot hold -1e999",
    );
    let dumped = imported("a.csv", "id,small,large\n1,inf,-Infinity\n2,1e38,nan\n", &schema);
    let wanted = "{\"id\":1,\"small\":\"inf\",\"large\":\"-inf\"}\n\
                  {\"id\":2,\"small\":1e38,\"large\":\"NaN\"}\n";
    assert_eq!(dumped, wanted);
    let bench = Bench::new();
    std::fs::create_dir_all(bench.path("t/x=1e39")).expect("a folder");
    bench.write("t/x=1e39/a.csv", "id\n1\n");
    bench.refuses(
        &["import", "db", "t", "t", "--schema", "id:u8 key, x:f32"],
        1,
        "t/x=1e39/a.csv: column x (f32) cannot hold \"1e39\", as the name of its folder says",
    );
}

#[test]
fn a_carriage_return_is_kept_or_refused() {
    let schema = ["--schema", "id:u8 key, a:vartext(9)?, b:vartext(9)?"];
    let alone = "a carriage return that no line feed follows should be between quotes; lines end \
                 in line feeds";
    refused("id,a,b\n1,a\r,b\n", &schema, &format!("line 2: {alone}"));
    refused("id,a,b\n1,\"b\"\r\"c\",b\n", &schema, &format!("line 2: {alone}"));
    refused("id,a,b\r1,a,b\r", &schema, &format!("line 1: {alone}"));
    refused("id,a,b\r\n1,a,b\r", &schema, &format!("line 2: {alone}"));
    let dumped = imported("a.csv", "id,a,b\r\n1,\"a\r\",\"b\"\r\n\r\n2,\"\r\n\",\r\n", &schema);
    let wanted = "{\"id\":1,\"a\":\"a\\r\",\"b\":\"b\"}\n{\"id\":2,\"a\":\"\\r\\n\",\"b\":null}\n";
    assert_eq!(dumped, wanted);
}

#[test]
fn an_empty_line_of_one_column_is_a_null() {
    let bench = Bench::new();
    let schema = "id:u8 key, a:vartext(9)?";
    bench.feeds(
        &["load", "db", "t", "--schema", schema],
        "{\"id\":1,\"a\":\"x\"}\n{\"id\":2,\"a\":null}\n{\"id\":3,\"a\":\"\"}\n",
    );
    bench.succeeds(&["export", "db", "t", "a.csv", "--columns", "a"]);
    assert_eq!(bench.read("a.csv"), "a\nx\n\n\"\"\n");
    bench.succeeds(&["import", "copy", "t", "a.csv", "--schema", schema, "--key", "auto"]);
    assert_eq!(bench.succeeds(&["dump", "copy", "t"]), bench.succeeds(&["dump", "db", "t"]));
}

#[test]
fn truth_and_times_have_the_words_that_are_usual() {
    let schema = ["--schema", "id:u8 key, yes:bool?, at:timestamp?"];
    let content = "id,yes,at\n1,1,2024-02-29T12:30:00.5Z\n2,f,2024-02-29 13:30:00+01:00\n\
                   3,YES,1970-01-02\n4,no,-7\n";
    let wanted = "{\"id\":1,\"yes\":true,\"at\":1709209800500000}\n\
                  {\"id\":2,\"yes\":false,\"at\":1709209800000000}\n\
                  {\"id\":3,\"yes\":true,\"at\":86400000000}\n\
                  {\"id\":4,\"yes\":false,\"at\":-7}\n";
    assert_eq!(imported("a.csv", content, &schema), wanted);
    refused("id,yes\n1,2\n", &schema, "line 2: column yes (bool) cannot hold 2");
    let precise = "id,at\n1,1970-01-01T00:00:00.0000015Z\n";
    refused(
        precise,
        &schema,
        "line 2: column at (timestamp) cannot hold 1970-01-01T00:00:00.0000015Z",
    );
    let dumped = imported("a.csv", precise, &[&schema[..], &["--round"]].concat());
    assert_eq!(dumped, "{\"id\":1,\"yes\":null,\"at\":2}\n");
}

#[test]
fn times_are_written_as_iso_on_request() {
    let bench = Bench::new();
    let lines = "{\"id\":1,\"at\":1709209800500000}\n{\"id\":2,\"at\":-9223372036854775808}\n";
    bench.feeds(&["load", "db", "t", "--schema", "id:u8 key, at:timestamp"], lines);
    bench.succeeds(&["export", "db", "t", "a.csv", "--iso-times"]);
    assert_eq!(bench.read("a.csv"), "id,at\n1,2024-02-29T12:30:00.5Z\n2,-9223372036854775808\n");
    let schema = "id:u8 key, at:timestamp";
    bench.succeeds(&["import", "copy", "t", "a.csv", "--schema", schema]);
    assert_eq!(bench.succeeds(&["dump", "copy", "t"]), lines);
    bench.refuses(
        &["export", "db", "t", "a.parquet", "--iso-times"],
        2,
        "--iso-times is for CSV; this is Parquet",
    );
    bench.refuses(
        &["export", "db", "t", "a.csv", "--row-group", "7"],
        2,
        "--row-group is for Parquet; this is CSV",
    );
    bench.refuses(
        &["export", "db", "t", "--delta", "d", "--iso-times"],
        2,
        "--iso-times is for CSV; this is Delta",
    );
    bench.write("a.parquet", "");
    bench.refuses(
        &["import", "db", "t", "a.parquet", "--delimiter", ";"],
        2,
        "--delimiter is for CSV; this is Parquet",
    );
}

#[test]
fn delimiters_headers_and_nulls_are_as_said() {
    let schema = ["--schema", "id:u8 key, a:vartext(9)?, n:i64?"];
    let wanted = "{\"id\":1,\"a\":\"x,y\",\"n\":null}\n{\"id\":2,\"a\":\"NA\",\"n\":7}\n";
    let content = "id;a;n\n1;x,y;NA\n2;\"NA\";7\n";
    let semicolons = [&schema[..], &["--delimiter", ";", "--null", "NA", "--null", "-"]].concat();
    assert_eq!(imported("a.csv", content, &semicolons), wanted);
    let bare = [&semicolons[..], &["--no-header"]].concat();
    assert_eq!(imported("a.csv", "1;x,y;NA\n2;\"NA\";7\n", &bare), wanted);
    let named = [&bare[..], &["--columns", "n,id,a"]].concat();
    assert_eq!(imported("a.csv", "-;1;x,y\n7;2;\"NA\"\n", &named), wanted);
    let tabs = [&schema[..], &["--null", "NA"]].concat();
    assert_eq!(imported("a.tsv", "id\ta\tn\n1\tx,y\tNA\n2\t\"NA\"\t7\n", &tabs), wanted);

    let bench = Bench::new();
    bench.feeds(&["load", "db", "t", schema[0], schema[1]], wanted);
    bench.succeeds(&["export", "db", "t", "a.tsv", "--null", "NA", "--no-header"]);
    assert_eq!(bench.read("a.tsv"), "1\tx,y\tNA\n2\t\"NA\"\t7\n");
    bench.succeeds(&["export", "db", "t", "a.csv", "--delimiter", "|"]);
    assert_eq!(bench.read("a.csv"), "id|a|n\n1|x,y|\n2|NA|7\n");
    for (args, line) in [
        (vec!["a.parquet", "--null", "NA"], "--null is for CSV; this is Parquet"),
        (
            vec!["a.csv", "--null", "a", "--null", "b"],
            "--null: a null can be written as one word only",
        ),
        (
            vec!["a.csv", "--null", "a\"b"],
            "--null: \"a\\\"b\" cannot stand in a field without quotes",
        ),
        (
            vec!["a.csv", "--delimiter", "1"],
            "invalid value '1' for '--delimiter <CHARACTER>': fields cannot be told apart by it; \
             choose a character of ASCII that is no letter, no digit and none of \" + - .; see \
             --help",
        ),
    ] {
        bench.refuses(&[&["export", "db", "t"], &args[..]].concat(), 2, line);
    }
    bench.refuses(
        &["import", "db", "t", "a.tsv", "--no-header", "--columns", "id,a"],
        1,
        "a.tsv: line 1: it has 3 fields, and there are 2 columns",
    );
}

#[test]
fn compressed_files_are_read_and_written() {
    let bench = Bench::with_animals();
    let lines = bench.succeeds(&["dump", "zoo", "animal"]);
    for (file, front) in [("a.csv.gz", &b"\x1f\x8b"[..]), ("a.tsv.zst", &b"\x28\xb5\x2f\xfd"[..])] {
        bench.succeeds(&["export", "zoo", "animal", file]);
        let whole = std::fs::read(bench.path(file)).expect("it is there");
        assert!(whole.starts_with(front), "{file}");
        let args = ["import", file, "animal", file, "--schema", crate::support::ANIMALS];
        let db = file.replace('.', "-");
        let args = [&["import", db.as_str()], &args[2..]].concat();
        bench.succeeds(&args);
        assert_eq!(bench.succeeds(&["dump", &db, "animal"]), lines);
        std::fs::write(bench.path(file), &whole[..whole.len() - 5]).expect("it is written");
        bench.refuses(
            &[&["import", "cut"], &args[2..]].concat(),
            1,
            &format!("{file}: the compressed file is cut off"),
        );
    }
    // Of several parts, as some programs write them.
    let mut file = File::create(bench.path("parts.csv.gz")).expect("a file");
    for part in ["id,name\n1,", "Ada\n"] {
        let mut encoder = GzEncoder::new(&mut file, flate2::Compression::fast());
        encoder.write_all(part.as_bytes()).expect("it is written");
        encoder.finish().expect("it is written");
    }
    bench.succeeds(&["import", "parts", "animal", "parts.csv.gz", "--key", "id"]);
    assert_eq!(bench.succeeds(&["dump", "parts", "animal"]), "{\"id\":1,\"name\":\"Ada\"}\n");
}

#[test]
fn the_types_of_a_new_table_are_those_of_all_fields() {
    let bench = Bench::new();
    bench.write(
        "a.csv",
        "id,zip,price,ok,at,note,empty\n\
         1,0815,1.5,true,2024-02-29,x,\n2,8000,-2,false,2024-02-29T12:30:00Z,7,\n",
    );
    bench.succeeds(&["import", "db", "t", "a.csv", "--key", "id"]);
    let schema = "t\ttree\tid:i64 key, zip:vartext(1048576)?, price:f64?, ok:bool?, \
                  at:timestamp?, note:vartext(1048576)?, empty:vartext(1048576)?\n";
    assert_eq!(bench.succeeds(&["schema", "db"]), schema);
    let dumped = bench.succeeds(&["dump", "db", "t"]);
    let first = "{\"id\":1,\"zip\":\"0815\",\"price\":1.5,\"ok\":true,\"at\":1709164800000000,\
                 \"note\":\"x\",\"empty\":null}\n";
    assert!(dumped.starts_with(first), "{dumped}");
    // Times with more digits are times if they may be rounded.
    bench.write("ns.csv", "id,at\n1,2024-02-29T12:30:00.1234565Z\n");
    bench.succeeds(&["import", "db", "ns", "ns.csv", "--key", "id", "--round"]);
    let rounded = "{\"id\":1,\"at\":1709209800123457}\n";
    assert_eq!(bench.succeeds(&["dump", "db", "ns"]), rounded);
    // Without rows there are names only.
    bench.write("none.csv", "id,note\n");
    bench.succeeds(&["import", "db", "none", "none.csv", "--key", "id"]);
    let schema = "none\ttree\tid:vartext(1022) key, note:vartext(1048576)?\n";
    assert_eq!(bench.succeeds(&["schema", "db", "none"]), schema);
    bench.refuses(
        &["import", "db", "u", "a.csv", "--key", "id", "--no-header"],
        2,
        "--no-header: the names of the columns are not known; --schema or --columns names them",
    );
    bench.refuses(
        &["import", "db", "u", "a.csv"],
        2,
        "a.csv: it does not say which columns are the key of a new table; --key names them",
    );
}

#[test]
fn a_mark_before_utf_8_is_no_part_of_a_line() {
    let bench = Bench::new();
    let line = "{\"id\":1}\n";
    bench.feeds(&["load", "db", "t", "--schema", "id:u8 key"], &format!("\u{feff}{line}"));
    assert_eq!(bench.succeeds(&["dump", "db", "t"]), line);
    bench.refuses_input(
        &["load", "db", "t"],
        "\u{feff}{\"id\":300}\n",
        1,
        "standard input:1:7: column id (u8) cannot hold 300; nothing was loaded",
    );
    let dumped = imported("a.csv", "\u{feff}id\n7\n", &["--schema", "id:u8 key"]);
    assert_eq!(dumped, "{\"id\":7}\n");
}
