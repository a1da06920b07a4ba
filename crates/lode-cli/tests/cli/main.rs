//! The program as its users run it.

mod bad_input;
mod bad_lines;
#[cfg(feature = "columns")]
mod columns;
mod damage;
#[cfg(feature = "columns")]
mod delta;
mod descriptions;
mod files;
mod loading;
mod round_trip;
#[cfg(feature = "sql")]
mod shell;
#[cfg(feature = "sql")]
mod sql;
mod support;
mod volumes;
