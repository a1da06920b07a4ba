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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_no_markup() {
        let hostile = "<script>'\"&\u{1b}[2J\u{202e}";
        let safe = text(hostile);
        assert!(!safe.contains(['<', '>', '"', '\'', '\u{1b}', '\u{202e}']), "{safe}");
        assert!(safe.starts_with("&lt;script&gt;&#39;&quot;&amp;"), "{safe}");
    }
}
