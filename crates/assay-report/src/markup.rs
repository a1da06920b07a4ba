//! Texts of run files as HTML, in which they are never markup.

use program_support::printable;

/// Returns a text as the content of an element, or of an attribute in quotes.
pub(crate) fn text(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in printable::line(text).chars() {
        match character {
            '&' => safe += "&amp;",
            '<' => safe += "&lt;",
            '>' => safe += "&gt;",
            '"' => safe += "&quot;",
            '\'' => safe += "&#39;",
            other => safe.push(other),
        }
    }
    safe
}

/// Returns a name whose text direction does not change the text around it.
pub(crate) fn name(name: &str) -> String {
    format!("<bdi>{}</bdi>", text(name))
}

/// Returns a command line of a file that strangers may have written. Readers copy it into a shell,
/// so one with signs that a shell takes for its own is left out.
pub(crate) fn command(line: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || " -_./,:=+@%".contains(c);
    if line.chars().all(is_plain) {
        format!("<pre tabindex=\"0\">{}</pre>", text(line))
    } else {
        "<p class=\"note\">Its command is left out: it has signs that a shell takes for its \
         own.</p>"
            .into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_of_a_stranger_does_nothing_else() {
        let good = "assay crash -e lmdb --at 3,7 --open a/b_c-1.2 --set x.y=64k";
        assert_eq!(command(good), format!("<pre tabindex=\"0\">{good}</pre>"));
        for bad in ["a; b", "a $(b)", "a `b`", "a | b", "a > b", "a & b", "a\nb", "'a'", "~", "a*"]
        {
            assert!(!command(bad).contains("<pre"), "{bad}");
        }
    }

    #[test]
    fn a_text_is_no_markup() {
        let hostile = "<script>'\"&\u{1b}[2J\u{202e}";
        let safe = text(hostile);
        assert!(!safe.contains(['<', '>', '"', '\'', '\u{1b}', '\u{202e}']), "{safe}");
        assert!(safe.starts_with("&lt;script&gt;&#39;&quot;&amp;"), "{safe}");
    }
}
