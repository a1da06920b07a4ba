//! The font of the pictures, carried in the program, so that a picture looks the same on a
//! machine without fonts.

use std::sync::Once;

use plotters::style::{FontStyle, register_font};

/// The font family in the pictures.
pub(super) const FAMILY: &str = "sans-serif";

/// Registers the font with the drawing library.
pub(super) fn register() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        for style in [FontStyle::Normal, FontStyle::Bold] {
            let registered = register_font(FAMILY, style, epaint_default_fonts::UBUNTU_LIGHT);
            assert!(registered.is_ok(), "the font in the program is whole");
        }
    });
}
