//! The frame of pictures of panels: a head, and below it the panels, two side by side.

use plotters::coord::Shift;
use plotters::prelude::*;

use super::legend::Head;
use super::style::Drawn;

/// Panels in a row.
const COLUMNS: usize = 2;

/// A function that draws the panel of a number at its place.
pub(super) type DrawPanel<'d, DB> = dyn FnMut(usize, &DrawingArea<DB, Shift>) -> Drawn<DB> + 'd;

/// The layout of a picture's panels.
#[derive(Clone, Copy)]
pub(super) struct Frame {
    /// Pixels of a panel, across and down.
    pub panel: (u32, u32),
    /// The number of panels.
    pub panels: usize,
}

impl Frame {
    fn rows(self) -> usize {
        self.panels.div_ceil(COLUMNS)
    }

    fn columns(self) -> usize {
        self.panels.min(COLUMNS)
    }

    /// Returns the width in pixels.
    pub(super) fn width(self) -> u32 {
        self.panel.0 * self.columns() as u32
    }

    /// Returns the size of the picture with its head, in pixels.
    pub(super) fn size(self, head: &Head) -> (u32, u32) {
        (self.width(), head.height + self.panel.1 * self.rows() as u32)
    }

    /// Draws the head on an area of that size, and has each panel drawn at its place.
    pub(super) fn draw<DB: DrawingBackend>(
        self,
        area: &DrawingArea<DB, Shift>,
        head: &Head,
        panel: &mut DrawPanel<'_, DB>,
    ) -> Drawn<DB> {
        area.fill(&WHITE)?;
        let (above, body) = area.split_vertically(head.height);
        head.draw(&above)?;
        let places = body.split_evenly((self.rows(), self.columns()));
        for (at, place) in places.iter().enumerate().take(self.panels) {
            panel(at, place)?;
        }
        area.present()
    }
}
