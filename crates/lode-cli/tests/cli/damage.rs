//! Databases whose files are not what was written: what is wrong is named, and nothing panics.

use std::fs;

use lode::KeyKind;

use crate::support::Bench;

/// Bytes of a page in the data file.
const PAGE_BYTES: usize = 16 * 1024;

/// Turns a byte of a file in each of some pages.
fn damage(bench: &Bench, pages: impl Fn(usize) -> bool) {
    let path = bench.path("zoo/data");
    let mut bytes = fs::read(&path).expect("the file is there");
    for (number, page) in bytes.chunks_mut(PAGE_BYTES).enumerate() {
        if pages(number) {
            page[PAGE_BYTES / 2] ^= 1;
        }
    }
    fs::write(path, bytes).expect("it is written");
}

/// The place of the page that holds these bytes.
fn page_with(bench: &Bench, wanted: &[u8]) -> usize {
    let bytes = fs::read(bench.path("zoo/data")).expect("the file is there");
    let found = bytes.windows(wanted.len()).position(|window| window == wanted);
    found.expect("the record is in the file") / PAGE_BYTES
}

#[test]
fn a_damaged_page_is_named_and_other_tables_are_read() {
    let bench = Bench::with_animals();
    bench.with_numbers("zoo", KeyKind::Hash, 10);
    let wrong = page_with(&bench, b"Ada");
    damage(&bench, |page| page == wrong);
    let checked = bench.lode(&["check", "zoo"]);
    assert_eq!(checked.code, Some(1));
    assert_eq!(checked.stdout, "number: hash, 10 records\n");
    assert!(checked.stderr.starts_with("lode: zoo: table animal: page "), "{checked:?}");
    assert!(
        checked.stderr.ends_with("; restore the database from a copy, or repair it\n"),
        "{checked:?}"
    );
    assert_eq!(checked.stderr.lines().count(), 1, "{checked:?}");

    let dumped = bench.lode(&["dump", "zoo", "animal", "-o", "out.jsonl"]);
    assert_eq!((dumped.code, dumped.stderr.lines().count()), (Some(1), 2), "{dumped:?}");
    assert!(dumped.stderr.contains("1 part could not be read; the 0 records"), "{dumped:?}");
    assert_eq!(bench.list("."), ["out.jsonl", "zoo"]);
    let dumped = bench.lode(&["dump", "zoo", "animal"]);
    assert_eq!((dumped.code, &dumped.stdout[..]), (Some(1), ""), "{dumped:?}");
    assert_eq!(bench.lode(&["stat", "zoo"]).code, Some(1));
    assert_eq!(bench.succeeds(&["dump", "zoo", "number"]).lines().count(), 10);
}

