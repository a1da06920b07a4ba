//! Run files that say anything: a view shows them, or refuses them with one line. It never ends in
//! a panic, commands the terminal, or writes a picture that is not well-formed.

use serde_json::{Value, json};

use crate::support::{Bench, Ended};

/// Every view over a run file; a picture or a page is looked at afterwards.
const VIEWS: [&str; 8] = [
    "show run.json",
    "show run.json --format published",
    "show run.json --format csv",
    "show run.json --format markdown",
    "compare run.json run.json --allow-differences",
    "compare run.json --engines btreemap,hashbrown",
    "report run.json -o page.html",
    "plot run.json -o pictures",
];

/// The views that are quick.
const QUICK: [&str; 2] = [VIEWS[0], VIEWS[1]];

/// Fields whose texts are words of the format.
const WORDS: [&str; 11] = [
    "format",
    "created",
    "started",
    "storage",
    "durability",
    "durability_wanted",
    "key_kind",
    "page_cache",
    "outcome",
    "gravity",
    "options",
];

/// A bench with a run of several suites, with latencies, batches and every status.
fn measured() -> (Bench, Value) {
    let bench = Bench::new();
    let engines = "-s m -e btreemap,hashbrown";
    let mut whole = Value::Null;
    for suite in [
        "crossbench -i 1k -q 1k -u 1k -d 1k --latency",
        "ycsb -w a --records 200 --operations 200",
        "nudb --batch_size 100 --num_batches 3",
        "skvdb -t 1,2 --entries 1 --operations 50 --children 5",
        "tonbo-write --scale 0.0002 -t 1",
    ] {
        bench.succeeds(&format!("run {suite} {engines} -o part.json -Q"));
        let mut part = bench.run_file("part.json");
        match whole.is_null() {
            true => whole = part,
            false => {
                let cells = part["cells"].as_array_mut().expect("cells").drain(..);
                whole["cells"].as_array_mut().expect("cells").extend(cells);
            }
        }
    }
    let cells = whole["cells"].as_array_mut().expect("cells");
    for (at, outcome) in ["wrong", "failed", "unsupported", "unavailable"].iter().enumerate() {
        let mut cell = cells[at + 1].clone();
        cell["cell"]["engine"] = format!("engine-{outcome}").into();
        cell["status"] = json!({"outcome": outcome, "reason": "because"});
        cell["refuted"] = "a crash test refuted it".into();
        cells.push(cell);
    }
    (bench, whole)
}

