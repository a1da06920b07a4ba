//! What all pictures share: colours, inks, letters.

use plotters::prelude::*;

use super::font::FAMILY;

/// Colours that stay apart for most kinds of sight (after Paul Tol's "bright" and "muted"
/// schemes, SRON/EPS/TN/09-002).
pub(super) const COLOURS: [RGBColor; 18] = [
    RGBColor(0x44, 0x77, 0xaa),
    RGBColor(0xee, 0x66, 0x77),
    RGBColor(0x22, 0x88, 0x33),
    RGBColor(0xcc, 0xbb, 0x44),
    RGBColor(0x66, 0xcc, 0xee),
    RGBColor(0xaa, 0x33, 0x77),
    RGBColor(0xee, 0x88, 0x44),
    RGBColor(0x33, 0x22, 0x88),
    RGBColor(0x99, 0x99, 0x33),
    RGBColor(0x44, 0xaa, 0x99),
    RGBColor(0x88, 0x22, 0x55),
    RGBColor(0x77, 0x77, 0x77),
    RGBColor(0xdd, 0xaa, 0xcc),
    RGBColor(0x00, 0x44, 0x44),
    RGBColor(0x99, 0xdd, 0xaa),
    RGBColor(0x77, 0x44, 0x11),
    RGBColor(0xbb, 0xbb, 0xee),
    RGBColor(0x00, 0x11, 0x33),
];
/// Letters and axes.
pub(super) const INK: RGBColor = RGBColor(0x22, 0x22, 0x22);
/// Lines to guide the eye.
pub(super) const FAINT: RGBColor = RGBColor(0xdd, 0xdd, 0xdd);

/// What drawing on a backend returns.
pub(super) type Drawn<DB> = Result<(), DrawingAreaErrorKind<<DB as DrawingBackend>::ErrorType>>;

/// Letters of `size` pixels.
pub(super) fn style(size: u32, colour: RGBColor) -> TextStyle<'static> {
    (FAMILY, size).into_font().color(&colour)
}
