//! The text of statements: where one ends, what is done with it, and the definitions of tables.

pub(crate) mod alter;
pub(crate) mod ddl;
pub(crate) mod lexer;
pub(crate) mod reader;
pub(crate) mod statement;
mod types;