/// Calls a function with each value below this one, and the names of the fields on the way.
fn each(
    value: &mut Value,
    fields: &mut Vec<String>,
    change: &mut dyn FnMut(&[String], &mut Value),
) {
    match value {
        Value::Object(map) => {
            for (name, value) in map {
                fields.push(name.clone());
                each(value, fields, change);
                fields.pop();
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| each(value, fields, change)),
        _ => {}
    }
    change(fields, value);
}

/// The names of all fields with values of a kind.
fn names(run: &Value, is_wanted: fn(&Value) -> bool) -> Vec<String> {
    let mut names = Vec::new();
    each(&mut run.clone(), &mut Vec::new(), &mut |fields, value| {
        if let (Some(name), true) = (fields.last(), is_wanted(value)) {
            names.push(name.clone());
        }
    });
    names.sort();
    names.dedup();
    names
}

/// Shows a run in these views, each of which has to end well.
fn shows(bench: &Bench, run: &Value, views: &[&str], what: &str) {
    std::fs::write(bench.path().join("run.json"), run.to_string()).expect("write");
    for view in views {
        let ended = bench.assay(view);
        is_safe(&format!("{what}: {view}"), &ended);
        for file in ["page.html", "pictures"] {
            look_at(&bench.path().join(file), what);
        }
    }
}

fn is_safe(what: &str, ended: &Ended) {
    assert!(matches!(ended.code, Some(0..=4)), "{what}: {:?} {}", ended.code, ended.stderr);
    assert!(!ended.stderr.contains("panicked"), "{what}: {}", ended.stderr);
    let lines = ended.stderr.lines().filter(|line| line.starts_with("assay: ")).count();
    assert_eq!(lines, usize::from(ended.code != Some(0)), "{what}: {}", ended.stderr);
    let raw = |c: &char| (c.is_control() && !matches!(c, '\n' | '\t')) || is_direction(*c);
    let (out, err) = (ended.stdout.chars().find(raw), ended.stderr.chars().find(raw));
    assert_eq!((out, err), (None, None), "{what}: raw in {:.300}", ended.stdout);
}

fn is_direction(character: char) -> bool {
    matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Pictures are well-formed, pages have nothing that a browser would take for something else.
fn look_at(path: &std::path::Path, what: &str) {
    if let Ok(files) = std::fs::read_dir(path) {
        files.flatten().for_each(|file| look_at(&file.path(), what));
        let _ = std::fs::remove_dir_all(path);
    } else if let Ok(text) = std::fs::read_to_string(path) {
        let raw = text.chars().find(|&c| (c.is_control() && c != '\n') || is_direction(c));
        assert_eq!(raw, None, "{what}: {}", path.display());
        if path.extension().is_some_and(|ending| ending == "svg") {
            assert_eq!(fault(&text), None, "{what}: {}", path.display());
        }
    }
}

/// Returns the first fault of an XML text.
fn fault(text: &str) -> Option<String> {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['<', '&']) {
        let mark = &rest[at..];
        if let Some(after) = mark.strip_prefix('&') {
            let known = ["&amp;", "&lt;", "&gt;", "&quot;", "&apos;", "&#"];
            if !known.iter().any(|entity| mark.starts_with(entity)) {
                return Some(format!("no entity: {mark:.20}"));
            }
            rest = after;
            continue;
        }
        let end = mark.find('>')?;
        let tag = &mark[1..end];
        if !tag.matches('"').count().is_multiple_of(2) || tag[1..].contains('<') {
            return Some(format!("no tag: {tag:.80}"));
        }
        let name = tag.trim_start_matches('/').split([' ', '/', '\n']).next().unwrap_or_default();
        match (tag.starts_with('/'), tag.ends_with('/') || tag.starts_with(['!', '?'])) {
            (true, _) if open.pop() != Some(name) => return Some(format!("ends nothing: {tag}")),
            (true, _) | (_, true) => {}
            (false, false) => open.push(name),
        }
        rest = &mark[end + 1..];
    }
    open.pop().map(|name| format!("no end of {name}"))
}

#[test]
fn texts_of_a_run_file_are_shown_and_command_nothing() {
    let (bench, run) = measured();
    shows(&bench, &run, &VIEWS, "as it was measured");
    for hostile in [
        "\u{1b}[2J\u{1b}]0;title\u{7}\u{8}\u{7f}",
        "\u{9b}31m\u{85}\u{9d}",
        "a\nassay: b\r\tc\u{b}\u{c}\u{2028}",
        "\u{202e}evil\u{2066}\u{200b}\u{feff}",
        "\u{0}\u{ffff}\u{fffe}\u{fdd0}",
        "]]></text>&lt;<script>alert(1)</script>\"'",
        "=1+1|`x`|\\|[a](b)",
        "",
        "עברית 数据库 🦀 e\u{301}",
    ] {
        shows(&bench, &with_texts(&run, |_| hostile.to_string()), &VIEWS, hostile);
    }
}

#[test]
fn long_texts_of_a_run_file_are_shown() {
    let (bench, run) = measured();
    let mut number = 0;
    let long = with_texts(&run, |_| {
        number += 1;
        "x".repeat(if number % 7 == 0 { 100_000 } else { 70 }) + &number.to_string()
    });
    shows(&bench, &long, &VIEWS, "100,000 letters");
    let mut one = run;
    one["cells"][1]["cell"]["engine"] = "x".repeat(100_000).into();
    shows(&bench, &one, &VIEWS, "an engine of 100,000 letters");
}

/// The run with other texts in all its fields, but where the format knows only some words.
fn with_texts(run: &Value, mut text: impl FnMut(&str) -> String) -> Value {
    let mut changed = run.clone();
    each(&mut changed, &mut Vec::new(), &mut |fields, value| {
        let is_word = fields.iter().any(|field| WORDS.contains(&field.as_str()));
        let is_suite = fields.last().is_some_and(|field| field == "suite");
        if let (Value::String(old), false, false) = (&mut *value, is_word, is_suite) {
            *old = text(old);
        }
    });
    changed
}

#[test]
fn numbers_of_a_run_file_can_be_anything() {
    let (bench, run) = measured();
    let hostile = [json!(0), json!(u64::MAX), json!(-1), json!(1e308), json!(5e-324), Value::Null];
    for number in &hostile {
        let mut all = run.clone();
        each(&mut all, &mut Vec::new(), &mut |fields, value| {
            if value.is_number() && fields.last().is_some_and(|name| name != "schema_version") {
                *value = number.clone();
            }
        });
        shows(&bench, &all, &VIEWS, &format!("all numbers {number}"));
    }
    for (at, name) in names(&run, Value::is_number).into_iter().enumerate() {
        for number in &hostile[..2] {
            let mut one = run.clone();
            each(&mut one, &mut Vec::new(), &mut |fields, value| {
                if value.is_number() && fields.last() == Some(&name) {
                    *value = number.clone();
                }
            });
            shows(&bench, &one, &QUICK[at % 2..][..1], &format!("{name} {number}"));
            if ["rows", "time_ns", "interval_ns", "operations", "batch_size"].contains(&&*name) {
                shows(&bench, &one, &VIEWS[2..], &format!("{name} {number}"));
            }
        }
    }
}

#[test]
fn fields_of_a_run_file_can_be_missing_empty_or_more() {
    let (bench, run) = measured();
    for (at, name) in names(&run, |_| true).into_iter().enumerate() {
        let mut without = run.clone();
        each(&mut without, &mut Vec::new(), &mut |_, value| {
            if let Value::Object(map) = value {
                map.remove(&name);
            }
        });
        shows(&bench, &without, &QUICK[at % 2..][..1], &format!("without {name}"));
    }
    for name in names(&run, Value::is_array) {
        let mut empty = run.clone();
        each(&mut empty, &mut Vec::new(), &mut |fields, value| {
            if value.is_array() && fields.last() == Some(&name) {
                *value = json!([]);
            }
        });
        shows(&bench, &empty, &VIEWS, &format!("{name} is empty"));
    }
    let mut more = run.clone();
    each(&mut more, &mut Vec::new(), &mut |_, value| {
        if let Value::Object(map) = value {
            map.insert("more".into(), json!({"of": ["it"]}));
        }
    });
    // What the format does not know is no fault; where names are free it is a setting too many.
    shows(&bench, &more, &QUICK, "more fields");
    let deep = "[".repeat(200_000) + &"]".repeat(200_000);
    for (place, status) in [("{", 0), ("\"options\":{", 3)] {
        let text = run.to_string().replacen(place, &format!("{place}\"deep\":{deep},"), 1);
        std::fs::write(bench.path().join("run.json"), text).expect("write");
        let ended = bench.assay("show run.json");
        assert_eq!(ended.code, Some(status), "{place}: {}", ended.stderr);
        is_safe(place, &ended);
    }
}

/// A spreadsheet calculates nothing, and a table of Markdown has as many columns as it should.
#[test]
fn csv_and_markdown_are_quoted() {
    let (bench, run) = measured();
    let hostile = with_texts(&run, |old| format!("=1+1|a,\"b\"\n{old}"));
    std::fs::write(bench.path().join("run.json"), hostile.to_string()).expect("write");
    let csv = bench.succeeds("show run.json --format csv").stdout;
    for line in csv.lines().skip(1) {
        assert_eq!(fields(line), fields(csv.lines().next().expect("a header")), "{line}");
        assert!(!line.contains(",\"=1") && !line.starts_with("\"=1"), "{line}");
    }
    let markdown = bench.succeeds("show run.json --format markdown").stdout;
    let mut columns = 0;
    for line in markdown.lines().filter(|line| line.starts_with('|')) {
        let bars = line.replace("\\|", "").matches('|').count();
        // The heads of the tables of rates, of speed-ups and of latencies.
        let heads = ["| engine |", "| speed-up of |", "| latency of |"];
        if heads.iter().any(|head| line.starts_with(head)) {
            columns = bars;
        }
        assert_eq!(bars, columns, "{line}");
    }
}

/// Returns the number of fields of a line of CSV.
fn fields(line: &str) -> usize {
    let mut quoted = false;
    let ends = |c: char| {
        quoted ^= c == '"';
        c == ',' && !quoted
    };
    1 + line.chars().map(ends).filter(|&is_end| is_end).count()
}
