//! What several tests share. Each file is used in full by all who have it, so that none is dead.

pub mod content;
pub mod known;
pub mod on_all;
pub mod tables;
