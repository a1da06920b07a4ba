//! The command line of `lode volume`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use lode_volumes::Kind;

/// The commands of `lode volume`.
#[derive(Subcommand)]
pub(crate) enum VolumeCommand {
    /// List the children of an entry
    Ls(LsArgs),
    /// Print a property, or all properties of an entry
    Get(GetArgs),
    /// Set a property
    Set(SetArgs),
    /// Remove a property, or an entry
    Rm(RmArgs),
    /// Link a new entry; creates a missing volume
    Link(LinkArgs),
    /// Set when a property expires
    Expire(ExpireArgs),
    /// Show an entry and all below it
    Tree(TreeArgs),
    /// Print what changes below an entry, until it is interrupted
    Watch(WatchArgs),
    /// Write an entry and all below it as lines of JSON
    Export(ExportArgs),
    /// Link entries from lines of JSON, as export writes them
    Import(ImportArgs),
}

/// The options of `lode volume`.
#[derive(Args)]
#[command(after_help = "\
A volume is a database of its own: a tree of entries, each with typed properties. A path is names \
with / before each; / alone is the root. A name has 1 to 255 bytes of UTF-8 without /, and is \
neither . nor .. .

Only link makes a volume. ls, get, tree, watch and export only read: they change no file, and \
several of them can run at the same time. Every other command has the volume for itself, and what \
it has done survives a power cut.

Examples:
  lode volume link settings /app/ui --parents
  lode volume set settings /app/ui scale 1.5 --type f64
  lode volume get settings /app/ui
  lode volume tree settings --properties")]
pub(crate) struct VolumeArgs {
    /// The action.
    #[command(subcommand)]
    pub command: VolumeCommand,
}

/// The options of `lode volume ls`.
#[derive(Args)]
#[command(after_help = "\
One name a line, in the order of their bytes.

Example:
  lode volume ls settings /app")]
pub(crate) struct LsArgs {
    /// Directory of the volume
    pub dir: PathBuf,
    /// Path of the entry
    #[arg(default_value = "/")]
    pub path: String,
    /// List only names that start with this
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub prefix: String,
}

/// The options of `lode volume get`.
#[derive(Args)]
#[command(after_help = "\
With NAME: the value, numbers in digits, text as it is, a blob in hexadecimal digits, and a \
newline. Without: a line for each property, with its name, its type and its value, and tabs \
between them.

Example:
  lode volume get settings /app/ui theme")]
pub(crate) struct GetArgs {
    /// Directory of the volume
    pub dir: PathBuf,
    /// Path of the entry
    pub path: String,
    /// Name of the property [default: all]
    pub name: Option<String>,
    /// Print the bytes of a text or a blob as they are, without a newline
    #[arg(long, requires = "name")]
    pub raw: bool,
}

/// The options of `lode volume set`.
#[derive(Args)]
#[command(after_help = "\
TYPE is i8, i16, i32, i64, u8, u16, u32, u64, f32, f64, text or blob. A blob is written in \
hexadecimal digits. Without VALUE, a text or a blob is read from standard input as it is, up to 1 \
MiB. A property that was to expire stays, unless --expire says otherwise.

Examples:
  lode volume set settings /app/ui scale 1.5 --type f64
  lode volume set settings /app/ui token abc --expire 3600
  lode volume set settings /app/ui icon --type blob < icon.png")]
pub(crate) struct SetArgs {
    /// Directory of the volume
    pub dir: PathBuf,
    /// Path of the entry
    pub path: String,
    /// Name of the property
    pub name: String,
    /// Value of the property [default: standard input]
    #[arg(allow_hyphen_values = true)]
    pub value: Option<String>,
    /// Type of the property
    #[arg(long = "type", value_name = "TYPE", default_value = "text")]
    pub kind: Kind,
    /// Remove the property after this time
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    pub expire: Option<Duration>,
}

/// The options of `lode volume rm`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  lode volume rm settings /app/ui theme
  lode volume rm settings /app --recursive")]
pub(crate) struct RmArgs {
    /// Directory of the volume
    pub dir: PathBuf,
    /// Path of the entry
    pub path: String,
    /// Remove this property instead of the entry
    pub name: Option<String>,
    /// Also remove all entries below
    #[arg(short, long, conflicts_with = "name")]
    pub recursive: bool,
}

/// The options of `lode volume link`.
#[derive(Args)]
#[command(after_help = "\
If the directory is not there, or empty, a volume is made in it. With the path / that is all.

