//! `assay report`, and the other views for documents and programs. What the page does in a browser
//! is tested in `crates/assay-report/tests/browser`.

use crate::support::Bench;

fn measured() -> Bench {
    let bench = Bench::new();
    let engines = "-s m -e btreemap,hashbrown,sqlite";
    bench.succeeds(&format!("run crossbench {engines} -i 1k -q 1k -u 1k -d 1k -o a.json"));
    bench.succeeds("run ycsb -s m -e btreemap -w a --records 500 --operations 500 -o b.json");
    bench
}

/// The data in a page.
fn data_of(page: &str) -> serde_json::Value {
    let start = "<script type=\"application/json\" id=\"data\">";
    let (_, rest) = page.split_once(start).expect("the page has data");
    let (json, _) = rest.split_once("</script>").expect("they end");
    serde_json::from_str(json).expect("they are JSON")
}

#[test]
fn the_page_has_everything_in_it() {
    let bench = measured();
    bench.succeeds("report a.json b.json -o page.html");
    let page = std::fs::read_to_string(bench.path().join("page.html")).expect("a page");
    for words in ["assay run ycsb", "WITHOUT ROWID", "prefers-color-scheme: dark", "<noscript>"] {
        assert!(page.contains(words), "{words}");
    }
    // The name of an XML vocabulary is no address to load from.
    let loads = page.replace("http://www.w3.org/2000/svg", "");
    for address in ["http://", "https://", "src=", "@import", "url("] {
        assert!(!loads.contains(address), "it needs no network: {address}");
    }
    let data = data_of(&page);
    let lines = data["lines"].as_array().expect("lines");
    assert_eq!(lines.len(), 4, "three engines in one run, one in the other");
    for line in lines.iter().filter(|line| line["suite"] == "crossbench") {
        let phases = line["phases"].as_array().expect("phases");
        assert_eq!(phases.len(), 4, "{line}");
        assert!(phases.iter().all(|phase| phase["rate"].as_f64().is_some()), "{line}");
    }
    let ycsb = lines.iter().find(|line| line["suite"] == "ycsb").expect("its line");
    let latencies = ycsb["phases"].to_string();
    assert!(latencies.contains("\"operation\":\"read\""), "{latencies}");
    assert!(latencies.contains("[0.75,"), "of the histogram: {latencies}");
}

#[test]
fn a_histogram_that_cannot_be_read_leaves_the_percentiles() {
    let bench = measured();
    let mut run = bench.run_file("b.json");
    let mut broken = 0;
    for result in run["cells"].as_array_mut().expect("cells") {
        for phase in result["measurement"]["phases"].as_array_mut().expect("phases") {
            let latencies = phase.get_mut("latencies").and_then(|all| all.as_array_mut());
            for latency in latencies.into_iter().flatten() {
                assert!(latency["histogram"].as_str().expect("a text").starts_with("HISTFAAA"));
                latency["histogram"] = "HISTFAAAABtnonsense".into();
                broken += 1;
            }
        }
    }
    assert!(broken > 0);
    std::fs::write(bench.path().join("b.json"), run.to_string()).expect("write");
    bench.succeeds("report b.json -o page.html");
    let page = std::fs::read_to_string(bench.path().join("page.html")).expect("a page");
    let lines = data_of(&page)["lines"].to_string();
    assert!(lines.contains("[0.99,") && !lines.contains("[0.75,"), "{lines}");
}

#[test]
fn what_a_run_file_says_is_text_and_no_markup() {
    let bench = measured();
    let mut run = bench.run_file("a.json");
    run["command"][0] = "</script><script>alert(1)</script>".into();
    run["cells"][1]["cell"]["engine"] = "<!--<b>\"x\"</b>".into();
    std::fs::write(bench.path().join("a.json"), run.to_string()).expect("write");
    bench.succeeds("report a.json -o page.html");
    let page = std::fs::read_to_string(bench.path().join("page.html")).expect("a page");
    assert!(!page.contains("<script>alert") && !page.contains("<b>"), "escaped");
    let data = data_of(&page);
    let names: Vec<_> = data["engines"].as_array().expect("engines").iter().collect();
    assert!(names.iter().any(|engine| engine["name"] == "<!--<b>\"x\"</b>"), "{names:?}");
}

#[test]
fn a_report_over_nothing_is_refused() {
    let bench = measured();
    bench.refuses("report", 2, &["<RUN>"]);
    bench.refuses("report nosuch.json", 3, &["nosuch.json"]);
    bench.refuses("report a.json -o /proc/x/page.html", 3, &["/proc/x/page.html", "--output"]);
    let mut run = bench.run_file("a.json");
    run["cells"] = serde_json::json!([]);
    std::fs::write(bench.path().join("a.json"), run.to_string()).expect("write");
    bench.refuses("report a.json", 3, &["nothing to show"]);
    assert!(!bench.path().join("report.html").exists(), "no half-written page");
}

/// A folder of runs has the verdicts of crash tests in it, and devices have no end.
#[test]
fn what_is_no_run_file_is_left_out_or_refused() {
    let bench = measured();
    bench.succeeds("crash -e sqlite --durability process --crash process --rounds 1 --commits 2");
    bench.succeeds("report a.json assay-runs/durability.json b.json -o both.html");
    let noted = bench.succeeds("plot a.json assay-runs/durability.json");
    assert!(noted.stderr.contains("note: assay-runs/durability.json has verdicts"), "{noted:?}");
    let alone = "report assay-runs/durability.json";
    bench.refuses(alone, 3, &["there is no run file in what was named"]);
    for command in ["report", "plot", "site", "show", "compare a.json"] {
        bench.refuses(&format!("{command} /dev/zero"), 3, &["/dev/zero", "may have no end"]);
    }
    bench.refuses("plan -c /dev/zero", 3, &["/dev/zero", "may have no end"]);
}

#[test]
fn tables_fold_into_eighty_columns() {
    let bench = Bench::new();
    bench.succeeds(
        "run crossbench -s m -e btreemap,hashbrown -i 1k -q 1k -u 1k --trials 5 -o a.json",
    );
    for command in [
        "compare a.json --engines btreemap,hashbrown",
        "doctor",
        "verify -e lmdb,btreemap -s r",
        "crash -e sqlite --durability process --crash process --rounds 1 --commits 2",
    ] {
        let shown = bench.succeeds(command).stdout;
        let long = shown.lines().find(|line| line.chars().count() > 80);
        assert_eq!(long, None, "{command}: {shown}");
    }
}

#[test]
fn csv_and_markdown_have_every_figure() {
    let bench = measured();
    let csv = bench.succeeds("show a.json --format csv").stdout;
    assert_eq!(csv.lines().count(), 13, "{csv}");
    assert!(csv.starts_with("suite,work,storage,rows,threads,engine,"), "{csv}");
    assert!(csv.contains("\"random access, dense keys · revision 2 of the suite\""), "{csv}");
    let markdown = bench.succeeds("show a.json --format markdown").stdout;
    assert!(markdown.contains("| engine | threads | durability | insert/s"), "{markdown}");
    assert_eq!(markdown.matches("\n| hashbrown |").count(), 1, "{markdown}");
}
