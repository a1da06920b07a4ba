//! The common style of all pictures: inks, letters, and the looks of engines.

use plotters::coord::Shift;
use plotters::prelude::*;

use super::font::FAMILY;
use crate::palette::{Look, ON_WHITE};

/// Letters and axes.
pub(super) const INK: RGBColor = RGBColor(0x22, 0x22, 0x22);
/// Lines to guide the eye.
pub(super) const FAINT: RGBColor = RGBColor(0xdd, 0xdd, 0xdd);

/// The result of drawing on a backend.
pub(super) type Drawn<DB> = Result<(), DrawingAreaErrorKind<<DB as DrawingBackend>::ErrorType>>;

/// Returns the style for letters of `size` pixels.
pub(super) fn style(size: u32, colour: RGBColor) -> TextStyle<'static> {
    (FAMILY, size).into_font().color(&colour)
}

/// Returns the width of a text in pixels.
pub(super) fn width(text: &str, size: u32) -> u32 {
    (FAMILY, size).into_font().box_size(text).map_or(0, |(width, _)| width)
}

/// Returns an engine's colour.
pub(super) fn colour(look: Look) -> RGBColor {
    let [red, green, blue] = ON_WHITE[look.colour % ON_WHITE.len()];
    RGBColor(red, green, blue)
}

/// Returns the inks of a bar: full for the first eight engines, then only an edge, then pale.
pub(super) fn bar_inks(look: Look) -> (RGBAColor, ShapeStyle) {
    let colour = colour(look);
    let inside = match look.mark % 3 {
        0 => colour.mix(1.0),
        1 => WHITE.mix(1.0),
        _ => colour.mix(0.35),
    };
    (inside, colour.stroke_width(2))
}

/// Draws an engine's mark around a pixel.
pub(super) fn mark<DB: DrawingBackend>(
    area: &DrawingArea<DB, Shift>,
    centre: (i32, i32),
    mark: usize,
    ink: RGBColor,
) -> Drawn<DB> {
    let (x, y) = centre;
    let filled = ink.filled();
    match mark % 4 {
        0 => area.draw(&Circle::new(centre, 4, filled)),
        1 => area.draw(&Rectangle::new([(x - 4, y - 4), (x + 4, y + 4)], filled)),
        2 => area.draw(&Polygon::new(vec![(x, y - 6), (x + 5, y + 4), (x - 5, y + 4)], filled)),
        _ => {
            let corners = vec![(x, y - 6), (x + 6, y), (x, y + 6), (x - 6, y)];
            area.draw(&Polygon::new(corners, filled))
        }
    }
}
