//! Speed-up by threads, in every view.

use assay_core::plan::Cell;
use assay_core::run_file::{CellResult, RunFile, Status};
use assay_report::table::{self, View};
use assay_report::{markdown, rows};

use super::table::DETAILED;
use super::{STEADY, cell, phase, result, run};

/// Returns trials by some threads, each with a load by one thread and inserts by all.
fn trials(engine: &str, threads: u32, times_ns: &[u64]) -> Vec<CellResult> {
    let trial = |(trial, ns): (u32, &u64)| {
        let mut insert = phase("insert", 1, &[*ns; 3]);
        let mut load = phase("load", 1, &[100]);
        (insert.threads, load.threads) = (threads, 1);
        let options = serde_json::json!({ "threads": [threads], "insert": 1000 });
        let cell = Cell { threads, options, ..cell(engine, trial) };
        result(cell, Status::Measured, vec![load, insert])
    };
    (1..).zip(times_ns).map(trial).collect()
}

fn of(cells: Vec<Vec<CellResult>>) -> RunFile {
    let cells = cells.concat();
    RunFile { planned_cells: cells.len(), cells, ..run() }
}

/// Returns the words of the line that starts with a text.
fn line<'t>(text: &'t str, begin: &str) -> Vec<&'t str> {
    let words = |line: &'t str| line.split_whitespace().collect::<Vec<_>>();
    let mut lines = text.lines().filter(|line| words(line).join(" ").starts_with(begin));
    words(lines.next_back().unwrap_or_else(|| panic!("{begin}: {text}")))
}

#[test]
fn every_view_has_the_speed_up_against_the_fewest_threads_and_its_efficiency() {
    let by_four = STEADY.map(|ns| ns / 2);
    let run = of(vec![
        trials("quick", 4, &by_four),
        trials("quick", 1, &STEADY),
        trials("wide", 4, &[500]),
        trials("wide", 2, &[400]),
        trials("alone", 1, &[900]),
    ]);
    let text = table::render(&run, View::PLAIN);
    assert_eq!(line(&text, "quick 4 : 1"), ["quick", "4", ":", "1", "2.00×", "50", "%"]);
    assert_eq!(line(&text, "wide 4 : 2"), ["wide", "4", ":", "2", "0.80×", "40", "%"]);
    assert!(!text.contains("load speed-up") && !text.contains("alone 1 :"), "{text}");
    assert!(text.contains("speed-up: the rate ÷ that of the engine's fewest threads"), "{text}");
    let details = table::render(&run, DETAILED);
    let interval: Vec<_> = line(&details, "quick 4 : 1")[7..].to_vec();
    let [low, "–", high] = interval[..] else { panic!("{details}") };
    let bound = |text: &str| text.trim_end_matches('×').parse::<f64>().expect("a number");
    assert!(bound(low) > 1.95 && bound(low) < 2.0 && bound(high) > 2.0, "{details}");
    let markdown = markdown::markdown(&run);
    assert!(markdown.contains("| speed-up of | threads | against | insert |"), "{markdown}");
    let row = format!("| quick | 4 | 1 | 2.00×, 50 % (95 %: {low} – {high}) |");
    assert!(markdown.contains(&row), "{row}: {markdown}");
    assert!(markdown.contains("| wide | 4 | 2 | 0.80×, 40 % |"), "{markdown}");
    let csv = rows::csv(&run).expect("text");
    let cells = |engine: &str, threads: &str| {
        let begin = format!("somesuite,random access,disk,1000,{threads},{engine},1.2.3,");
        let is_row = |line: &&str| line.starts_with(&begin) && line.contains(",insert,");
        let row: Vec<_> = csv.lines().find(is_row).expect("a row").split(',').collect();
        let at = |name: &str| {
            let column = rows::COLUMNS.iter().position(|column| *column == name);
            row[column.expect("a column")].to_string()
        };
        ["speed_up", "speed_up_low", "fewest_threads", "efficiency"].map(at)
    };
    let quick = cells("quick", "4");
    assert_eq!((quick[0].as_str(), quick[2].as_str(), quick[3].as_str()), ("2.000", "1", "0.500"));
    assert!(quick[1].starts_with("1.9"), "{quick:?}");
    assert_eq!(cells("wide", "4"), ["0.800", "", "2", "0.400"]);
    assert_eq!(cells("quick", "1"), [""; 4], "it has the fewest threads");
}

#[test]
fn a_speed_up_needs_figures_on_both_sides() {
    let failed = |mut trials: Vec<CellResult>| {
        trials[0].status = Status::Failed("it crashed".into());
        trials
    };
    let one = || trials("quick", 1, &STEADY);
    let four = || trials("quick", 4, &STEADY);
    let mut of_other_keys = four();
    of_other_keys.iter_mut().for_each(|r| r.cell.key_kind = assay_driver::KeyKind::Hash);
    for cells in [
        vec![one()],
        vec![failed(one()), four()],
        vec![one(), failed(four())],
        vec![one(), of_other_keys],
    ] {
        let run = of(cells);
        assert!(!table::render(&run, View::PLAIN).contains("speed-up"));
        assert!(!markdown::markdown(&run).contains("speed-up"));
    }
    // Threads are those of the phase: a load by one thread has no speed-up.
    let run = of(vec![one(), four()]);
    assert!(!table::render(&run, View::PLAIN).contains("load speed-up"));
    // Without figures of one thread, two are the fewest.
    let run = of(vec![failed(one()), trials("quick", 2, &STEADY), four()]);
    assert!(table::render(&run, View::PLAIN).contains("4 : 2"));
}

/// Suites with several numbers of threads in one cell name the number in the phase.
#[test]
fn phases_of_one_cell_have_speed_ups_too() {
    let phases = [(1, "batch writes", 900), (8, "batch writes (8 threads)", 300)];
    let phases =
        phases.into_iter().chain([(4, "removals", 100), (4, "batch writes (4 threads)", 450)]);
    let phases = phases.map(|(threads, name, ns)| {
        let mut phase = phase(name, 1, &[ns]);
        phase.threads = threads;
        phase
    });
    let options = serde_json::json!({ "threads": [1, 4, 8] });
    let cell = Cell { threads: 8, options, ..cell("quick", 1) };
    let run = of(vec![vec![result(cell, Status::Measured, phases.collect())]]);
    let text = table::render(&run, View::PLAIN);
    assert_eq!(line(&text, "quick 4 : 1"), ["quick", "4", ":", "1", "2.00×", "50", "%"]);
    assert_eq!(line(&text, "quick 8 : 1"), ["quick", "8", ":", "1", "3.00×", "38", "%"]);
    let markdown = markdown::markdown(&run);
    assert!(markdown.contains("| speed-up of | threads | against | batch writes |"), "{markdown}");
    assert!(markdown.contains("| quick | 8 | 1 | 3.00×, 38 % |"), "{markdown}");
}
