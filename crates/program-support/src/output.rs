//! Standard output and standard error, for which a reader that goes away is no error: what was
//! to be said is then not said, and the command ends as it would have ended.

use std::io::{self, Write};

use crate::failure::{Failure, Outcome};
use crate::printable;

/// Prints text that ends with its own newline. What would command the terminal is shown as an
/// escape: names, messages and paths may come from anywhere.
pub fn print(text: &str) -> Outcome {
    // The tabs are those of the programs' own forms: a view gets no text with a tab in it.
    let parts: Vec<_> = text.split('\t').map(printable::lines).collect();
    to_standard_output(&mut |out| out.write_all(parts.join("\t").as_bytes()))
}

/// Prints text that ends with its own newline and has colours of its own, which pass.
pub fn print_styled(text: &str) -> Outcome {
    to_standard_output(&mut |out| out.write_all(printable::styled_lines(text).as_bytes()))
}

/// Lets `work` write to standard output, byte by byte as it wants.
pub fn to_standard_output(work: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>) -> Outcome {
    let mut out = io::BufWriter::new(io::stdout().lock());
    printed(work(&mut out).and_then(|()| out.flush()))
}

/// How a command goes on that has printed something, or tried to.
pub fn printed(result: io::Result<()>) -> Outcome {
    match result {
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
