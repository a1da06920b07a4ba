//! The results of a run, as a table or as the projects of its suites print them.

use std::path::Path;

use assay_core::run_file::RunFile;
use assay_report::advice;
use program_support::exit::Outcome;
use program_support::output::{print, print_styled, say};

use crate::cli::{self, Look};
use crate::output::charts;

/// Prints the run of a file as the projects of its suites do.
pub(crate) fn print_published(run: &RunFile, path: &Path) -> Outcome {
    let name = charts::name(path);
    let mut suites: Vec<&str> = Vec::new();
    for result in run.results() {
        if !suites.contains(&result.cell.suite.as_str()) {
            suites.push(&result.cell.suite);
        }
    }
    for suite in suites.into_iter().filter_map(assay_suites::find) {
        print(&suite.published_text(run, &name).expect("text can be written to memory"))?;
    }
    say_notes(run);
    Ok(())
}

/// Prints the notes that published tables have no column for.
pub(crate) fn say_notes(run: &RunFile) {
    let mut notes: Vec<String> = Vec::new();
    for cell in run.results().map(|result| &result.cell) {
        let wanted = cell.durability_wanted;
        let level = cell.durability;
        let note = format!("note: {} runs at {level}, not at {wanted}", cell.engine);
        if level != wanted && !notes.contains(&note) {
            notes.push(note);
        }
    }
    for why in run.results().filter_map(|result| result.refuted.as_ref()) {
        let note = format!("note: {why}");
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    notes.iter().for_each(|note| say(note));
}

/// Prints the default view: the conclusion of a run that answers a question, then its tables.
pub(crate) fn show_table(run: &RunFile, look: &Look) -> Outcome {
    show_advice(run)?;
    print_styled(&assay_report::table::render(run, look.view()))
}

/// Prints the conclusion of a run that answers a question.
pub(crate) fn show_advice(run: &RunFile) -> Outcome {
    let text = advice::render(run, cli::width()).expect("text can be written to memory");
    if text.is_empty() { Ok(()) } else { print(&format!("\n{text}")) }
}

/// Returns the line that names a run file.
pub(crate) fn run_file_line(path: &Path) -> String {
    format!("\n run file: {} (assay show, report, plot, compare)\n", path.display())
}
