//! The command line of `lode export` and `lode import`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use lode_arrow::{Compression, CsvForm, FileFormat};

use super::Kind;

/// The options of `lode export`.
#[derive(Args)]
#[command(after_help = "\
The format is that of the end of FILE's name: .parquet, .arrow (also .ipc, .feather), .csv or \
.tsv. After the last two, .gz or .zst compresses the file. A file is written under a temporary \
name beside it, and renamed when it is whole. All records are of one moment. Parquet and Arrow IPC \
keep the schema of the table for lode import. In CSV a null is an empty field and an empty text is \
\"\"; bytes are digits in hex, timestamps microseconds since the beginning of 1970.

FILE is - for standard output. Nothing else is printed then. A pipe or a device gets the bytes as \
they come; so does /dev/stdout, also where standard output is a file.

--delta writes a new version of a Delta table, which replaces the one before, or makes the table. \
Readers see all of the new version or none of it. TARGET is a folder, or s3://BUCKET/PREFIX; the \
environment has the credentials: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION, and \
AWS_ENDPOINT_URL for stores that are not Amazon's.

With --changes the new version adds only the records that have changed, and deletion vectors for \
the old ones, if the database has kept all changes since the version before (see lode changes \
--keep). If it has not, all records are written, and the line says why. Readers of such a table \
need version 3 of the protocol, and can read its change data feed.

Examples:
  lode export zoo animal animals.parquet
  lode export zoo animal animals.csv.gz --iso-times --null NA
  lode export zoo animal --delta s3://farm/animal
  lode changes zoo --keep 1G && lode export zoo animal --delta farm/animal --changes
  lode export zoo animal names.csv --columns id,name --limit 100
  lode export zoo animal - --format csv --delimiter ';' | sort")]
pub(crate) struct ExportArgs {
    /// Directory of the database
    pub dir: PathBuf,
    /// Name of the table
    pub table: String,
    /// File to write, or - for standard output
    #[arg(required_unless_present = "delta")]
    pub file: Option<PathBuf>,
    /// Delta table to write instead of a file: a folder, or s3://BUCKET/PREFIX
    #[arg(long, value_name = "TARGET", conflicts_with_all = ["file", "format"])]
    pub delta: Option<String>,
    /// Write only what has changed since the Delta table's newest version
    #[arg(long, conflicts_with_all = ["columns", "limit"])]
    pub changes: bool,
    /// Format of the file [default: by the end of its name]
    #[arg(long, value_enum)]
    pub format: Option<Format>,
    /// Export only these columns, in this order, separated by commas [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub columns: Vec<String>,
    /// Export at most this many records
    #[arg(long, value_name = "RECORDS")]
    pub limit: Option<u64>,
    /// Compression of values [default: zstd for Parquet, snappy for Delta,
    /// none for others]
    #[arg(long, value_enum)]
    pub compression: Option<Codec>,
    /// Write times of CSV as 2024-02-29T12:30:00Z, instead of as microseconds since 1970
    #[arg(long)]
    pub iso_times: bool,
    /// Most records in a row group of Parquet [default: 131072]
    #[arg(long, value_name = "RECORDS", value_parser = clap::value_parser!(u32).range(1..))]
    pub row_group: Option<u32>,
    #[command(flatten)]
    pub csv: CsvArgs,
}

/// The options of `lode import`.
#[derive(Args)]
#[command(after_help = "\
The file is read twice: first to see that all of it fits the table. So nothing is imported of a \
file with something wrong in it. Columns are found by their names; one that can be null may be \
missing. Integers may come in any integer type, times in any unit: what does not fit exactly is \
refused, with its row.

FILE is - for standard input, with --format. What comes by a pipe is kept in a temporary file \
first, since it is read twice.

FILE may be a folder: then all files in it are one table, but for those that begin with . or _. \
Folders in it that are named COLUMN=VALUE, as Spark and others have them, say the value of a \
column for the files below them. A value that is __HIVE_DEFAULT_PARTITION__ is null.

A table that is not there is created: as --schema says, or with the schema that the file has. \
Files of others do not say which columns are the key: --key names them, or numbers the rows: \
--key auto. Their text and bytes get the most room that there is, 1048576 bytes, in a key an equal \
share of 1024. The columns of a CSV file get the types that all of their fields have: i64, f64, \
bool (true, false), timestamp (ISO 8601), or else text. A new table is whole: if the import is \
killed, the next command that writes drops it.

