//! `assay site`: what is written, and what is never overwritten. What its pages do in a browser is
//! tested in `crates/assay-report/tests/browser`.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::Bench;

const RUN: &str = "run crossbench -s m -i 1k -q 1k -u 1k -d 1k";

/// Two runs, one of them compressed, and verdicts of which one is refuted.
fn measured() -> Bench {
    let bench = Bench::new();
    std::fs::create_dir(bench.path().join("results")).expect("a folder");
    bench.succeeds(&format!("{RUN} -e btreemap,hashbrown,sqlite -o results/a.json"));
    let ycsb = "run ycsb -s m -e btreemap,lode -w a,e --records 500 --operations 500";
    bench.succeeds(&format!("{ycsb} -o results/b.json.gz"));
    let crash = "crash -e sqlite,lmdb --durability process --crash process --rounds 2 --commits 5";
    bench.succeeds(&format!("{crash} --dir stores -o results/durability.json"));
    let mut file = bench.run_file("results/durability.json");
    file["verdicts"][0]["failures"] = json!([{
        "found": { "torn": "<b>half</b>" }, "command": "assay crash -e <sqlite>",
        "image": "images/\"one\"",
    }]);
    let mut copied = file["verdicts"][1].clone();
    (copied["crash"], copied["promise"], copied["threads"]) =
        ("copy".into(), "copy".into(), 4.into());
    copied["failures"] = json!([{ "found": { "torn": "half" }, "command": "again" }]);
    file["verdicts"].as_array_mut().expect("a list").push(copied);
    write(&bench, "results/durability.json", &file.to_string());
    bench
}

fn write(bench: &Bench, name: &str, text: &str) {
    std::fs::write(bench.path().join(name), text).expect("write");
}

fn read(bench: &Bench, name: &str) -> String {
    std::fs::read_to_string(bench.path().join(name)).expect(name)
}

/// Every file below a folder, with its content.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        match entry.path().is_dir() {
            true => all.extend(
                files(&entry.path()).into_iter().map(|(own, text)| (format!("{name}/{own}"), text)),
            ),
            false => drop(all.insert(name, std::fs::read(entry.path()).expect("a file"))),
        }
    }
    all
}

#[test]
fn a_site_has_its_pages_and_the_run_files() {
    let bench = measured();
    let ended = bench.succeeds("site results -o out");
    assert_eq!(ended.stdout, "out/index.html\n");
    let out = files(&bench.path().join("out"));
    let names: Vec<_> = out.keys().map(String::as_str).collect();
    let wanted = [
        "durability.html",
        "index.html",
        "runs/a.json",
        "runs/b.json.gz",
        "runs/durability.json",
        "site.json",
        "suite-crossbench.html",
        "suite-ycsb.html",
    ];
    assert_eq!(names, wanted);
    let inputs = files(&bench.path().join("results"));
    assert_eq!(out["runs/a.json"], inputs["a.json"]);
    assert_eq!(out["runs/b.json.gz"], inputs["b.json.gz"]);
    let index = read(&bench, "out/index.html");
    for words in [
        "href=\"suite-ycsb.html#storage=memory&amp;level=none\"",
        "href=\"runs/b.json.gz\"",
        "assay run ycsb -s m",
        "4 killed processes and power cuts of 2 engines. On file systems that keep a",
        "as ext4 does, 1 of 2 tests of a level's promise broke it (<bdi>",
        "lode</bdi>, the authors' own engine, is ",
    ] {
        assert!(index.contains(words), "{words}: {index}");
    }
    // Keys of both kinds are one engine here.
    assert!(index.contains(">lode<") && !index.contains("lode hash"), "{index}");
    let crashes = read(&bench, "out/durability.html");
    let copied = ["copied while open with 4 threads", "no<small>1 of 2 mixed"];
    let words = ["0 of 2", "at most 78 %", "1 of 2", "Its command is left out"];
    assert!(copied.iter().all(|words| crashes.contains(words)), "{crashes}");
    assert!(words.iter().all(|words| crashes.contains(words)), "{crashes}");
    assert!(!crashes.contains("assay crash --open"), "the path has quotes: {crashes}");
    assert!(read(&bench, "out/suite-ycsb.html").contains("\"file\":\"runs/b.json.gz\""));
    for (name, page) in out.iter().filter(|(name, _)| name.ends_with(".html")) {
        let page = String::from_utf8_lossy(page).replace("http://www.w3.org/2000/svg", "");
        for address in ["http://", "https://", "src=", "@import", "url("] {
            assert!(!page.contains(address), "{name} needs no network: {address}");
        }
        assert!(!page.contains("<b>half"), "{name}");
    }
}

#[test]
fn the_same_inputs_make_the_same_site_whatever_their_order() {
    let bench = measured();
    bench.succeeds("site results -o one");
    bench.succeeds("site results/durability.json results/b.json.gz results/a.json results -o two");
    assert_eq!(files(&bench.path().join("one")), files(&bench.path().join("two")));
}

