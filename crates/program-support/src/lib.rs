//! Code that the programs `assay` and `lode` share, so that both end, print and write files alike.
//!
//! - [`descriptor`]: open files of this process, named by a path;
//! - [`exit`]: the end of a command, and its status;
//! - [`given_file`]: files that a user names, read with a bound;
//! - [`interrupt`]: signals that ask the program to end;
//! - [`output`]: standard output and standard error;
//! - [`command_line`]: errors of a command line, in one line;
//! - [`printable`]: texts of others made safe to show;
//! - [`whole_file`]: files that are whole or as they were;
//! - [`destination`]: such files, and open ones: devices, pipes, standard output.
//!
//! This crate knows neither program.

#![warn(unreachable_pub)]

pub mod command_line;
pub mod descriptor;
pub mod destination;
pub mod exit;
mod failure;
pub mod given_file;
pub mod interrupt;
pub mod output;
pub mod printable;
pub mod whole_file;
