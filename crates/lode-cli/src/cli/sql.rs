//! The command line of `lode sql`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// The options of `lode sql`.
#[derive(Args)]
#[command(after_help = "\
Without a query, statements come from standard input; on a terminal there is a shell with a \
history, completion by Tab and lines that go on until a semicolon. `.help` there lists its \
commands. The language is SQLite's; CREATE TABLE and DROP TABLE make and drop tables of the \
database. The first statement that fails ends a query, or what comes from a file, with status 1, \
and so does a transaction that is not committed in the end. The shell goes on.

Examples:
  lode sql zoo
  lode sql zoo 'SELECT name FROM animal WHERE id = 7' --format json
  lode sql zoo .dump > zoo.sql
  lode sql zoo --create < schema.sql")]
pub(crate) struct SqlArgs {
    /// Directory of the database
    pub dir: PathBuf,
    /// Statements, separated by semicolons, or a command that starts with a dot
    /// [default: standard input]
    pub query: Option<String>,
    /// Format of rows
    #[arg(long, value_enum, default_value_t = RowFormat::Table)]
    pub format: RowFormat,
    /// Open the database for reading only; others can read it at the same time
    #[arg(long, conflicts_with = "create")]
    pub read_only: bool,
    /// Create a missing database
    #[arg(long)]
    pub create: bool,
}

/// The format of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RowFormat {
    /// A table
    Table,
    /// An object of JSON a line
    Json,
    /// Comma-separated values, with a header
    Csv,
}
