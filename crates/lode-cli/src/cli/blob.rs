//! The command line of `lode blob`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand};

/// The commands of `lode blob`.
#[derive(Subcommand)]
pub(crate) enum BlobCommand {
    /// Write a file, or standard input, as a blob
    Put(PutArgs),
    /// Write a blob, or a part of it, to a file or to standard output
    Get(GetArgs),
    /// List the blobs of a store, or all stores
    List(ListArgs),
    /// Remove a blob
    Remove(RemoveArgs),
    /// Drop a store with all its blobs
    Drop(DropArgs),
}

/// The options of `lode blob`.
#[derive(Args)]
#[command(after_help = "\
A blob is a value of up to 4 GiB under a key of up to 1000 bytes. It goes through memory in \
chunks of 64 KiB, so --memory may be small. A store NAME is kept in the tables NAME.blobs, \
NAME.chunks and NAME.pending.

Examples:
  lode blob put zoo films lion.mp4 lion.mp4 --create
  lode blob get zoo films lion.mp4 -o copy.mp4
  lode blob list zoo films")]
pub(crate) struct BlobArgs {
    /// The action.
    #[command(subcommand)]
    pub command: BlobCommand,
}

/// A blob.
#[derive(Args)]
pub(crate) struct Named {
    /// Directory of the database
    pub dir: PathBuf,
    /// Name of the blob store
    pub store: String,
    /// Key of the blob
    pub key: OsString,
}

/// The options of `lode blob put`.
#[derive(Args)]
#[command(after_help = "\
The blob is there when all of it is written. Until then, and if the command fails or is killed, \
the key has what it had before.

Example:
  tar c photos | lode blob put zoo archives photos.tar --create")]
pub(crate) struct PutArgs {
    /// The blob.
    #[command(flatten)]
    pub named: Named,
    /// File to read; - is standard input [default: standard input]
    pub file: Option<PathBuf>,
    /// Create a missing store, and a missing database
    #[arg(long)]
    pub create: bool,
}

/// The options of `lode blob get`.
#[derive(Args)]
#[command(after_help = "\
A file is written under a temporary name in its folder, and renamed when it is complete.

Examples:
  lode blob get zoo films lion.mp4 -o lion.mp4
  lode blob get zoo films lion.mp4 --from 1M --length 64K | xxd")]
pub(crate) struct GetArgs {
    /// The blob.
    #[command(flatten)]
    pub named: Named,
    /// File, pipe or device to write [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Offset of the first byte, in bytes or with K, M or G
    #[arg(long, value_name = "BYTES", value_parser = super::bytes, default_value = "0",
          allow_negative_numbers = true)]
    pub from: u64,
    /// Most bytes to write, in bytes or with K, M or G [default: all]
    #[arg(long, value_name = "BYTES", value_parser = super::bytes, allow_negative_numbers = true)]
    pub length: Option<u64>,
}

/// The options of `lode blob list`.
#[derive(Args)]
#[command(after_help = "\
One line a blob: its length in bytes and its key, with a tab between them, in the order of keys. \
Without a store, one line a store: the number of its blobs and its name. A key that is no plain \
text has escapes, such as \\n and \\xff.

Example:
  lode blob list zoo films --prefix 2026/")]
pub(crate) struct ListArgs {
    /// Directory of the database
    pub dir: PathBuf,
    /// Name of the blob store
    pub store: Option<String>,
    /// List only keys that start with this
    #[arg(long, value_name = "START", requires = "store")]
    pub prefix: Option<OsString>,
}

/// The options of `lode blob remove`.
#[derive(Args)]
#[command(after_help = "\
Example:
  lode blob remove zoo films lion.mp4")]
pub(crate) struct RemoveArgs {
    /// The blob.
    #[command(flatten)]
    pub named: Named,
}

/// The options of `lode blob drop`.
#[derive(Args)]
#[command(after_help = "\
Dropping cannot be undone. The number of blobs is printed.

Example:
  lode blob drop zoo films")]
pub(crate) struct DropArgs {
    /// Directory of the database
    pub dir: PathBuf,
    /// Name of the blob store
    pub store: String,
}
