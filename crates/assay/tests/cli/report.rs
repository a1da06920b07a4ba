//! `assay report`, and the other views for documents and programs; the page in a real browser
//! where there is one.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::Bench;

fn measured() -> Bench {
    let bench = Bench::new();
    let engines = "-s m -e btreemap,hashbrown,sqlite";
    bench.succeeds(&format!("run crossbench {engines} -i 1k -q 1k -u 1k -d 1k -o a.json"));
    bench.succeeds("run ycsb -s m -e btreemap -w a --records 500 --operations 500 -o b.json");
    bench
}

#[test]
fn the_page_has_everything_in_it() {
    let bench = measured();
    bench.succeeds("report a.json b.json -o page.html");
    let page = std::fs::read_to_string(bench.path().join("page.html")).expect("a page");
    for words in [
        "<svg",
        "<th data-kind=\"number\"",
        "btreemap",
        "latency of read",
        "assay run ycsb",
        "prefers-color-scheme: dark",
        "name=\"viewport\"",
        "WITHOUT ROWID",
    ] {
        assert!(page.contains(words), "{words}");
    }
    // Names of XML vocabularies are no addresses to load from.
    let loads = page.replace("http://www.w3.org/", "");
    for address in ["http://", "https://", "src=", "@import"] {
        assert!(!loads.contains(address), "it needs no network: {address}");
    }
    let rows = page.matches("<td data-value=\"crossbench\">").count();
    assert_eq!(rows, 12, "three engines, four phases");
}

#[test]
fn what_a_run_file_says_is_text_and_no_markup() {
    let bench = measured();
    let mut run = bench.run_file("a.json");
    run["command"][0] = "<script>alert(1)</script>".into();
    run["cells"][1]["cell"]["engine"] = "<b>\"x\"</b>".into();
    std::fs::write(bench.path().join("a.json"), run.to_string()).expect("write");
    bench.succeeds("report a.json -o page.html");
    let page = std::fs::read_to_string(bench.path().join("page.html")).expect("a page");
    assert!(!page.contains("<script>alert") && !page.contains("<b>\"x\""), "escaped");
    assert!(page.contains("&lt;b&gt;&quot;x&quot;&lt;/b&gt;"));
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
    bench.refuses("report a.json", 3, &["nothing to draw"]);
    assert!(!bench.path().join("report.html").exists(), "no half-written page");
}

#[test]
fn csv_and_markdown_have_every_figure() {
    let bench = measured();
    let csv = bench.succeeds("show a.json --format csv").stdout;
    assert_eq!(csv.lines().count(), 13, "{csv}");
    assert!(csv.starts_with("suite,work,storage,rows,threads,engine,"), "{csv}");
    assert!(csv.contains("\"random access, dense keys\""), "{csv}");
    let markdown = bench.succeeds("show a.json --format markdown").stdout;
    assert!(markdown.contains("| engine | threads | durability | insert/s |"), "{markdown}");
    assert_eq!(markdown.matches("\n| hashbrown |").count(), 1, "{markdown}");
}

/// What is done to the page in the browser, as a reader would; the outcome is left in the title.
const READER: &str = r##"
<script>
  const shown = () => Array.from(document.querySelectorAll("#results tbody tr"))
    .filter((row) => !row.hidden);
  const first = (column) => shown()[0].cells[column].dataset.value;
  const said = [shown().length];
  const engine = document.querySelector('[data-column="0"]');
  engine.value = "sqlite";
  engine.dispatchEvent(new Event("change"));
  said.push(shown().length);
  engine.value = "";
  engine.dispatchEvent(new Event("change"));
  const search = document.getElementById("search");
  search.value = "hashbrown QUERY";
  search.dispatchEvent(new Event("input"));
  said.push(shown().length);
  search.value = "";
  search.dispatchEvent(new Event("input"));
  const rate = document.querySelectorAll("#results th button")[2];
  rate.click();
  const least = Number(first(2));
  rate.click();
  said.push(Number(first(2)) > least ? "sorted" : "not sorted");
  said.push(window.errors);
  document.title = "said " + said.join(" ");
</script>
"##;

#[test]
fn a_browser_opens_sorts_and_filters_it() {
    let found = ["chromium", "chromium-browser", "google-chrome"].into_iter().find(|name| {
        let version = Command::new(name).arg("--version").stdout(Stdio::null()).status();
        version.is_ok_and(|status| status.success())
    });
    let Some(browser) = found else {
        println!("skipped: there is no Chromium here");
        return;
    };
    let bench = measured();
    bench.succeeds("report a.json -o page.html");
    let path = bench.path().join("page.html");
    let page = std::fs::read_to_string(&path).expect("a page");
    let watched = page
        .replace(
            "<head>",
            "<head><script>window.errors = 0; window.onerror = () => { window.errors += 1; };\
             </script>",
        )
        .replace("</body>", &format!("{READER}</body>"));
    std::fs::write(&path, watched).expect("write");
    let dom = dump(browser, &path, bench.path());
    let title = dom.split("<title>").nth(1).and_then(|rest| rest.split('<').next());
    assert_eq!(title, Some("said 12 4 1 sorted 0"), "{dom:.2000}");
}

/// The page after its scripts have run; what the browser says of errors is an error.
fn dump(browser: &str, page: &Path, home: &Path) -> String {
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"])
        .args(["--no-first-run", "--disable-background-networking", "--disable-sync"])
        .args(["--disable-component-update", "--enable-logging=stderr", "--v=0"])
        .arg(format!("--user-data-dir={}", home.join("browser").display()))
        .arg(format!("file://{}", page.display()))
        .env("HOME", home)
        .output()
        .expect("the browser starts");
    let said = String::from_utf8_lossy(&output.stderr);
    let complaint = said.lines().find(|line| line.contains("CONSOLE"));
    assert_eq!(complaint, None, "the console is silent");
    String::from_utf8_lossy(&output.stdout).into_owned()
}
