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

Each change is a line, in the order in which it happened:

  {\"position\":P,\"change\":\"row\",\"table\":T,\"before\":RECORD,\"after\":RECORD}
  {\"position\":P,\"change\":\"create table\",\"table\":T,\"kind\":KIND,\"schema\":COLUMNS}
  {\"position\":P,\"change\":\"alter table\",\"table\":T,\"name\":NEW,\"kind\":KIND,\"schema\":COLUMNS}
  {\"position\":P,\"change\":\"drop table\",\"table\":T}
  {\"position\":P,\"change\":\"create index\",\"table\":T,\"index\":I,\"columns\":[C],\"unique\":BOOL}
  {\"position\":P,\"change\":\"drop index\",\"table\":T,\"index\":I}

Records are as lode dump writes them; null stands for none. Changes that happened together have \
one position, which is after all of them: --since it continues with the next. Records that have \
expired are deleted some time later. The records of an altered table are not listed.

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
    /// Have the database keep its changes, up to so many bytes, in whole MiB, or with K, M or G; 0
    /// ends that
    #[arg(long, value_name = "BYTES", value_parser = super::bytes, allow_negative_numbers = true,
          conflicts_with_all = ["since", "follow", "position"])]
    pub keep: Option<u64>,
}
