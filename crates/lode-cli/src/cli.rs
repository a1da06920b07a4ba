//! The command line. Everything a user can say is defined here, and its help is made from it.

pub(crate) mod blob;
pub(crate) mod changes;
#[cfg(feature = "columns")]
pub(crate) mod columns;
pub(crate) mod follow;
pub(crate) mod index;
#[cfg(feature = "serve")]
pub(crate) mod serve;
#[cfg(feature = "sql")]
pub(crate) mod sql;
pub(crate) mod volume;

use std::io::{self, Write};
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use lode::{KeyKind, Options};
use program_support::command_line;
use program_support::exit::Failure;
use program_support::output::printed;

/// Checks, describes, dumps, loads, exports and imports the databases of Lode, and works on its
/// volumes.
#[derive(Parser)]
#[command(name = "lode", version, max_term_width = 100)]
#[command(after_help = "\
Examples:
  lode load zoo animal animals.jsonl --schema 'id:u64 key, name:text(32), tag:bytes(8)?'
  lode dump zoo animal -o copy.jsonl
  lode export zoo animal animals.parquet
  lode check zoo
  lode volume tree settings

Exit status: 0 done, and nothing is wrong; 1 the database is damaged, a line or a file cannot be \
loaded, or a statement of SQL fails; 2 the command line is wrong, or there is no such database, \
table, blob, entry or property; 3 a \
file, a directory or the machine does not allow it, or the database is open elsewhere; 128 and its \
number a signal ended it: 130 SIGINT, 143 SIGTERM, 129 SIGHUP.")]
pub(crate) struct CommandLine {
    /// Most memory for pages, snapshots and transactions, in bytes or with K, M or G [default:
    /// half of what the process may take up]
    #[arg(long, global = true, value_name = "BYTES", value_parser = bytes,
          allow_negative_numbers = true)]
    memory: Option<u64>,
    /// The action.
    #[command(subcommand)]
    pub command: Command,
}

impl CommandLine {
    /// Options for opening databases.
    pub(crate) fn options(&self) -> Options {
        self.memory.map_or_else(Options::new, |bytes| Options::new().memory_bytes(bytes))
    }
}

/// The commands.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Check every page, index and record, and changes that are kept
    Check(CheckArgs),
    /// Copy a database to another directory, and later only what has changed
    Backup(BackupArgs),
    /// Copy what can be read of a damaged database to a new one, and name what cannot
    Repair(RepairArgs),
    /// Return unused space of the data file to the file system
    Compact(CompactArgs),
    /// Drop a table with all its records
    Drop(DropArgs),
    /// Print the sizes of a database, and its tables with their columns and records
    Stat(StatArgs),
    /// Write all records of a table as lines of JSON
    Dump(DumpArgs),
    /// Load lines of JSON, as dump writes them, into a table
    Load(LoadArgs),
    /// Export a table to a Parquet, Arrow IPC or CSV file
    #[cfg(feature = "columns")]
    Export(columns::ExportArgs),
    /// Import the rows of a Parquet, Arrow IPC or CSV file into a table
    #[cfg(feature = "columns")]
    Import(columns::ImportArgs),
    /// Print the kind of keys and the schema of tables, in the form that load reads
    Schema(SchemaArgs),
    /// Create, drop and list secondary indexes of tables
    Index(index::IndexArgs),
    /// Print what has changed, commit by commit, or have a database keep that
    Changes(changes::ChangesArgs),
    /// Keep a copy of a database that has all of its changes
    Follow(follow::FollowArgs),
    /// Write, read, list and remove blobs: values of up to 4 GiB, as streams
    Blob(blob::BlobArgs),
    /// Query and change tables by SQL, statement by statement or in a shell
    #[cfg(feature = "sql")]
    Sql(sql::SqlArgs),
    /// Serve a database to programs with a driver for PostgreSQL
    #[cfg(feature = "serve")]
    Serve(serve::ServeArgs),
    /// Read and change volumes: trees of entries with typed properties
    Volume(volume::VolumeArgs),
}

/// The options of `lode check`.
#[derive(Args)]
#[command(after_help = "\
Every fault is named on standard error; the status is 1 then. The files stay as they are: after a \
crash, the log is replayed in memory only.

