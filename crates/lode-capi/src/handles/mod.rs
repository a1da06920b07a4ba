//! Handles: numbers that stand for objects. A program in C can keep one too long, free one twice or
//! make one up; so a handle is looked up, never followed.

mod barrier;
mod pins;
mod registry;

pub(crate) use registry::{ExclusiveRegistry, Locked, Shared, SharedRegistry, Unusable, kind_of};
