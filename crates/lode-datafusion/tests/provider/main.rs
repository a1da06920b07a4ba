//! Checks what queries find in tables of Lode, and how.

mod answers;
mod moments;
mod plans;
mod refusals;
mod support;
