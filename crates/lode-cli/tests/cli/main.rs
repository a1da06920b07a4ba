//! The program as its users run it.

mod backup;
mod bad_input;
mod bad_lines;
mod blobs;
mod changes;
#[cfg(feature = "columns")]
mod columns;
#[cfg(feature = "columns")]
mod csv_forms;
mod damage;
#[cfg(feature = "columns")]
mod delta;
mod descriptions;
mod expiry;
mod files;
mod follow;
mod indexes;
#[cfg(feature = "columns")]
mod keys;
#[cfg(feature = "columns")]
mod killed_imports;
mod loading;
mod repair;
mod round_trip;
#[cfg(feature = "serve")]
mod serve;
#[cfg(feature = "sql")]
mod shell;
#[cfg(feature = "sql")]
mod sql;
#[cfg(feature = "columns")]
mod streams;
mod support;
mod volumes;
