//! Words for a shell.

/// Returns a word in quotes.
pub(crate) fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Returns a word, in quotes if a shell takes some of its signs for its own.
pub(crate) fn word(word: &str) -> String {
    let is_plain = |sign: char| sign.is_ascii_alphanumeric() || "/._-".contains(sign);
    if word.chars().all(is_plain) { word.into() } else { quoted(word) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_shell_would_read_is_quoted() {
        assert_eq!(word("a/lib_b-1.so"), "a/lib_b-1.so");
        assert_eq!(word("a b.so"), "'a b.so'");
        assert_eq!(word("it's$x"), "'it'\\''s$x'");
    }
}
