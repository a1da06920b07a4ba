//! Columns of text within a width: columns that do not fit are in a further block below, and no
//! line is wrapped.

use std::borrow::Cow;
use std::fmt::Display;

use console::{Alignment, Style, measure_text_width, pad_str, truncate_str};
use program_support::printable;

/// A text in a column, and its style.
pub(super) struct Cell {
    pub(super) text: String,
    pub(super) style: Style,
}

impl Cell {
    /// Returns a text without a style.
    pub(super) fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), style: Style::new() }
    }
}

/// A column with its head.
pub(super) struct Column {
    head: Vec<String>,
    alignment: Alignment,
    cells: Vec<Cell>,
}

/// The most characters of a line of a head; a longer head is broken.
const HEAD_WIDTH: usize = 14;

/// The most lines of a head.
const HEAD_LINES: usize = 4;

impl Column {
    /// Returns a column of words.
    pub(super) fn of_words(head: &str, cells: Vec<Cell>) -> Self {
        Self { head: broken(head, HEAD_WIDTH, HEAD_LINES), alignment: Alignment::Left, cells }
    }

    /// Returns a column of figures, which are aligned at their ends.
    pub(super) fn of_figures(head: &str, cells: Vec<Cell>) -> Self {
        Self { alignment: Alignment::Right, ..Self::of_words(head, cells) }
    }

    fn width(&self) -> usize {
        let heads = self.head.iter().map(String::as_str);
        let cells = self.cells.iter().map(|cell| cell.text.as_str());
        heads.chain(cells).map(measure_text_width).max().unwrap_or(0)
    }

    /// Returns a line of the head, counted from the last.
    fn head_from_below(&self, line: usize) -> &str {
        self.head.iter().nth_back(line).map_or("", String::as_str)
    }
}

/// Lines, each with a title of some columns and figures of others.
pub(super) struct Grid {
    /// The columns that name a line; they are repeated in each block.
    pub(super) titles: Vec<Column>,
    /// The columns of figures.
    pub(super) figures: Vec<Column>,
    /// The first lines of groups: an empty line is before each of them.
    pub(super) groups: Vec<usize>,
}

impl Grid {
    /// Adds the grid to `out`, in as many blocks as `width` requires.
    pub(super) fn draw(&self, out: &mut String, width: usize) {
        let of_titles: usize = self.titles.iter().map(|column| 2 + column.width()).sum();
        let mut left = self.figures.as_slice();
        if left.is_empty() {
            // No figures exist for these lines.
            self.draw_block(out, left);
        }
        while !left.is_empty() {
            let mut used = of_titles.saturating_sub(1);
            let fitting = left.iter().take_while(|column| {
                used += 2 + column.width();
                used <= width
            });
            let (block, others) = left.split_at(fitting.count().max(1));
            self.draw_block(out, block);
            left = others;
            if !left.is_empty() {
                out.push('\n');
            }
        }
    }

    fn draw_block(&self, out: &mut String, figures: &[Column]) {
        let columns: Vec<_> =
            self.titles.iter().chain(figures).map(|column| (column, column.width())).collect();
        let heads = columns.iter().map(|(column, _)| column.head.len()).max().unwrap_or(0);
        let plain = Style::new();
        for line in (0..heads).rev() {
            let texts = columns.iter().map(|(column, _)| (column.head_from_below(line), &plain));
            draw_line(out, &columns, texts);
        }
        let lines = columns.iter().map(|(column, _)| column.cells.len()).max().unwrap_or(0);
        for line in 0..lines {
            if self.groups.binary_search(&line).is_ok() {
                out.push('\n');
            }
            let texts = columns.iter().map(|(column, _)| {
                column.cells.get(line).map_or(("", &plain), |cell| (&cell.text, &cell.style))
            });
            draw_line(out, &columns, texts);
        }
    }
}

/// Adds a line of texts, each padded to its column, without spaces at its end.
fn draw_line<'c>(
    out: &mut String,
    columns: &[(&Column, usize)],
    texts: impl Iterator<Item = (&'c str, &'c Style)>,
) {
    let mut spaces = 1;
    for ((column, width), (text, style)) in columns.iter().zip(texts) {
        let padded = pad_str(text, *width, column.alignment, None);
        let begin = padded.len() - padded.trim_start_matches(' ').len();
        let shown = padded.trim_matches(' ');
        if !shown.is_empty() {
            out.extend(std::iter::repeat_n(' ', spaces + begin));
            *out += &style.apply_to(shown).to_string();
            spaces = 2 + padded.len() - begin - shown.len();
        } else {
            spaces += 2 + padded.len();
        }
    }
    out.push('\n');
}

