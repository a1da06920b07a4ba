//! The command line of `lode index`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// The commands of `lode index`.
#[derive(Subcommand)]
pub(crate) enum IndexCommand {
    /// Create a secondary index of a table
    Create(CreateArgs),
    /// Drop a secondary index
    Drop(DropArgs),
    /// List the secondary indexes of tables
    List(ListArgs),
}

/// The options of `lode index`.
#[derive(Args)]
#[command(after_help = "\
A secondary index finds records by other columns than those of the key. Every write keeps it. SQL \
uses it where a statement asks for its first columns.

Examples:
  lode index create zoo animal by_name name
  lode index create zoo animal by_tag tag --unique
  lode index list zoo")]
pub(crate) struct IndexArgs {
    /// The action.
    #[command(subcommand)]
    pub command: IndexCommand,
}

/// The options of `lode index create`.
#[derive(Args)]
#[command(after_help = "\
Its entries are in the order of the first column, then of the second, and so on. If it is unique \
and two records have equal values in all of its columns, nothing is created, and the status is 1. \
Nulls are equal to nothing.

Example:
  lode index create zoo animal by_home country city")]
pub(crate) struct CreateArgs {
    /// Directory of the database
    pub dir: PathBuf,
    /// Name of the table
    pub table: String,
    /// Name of the index
    pub index: String,
    /// Names of the columns, in the order of the index
    #[arg(required = true)]
    pub columns: Vec<String>,
    /// Refuse records with equal values in all of these columns
    #[arg(long)]
    pub unique: bool,
}

/// The options of `lode index drop`.
#[derive(Args)]
#[command(after_help = "\
The records stay. A damaged index can be dropped.

Example:
  lode index drop zoo animal by_name")]
pub(crate) struct DropArgs {
    /// Directory of the database
    pub dir: PathBuf,
    /// Name of the table
    pub table: String,
    /// Name of the index
    pub index: String,
}

/// The options of `lode index list`.
#[derive(Args)]
#[command(after_help = "\
One line an index: the table, the index, unique or index, and its columns, with tabs between them.

Example:
  lode index list zoo animal")]
pub(crate) struct ListArgs {
    /// Directory of the database
    pub dir: PathBuf,
    /// List only the indexes of this table
    pub table: Option<String>,
}
