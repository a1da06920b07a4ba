//! Standard output and standard error, for which a reader that goes away is no error: what was
//! to be said is then not said, and the command ends as it would have ended.

use std::io::{self, Write};

use crate::Outcome;
use crate::exit::Failure;

/// Prints text that ends with its own newline.
pub fn print(text: &str) -> Outcome {
    to_standard_output(&mut |out| out.write_all(text.as_bytes()))
}

/// Lets `work` write to standard output.
pub fn to_standard_output(work: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>) -> Outcome {
    let mut out = io::BufWriter::new(io::stdout().lock());
    match work(&mut out).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::Refused(format!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Says one line on standard error, if anybody listens. Names and values may come from anywhere, so
/// what would end the line or command the terminal is written as an escape.
pub fn say(line: &str) {
    let mut plain = String::with_capacity(line.len());
    for character in line.chars() {
        match character.is_control() {
            true => plain.extend(character.escape_default()),
            false => plain.push(character),
        }
    }
    let _ = writeln!(io::stderr(), "{plain}");
}
