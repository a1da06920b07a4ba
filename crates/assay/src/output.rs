//! Standard output and standard error, for which a reader that goes away is no error: what was
//! to be said is then not said, and the command ends as it would have ended.

use std::io::{self, Write};

use assay_core::printable;

use crate::Outcome;
use crate::exit::Failure;

/// Prints text that ends with its own newline. What would command the terminal is shown as an
/// escape: names, messages and paths may come from anywhere.
pub fn print(text: &str) -> Outcome {
    // The tabs are those of published forms: a view gets no text with a tab in it.
    let parts: Vec<_> = text.split('\t').map(printable::lines).collect();
    let mut out = io::stdout().lock();
    match out.write_all(parts.join("\t").as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::Refused(format!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Says a line on standard error, if there is a reader. It stays one line, whatever is in it.
pub fn say(line: &str) {
    let _ = writeln!(io::stderr(), "{}", printable::line(line));
}
