//! Texts of others made safe to show: names, messages and paths may hold anything.
//!
//! A terminal obeys control characters, and a reader is misled by those that are invisible or
//! turn the direction of writing; XML forbids most of them. They are shown as escapes, `\u{1b}`.

use std::borrow::Cow;

/// A longer text is cut when it is shown.
const MOST_CHARACTERS: usize = 4_000;

/// Returns a text as part of a line: without control characters and line breaks, not too long.
pub fn line(text: &str) -> Cow<'_, str> {
    let is_short = text.len() <= MOST_CHARACTERS || text.chars().count() <= MOST_CHARACTERS;
    if is_short && !text.chars().any(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len().min(2 * MOST_CHARACTERS));
    for character in text.chars().take(MOST_CHARACTERS) {
        if is_hidden(character) {
            shown.extend(character.escape_default())
        } else {
            shown.push(character)
        }
    }
    if !is_short {
        let more = text.chars().count() - MOST_CHARACTERS;
        // Texts that differ behind the cut still differ.
        shown += &format!("… ({more} characters more, digest {:016x})", digest(text));
    }
    Cow::Owned(shown)
}

/// The most characters of an excerpt.
const EXCERPT_CHARACTERS: usize = 200;

/// Returns the start of a text that quotes a file, as part of a line.
pub fn excerpt(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(EXCERPT_CHARACTERS) {
        Some((end, _)) => Cow::Owned(format!("{}…", line(&text[..end]))),
        None => line(text),
    }
}

/// Returns a text of several lines without control characters other than line breaks.
pub fn lines(text: &str) -> Cow<'_, str> {
    let is_control = |character: char| is_hidden(character) && character != '\n';
    if !text.chars().any(is_control) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if is_control(character) {
            shown.extend(character.escape_default())
        } else {
            shown.push(character)
        }
    }
    Cow::Owned(shown)
}

/// Returns true if a character has another effect than to be seen.
pub fn is_hidden(character: char) -> bool {
    match character {
        ' '..='~' => false,
        // Soft hyphen, Arabic letter mark, zero-width and direction marks, line and paragraph
        // separators, embeddings, overrides, isolates, invisible operators, byte order mark.
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' => true,
        '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' => true,
        // Interlinear annotations and characters that stand for none.
        '\u{fff9}'..='\u{fffb}' | '\u{fdd0}'..='\u{fdef}' => true,
        // Tags, which are invisible.
        '\u{e0000}'..='\u{e0fff}' => true,
        other => other.is_control() || u32::from(other) & 0xfffe == 0xfffe,
    }
}

/// Returns a text of several lines whose only terminal commands are colours and weights of letters
/// (`ESC [ … m`): a view's rendering of texts that are safe already.
pub fn styled_lines(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\u{1b}') {
        let (before, escape) = rest.split_at(at);
        shown += &lines(before);
        let style = style_length(escape).unwrap_or(0);
        shown += &escape[..style];
        // An escape that is no style is shown.
        let next = style.max(1);
        shown += &lines(&escape[style..next]);
        rest = &escape[next..];
    }
    shown += &lines(rest);
    shown
}

/// Returns the bytes of the style at the start of a text, if there is one.
fn style_length(text: &str) -> Option<usize> {
    let numbers = text.strip_prefix("\u{1b}[")?;
    let length = numbers.find(|c: char| !c.is_ascii_digit() && c != ';')?;
    numbers[length..].starts_with('m').then_some(2 + length + 1)
}

/// Returns true if a letter is of a right-to-left script: it turns the direction of the text next
/// to it (Hebrew to Arabic Extended-A, presentation forms, ancient scripts, Adlam).
pub fn is_right_to_left(character: char) -> bool {
    matches!(
        u32::from(character),
        0x590..=0x8ff | 0xfb1d..=0xfdff | 0xfe70..=0xfefe | 0x10800..=0x10fff | 0x1e800..=0x1efff
    )
}

/// Computes FNV-1a: two long texts have different digests.
fn digest(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_texts_stay_as_they_are() {
        for text in ["", "stl-hashmap", "§ 95 % · µs – „ä“ 数据库 עברית"] {
            assert!(matches!(line(text), Cow::Borrowed(same) if same == text));
            assert!(matches!(lines(text), Cow::Borrowed(same) if same == text));
        }
    }

    #[test]
    fn what_commands_a_terminal_is_escaped() {
        assert_eq!(line("a\x1b[2Jb\r\n\t\0"), "a\\u{1b}[2Jb\\r\\n\\t\\u{0}");
        assert_eq!(line("\u{9b}31m\u{7f}"), "\\u{9b}31m\\u{7f}");
        assert_eq!(line("x\u{202e}y\u{2066}\u{200b}"), "x\\u{202e}y\\u{2066}\\u{200b}");
        assert_eq!(
            line("\u{ffff}\u{fffe}\u{1ffff}\u{2028}"),
            "\\u{ffff}\\u{fffe}\\u{1ffff}\\u{2028}"
        );
        assert_eq!(lines("a\nb\x1bc\n"), "a\nb\\u{1b}c\n");
    }

    #[test]
    fn of_escape_sequences_only_styles_pass() {
        let styled = "a\x1b[1m\x1b[36mbold\x1b[0m\nb";
        assert_eq!(styled_lines(styled), styled);
        assert_eq!(styled_lines("\x1b[2J\x1b]0;x\x07\x1b"), "\\u{1b}[2J\\u{1b}]0;x\\u{7}\\u{1b}");
        assert_eq!(styled_lines("\x1b[1;31m\u{202e}\x1b[9"), "\x1b[1;31m\\u{202e}\\u{1b}[9");
    }

    #[test]
    fn letters_that_turn_a_line_are_known() {
        for letter in ['א', 'ع', 'ܐ', 'ߊ', '\u{10900}', '\u{1e900}'] {
            assert!(is_right_to_left(letter), "{letter:?}");
        }
        assert!(!"stl-hashmap ä 数据库 – µ ×".chars().any(is_right_to_left));
    }

    #[test]
    fn what_quotes_a_file_is_short() {
        assert_eq!(excerpt("ä\tb"), "ä\\tb");
        assert_eq!(excerpt(&"ä".repeat(3_000)).chars().count(), EXCERPT_CHARACTERS + 1);
    }

    #[test]
    fn long_texts_are_cut_and_still_differ() {
        let [one, other] = ["x", "y"].map(|end| "ä".repeat(100_000) + end);
        let one = line(&one);
        let other = line(&other);
        assert!(one.chars().count() < MOST_CHARACTERS + 100);
        assert!(one.contains("96001 characters more"));
        assert_ne!(one, other);
    }
}
