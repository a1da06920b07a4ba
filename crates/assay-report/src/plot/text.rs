//! Texts in pictures, where there is little room.

/// A longer label is cut.
const MOST_CHARACTERS: usize = 60;

/// A label that has room in a legend.
pub(super) fn short(text: &str) -> String {
    match text.char_indices().nth(MOST_CHARACTERS) {
        None => text.to_string(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// A title that has room above a picture.
pub(super) fn title(text: &str) -> String {
    match text.char_indices().nth(3 * MOST_CHARACTERS) {
        None => text.to_string(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}