/// Returns a text for a grid: one line of at most `width` columns, without commands.
pub(super) fn shown(text: impl Display, width: usize) -> String {
    let safe = left_to_right(&printable::line(&text.to_string())).into_owned();
    truncate_str(&safe, width, "…").into_owned()
}

/// Returns a text whose letters do not change a line's direction. Hebrew and Arabic letters would,
/// for the figures next to them: they are shown as escapes.
fn left_to_right(text: &str) -> Cow<'_, str> {
    if text.chars().any(printable::is_right_to_left) {
        Cow::Owned(text.chars().fold(String::new(), |mut safe, character| {
            if printable::is_right_to_left(character) {
                safe.extend(character.escape_unicode())
            } else {
                safe.push(character)
            }
            safe
        }))
    } else {
        Cow::Borrowed(text)
    }
}

/// Returns a text broken between words into lines of at most `width` columns; what is after `most`
/// lines, or in a longer word, is cut.
fn broken(text: &str, width: usize, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let word = shown(word, width);
        match lines.last_mut() {
            Some(line) if measure_text_width(line) + 1 + measure_text_width(&word) <= width => {
                *line += " ";
                *line += &word;
            }
            _ => lines.push(word),
        }
    }
    if lines.len() > most {
        lines.truncate(most);
        lines[most - 1] = "…".into();
    }
    lines
}

/// Adds texts with `between` them, in lines of at most `width` columns. A text that does not fit
/// after the one before it starts a line; a longer one is broken between its words.
pub(crate) fn paragraph(out: &mut String, texts: &[String], between: &str, width: usize) {
    let mut line = String::from(" ");
    for (at, text) in texts.iter().enumerate() {
        let separator = if at + 1 == texts.len() { "" } else { between };
        let text = format!("{text}{separator}");
        if !fits(&line, &text, width) {
            end_line(out, &mut line, " ");
        }
        for word in text.split_inclusive(' ') {
            if !fits(&line, word, width) {
                end_line(out, &mut line, "   ");
            }
            line += word;
        }
    }
    end_line(out, &mut line, "");
}

/// Returns true if a text fits after a line, or the line is still empty.
fn fits(line: &str, text: &str, width: usize) -> bool {
    let used = measure_text_width(line) + measure_text_width(text.trim_end());
    used <= width || line.trim_start().is_empty()
}

/// Adds a line, and starts another with a margin.
fn end_line(out: &mut String, line: &mut String, margin: &str) {
    *out += line.trim_end();
    out.push('\n');
    line.clear();
    *line += margin;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(head: &str, cells: &[&str]) -> Column {
        Column::of_words(head, cells.iter().map(|cell| Cell::plain(*cell)).collect())
    }

    fn figures(head: &str, cells: &[&str]) -> Column {
        Column::of_figures(head, cells.iter().map(|cell| Cell::plain(*cell)).collect())
    }

    #[test]
    fn columns_that_do_not_fit_stand_below() {
        let grid = Grid {
            titles: vec![words("engine", &["a", "bcd"])],
            figures: vec![
                figures("insert/s", &["1", "22"]),
                figures("random range reads of all", &["333", ""]),
                figures("x", &["4", "5"]),
            ],
            groups: vec![1],
        };
        let mut wide = String::new();
        grid.draw(&mut wide, 80);
        let expected = [
            "                   random range",
            " engine  insert/s  reads of all  x",
            " a              1           333  4",
            "",
            " bcd           22                5",
        ];
        assert_eq!(wide.lines().collect::<Vec<_>>(), expected);
        let mut narrow = String::new();
        grid.draw(&mut narrow, 24);
        assert_eq!(narrow.matches("engine").count(), 2, "{narrow}");
        assert!(narrow.lines().all(|line| line.len() <= 24), "{narrow}");
    }

    #[test]
    fn a_text_of_others_is_one_short_line_that_commands_nothing() {
        assert_eq!(shown("a\x1b[2J\nb", 40), "a\\u{1b}[2J\\nb");
        assert_eq!(shown("x".repeat(100_000), 5), "xxxx…");
        assert_eq!(shown("אב", 40), "\\u{5d0}\\u{5d1}");
        assert_eq!(measure_text_width(&shown("数".repeat(50), 11)), 11);
    }

    #[test]
    fn texts_are_broken_between_each_other_and_between_words() {
        let mut out = String::new();
        let texts = ["one two", "three", "four five six seven"].map(String::from);
        paragraph(&mut out, &texts, " · ", 16);
        assert_eq!(out, " one two ·\n three ·\n four five six\n   seven\n");
    }
}