Example:
  lode volume link settings /app/ui --parents")]
pub(crate) struct LinkArgs {
    /// Directory of the volume
    pub dir: PathBuf,
    /// Path of the new entry
    pub path: String,
    /// Also link missing entries above
    #[arg(short, long)]
    pub parents: bool,
}

/// The options of `lode volume expire`.
#[derive(Args)]
#[command(after_help = "\
Example:
  lode volume expire settings /app/ui token 3600")]
pub(crate) struct ExpireArgs {
    /// Directory of the volume
    pub dir: PathBuf,
    /// Path of the entry
    pub path: String,
    /// Name of the property
    pub name: String,
    /// Seconds from now, such as 3600 or 0.5; or never
    #[arg(value_parser = deadline, allow_negative_numbers = true)]
    pub when: Deadline,
}

/// The time at which a property expires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Deadline {
    After(Duration),
    Never,
}

/// The options of `lode volume tree`.
#[derive(Args)]
#[command(after_help = "\
Example:
  lode volume tree settings /app --properties")]
pub(crate) struct TreeArgs {
    /// Directory of the volume
    pub dir: PathBuf,
    /// Path of the entry
    #[arg(default_value = "/")]
    pub path: String,
    /// Show properties, too
    #[arg(long)]
    pub properties: bool,
}

/// The options of `lode volume watch`.
#[derive(Args)]
#[command(after_help = "\
The volume is opened, looked at as a whole and closed at each turn. Others can change it at the \
same time. One line a change: linked PATH, unlinked PATH, set PATH NAME VALUE or removed PATH \
NAME, with tabs between them.

Example:
  lode volume watch settings /app")]
pub(crate) struct WatchArgs {
    /// Directory of the volume
    pub dir: PathBuf,
    /// Path of the entry, which may be missing
    #[arg(default_value = "/")]
    pub path: String,
    /// Seconds between two reads of the volume
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = seconds,
          allow_negative_numbers = true)]
    pub interval: Duration,
}

/// The options of `lode volume export`.
#[derive(Args)]
#[command(after_help = "\
Each line is an object with the path of an entry, which starts at PATH, and its properties: \
{\"path\":\"/ui\",\"properties\":{\"scale\":{\"f64\":1.5}}}. Blobs are hexadecimal digits; \
\"expires_at\" next to a value is in microseconds since the start of 1970. A file is written \
under a temporary name next to it, and renamed when it is whole.

Example:
  lode volume export settings /app -o app.jsonl")]
pub(crate) struct ExportArgs {
    /// Directory of the volume
    pub dir: PathBuf,
    /// Path of the entry
    #[arg(default_value = "/")]
    pub path: String,
    /// File to write [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// The options of `lode volume import`.
#[derive(Args)]
#[command(after_help = "\
Entries that are not there are linked, properties that are there are replaced, and others stay. At \
the first line that is no entry the command stops, with status 1; all before that line are \
imported, and stay.

Example:
  lode volume import copy / app.jsonl")]
pub(crate) struct ImportArgs {
    /// Directory of the volume
    pub dir: PathBuf,
    /// Path of the entry below which to import; linked if it is missing
    pub path: String,
    /// File to read [default: standard input]
    pub file: Option<PathBuf>,
}

/// Reads a number of seconds.
fn seconds(text: &str) -> Result<Duration, String> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let seconds = text.parse::<f64>().ok().filter(|_| is_plain);
    let seconds = seconds.ok_or("write a number of seconds, such as 3600 or 0.5")?;
    Duration::try_from_secs_f64(seconds).map_err(|_| "too many seconds".into())
}

/// Reads when a property is to expire.
fn deadline(text: &str) -> Result<Deadline, String> {
    match text {
        "never" => Ok(Deadline::Never),
        text => seconds(text).map(Deadline::After).map_err(|why| format!("{why}, or never")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_numbers() {
        assert_eq!(seconds("1.5"), Ok(Duration::from_millis(1500)));
        assert_eq!(deadline("0"), Ok(Deadline::After(Duration::ZERO)));
        assert_eq!(deadline("never"), Ok(Deadline::Never));
        for wrong in ["", "-1", "1e3", "inf", "NaN", "two", "1.2.3", "+1"] {
            assert!(seconds(wrong).is_err() && deadline(wrong).is_err(), "{wrong:?}");
        }
        assert!(seconds(&"9".repeat(30)).is_err());
    }
}
