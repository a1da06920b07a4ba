//! The space and the costs of stores as they age, in every view.

use assay_core::ageing::Window;
use assay_core::run_file::{CellResult, RunFile, Status};
use assay_report::table::{self, View};
use assay_report::{markdown, rows};

use super::{cell, latency, phase, result, run};

/// Returns a cell with a phase of three windows, and one without operations after it.
fn aged(engine: &str, steady: Option<bool>) -> CellResult {
    let window = |store_bytes, written_bytes| Window {
        operations: 100,
        time_ns: 1_000_000_000,
        live_bytes: 1_000,
        changed_bytes: 500,
        store_bytes: Some(store_bytes),
        written_bytes: Some(written_bytes),
        memory_bytes: 2_048,
    };
    let mut serve = phase("serve", 100, &[1_000]);
    serve.windows = vec![window(4_096, 1_000), window(3_000, 1_000), window(2_500, 2_500)];
    serve.steady = steady;
    serve.latencies = vec![latency("READ")];
    let mut again = phase("again", 1, &[]);
    again.windows = vec![Window { changed_bytes: 0, ..window(2_048, 7) }];
    result(cell(engine, 1), Status::Measured, vec![serve, again])
}

fn of(cells: Vec<CellResult>) -> RunFile {
    RunFile { planned_cells: cells.len(), cells, ..run() }
}

#[test]
fn every_view_has_space_and_writes_for_a_byte_and_whether_a_phase_was_steady() {
    let run = of(vec![aged("calm", Some(true)), aged("restless", Some(false))]);
    let text = table::render(&run, View::PLAIN);
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let lines: Vec<_> = text.lines().map(words).collect();
    for begin in [
        "serve calm 2.44 KiB 2.50× 3.00×",
        "serve restless 2.44 KiB 2.50× 3.00×",
        "again calm 2.00 KiB 2.05× –",
    ] {
        assert!(lines.iter().any(|line| line.starts_with(begin)), "{begin}: {text}");
    }
    let markdown = markdown::markdown(&run);
    let row = "| serve | calm | 1 | 2.44 KiB | 1000 B | 2.50× | 3.00× |";
    assert!(markdown.contains(row), "{markdown}");
    for end in ["| 2.00 KiB | yes, 3 windows |", "| 2.00 KiB | no, 3 windows |"] {
        assert!(markdown.contains(end), "{end}: {markdown}");
    }
    let csv = rows::csv(&run).expect("text");
    let found = |phase: &str| {
        let is_row = |line: &&str| line.contains(",calm,") && line.contains(&format!(",{phase},"));
        csv.lines().find(is_row).expect("a row").to_string()
    };
    assert!(found("serve").ends_with(",2500,1000,2.500,3.000,true"), "{csv}");
    assert!(found("again").ends_with(",2048,1000,2.048,,"), "{csv}");
}

#[test]
fn stores_that_say_nothing_have_no_table() {
    let mut in_memory = aged("quick", None);
    for phase in &mut in_memory.measurement.phases {
        phase.windows.iter_mut().for_each(|window| window.store_bytes = None);
    }
    let run = of(vec![in_memory]);
    assert!(!table::render(&run, View::PLAIN).contains("store after"));
    assert!(!markdown::markdown(&run).contains("store after"));
}
