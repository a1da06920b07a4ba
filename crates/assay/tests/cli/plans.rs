//! `assay plan`: a plan in a file.

use assay_core::run_file::RunFile;

use crate::support::Bench;

const PLAN: &str = r#"
engine = ["btreemap", "hashbrown"]
storage = "inmem"
trials = 2
output = "plan.json"

[[run]]
suite = "crossbench"
insert = "1k"
query = 1000
update = "1k"
delete = "1k"

[[run]]
suite = "ycsb"
workload = ["a", "c"]
records = "1k"
operations = "1k"
"#;

fn write(bench: &Bench, text: &str) {
    std::fs::write(bench.path().join("plan.toml"), text).expect("write");
}

#[test]
fn a_plan_is_shown_measured_and_not_repeated() {
    let bench = Bench::new();
    write(&bench, PLAN);
    let shown = bench.succeeds("plan --config plan.toml --dry-run");
    for words in ["crossbench", "ycsb", " in all", "guessed"] {
        assert!(shown.stdout.contains(words), "{words}: {shown:?}");
    }
    assert!(!bench.path().join("plan.json").exists(), "it was only shown");
    let first = bench.succeeds("plan --config plan.toml");
    assert!(first.stdout.contains("crossbench · memory") && first.stdout.contains("workload A"));
    let run = bench.run_file("plan.json");
    // Two engines, two trials, of crossbench and two workloads; and what calibrates each.
    assert_eq!(run["cells"].as_array().map(Vec::len), Some(15), "{run}");
    let again = bench.succeeds("plan --config plan.toml");
    assert!(again.stderr.contains("resuming plan.json: 15 of 15 cells are there"), "{again:?}");
    assert_eq!(bench.run_file("plan.json")["cells"], run["cells"]);
    let known = bench.succeeds("plan --config plan.toml --dry-run");
    assert!(known.stdout.contains("from earlier runs here"), "{known:?}");
}

#[test]
fn a_plan_goes_on_where_it_was_stopped() {
    let bench = Bench::new();
    write(&bench, PLAN);
    bench.succeeds("plan -c plan.toml -Q");
    let mut run = bench.run_file("plan.json");
    let done = run["cells"].as_array_mut().expect("cells");
    done.truncate(6);
    std::fs::write(bench.path().join("plan.json"), run.to_string()).expect("write");
    let rest = bench.succeeds("plan -c plan.toml");
    assert!(rest.stderr.contains("6 of 15 cells are there"), "{rest:?}");
    assert!(rest.stderr.contains("[9/9]") && !rest.stderr.contains("[10/"), "{rest:?}");
    let whole = bench.run_file("plan.json");
    assert_eq!(whole["cells"].as_array().map(Vec::len), Some(15));
    assert_eq!(whole["cells"][0], run["cells"][0]);
}

#[test]
fn the_same_cell_is_measured_once() {
    let bench = Bench::new();
    let run = "[[run]]\nsuite = \"crossbench\"\ninsert = 1000\nquery = 100\nupdate = 0\n";
    write(&bench, &format!("engine = [\"btreemap\"]\nstorage = \"m\"\n{run}{run}"));
    bench.succeeds("plan -c plan.toml -Q -o out.json");
    let out = bench.run_file("out.json");
    assert_eq!(
        (out["planned_cells"].as_u64(), out["cells"].as_array().map(Vec::len)),
        (Some(2), Some(2))
    );
}

/// A plan whose runs have a file each.
const FOLDER_PLAN: &str = r#"
engine = ["btreemap", "hashbrown"]
storage = "inmem"
trials = 2
runs = "results"

[[run]]
name = "small"
suite = "crossbench"
insert = "1k"
query = 1000
update = "1k"

[[run]]
name = "letters"
suite = "ycsb"
workload = ["a"]
records = "1k"
operations = "1k"

[[crash]]
engine = "sqlite"
durability = "process"
crash = "process"
rounds = 2
commits = 5
"#;

fn cells(bench: &Bench, name: &str) -> usize {
    let path = bench.path().join("results").join(format!("{name}.json.gz"));
    RunFile::load(&path).map_or(0, |run| run.cells.len())
}

