//! The command line of `lode changes`.

use std::path::PathBuf;

use clap::Args;
use lode::Position;

/// The options of `lode changes`.
#[derive(Args)]
#[command(after_help = "\
A database keeps its changes once --keep has asked for that. Then its log stays after checkpoints, \
up to that many bytes, and says what was before each write. That makes the log about twice as \
long, and writes slower.

Each change is an object on a line, in the order in which it happened. It has the keys position, \
last, change and table, and for each kind of change others:

  row           before, after: records as lode dump writes them, or null
  create table  kind, schema
  alter table   name, kind, schema: what the table is from then on
  drop table
  create index  index, columns, unique
  drop index    index

Changes that happened together have one position, which is after all of them: --since it continues \
with the next. Only the last of them has true as last. Records that have expired are deleted some \
time later. The records of an altered table are not listed.

The database may be in use by another process.

Examples:
  lode changes zoo --keep 1G
  lode backup zoo copy && lode changes copy --position
  lode changes zoo --since 12-8192-00c0ffee --follow")]
pub(crate) struct ChangesArgs {
    /// Directory of the database
    pub dir: PathBuf,
    /// Print only what happened after this position [default: all that is kept]
    #[arg(long, value_name = "POSITION")]
    pub since: Option<Position>,
    /// Wait for more changes, until a signal ends it
    #[arg(long)]
    pub follow: bool,
    /// Print the position of the database or backup as it is now, and no changes
    #[arg(long, conflicts_with_all = ["since", "follow"])]
    pub position: bool,
    /// Have the database keep its newest changes, at least this number of bytes, in whole MiB, or
    /// with K, M or G; 0 ends that
    #[arg(long, value_name = "BYTES", value_parser = super::bytes, allow_negative_numbers = true,
          conflicts_with_all = ["since", "follow", "position"])]
    pub keep: Option<u64>,
}