#[test]
fn a_site_is_made_again_in_its_folder() {
    let bench = measured();
    bench.succeeds("site results -o out");
    write(&bench, "out/notes.txt", "mine");
    bench.succeeds("site results/a.json -o out");
    let names: Vec<_> = files(&bench.path().join("out")).into_keys().collect();
    let wanted = ["index.html", "notes.txt", "runs/a.json", "site.json", "suite-crossbench.html"];
    assert_eq!(names, wanted, "what the new site lacks is gone, and what is not of a site stays");
    // A file that came in between is not overwritten.
    write(&bench, "out/suite-ycsb.html", "mine");
    let before = files(&bench.path().join("out"));
    bench.refuses("site results -o out", 3, &["out", "suite-ycsb.html", "--output"]);
    assert_eq!(files(&bench.path().join("out")), before);
}

#[test]
fn files_of_others_are_never_touched() {
    let bench = measured();
    for (name, text) in [
        ("index.html", "mine"),
        ("site.json", "{}"),
        ("site.json", "{\"format\": \"assay-site\", \"files\": [\"../results/a.json\"]}"),
        ("site.json", "{\"format\": \"assay-site\", \"files\": [\"/etc/hostname\"]}"),
    ] {
        let folder = bench.path().join("mine");
        std::fs::create_dir(&folder).expect("a folder");
        write(&bench, &format!("mine/{name}"), text);
        bench.refuses("site results -o mine", 3, &["mine", "not of a site", "--output"]);
        assert_eq!(files(&folder).len(), 1, "{text}");
        assert_eq!(read(&bench, &format!("mine/{name}")), text);
        std::fs::remove_dir_all(&folder).expect("it is there");
    }
    assert_eq!(files(&bench.path().join("results")).len(), 3);
    write(&bench, "file", "mine");
    bench.refuses("site results -o file", 3, &["file", "--output"]);
    bench.refuses("site results -o no/such/place", 3, &["no/such", "make it first"]);
    // A link in a site's folder leads nowhere else.
    bench.succeeds("site results -o linked");
    std::fs::remove_dir_all(bench.path().join("linked/runs")).expect("it is there");
    std::fs::create_dir(bench.path().join("elsewhere")).expect("a folder");
    let link = std::os::unix::fs::symlink("../elsewhere", bench.path().join("linked/runs"));
    link.expect("a link");
    bench.refuses("site results -o linked", 3, &["runs is no folder of a site"]);
    assert_eq!(files(&bench.path().join("elsewhere")).len(), 0);
}

#[test]
fn a_site_of_nothing_is_refused() {
    let bench = measured();
    bench.refuses("site", 2, &["<RUN>"]);
    bench.refuses("site nosuch", 3, &["nosuch"]);
    bench.refuses("site results/durability.json", 2, &["no run file"]);
    write(&bench, "results/other.json", "{\"name\": \"of something else\"}");
    bench.refuses("site results/other.json", 3, &["other.json", "not a run file"]);
    let noted = bench.succeeds("site results -o out");
    assert!(noted.stderr.contains("note: left out: results/other.json"), "{noted:?}");
    let mut run = bench.run_file("results/a.json");
    run["cells"] = json!([]);
    write(&bench, "empty.json", &run.to_string());
    bench.refuses("site empty.json -o none", 3, &["nothing to show"]);
    run["schema_version"] = json!(9);
    write(&bench, "newer.json", &run.to_string());
    bench.refuses("site newer.json -o none", 3, &["newer.json", "version 9"]);
    assert!(!bench.path().join("none").exists(), "nothing is made");
}

#[test]
fn hostile_names_stay_texts_and_get_plain_files() {
    let bench = measured();
    let mut run = bench.run_file("results/a.json");
    let hostile = "</script><script>alert(1)</script>\"'&";
    for result in run["cells"].as_array_mut().expect("cells") {
        result["cell"]["suite"] = hostile.into();
    }
    run["cells"][1]["cell"]["engine"] = Value::String("e".repeat(100_000));
    run["environment"]["cpu_model"] = hostile.into();
    run["command"] = json!([hostile]);
    write(&bench, "a b<i>.json", &run.to_string());
    let out =
        bench.assay_words(&["site", "a b<i>.json", "-o", "out"].map(Into::into), bench.path());
    assert_eq!(out.code, Some(0), "{out:?}");
    let out = files(&bench.path().join("out"));
    let is_plain = |name: &String| {
        name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/'))
    };
    assert!(out.keys().all(is_plain), "{:?}", out.keys());
    let index = String::from_utf8_lossy(&out["index.html"]).into_owned();
    assert!(!index.contains("<script") && index.contains("&lt;script&gt;alert"), "{index}");
    assert!(!index.contains(&"e".repeat(5_000)), "a name of 100,000 letters is cut");
}
