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
        match is_hidden(character) {
            true => plain.extend(character.escape_default()),
            false => plain.push(character),
        }
    }
    let _ = writeln!(io::stderr(), "{plain}");
}

/// Whether a character is not seen, but ends a line, commands the terminal or turns the direction
/// of writing.
pub fn is_hidden(character: char) -> bool {
    let is_format = matches!(
        character,
        '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
    );
    is_format || character == '\u{feff}' || character.is_control()
}