/// Tables of all kinds of pages with several damaged ones each: every one is named, and the rest is
/// there.
#[test]
fn every_damaged_page_is_named_and_all_that_can_be_read_is_dumped() {
    const RECORDS: u64 = 4_000;
    let bench = Bench::new();
    let tables = [
        ("tree", "tree", "id:u64 key, text:text(60)"),
        ("hash", "hash", "id:u64 key, text:text(60)"),
        ("heap", "hash", "id:u64 key, text:vartext(300)"),
        ("whole", "tree", "id:u64 key, text:vartext(300)"),
    ];
    let line =
        |table: &str, id: u64| format!("{{\"id\":{id},\"text\":\"{table}-{id:06}-{table}\"}}\n");
    for (table, kind, schema) in tables {
        let lines: String = (0..RECORDS).map(|id| line(table, id)).collect();
        bench.write("lines.jsonl", &lines);
        bench.succeeds(&["load", "zoo", table, "lines.jsonl", "--schema", schema, "--kind", kind]);
    }
    let bytes = fs::read(bench.path("zoo/data")).expect("the file is there");
    let markers: Vec<_> = ["tree", "hash", "heap"]
        .into_iter()
        .flat_map(|table| [1_000, 2_000, 3_900].map(|id| format!("{table}-{id:06}-{table}")))
        .collect();
    damage(&bench, |page| {
        let page = &bytes[page * PAGE_BYTES..(page + 1) * PAGE_BYTES];
        let has = |marker: &String| page.windows(marker.len()).any(|at| at == marker.as_bytes());
        markers.iter().any(has)
    });
    let checked = bench.lode(&["check", "zoo"]);
    assert_eq!(checked.code, Some(1), "{checked:?}");
    assert_eq!(checked.stdout, format!("whole: tree, {RECORDS} records\n"));
    for table in ["tree", "hash", "heap"] {
        let front = format!("lode: zoo: table {table}: page ");
        let named: Vec<_> =
            checked.stderr.lines().filter(|line| line.starts_with(&front)).collect();
        assert!(named.len() >= 2, "{table}: {named:?}");

        let dumped = bench.lode(&["dump", "zoo", table]);
        assert_eq!(dumped.code, Some(1), "{dumped:?}");
        let said: Vec<_> = dumped.stderr.lines().collect();
        let [pages @ .., last] = &said[..] else { panic!("{dumped:?}") };
        assert_eq!(pages.iter().filter(|page| named.contains(page)).count(), named.len());
        let count = dumped.stdout.lines().count() as u64;
        assert!((RECORDS / 2..RECORDS).contains(&count), "{table}: {count} records");
        assert!(last.contains(&format!("the {count} records that could are written")), "{last}");
        let whole: std::collections::HashSet<_> = (0..RECORDS).map(|id| line(table, id)).collect();
        assert!(dumped.stdout.lines().all(|text| whole.contains(&format!("{text}\n"))));

        bench.lode(&["dump", "zoo", table, "-o", "out.jsonl"]);
        let file = fs::read_to_string(bench.path("out.jsonl")).expect("it is written");
        assert_eq!(file, dumped.stdout);
    }
    assert_eq!(bench.succeeds(&["dump", "zoo", "whole"]).lines().count() as u64, RECORDS);
}

#[test]
fn a_file_that_is_no_database_is_named() {
    let bench = Bench::new();
    fs::create_dir(bench.path("zoo")).expect("a directory");
    bench.write("zoo/data", "this is no database\n");
    for args in [&["check", "zoo"][..], &["stat", "zoo"], &["dump", "zoo", "x"]] {
        let ended = bench.lode(args);
        assert_eq!((ended.code, ended.stderr.lines().count()), (Some(1), 1), "{ended:?}");
        assert!(ended.stderr.contains("zoo: ") && ended.stderr.contains("corrupt"), "{ended:?}");
    }
}

/// Whatever bytes are turned, and wherever the files end.
#[test]
fn nothing_panics() {
    let bench = Bench::with_animals();
    bench.with_numbers("zoo", KeyKind::Hash, 3000);
    let log = bench.list("zoo").pop().expect("a segment");
    let files = ["data", &log].map(|name| bench.path("zoo").join(name));
    let whole = files.clone().map(|path| fs::read(path).expect("the file is there"));
    // Weyl's sequence; every round is another damage.
    let mut random = 0u64;
    let mut below = |most: usize| {
        random = random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        (random >> 20) as usize % most
    };
    for round in 0..60 {
        let names: Vec<_> = bench.list("zoo");
        names.iter().for_each(|name| fs::remove_file(bench.path("zoo").join(name)).expect("gone"));
        let mut bytes = whole.clone();
        let file = &mut bytes[usize::from(round % 4 == 3)];
        match round % 5 {
            0 => file.truncate(below(whole[0].len())),
            1 => file[..4096].iter_mut().for_each(|byte| *byte ^= 0x55),
            _ => {
                for _ in 0..40 {
                    let at = below(file.len());
                    file[at] ^= 1 << (at % 8);
                }
            }
        }
        files.iter().zip(&bytes).for_each(|(path, bytes)| fs::write(path, bytes).expect("written"));
        for args in [&["check", "zoo"][..], &["stat", "zoo"], &["dump", "zoo", "number"]] {
            let ended = bench.lode(args);
            assert!(matches!(ended.code, Some(0 | 1)), "round {round}, {args:?}: {ended:?}");
            assert!(!ended.stderr.contains("panicked"), "round {round}, {args:?}: {ended:?}");
            assert_eq!(ended.stderr.is_empty(), ended.code == Some(0), "{args:?}: {ended:?}");
        }
    }
}