#[test]
fn a_plan_is_carried_out_by_several_commands() {
    let bench = Bench::new();
    write(&bench, FOLDER_PLAN);
    let shown = bench.succeeds("plan -c plan.toml --dry-run");
    assert!(shown.stdout.contains("small") && shown.stdout.contains("done"), "{shown:?}");
    assert!(!bench.path().join("results").exists(), "it was only shown");
    // Each of these does one piece of work: the first is the crash test.
    let mut commands = 0;
    while !bench.succeeds("plan -c plan.toml --for 1s").stdout.contains("everything is there") {
        commands += 1;
        assert!(commands < 20, "it gets on");
    }
    assert_eq!((cells(&bench, "small"), cells(&bench, "letters")), (5, 5));
    let file = bench.run_file("results/durability.json");
    assert_eq!(file["verdicts"].as_array().map(Vec::len), Some(1), "{file}");
    let path = bench.path().join("results/small.json.gz");
    // Each file names the command that measures what is in it, and no more.
    let command = RunFile::load(&path).expect("a run file").command;
    let (words, options) = command.split_at(3);
    assert_eq!(words, ["assay", "run", "crossbench"]);
    assert!(options.contains(&"--insert=1k".into()) && !options.contains(&"--records=1k".into()));
    bench.succeeds(&format!("{} --output again.json", command[1..].join(" ")));
    assert_eq!(bench.run_file("again.json")["cells"].as_array().map(Vec::len), Some(5));
    let before = std::fs::read(&path).expect("a run file");
    let again = bench.succeeds("plan -c plan.toml");
    assert!(!again.stderr.contains("measuring"), "{again:?}");
    assert_eq!(std::fs::read(&path).expect("a run file"), before);
    // What is removed is measured anew, and nothing else.
    std::fs::remove_file(&path).expect("it is there");
    let one = bench.succeeds("plan -c plan.toml");
    assert!(one.stderr.contains("small.json.gz") && !one.stderr.contains("letters"), "{one:?}");
    bench.succeeds("show results/small.json.gz");
}

#[test]
fn a_run_that_is_whole_stays_when_an_engine_comes_in() {
    let bench = Bench::new();
    write(&bench, FOLDER_PLAN);
    bench.succeeds("plan -c plan.toml -Q");
    let path = bench.path().join("results/small.json.gz");
    let mut run = RunFile::load(&path).expect("a run file");
    run.environment.cpu_model = "another processor".to_string();
    run.save(&path).expect("it can be written");
    let before = std::fs::read(&path).expect("a run file");
    let more = FOLDER_PLAN.replace("\"hashbrown\"]", "\"hashbrown\", \"stl-map\"]");
    write(&bench, &more);
    let shown = bench.succeeds("plan -c plan.toml --dry-run");
    assert!(shown.stdout.contains("small was measured without stl-map"), "{shown:?}");
    // The other run is of this machine, and gets the engine.
    let rest = bench.succeeds("plan -c plan.toml");
    assert!(
        rest.stderr.contains("letters.json.gz") && !rest.stderr.contains("measuring results/s")
    );
    assert_eq!((cells(&bench, "small"), cells(&bench, "letters")), (5, 7));
    assert_eq!(std::fs::read(&path).expect("a run file"), before);
    // A run that was not whole, and one whose plan was changed, cannot be resumed.
    write(&bench, &more.replace("insert = \"1k\"", "insert = \"2k\""));
    bench.refuses("plan -c plan.toml", 3, &["small.json.gz", "another machine"]);
    write(&bench, &more);
    run.cells.pop();
    run.save(&path).expect("it can be written");
    bench.refuses("plan -c plan.toml", 3, &["small.json.gz", "another machine"]);
}