Example:
  lode check zoo")]
pub(crate) struct CheckArgs {
    /// Directory of the database
    pub dir: PathBuf,
}

/// The options of `lode backup`.
#[derive(Args)]
#[command(after_help = "\
The backup is a database as of one moment. Every page is checked while it is copied. To a \
directory with an earlier backup of this database, only changed pages are copied. A backup that \
is interrupted leaves the one before whole; a first one is continued by the next call. A backup \
that was opened for writing takes no further one. Programs back a database up while it is in use: \
Database::backup, or VACUUM INTO in SQL.

Examples:
  lode backup zoo /mnt/zoo
  lode check /mnt/zoo")]
pub(crate) struct BackupArgs {
    /// Directory of the database
    pub dir: PathBuf,
    /// Directory of the backup: empty, missing, or with an earlier one
    pub to: PathBuf,
}

/// The options of `lode repair`.
#[derive(Args)]
#[command(after_help = "\
All checksums are verified, so what is copied is what was written. Each loss is a line on \
standard error: a page, the keys of a tree that were on it, a record, the part of the log after a \
fault. The damaged database stays as it is. The new one gets its name when it is whole.

Exit status: 0 nothing is lost; 1 something is.

Example:
  lode repair zoo zoo-repaired 2> losses.txt")]
pub(crate) struct RepairArgs {
    /// Directory of the damaged database
    pub dir: PathBuf,
    /// Directory of the new database: empty or missing
    pub to: PathBuf,
}

/// The options of `lode compact`.
#[derive(Args)]
#[command(after_help = "\
Records move together, and the free space after them returns to the file system. The size of the \
data file before and after is printed. `VACUUM` in lode sql does this too.

Example:
  lode compact zoo")]
pub(crate) struct CompactArgs {
    /// Directory of the database
    pub dir: PathBuf,
}

/// The options of `lode drop`.
#[derive(Args)]
#[command(after_help = "\
Dropping cannot be undone. The number of records is printed. Damaged tables can be dropped, and so \
can tables that SQL cannot show. `lode compact` returns the space at once.

Example:
  lode drop zoo animal")]
pub(crate) struct DropArgs {
    /// Directory of the database
    pub dir: PathBuf,
    /// Name of the table
    pub table: String,
}

/// The options of `lode stat`.
#[derive(Args)]
#[command(after_help = "\
The files stay as they are: after a crash, the log is replayed in memory only, and its bytes are \
shown. Counting reads the indexes of tables.

Example:
  lode stat zoo --format json")]
pub(crate) struct StatArgs {
    /// Directory of the database
    pub dir: PathBuf,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
}

/// The format of statistics.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Format {
    /// A table
    Table,
    /// A JSON object
    Json,
}

/// The options of `lode dump`.
#[derive(Args)]
#[command(after_help = "\
One object a line, with the columns in the order of the schema; ordered tables in the order of \
their keys. Integers and timestamps (microseconds since 1970) are numbers, and \
exact; floats are numbers, or \"NaN\", \"inf\", \"-inf\"; bytes are {\"hex\": \"00ff\"}, as is \
text that is no UTF-8. A file is written under a temporary name in its folder, and renamed when it \
is complete. Of a damaged table, all readable records are written; each unreadable page is named \
on standard error, and the status is 1.

Example:
  lode dump zoo animal -o animals.jsonl")]
pub(crate) struct DumpArgs {
    /// Directory of the database
    pub dir: PathBuf,
    /// Name of the table
    pub table: String,
    /// File, pipe or device to write [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// The options of `lode load`.
#[derive(Args)]
#[command(after_help = "\
Each line is an object with a value for every column, as lode dump writes them. At the first \
line that cannot be loaded the command stops, with status 1; all records before that line are \
loaded, and stay.

The text of a schema is columns with commas between them, those of the key first:

