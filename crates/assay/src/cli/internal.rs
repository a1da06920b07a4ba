//! Commands that this program gives to its other processes. They are not in the help, in
//! completions or in manual pages.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

/// A command line that this program writes.
#[derive(Parser)]
pub(super) struct Inside {
    #[command(subcommand)]
    pub command: Internal,
}

#[derive(Subcommand)]
pub(crate) enum Internal {
    /// Do one job, for the parent process
    Worker {
        /// In the mount namespace of this process
        #[arg(long)]
        namespace: Option<u32>,
        /// In the control group with this folder
        #[arg(long, conflicts_with = "namespace")]
        memory_group: Option<PathBuf>,
        /// Under callgrind, which writes its counts into this folder
        #[arg(long, conflicts_with_all = ["namespace", "memory_group"])]
        callgrind: Option<PathBuf>,
        /// With addresses that are not drawn at random
        #[arg(long, conflicts_with_all = ["namespace", "memory_group", "callgrind"])]
        fixed_addresses: bool,
        /// Traced, with the counts of system calls in this folder
        #[arg(long, conflicts_with_all = ["namespace", "memory_group", "callgrind"])]
        #[arg(conflicts_with = "fixed_addresses")]
        trace: Option<PathBuf>,
        /// Stopped, until the tracer is there
        #[arg(long)]
        traced: bool,
        /// With the engines in these libraries
        #[arg(long)]
        plugin: Vec<PathBuf>,
    },
    /// Make a control group with a limit of memory, and remove it when standard input ends
    MemoryGroupKeeper {
        /// The limit
        limit_bytes: u64,
    },
    /// Serve the filesystem of the power cut, for the crash command
    PowerCutServer {
        /// The directory to mount it on
        mount: PathBuf,
    },
    /// Unmount it, for the process that serves it
    PowerCutUnmount {
        /// The directory that it is mounted on
        mount: PathBuf,
    },
    /// Become the shell of a command, once a line comes from standard input
    TortureProgram {
        /// In the mount namespace of this process
        #[arg(long)]
        namespace: Option<u32>,
        /// The directory in which it works
        dir: PathBuf,
        /// The command
        #[arg(allow_hyphen_values = true)]
        command: String,
    },
    /// Serve a directory by the S3 protocol, for a worker process
    #[cfg(feature = "tonbo")]
    S3Server {
        /// The directory of buckets
        root: PathBuf,
    },
}
