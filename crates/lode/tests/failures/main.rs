//! Disks that refuse to work: what was acknowledged is there, what was not is not there, and a
//! database that cannot know says so.

#[path = "../common/mod.rs"]
mod common;
mod full;
mod once;
mod poison;
mod work;
