//! Standard output, for which a reader that goes away is no error.

use std::io::{self, Write};

use crate::Outcome;
use crate::exit::Failure;

/// Prints text that ends with its own newline.
pub fn print(text: &str) -> Outcome {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::Quiet(0),
        _ => Failure::Refused(format!("cannot write to standard output: {error}")),
    })
}
