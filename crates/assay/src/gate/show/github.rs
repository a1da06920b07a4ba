//! GitHub's annotations, and the summary of a job.

use std::fs::File;
use std::io::Write;

use program_support::exit::{Failure, Outcome};
use program_support::output::print;
use program_support::printable;

use super::{changes, failures, markdown, text};
use crate::gate::counts::Counts;
use crate::gate::judge::{Comparison, Verdict};

/// The variable that names the file of the summary.
const SUMMARY: &str = "GITHUB_STEP_SUMMARY";

/// Prints the text with an annotation for each change, and adds Markdown to the summary.
pub(super) fn show(counts: &Counts, comparisons: Option<&Vec<Comparison>>) -> Outcome {
    let mut out = text::text(counts, comparisons);
    for comparison in comparisons.into_iter().flatten() {
        for why in failures(comparison) {
            out += &format!("::error title=assay gate::{}\n", escaped(&why));
        }
        for line in changes(comparison).iter().filter(|line| line.verdict == Verdict::Less) {
            let words = format!("{}, {}: {}", comparison.title, line.phase, super::change(line));
            out += &format!("::notice title=assay gate::{}\n", escaped(&words));
        }
    }
    print(&out)?;
    let path = std::env::var_os(SUMMARY).filter(|path| !path.is_empty());
    let Some(path) = path else { return Ok(()) };
    let file = File::options().append(true).create(true).open(&path);
    file.and_then(|mut file| file.write_all(markdown::markdown(counts, comparisons).as_bytes()))
        .map_err(|e| Failure::Refused(format!("{SUMMARY}={}: {e}", path.display())))
}

/// Returns a text in one line, as GitHub reads it.
fn escaped(text: &str) -> String {
    printable::line(text).replace('%', "%25")
}