#[test]
fn a_run_that_was_begun_is_shown_and_goes_on_where_its_stores_were() {
    let bench = Bench::new();
    let on_disk = FOLDER_PLAN.replace("\"btreemap\", \"hashbrown\"", "\"sqlite\"");
    write(&bench, &on_disk.replace("inmem", "ondisk").replace("workload = [\"a\"]\n", ""));
    bench.succeeds("plan -c plan.toml -Q");
    let path = bench.path().join("results/letters.json.gz");
    let mut run = RunFile::load(&path).expect("a run file");
    let whole = run.cells.len();
    run.cells.pop();
    run.save(&path).expect("it can be written");
    let shown = bench.succeeds("plan -c plan.toml --dry-run");
    assert!(shown.stdout.contains(&format!("{}", whole - 1)), "{shown:?}");
    let other = bench.path().join("other");
    std::fs::create_dir(&other).expect("a folder");
    let plan = std::fs::read_to_string(bench.path().join("plan.toml")).expect("the plan");
    let folder = bench.path().join("results");
    let plan = plan.replace("\"results\"", &format!("{:?}", folder.display().to_string()));
    std::fs::write(bench.path().join("moved.toml"), format!("dir = \"other\"\n{plan}"))
        .expect("write");
    for more in ["", " --dry-run"] {
        let words = ["letters.json.gz", "_benchmarkdb/sqlite-disk", "other/sqlite-disk", "--dir"];
        bench.refuses(&format!("plan -c moved.toml{more}"), 3, &words);
    }
    bench.succeeds("plan -c plan.toml");
    assert_eq!(cells(&bench, "letters"), whole);
}

#[test]
fn a_time_budget_begins_nothing_that_would_end_too_late() {
    let bench = Bench::new();
    write(&bench, PLAN);
    let long = PLAN.replace("trials = 2", "trials = 50").replace("query = 1000", "query = \"1m\"");
    write(&bench, &long);
    let first = bench.succeeds("plan -c plan.toml --for 1s");
    assert!(first.stdout.contains("the time budget is spent"), "{first:?}");
    let done = bench.run_file("plan.json")["cells"].as_array().map_or(0, Vec::len);
    assert!((1..200).contains(&done), "{done} cells");
}

#[test]
fn plans_of_folders_that_cannot_be_are_refused() {
    let bench = Bench::new();
    let unnamed = FOLDER_PLAN.replace("name = \"small\"\n", "");
    let twice = FOLDER_PLAN.replace("\"letters\"", "\"small\"");
    let odd = FOLDER_PLAN.replace("\"letters\"", "\"../letters\"");
    let both = format!("output = \"x.json\"\n{FOLDER_PLAN}");
    let single = FOLDER_PLAN.replace("runs = \"results\"\n", "");
    let crash = FOLDER_PLAN.replace("rounds = 2", "round = 2");
    for (text, words) in [
        (unnamed, &["run 1 has no name"][..]),
        (twice, &["two runs have the name small"]),
        (odd, &["run 2", "../letters", "lower-case letters"]),
        (both, &["both output and runs"]),
        (single, &["runs = \"FOLDER\""]),
        (crash, &["crash test 1", "round has no meaning"]),
        (FOLDER_PLAN.replace("rounds = 2", "rounds = 0"), &["crash test 1", "--rounds"]),
    ] {
        write(&bench, &text);
        bench.refuses("plan -c plan.toml", 2, words);
    }
    write(&bench, FOLDER_PLAN);
    bench.refuses("plan -c plan.toml --restart", 2, &["remove the files"]);
    bench.refuses("plan -c plan.toml -o x.json", 2, &["--output", "folder"]);
    bench.refuses("plan -c plan.toml --for 30", 2, &["--for", "30m"]);
    assert_eq!(bench.list(), ["plan.toml"]);
    std::fs::create_dir(bench.path().join("results")).expect("a folder");
    std::fs::write(bench.path().join("results/small.json.gz"), "mine").expect("write");
    bench.refuses("plan -c plan.toml", 3, &["small.json.gz", "not a run file"]);
}

