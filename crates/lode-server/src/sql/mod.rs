//! The text of statements, as far as the server has to know it: what differs between SQLite's
//! language and what drivers of PostgreSQL send, and the types of parameters and results.

pub(crate) mod command;
pub(crate) mod copy;
pub(crate) mod infer;
pub(crate) mod rewrite;
pub(crate) mod settings;
pub(crate) mod tokens;
