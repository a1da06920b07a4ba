//! The printed and drawn output of commands, for any suite.

pub(crate) mod charts;
pub(crate) mod folded;
pub(crate) mod isolation;
pub(crate) mod page;
pub(crate) mod progress;
pub(crate) mod results;
pub(crate) mod shell;
