//! `assay doctor`

use assay_core::doctor::{self, Facts, Finding, Gravity};
use comfy_table::Table;
use program_support::exit::Outcome;
use program_support::output::print;

use crate::cli::{DoctorArgs, StorageArg};
use crate::output::folded::folded;
use crate::planning::store_dirs::StoreDirs;

/// Examines the machine and the directories for stores, and prints the findings.
pub(crate) fn doctor(args: &DoctorArgs) -> Outcome {
    let modes = StorageArg::modes(&args.storage);
    let store_dirs = StoreDirs::look(&modes, args.dir.as_deref())?;
    let findings = doctor::findings(&Facts::capture(&store_dirs.bases(), None));
    let mut table = Table::new();
    table.set_header(["", "subject", "found", "what to do"]);
    for finding in &findings {
        let Finding { gravity, found, advice, .. } = finding;
        table.add_row([mark(*gravity), &subject(finding), found, advice]);
    }
    let count = |gravity| findings.iter().filter(|finding| finding.gravity == gravity).count();
    let warnings = count(Gravity::Warning);
    let notes = count(Gravity::Note);
    let plural = |count: usize| if count == 1 { "" } else { "s" };
    print(&format!(
        "{}\n {warnings} warning{}, {notes} note{}; run files keep them, and tables show the \
         warnings\n",
        folded(table),
        plural(warnings),
        plural(notes)
    ))
}

fn mark(gravity: Gravity) -> &'static str {
    match gravity {
        Gravity::Good => "good",
        Gravity::Note => "note",
        Gravity::Warning => "WARNING",
    }
}

fn subject(finding: &Finding) -> String {
    match finding.storage {
        Some(storage) => format!("{} ({storage})", finding.subject),
        None => finding.subject.clone(),
    }
}
