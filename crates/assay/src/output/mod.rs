//! What commands print and draw, whatever they have measured.

pub(crate) mod charts;
pub(crate) mod folded;
pub(crate) mod page;
pub(crate) mod progress;
pub(crate) mod results;
