//! Lines that cannot be loaded are named with their place, and with what is wrong.

use crate::support::{ANIMALS, Bench};

const COLUMNS: &str = "id:u8 key, n:i16, x:f32, b:bool, t:text(3), h:bytes(2), z:timestamp?";

/// Loads a line into a new table; it must be refused at that place.
fn refused(line: &str, column: usize, why: &str) {
    let bench = Bench::new();
    bench.write("in", &format!("{line}\n"));
    let args = ["load", "zoo", "t", "in", "--schema", COLUMNS];
    bench.refuses(&args, 1, &format!("in:1:{column}: {why}; nothing was loaded"));
    assert_eq!(bench.succeeds(&["dump", "zoo", "t"]), "");
}

/// A good line in which one value is another.
fn with(name: &str, value: &str) -> String {
    let values = [
        ("id", "1"),
        ("n", "-2"),
        ("x", "0.5"),
        ("b", "true"),
        ("t", "\"ab\""),
        ("h", "{\"hex\":\"00ff\"}"),
        ("z", "null"),
    ];
    let members = values
        .map(|(other, usual)| format!("\"{other}\":{}", if other == name { value } else { usual }));
    format!("{{{}}}", members.join(","))
}

/// The start of that value, in characters.
fn place_of(name: &str) -> usize {
    let mark = with(name, "@");
    mark.find('@').expect("it is there") + 1
}

#[test]
fn a_value_that_does_not_fit_is_named_with_its_column() {
    let none = "";
    for (name, value, kind, why) in [
        ("id", "256", "u8", none),
        ("id", "-1", "u8", none),
        ("id", "1.0", "u8", none),
        ("id", "1e0", "u8", none),
        ("id", "\"1\"", "u8", none),
        ("id", "true", "u8", none),
        ("id", "99999999999999999999999", "u8", none),
        ("n", "32768", "i16", none),
        ("n", "-32769", "i16", none),
        ("n", "[1]", "i16", none),
        ("x", "1e39", "f32", none),
        ("x", "-1e999", "f32", none),
        ("x", "\"nan\"", "f32", none),
        ("x", "{\"hex\":\"00\"}", "f32", ": it has 1 byte, and not 4"),
        ("b", "1", "bool", none),
        ("b", "\"true\"", "bool", none),
        ("t", "\"abcd\"", "text(3)", ": it has 4 bytes"),
        ("t", "\"üü\"", "text(3)", ": it has 4 bytes"),
        ("t", "\"a\\u0000\"", "text(3)", ": zeros at its end would be lost"),
        ("t", "{\"hex\":\"ffffffff\"}", "text(3)", ": it has 4 bytes"),
        ("t", "7", "text(3)", none),
        ("h", "\"00ff\"", "bytes(2)", ": write bytes as {\"hex\": \"00ff\"}"),
        ("h", "{\"hex\":\"00f\"}", "bytes(2)", ": these are no bytes in hex"),
        ("h", "{\"hex\":\"00gg\"}", "bytes(2)", ": these are no bytes in hex"),
        ("h", "{\"hex\":\"00\"}", "bytes(2)", ": it has 1 byte, and not 2"),
        ("h", "{\"hex\":7}", "bytes(2)", none),
        ("h", "{\"hax\":\"00ff\"}", "bytes(2)", none),
        ("h", "{}", "bytes(2)", none),
        ("z", "1.5", "timestamp", none),
        ("z", "9223372036854775808", "timestamp", none),
    ] {
        let line = with(name, value);
        refused(&line, place_of(name), &format!("column {name} ({kind}) cannot hold {value}{why}"));
    }
    let long = format!("\"{}\"", "ä".repeat(60));
    let shown = format!("\"{}…: it has 120 bytes", "ä".repeat(39));
    refused(&with("t", &long), place_of("t"), &format!("column t (text(3)) cannot hold {shown}"));
    refused(&with("id", "null"), place_of("id"), "column id cannot be null");
    refused(&with("t", "null"), place_of("t"), "column t cannot be null");
}

#[test]
fn columns_have_to_be_there_once() {
    let good = with("", "");
    let end = good.len();
    refused(&good.replace(",\"z\":null", ""), end - 9, "column z is missing");
    refused("{}", 2, "column id is missing");
    let other = good.replace("\"n\"", "\"m\"");
    refused(&other, 9, "there is no column m; columns are id, n, x, b, t, h, z");
    let twice = good.replace("\"n\"", "\"id\"");
    refused(&twice, 9, "column id is there twice");
    // The same name, said otherwise.
    let twice = good.replace("\"n\"", "\"\\u0069d\"");
    refused(&twice, 9, "column id is there twice");
}

#[test]
fn broken_json_is_named_with_its_place() {
    refused("nonsense", 2, "expected ident");
    refused("[1, 2]", 1, "invalid type: sequence, expected an object with the columns");
    refused("7", 1, "invalid type: integer `7`, expected an object with the columns");
    refused("{\"id\":1,\"n\":}", 13, "expected value");
    refused("{\"id\":1 \"n\":2}", 9, "expected `,` or `}`");
    refused("{\"id\":1", 7, "EOF while parsing an object");
    refused(&format!("{} 7", with("", "")), with("", "").len() + 2, "trailing characters");
    refused(&with("id", "01"), 8, "invalid number");
    refused(
        &with("t", "\"\\ud800\""),
        place_of("t"),
        concat!("column t (text(3)) cannot hold \"\\ud800\": ", "unexpected end of hex escape"),
    );
}

#[test]
fn lines_that_are_no_text_or_have_no_end_are_refused() {
    let bench = Bench::new();
    let args = ["load", "zoo", "animal", "in", "--schema", ANIMALS];
    std::fs::write(bench.path("in"), b"\n{\"id\":\xff}\n").expect("written");
    bench.refuses(&args, 1, "in:2:7: this is no UTF-8; nothing was loaded");
    bench.write("in", &" ".repeat((16 << 20) + 1));
    bench.refuses(&args, 1, "in:1:1: a line can have at most 16 MiB; nothing was loaded");
}
