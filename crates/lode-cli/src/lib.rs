//! The command line of Lode: checks, describes, dumps and loads the databases of that engine.
//!
//! Each command is a file in `commands`. What they share: `database` finds and opens a directory,
//! `schema_text` is the grammar of `--schema`, `record` turns records into lines of JSON and back.

#![warn(unreachable_pub)]

mod cli;
mod commands;
mod database;
mod progress;
mod record;
mod schema_text;
mod unfinished;

use std::process::ExitCode;

use program_support::exit::{self, Outcome};

use cli::{Command, CommandLine};

/// Runs the command line of this process, and returns the status to end with.
pub fn run() -> ExitCode {
    let outcome = cli::parse().and_then(|line| carry_out(&line));
    exit::end("lode", &outcome)
}

fn carry_out(line: &CommandLine) -> Outcome {
    let options = line.options();
    match &line.command {
        Command::Check(args) => commands::check::check(args, &options),
        Command::Backup(args) => commands::backup::back_up(args, &options),
        Command::Repair(args) => commands::repair::repair(args, &options),
        Command::Compact(args) => commands::compact::compact(args, &options),
        Command::Drop(args) => commands::drop::drop_table(args, &options),
        Command::Stat(args) => commands::stat::stat(args, &options),
        Command::Dump(args) => commands::dump::dump(args, &options),
        Command::Load(args) => commands::load::load(args, &options),
        #[cfg(feature = "columns")]
        Command::Export(args) => commands::columns::export(args, &options),
        #[cfg(feature = "columns")]
        Command::Import(args) => commands::columns::import(args, &options),
        Command::Schema(args) => commands::schema::schema(args, &options),
        Command::Index(args) => commands::index::index(args, &options),
        Command::Changes(args) => commands::changes::changes(args, &options),
        Command::Follow(args) => commands::follow::follow(args, &options),
        Command::Blob(args) => commands::blob::blob(args, &options),
        #[cfg(feature = "sql")]
        Command::Sql(args) => commands::sql::sql(args, &options),
        #[cfg(feature = "serve")]
        Command::Serve(args) => commands::serve::serve(args, &options),
        Command::Volume(args) => commands::volume::volume(args, &options),
    }
}
