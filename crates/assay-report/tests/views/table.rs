//! The view for a terminal.

use assay_core::doctor::{Finding, Gravity};
use assay_core::durability::Holding;
use assay_core::plan::Cell;
use assay_core::run_file::{RunFile, Status};
use assay_core::usage::Usage;
use assay_driver::{Durability, Storage};
use assay_report::marks::Mark;
use assay_report::rows;
use assay_report::table::{self, View};
use assay_report::{blocks, markdown};

use super::{STEADY, cell, phase, result, run, trials_of};

/// Returns the text that `--details` shows.
pub(super) const DETAILED: View = View { details: true, ..View::PLAIN };

#[test]
fn the_table_says_what_a_reader_must_know() {
    let text = table::render(&run(), View::PLAIN);
    for words in [
        "somesuite · disk · 1k rows · power loss costs an interval · 1 to 2 trials",
        "random access · durability periodic · page cache warm · seed 1",
        "it crashed",
        "row 7 is wrong",
        "not here: absent (no library)",
        "careful▲ ",
        "▲ at commit, its weakest level that survives as much",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    for words in ["PRAGMA", "memory", "top 3", "95 %", "not complete", "machine"] {
        assert!(!text.contains(words), "{words} is a detail: {text}");
    }
    let interrupted = RunFile { planned_cells: 9, ..run() };
    let partial = table::render(&interrupted, View::PLAIN);
    assert!(partial.contains("not complete: 7 of 9 cells"), "{partial}");
}

/// A level is a promise until a crash test has looked at it.
#[test]
fn levels_that_no_crash_test_has_looked_at_are_named() {
    let mut run = run();
    let told = |run: &RunFile| {
        let text = table::render(run, View::PLAIN);
        let said = "no crash test has looked at";
        assert_eq!(
            markdown::markdown(run).contains(said),
            text.contains(said),
            "both views say it"
        );
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let said = "no crash test has looked at the level of ";
    assert!(told(&run).contains(&format!("{said}any engine here")), "{}", told(&run));
    for cell in run.cells.iter_mut().filter(|result| result.cell.engine.id == "quick") {
        cell.held = Some(Holding { words: "it held".into(), most: 0.1 });
    }
    assert!(told(&run).contains(&format!("{said}careful (assay crash does)")), "{}", told(&run));
    for cell in run.cells.iter_mut().filter(|result| result.cell.engine.id == "careful") {
        cell.refuted = Some("it lost commits".into());
    }
    assert!(!told(&run).contains(said), "{}", told(&run));
    for cell in &mut run.cells {
        (cell.held, cell.refuted) = (None, None);
        cell.cell.durability = Durability::None;
    }
    assert!(!told(&run).contains(said), "nothing is promised: {}", told(&run));
}

/// A single round may say something of the instrument by chance.
#[test]
fn the_cost_of_the_instrument_says_of_how_much_it_is() {
    let mut run = run();
    let query = run.cells[0].measurement.phases.remove(0);
    run.cells[0].measurement.phases = vec![phase("insert", 1, &[84]), query];
    let text = table::render(&run, DETAILED);
    assert!(text.contains("insert 84.0 ns (one round), query 2.0 ns an operation"), "{text}");
}

#[test]
fn a_sign_that_says_two_things_names_the_engines_of_each() {
    let at = |engine, durability| Cell {
        durability,
        durability_wanted: Durability::Process,
        ..cell(engine, 1)
    };
    let insert = || vec![phase("insert", 1, &[1_000])];
    let of = |cells: &[Cell]| {
        let cells = cells.iter().cloned();
        let results = cells.map(|cell| result(cell, Status::Measured, insert()));
        table::render(&RunFile { cells: results.collect(), ..run() }, View::PLAIN)
    };
    let [careful, wary, calm] = [
        ("careful", Durability::Commit),
        ("wary", Durability::Commit),
        ("calm", Durability::Periodic),
    ]
    .map(|(engine, durability)| at(engine, durability));
    let one = of(&[careful.clone(), wary.clone()]);
    assert!(one.contains("▲ at commit, its weakest level that survives as much"), "{one}");
    let two = of(&[careful, calm, wary]);
    for words in ["▲ careful, wary: at commit, its weakest", "▲ calm: at periodic, its weakest"]
    {
        assert!(two.contains(words), "{words}: {two}");
    }
}

#[test]
fn details_have_the_rest() {
    let text = table::render(&run(), DETAILED);
    for words in [
        "quick 1.2.3: PRAGMA fast",
        "instrument: query 2.0 ns",
        "top 3: 10.9 M",
        "10.0 M – 11.0 M",
        "memory  on disk  written  close",
        "machine: ",
        "build: assay 0.0.0",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

/// Four threads that do an operation in 2 ns together take 8 ns for one each.
#[test]
fn what_the_instrument_costs_is_of_one_thread() {
    let mut run = run();
    for result in &mut run.cells {
        result.cell.threads = 4;
        result.measurement.phases.iter_mut().for_each(|phase| phase.threads = 4);
    }
    let text = table::render(&run, DETAILED);
    assert!(text.contains("instrument: query 8.0 ns an operation"), "{text}");
}

/// The first words of the lines of the table, with what stands in each column.
fn table_lines(text: &str) -> Vec<Vec<&str>> {
    let after_head = text.lines().skip_while(|line| !line.starts_with(" engine")).skip(1);
    let lines = after_head.take_while(|line| !line.is_empty());
    lines.map(|line| line.split_whitespace().collect()).collect()
}

/// Engines whose two phases took these nanoseconds an operation.
fn of_engines(times_ns: &[(&str, u64, u64)]) -> RunFile {
    let mut run = run();
    run.planned_cells = times_ns.len();
    let cells = times_ns.iter().map(|(engine, insert, query)| {
        let phases = vec![phase("insert", 1, &[*insert]), phase("query", 1, &[*query])];
        result(cell(engine, 1), Status::Measured, phases)
    });
    run.cells = cells.collect();
    run
}

#[test]
fn engines_stand_in_the_order_of_their_ratios() {
    // By the geometric mean of the ratios: √(2 · 1), √(1 · 4), √(20 · 20).
    let run = of_engines(&[("slow", 2_000, 2_000), ("even", 200, 100), ("uneven", 100, 400)]);
    let text = table::render(&run, View::PLAIN);
    let lines = table_lines(&text);
    assert_eq!(lines[0], ["even", "tree", "5.00", "M", "2.0×", "10.0", "M", "1.0×"], "{text}");
    assert_eq!(lines[1], ["uneven", "tree", "10.0", "M", "1.0×", "2.50", "M", "4.0×"], "{text}");
    assert_eq!(lines[2], ["slow", "tree", "500", "k", "20×", "500", "k", "20×"], "{text}");
}

/// The phases that readers look for come first; filling the store for them comes last.
#[test]
fn the_filling_of_a_store_stands_last() {
    let mut run = of_engines(&[("one", 100, 100)]);
    run.cells[0].measurement.phases[0].name = "load".into();
    let text = table::render(&run, View::PLAIN);
    assert!(text.contains("query/s       load/s"), "{text}");
    let csv = rows::csv(&run).expect("text");
    assert!(csv.find(",query,") < csv.find(",load,"), "{csv}");
}

/// A missing figure is no good one: an engine ranks by those that it has, and the table says so. An
/// engine that failed stands last, and its figures are no measure for others.
#[test]
fn missing_figures_and_failures_win_nothing() {
    let mut run = of_engines(&[("lost", 1, 1), ("partial", 400, 1), ("whole", 100, 100)]);
    run.cells[0].status = Status::Failed("it crashed".into());
    run.cells[1].measurement.phases.truncate(1);
    let text = table::render(&run, View::PLAIN);
    let lines = table_lines(&text);
    let first: Vec<_> = lines.iter().map(|line| line[0]).collect();
    assert_eq!(first, ["whole", "partial", "lost"], "{text}");
    assert_eq!(lines[0][2..], ["10.0", "M", "1.0×", "10.0", "M", "1.0×"], "{text}");
    assert_eq!(lines[1][3..], ["2.50", "M", "4.0×", "–"], "{text}");
    assert_eq!(lines[2][1..3], ["failed", "[2]"], "{text}");
    assert!(text.contains("[1] ranked by 1 of 2 figures"), "{text}");
}

/// Without a figure there is nothing to compare, but each engine has its line and its reason.
#[test]
fn engines_that_all_failed_have_their_lines() {
    let mut run = of_engines(&[("one", 1, 1), ("other", 1, 1)]);
    for result in &mut run.cells {
        result.status = Status::Failed(format!("{} crashed", result.cell.engine));
        result.measurement.phases.clear();
    }
    let text = table::render(&run, View::PLAIN);
    let lines: Vec<_> = table_lines(&text).into_iter().map(|line| line.join(" ")).collect();
    assert_eq!(lines, ["one failed [1] tree", "other failed [2] tree"], "{text}");
    assert!(text.contains("[1] one crashed") && text.contains("[2] other crashed"), "{text}");
    assert!(!text.contains('×'), "{text}");
}

/// Engines are compared with those that had as many threads.
#[test]
fn each_number_of_threads_has_its_own_best() {
    let mut run = of_engines(&[("a", 100, 100), ("b", 200, 200), ("a", 50, 50), ("b", 20, 20)]);
    for (result, threads) in run.cells.iter_mut().zip([1, 1, 2, 2]) {
        result.cell.threads = threads;
    }
    let text = table::render(&run, View::PLAIN);
    let begin = text.find(" engine").expect("a table");
    let lines: Vec<_> = text[begin..].lines().skip(1).take(5).collect();
    let first = |at: usize| lines[at].split_whitespace().take(2).collect::<Vec<_>>();
    assert_eq!((first(0), first(1)), (vec!["a", "1"], vec!["b", "1"]), "{text}");
    assert_eq!(lines[2], "");
    assert_eq!((first(3), first(4)), (vec!["b", "2"], vec!["a", "2"]), "{text}");
    assert!(lines[0].contains("10.0 M 1.0×") && lines[3].contains("50.0 M 1.0×"), "{text}");
}

#[test]
fn colours_are_there_when_asked_for_and_name_the_best() {
    let run = of_engines(&[("first", 100, 100), ("near", 150, 150), ("far", 5_000, 5_000)]);
    assert!(!table::render(&run, View::PLAIN).contains('\x1b'));
    let text = table::render(&run, View { color: true, ..View::PLAIN });
    let line = |engine: &str| {
        let begin = format!(" {engine}");
        text.lines().find(|line| line.starts_with(&begin)).unwrap_or_else(|| panic!("{text:?}"))
    };
    let bold = "\x1b[36m\x1b[1m10.0 M 1.0×\x1b[0m";
    assert_eq!(line("first").matches(bold).count(), 2, "{text:?}");
    assert!(line("near").contains("\x1b[36m6.67 M 1.5×\x1b[0m"), "{text:?}");
    assert!(line("far").contains("\x1b[33m200 k  50×\x1b[0m"), "{text:?}");
    let plain = console::strip_ansi_codes(&text);
    assert_eq!(plain, table::render(&run, View::PLAIN), "only letters differ in colour");
}

/// 80 columns are enough for any number of phases and any name; a wider terminal has fewer blocks.
#[test]
fn no_line_is_wider_than_the_terminal() {
    let mut run = run();
    let names = ["load", "individual writes (8 threads)", "a-word-that-is-longer-than-any-head"];
    for result in &mut run.cells {
        let more = (0..9).map(|at| phase(&format!("{} {at}", names[at % 3]), 1, &[123]));
        result.measurement.phases.extend(more);
        result.cell.engine.id += "-with-a-name-of-very-many-letters-1234567890-数据库";
        result.measurement.notes.push("a note of several words ".repeat(9));
    }
    let mut blocks = Vec::new();
    for width in [80, 120, 300] {
        for details in [false, true] {
            let text = table::render(&run, View { width, details, ..View::PLAIN });
            for line in text.lines() {
                assert!(console::measure_text_width(line) <= width, "{width}: {line:?}");
            }
            blocks.push(text.matches("\n engine").count());
        }
    }
    assert!(blocks[0] > blocks[2] && blocks[2] > blocks[4], "{blocks:?}");
}

/// Engines whose plan had fewer operations are marked, if others had more in that phase.
#[test]
fn figures_of_fewer_operations_are_marked() {
    let mut run = of_engines(&[("quick", 100, 100), ("slow", 9_000, 9_000)]);
    run.cells[1].measurement.phases[1].rounds[0].operations = 10;
    let unplanned = table::render(&run, View::PLAIN);
    assert!(!unplanned.contains('‡'), "the suite itself decided: {unplanned}");
    run.cells[1].cell.options = serde_json::json!({ "query": 10 });
    let text = table::render(&run, View::PLAIN);
    assert_eq!(text.matches('‡').count(), 2, "{text}");
    assert!(text.contains("‡ of fewer operations than the others"), "{text}");
    assert!(text.contains("10.0 M   1.0×\n") && text.contains("1.11 k‡ 9000×\n"), "{text}");
}

/// A letter of Hebrew or Arabic would turn the figures next to it.
#[test]
fn names_command_no_terminal_and_turn_no_line() {
    let mut run = of_engines(&[("אבגד", 100, 100), ("a\x1b[2J\u{202e}b\nc", 100, 100)]);
    run.cells[0].cell.suite = "\x1b]0;title\x07".into();
    run.cells[0].measurement.phases[0].name = "insert\r\n\u{2066}".into();
    let text = table::render(&run, View::PLAIN);
    assert!(text.contains("\\u{5d0}\\u{5d1}") && text.contains("a\\u{1b}[2J"), "{text}");
    let shown = |c: char| c == '\n' || !program_support::printable::is_hidden(c);
    assert!(text.chars().all(shown), "{text:?}");
}

#[test]
fn engines_of_other_storage_modes_are_named() {
    let mut run = of_engines(&[("both", 100, 100), ("both", 100, 100), ("disk-only", 100, 100)]);
    run.cells[0].cell.storage = Storage::Memory;
    let text = table::render(&run, View::PLAIN);
    let (memory, disk) = text.split_once("somesuite · disk").expect("two tables");
    assert!(memory.contains("not here: disk-only\n"), "{text}");
    assert!(!disk.contains("not here"), "{text}");
    run.planned_cells += 1;
    assert!(!table::render(&run, View::PLAIN).contains("not here"), "it may still come");
}

#[test]
fn warnings_stand_beside_what_they_affect() {
    let warning = |subject: &str, storage| Finding {
        subject: subject.into(),
        gravity: Gravity::Warning,
        found: "something".into(),
        advice: "do something".into(),
        storage,
    };
    let mut run = run();
    run.findings = vec![
        warning("governor", None),
        warning("sync", Some(Storage::Disk)),
        warning("filesystem", Some(Storage::Ramdisk)),
        Finding { gravity: Gravity::Note, ..warning("turbo", None) },
    ];
    let text = table::render(&run, DETAILED);
    assert!(text.contains("warning: governor: something; do something"), "{text}");
    assert!(text.contains("warning: sync"), "the run is on disk: {text}");
    assert!(!text.contains("filesystem") && !text.contains("turbo"), "{text}");
    let short = table::render(&run, View::PLAIN);
    assert!(short.contains("warnings: governor, sync (--details says what to do)"), "{short}");
}

#[test]
fn a_refuted_level_is_marked() {
    let mut run = run();
    run.cells[1].refuted = Some("quick at periodic: refuted".into());
    let text = table::render(&run, View::PLAIN);
    assert!(text.contains("quick† ") && text.contains("† quick at periodic: refuted"), "{text}");
}

/// A rate of which some rounds lacked a processor, or that was on the clock for little of the
/// time, is marked in every view.
#[test]
fn disturbed_rounds_are_marked() {
    let mut run = trials_of("quick", &STEADY);
    let with_usage = |run: &mut RunFile, waited_ns: u64| {
        for round in &mut run.cells[0].measurement.phases[0].rounds {
            let wall_ns = round.time_ns * 2;
            let cpu_ns = wall_ns - waited_ns;
            let usage = Usage { wall_ns, cpu_ns, waited_ns, processors: 1, ..Usage::default() };
            round.usage = Some(usage);
        }
    };
    let rate = |run: &RunFile| blocks::blocks(run)[0].lines[0].rate("insert").expect("a rate");
    assert_eq!((rate(&run).disturbed, rate(&run).timed_share), (0, None), "files of before");
    with_usage(&mut run, 0);
    let marks =
        |run: &RunFile| rate(run).marks().iter().map(|marked| marked.mark).collect::<Vec<_>>();
    assert_eq!(marks(&run), [Mark::LittleTimed]);
    with_usage(&mut run, 1_000_000);
    let found = rate(&run);
    assert_eq!((found.disturbed, found.rounds), (3, 15));
    assert_eq!(marks(&run), [Mark::Disturbed, Mark::LittleTimed]);
    assert_eq!(found.timed_share, Some(0.5), "of the trial that says it");
    // A thousand operations of 1 µs, in twice the time less a millisecond of waiting.
    assert_eq!(found.operations_per_cpu_second, Some(1_000_000.0));
    let text = table::render(&run, View { width: 200, ..DETAILED });
    assert!(text.contains("M!◔ 1.0×") && text.contains("50 %         1.00 M"), "{text}");
    let markdown = markdown::markdown(&run);
    for marked in found.marks() {
        let first = marked.text.split(':').next().expect("words");
        assert!(text.contains(first) && markdown.contains(&marked.text), "{text}");
    }
    let csv = rows::csv(&run).expect("text");
    assert!(csv.contains(",interval_95,15,3,0.500,1000000.0,5,"), "{csv}");
}