CSV may be compressed with gzip or Zstandard, whatever its name. A bool is true, t, yes, y, 1 or \
the opposite; a time is a number of microseconds or as in ISO 8601, in UTC where it has no zone.

Examples:
  lode import zoo animal animals.parquet
  lode import zoo city cities.parquet --key country,name --columns country,name,people
  lode import zoo visit visits.csv.gz --key auto --delimiter ';' --null NA
  lode import zoo animal more.csv --replace
  lode import zoo visit visits/ --key day,id
  zcat old.csv.gz | lode import zoo old - --format csv --key id
  lode import zoo animal --delta farm/animal")]
pub(crate) struct ImportArgs {
    /// Directory of the database
    pub dir: PathBuf,
    /// Name of the table
    pub table: String,
    /// File or folder of files to read, or - for standard input
    #[arg(required_unless_present = "delta")]
    pub file: Option<PathBuf>,
    /// Delta table to read instead of a file: a folder, or s3://BUCKET/PREFIX
    #[arg(long, value_name = "SOURCE", conflicts_with_all = ["file", "format"])]
    pub delta: Option<String>,
    /// Format of the file [default: by the end of its name]
    #[arg(long, value_enum)]
    pub format: Option<Format>,
    /// Overwrite existing records instead of stopping
    #[arg(long)]
    pub replace: bool,
    /// Keep existing records instead of stopping
    #[arg(long, conflicts_with = "replace")]
    pub skip: bool,
    /// Create a missing table, and a missing database, with these columns
    #[arg(long, value_name = "COLUMNS")]
    pub schema: Option<String>,
    /// Create a missing table, and a missing database, with the file's columns, of which these are
    /// the key; auto adds a key that numbers the rows, from 1 or after the largest key
    #[arg(long, value_name = "NAMES|auto", value_delimiter = ',')]
    pub key: Vec<String>,
    /// Import only these columns, separated by commas; for CSV without a header, name all columns
    /// [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub columns: Vec<String>,
    /// Round times to the nearest microsecond, instead of refusing those with more digits
    #[arg(long)]
    pub round: bool,
    #[command(flatten)]
    pub csv: CsvArgs,
    /// Index of a table that is created [default: tree]
    #[arg(long, value_enum)]
    pub kind: Option<Kind>,
}

/// Options for CSV.
#[derive(Args)]
#[command(next_help_heading = "CSV")]
pub(crate) struct CsvArgs {
    /// Character between fields, or tab [default: a comma; for .tsv a tab]
    #[arg(long, value_name = "CHARACTER", value_parser = delimiter,
          allow_hyphen_values = true)]
    pub delimiter: Option<u8>,
    /// Take the first line for a record: columns are those of the table, in its order
    #[arg(long)]
    pub no_header: bool,
    /// Take this word for a null, as an empty field, unless it is in quotes
    #[arg(long, value_name = "WORD", allow_hyphen_values = true)]
    pub null: Vec<String>,
}

/// The formats of files.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Format {
    /// Apache Parquet
    Parquet,
    /// The file format of Arrow IPC, also known as Feather 2
    #[value(alias = "ipc", alias = "feather")]
    Arrow,
    /// Comma-separated values with a header line
    Csv,
}

impl From<Format> for FileFormat {
    fn from(format: Format) -> Self {
        match format {
            Format::Parquet => Self::Parquet,
            Format::Arrow => Self::Ipc,
            Format::Csv => Self::Csv,
        }
    }
}

/// The compression of values.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Codec {
    /// No compression
    None,
    /// Snappy: Parquet only
    Snappy,
    /// LZ4: fast
    Lz4,
    /// Zstandard: small
    Zstd,
    /// Gzip: Parquet and CSV
    Gzip,
}

impl From<Codec> for Compression {
    fn from(codec: Codec) -> Self {
        match codec {
            Codec::None => Self::None,
            Codec::Snappy => Self::Snappy,
            Codec::Lz4 => Self::Lz4,
            Codec::Zstd => Self::Zstd,
            Codec::Gzip => Self::Gzip,
        }
    }
}

/// Reads the character between two fields.
fn delimiter(text: &str) -> Result<u8, String> {
    let byte = match text.as_bytes() {
        br"\t" | b"tab" => b'\t',
        [byte] => *byte,
        _ => return Err("write one character of ASCII, or tab".into()),
    };
    CsvForm { delimiter: Some(byte), ..CsvForm::default() }.check().map(|()| byte)
}
