//! The text of statements, as far as the server has to know it: what differs between SQLite's
//! language and what drivers of PostgreSQL send, and the types of parameters and results.

pub(crate) mod command;
pub(crate) mod copy;
pub(crate) mod infer;
pub(crate) mod rewrite;
pub(crate) mod settings;
pub(crate) mod tokens;
mod unsupported;

/// Returns a name in quotes.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Returns a name as PostgreSQL writes it: in quotes unless it has small letters, digits and `_`
/// only.
pub(crate) fn quoted_if_needed(name: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    let is_bare = name.bytes().all(is_plain) && !name.starts_with(|c: char| c.is_ascii_digit());
    if is_bare && !name.is_empty() { name.into() } else { quoted(name) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_quotes_where_they_need_them() {
        for (name, expected) in
            [("a_1", "a_1"), ("1a", "\"1a\""), ("A", "\"A\""), ("a\"b", "\"a\"\"b\""), ("", "\"\"")]
        {
            assert_eq!(quoted_if_needed(name), expected);
        }
    }
}
