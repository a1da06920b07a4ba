//! Standard output and standard error. A reader that goes away is no error: the rest of the text is
//! dropped, and the command ends as it would have ended.

use std::io::{self, Write};

use crate::failure::{Failure, Outcome};
use crate::printable;

/// Prints text that ends with its own newline. Characters that command the terminal are shown as
/// escapes: names, messages and paths may come from anywhere.
pub fn print(text: &str) -> Outcome {
    // The tabs are those of the programs' own forms: a view gets no text with a tab in it.
    let parts: Vec<_> = text.split('\t').map(printable::lines).collect();
    to_standard_output(&mut |out| out.write_all(parts.join("\t").as_bytes()))
}

/// Prints text that ends with its own newline and has colours, which are kept.
pub fn print_styled(text: &str) -> Outcome {
    to_standard_output(&mut |out| out.write_all(printable::styled_lines(text).as_bytes()))
}

/// Lets `work` write to standard output, byte by byte as it wants.
pub fn to_standard_output(work: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>) -> Outcome {
    let mut out = io::BufWriter::new(io::stdout().lock());
    printed(work(&mut out).and_then(|()| out.flush()))
}

/// Turns the result of printing into the command's. A reader that went away is no error.
pub fn printed(result: io::Result<()>) -> Outcome {
    match result {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::Refused(format!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Prints a line on standard error, if there is a reader. It stays one line, whatever is in it.
pub fn say(line: &str) {
    let _ = writeln!(io::stderr(), "{}", printable::line(line));
}