  NAME:TYPE key      a column of the key
  NAME:TYPE          another column
  NAME:TYPE?         another column, which can be null
  NAME:TYPE expires  a timestamp; from that time on, the record is gone

TYPE is u8, u16, u32, u64, i8, i16, i32, i64, f32, f64, bool, timestamp, decimal(DIGITS,DIGITS) \
for exact decimals with digits in all and after the point, or one with a length: text(BYTES) \
is text of at most BYTES bytes, bytes(BYTES) is exactly BYTES bytes. vartext(BYTES) and \
varbytes(BYTES) are text and bytes of any length up to BYTES, which take up only the bytes that \
they have. A name with other characters than letters, digits and any of _ - . is written as a JSON \
string.

Examples:
  lode load zoo animal animals.jsonl --schema 'id:u64 key, name:text(32), tag:bytes(8)?'
  lode dump zoo animal | lode load copy animal --schema 'id:u64 key, name:text(32), tag:bytes(8)?'
  lode load zoo animal --replace < changes.jsonl")]
pub(crate) struct LoadArgs {
    /// Directory of the database
    pub dir: PathBuf,
    /// Name of the table
    pub table: String,
    /// File to read [default: standard input]
    pub file: Option<PathBuf>,
    /// Overwrite existing records instead of stopping
    #[arg(long)]
    pub replace: bool,
    /// Keep existing records instead of stopping
    #[arg(long, conflicts_with = "replace")]
    pub skip: bool,
    /// Create a missing table, and a missing database, with these columns
    #[arg(long, value_name = "COLUMNS")]
    pub schema: Option<String>,
    /// Index of a table that is created [default: tree]
    #[arg(long, value_enum, requires = "schema")]
    pub kind: Option<Kind>,
}

/// The kinds of keys.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// Hashed keys: fastest for single records, in no order
    Hash,
    /// Keys in order
    Tree,
}

impl From<Kind> for KeyKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Hash => Self::Hash,
            Kind::Tree => Self::Tree,
        }
    }
}

/// The options of `lode schema`.
#[derive(Args)]
#[command(after_help = "\
One line a table: its name, the kind of its keys, and its columns, with tabs between them.

Example:
  lode load copy animal --schema \"$(lode schema zoo animal | cut -f 3)\" < animals.jsonl")]
pub(crate) struct SchemaArgs {
    /// Directory of the database
    pub dir: PathBuf,
    /// Print only this table
    pub table: Option<String>,
}

/// Reads a number of bytes.
fn bytes(text: &str) -> Result<u64, String> {
    let units = [('K', 10), ('M', 20), ('G', 30)];
    let unit =
        units.iter().find(|(letter, _)| text.ends_with([*letter, letter.to_ascii_lowercase()]));
    let (digits, shift) = match unit {
        Some((_, shift)) => (&text[..text.len() - 1], *shift),
        None => (text, 0),
    };
    let is_count = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if !is_count {
        return Err("write a number of bytes, such as 67108864 or 64M".into());
    }
    let bytes = digits.parse::<u64>().ok().and_then(|count| count.checked_mul(1 << shift));
    bytes.ok_or_else(|| "too large; it can be at most 18446744073709551615 bytes".into())
}

/// Reads the command line; what is wrong with it becomes one line.
pub(crate) fn parse() -> Result<CommandLine, Failure> {
    CommandLine::try_parse().map_err(|error| {
        if !error.use_stderr() {
            // Help or version.
            let result = error.print().and_then(|()| io::stdout().flush());
            return printed(result).err().unwrap_or(Failure::Quiet);
        }
        Failure::Usage(one_line(&error))
    })
}

/// Describes the fault of a command line, in one line.
fn one_line(error: &clap::Error) -> String {
    use clap::error::ErrorKind;
    if let ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand =
        error.kind()
    {
        return "no command given; see lode --help".into();
    }
    command_line::one_line(&error.render().to_string())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_is_consistent() {
        CommandLine::command().debug_assert();
    }

    #[test]
    fn bytes_have_units() {
        assert_eq!(bytes("4096"), Ok(4096));
        assert_eq!(bytes("64M"), Ok(64 << 20));
        assert_eq!(bytes("2g"), Ok(2 << 30));
        for wrong in ["", "M", "ten", "-1", "+1", "1.5M", "1T", "ä"] {
            assert!(bytes(wrong).is_err(), "{wrong:?}");
        }
        assert!(bytes("18446744073709551615K").is_err());
    }
}
