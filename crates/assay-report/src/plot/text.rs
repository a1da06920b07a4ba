//! Texts in pictures, where there is little room.

use std::fmt::Display;

/// The most characters of a label, which is cut beyond them.
const MOST_CHARACTERS: usize = 60;

/// Returns a label that has room in a legend.
pub(super) fn short(text: impl Display) -> String {
    let text = text.to_string();
    match text.char_indices().nth(MOST_CHARACTERS) {
        None => text,
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// Returns a title that has room above a picture.
pub(super) fn title(text: &str) -> String {
    match text.char_indices().nth(3 * MOST_CHARACTERS) {
        None => text.to_string(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// The most characters of a file's name, which is cut beyond them.
const MOST_OF_A_NAME: usize = 120;

/// Returns a part of a file's name: names of engines may contain anything, also paths to elsewhere.
/// A changed name gets a digest, so that two names stay different.
pub(super) fn file_name(text: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "-_".contains(character);
    if text.len() <= MOST_OF_A_NAME && text.chars().all(is_plain) {
        return text.to_string();
    }
    let plain = text.chars().map(|character| if is_plain(character) { character } else { '_' });
    let digest = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{}-{digest:016x}", plain.take(MOST_OF_A_NAME).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_leads_nowhere_else() {
        assert_eq!(file_name("stl-map-one_record"), "stl-map-one_record");
        let hostile = ["../../etc/x", "a b", "a\nb", &"x".repeat(100_000), &"y".repeat(100_000)];
        let names = hostile.map(file_name);
        for (at, name) in names.iter().enumerate() {
            assert!(name.len() < 200 && !name.contains(['/', '.', ' ', '\n']), "{name}");
            assert!(!names[at + 1..].contains(name), "{name}");
        }
    }
}