#[test]
fn bad_plans_are_refused() {
    let bench = Bench::new();
    bench.refuses("plan -c nosuch.toml", 3, &["nosuch.toml"]);
    for (text, words) in [
        ("", &["plan.toml", "no [[run]]"][..]),
        ("engine = [", &["plan.toml, line 1"]),
        ("[[run]]\nrows = 5", &["run 1 (?)", "names no suite"]),
        ("[[run]]\nsuite = \"nosuch\"", &["run 1 (nosuch)", "unrecognized subcommand"]),
        ("[[run]]\nsuite = \"ycsb\"\nrecrods = 5", &["run 1 (ycsb)", "--recrods"]),
        ("timeout = 0\n[[run]]\nsuite = \"ycsb\"", &["plan.toml", "timeout = 0", "at least 1"]),
        ("engine = \"\"\n[[run]]\nsuite = \"ycsb\"", &["name of an engine is empty"]),
        ("[[run]]\nsuite = \"ycsb\"\nrecords = 0", &["run 1 (ycsb)", "at least 1"]),
        ("[[run]]\nsuite = \"ycsb\"\ndir = \"/tmp\"", &["dir is for the whole plan"]),
        ("[[run]]\nsuite = \"ycsb\"\nformat = \"published\"", &["format has no meaning"]),
        ("[[run]]\nsuite = \"ycsb\"\nrecords = { a = 1 }", &["records: not a text"]),
        ("engine = [\"nosuch\"]\n[[run]]\nsuite = \"ycsb\"", &["nosuch"]),
    ] {
        write(&bench, text);
        bench.refuses("plan -c plan.toml", 2, words);
    }
    write(&bench, PLAN);
    bench.succeeds("plan -c plan.toml -Q");
    write(&bench, &PLAN.replace("query = 1000", "query = 2000"));
    bench.refuses("plan -c plan.toml", 3, &["plan.json: cannot go on", "--restart"]);
    bench.succeeds("plan -c plan.toml -Q --restart");
}

#[test]
fn the_plan_that_ships_has_the_published_sizes_and_a_fixed_name() {
    let bench = Bench::new();
    let shown = bench.succeeds("plan crossbench-ladder -e sqlite,btreemap --dry-run").stdout;
    // Six sizes, each with a cell that calibrates, and two engines in three storage modes, three
    // times.
    let cells = |line: &&str| line.contains("crossbench") && line.contains(" 19 ");
    assert_eq!(shown.lines().filter(cells).count(), 6, "{shown}");
    bench.refuses("plan crossbench-ladder -c plan.toml", 2, &["--config", "cannot be used"]);
    bench.refuses("plan ladder", 2, &["ladder", "crossbench-ladder"]);
    bench.succeeds("plan crossbench-ladder -e sqlite -s d --max-rows 1k --with trials=1 -Q");
    let run = bench.run_file("assay-runs/crossbench-ladder.json");
    assert_eq!(run["cells"][1]["cell"]["options"]["query"], 1_000, "SQLite's script");
}

#[test]
fn options_of_the_command_line_replace_those_of_a_plan_in_all_runs() {
    let bench = Bench::new();
    write(&bench, PLAN);
    let given = "-e hashbrown --with trials=1 --with output=other.json --with workload=c";
    bench.refuses(&format!("plan -c plan.toml {given}"), 2, &["run 1 (crossbench)", "workload"]);
    bench.succeeds("plan -c plan.toml -e hashbrown --with trials=1 --with output=other.json -Q");
    let run = bench.run_file("other.json");
    let is_ours = |cell: &&serde_json::Value| cell["cell"]["calibration"] == false;
    let cells: Vec<_> = run["cells"].as_array().expect("cells").iter().filter(is_ours).collect();
    assert_eq!(cells.len(), 3, "crossbench and two workloads, once: {run}");
    assert!(cells.iter().all(|cell| cell["cell"]["engine"] == "hashbrown"));
    for (with, words) in [
        ("trials", ["--with", "an option and its value"]),
        ("timeout=x", ["--with", "timeout"]),
        ("name=x", ["run 1 (crossbench)", "--name"]),
        ("suite=ycsb", ["run 1 (?)", "names no suite"]),
        ("seed=1 --with seed=2", ["run 1 (crossbench)", "--seed"]),
    ] {
        bench.refuses(&format!("plan -c plan.toml --with {with}"), 2, &words);
    }
}

/// Words of a name are joined by hyphens or by underscores.
#[test]
fn an_option_is_the_same_in_either_spelling() {
    let bench = Bench::new();
    let plan = "engine = \"btreemap\"\nstorage = \"m\"\nfield_length = 64\nfield_count = 2\n\
                [[run]]\nsuite = \"ycsb\"\nworkload = \"c\"\nrecords = 100\noperations = 1000\n\
                field-length = 32\n";
    std::fs::write(bench.path().join("plan.toml"), plan).expect("write");
    bench.succeeds("plan -c plan.toml --with field-count=3 -Q -o run.json");
    let run = bench.run_file("run.json");
    let options =
        &run["cells"].as_array().expect("cells").last().expect("a cell")["cell"]["options"];
    assert_eq!((&options["field_length"], &options["field_count"]), (&32.into(), &3.into()));
}
