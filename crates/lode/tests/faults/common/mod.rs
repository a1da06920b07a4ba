//! Helpers of several tests.

pub mod content;
pub mod known;
pub mod on_all;
pub mod random;
pub mod tables;
