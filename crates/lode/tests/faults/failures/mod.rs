//! Disks that refuse to work: what was acknowledged is there, what was not is not there, and a
//! database that cannot know says so.

mod altering;
mod building;
mod calls;
mod effects;
mod full;
mod once;
mod poison;
mod widening;
mod work;
