//! Standard output and standard error, for which a reader that goes away is no error: what was
//! to be said is then not said, and the command ends as it would have ended.

use std::io::{self, Write};

use crate::Outcome;
use crate::exit::Failure;

/// Prints text that ends with its own newline.
pub fn print(text: &str) -> Outcome {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::Refused(format!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Says a line on standard error, if anybody listens.
pub fn say(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}
