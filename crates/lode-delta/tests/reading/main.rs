//! Tables of others, as their logs describe them: what is read, and what is refused.

mod checkpoints;
mod columns;
mod deletion_vectors;
mod features;
mod logs;
mod support;
