//! The head of a picture: its title, and the meaning of its colours and marks. It is as high as
//! necessary, so that no key is lost and no texts overlap.

use plotters::coord::Shift;
use plotters::prelude::*;

use super::style::{Drawn, INK, bar_inks, colour, mark, style, width};
use super::text;
use crate::palette::Look;

const MARGIN: u32 = 20;
const TITLE_SIZES: std::ops::RangeInclusive<u32> = 12..=22;
const LETTERS: u32 = 16;
const ROW: u32 = 24;
/// Pixels from the left end of a key to its text, and from its text to the next key.
const KEY: (u32, u32) = (26, 22);

/// The drawing of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    /// A bar of an engine.
    Bar(Look),
    /// A line of an engine, with its mark.
    Line(Look),
    /// A mark, whatever its colour.
    Mark(usize),
}

/// The meaning of a colour or a mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) sign: Sign,
    pub(super) label: String,
}

/// A head for a picture of some width.
pub(super) struct Head {
    title: String,
    title_size: u32,
    keys: Vec<((u32, u32), Key)>,
    /// The height in pixels.
    pub(super) height: u32,
}

impl Head {
    pub(super) fn new(title: &str, keys: Vec<Key>, picture_width: u32) -> Self {
        let title = text::title(title);
        let room = picture_width - 2 * MARGIN;
        let fits = |size: &u32| width(&title, *size) <= room;
        let title_size = TITLE_SIZES.rev().find(fits).unwrap_or(*TITLE_SIZES.start());
        let mut x = MARGIN;
        let mut y = 52;
        let mut placed = Vec::new();
        for key in keys {
            let key = Key { label: text::short(&key.label), ..key };
            let own = KEY.0 + width(&key.label, LETTERS);
            if x > MARGIN && x + own > picture_width - MARGIN {
                (x, y) = (MARGIN, y + ROW);
            }
            placed.push(((x, y), key));
            x += own + KEY.1;
        }
        Self { title, title_size, keys: placed, height: y + ROW + 8 }
    }

    pub(super) fn draw<DB: DrawingBackend>(&self, area: &DrawingArea<DB, Shift>) -> Drawn<DB> {
        let at = (MARGIN as i32, 14);
        area.draw(&Text::new(self.title.clone(), at, style(self.title_size, INK)))?;
        for ((x, y), key) in &self.keys {
            let x = *x as i32;
            let y = *y as i32;
            match key.sign {
                Sign::Bar(look) => {
                    let corners = [(x + 2, y + 1), (x + 18, y + 15)];
                    let (inside, edge) = bar_inks(look);
                    area.draw(&Rectangle::new(corners, inside.filled()))?;
                    area.draw(&Rectangle::new(corners, edge))?;
                }
                Sign::Line(look) => {
                    let ends = [(x, y + 8), (x + 20, y + 8)];
                    area.draw(&PathElement::new(ends, colour(look).stroke_width(2)))?;
                    mark(area, (x + 10, y + 8), look.mark, colour(look))?;
                }
                Sign::Mark(number) => mark(area, (x + 10, y + 8), number, INK)?,
            }
            let place = (x + KEY.0 as i32, y + 3);
            area.draw(&Text::new(key.label.clone(), place, style(LETTERS, INK)))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that no key overlaps another one or the title, and that none is outside.
    #[test]
    fn every_key_has_its_place() {
        super::super::font::register();
        let key = |at| Key { sign: Sign::Bar(Look::of(at)), label: format!("engine number {at}") };
        for count in [1, 8, 40] {
            let head = Head::new(&"a long title ".repeat(30), (0..count).map(key).collect(), 800);
            assert_eq!(head.keys.len(), count);
            let mut rows: Vec<(u32, u32)> = Vec::new();
            for ((x, y), key) in &head.keys {
                let end = x + KEY.0 + width(&key.label, LETTERS);
                assert!(end <= 800 && *y >= 48 && y + ROW <= head.height, "{x} {y}");
                assert!(rows.iter().all(|(row, until)| row != y || until < x), "{x} {y}");
                rows.push((*y, end));
            }
        }
    }
}
