//! The command line of `lode follow`.

use std::path::PathBuf;

use clap::Args;

/// The options of `lode follow`.
#[derive(Args)]
#[command(after_help = "\
First all tables are copied as of one moment. Then each commit of the database happens in the copy \
too, until a signal ends the command; the next call continues. The copy remembers its position in \
table \"followed position\", in the same commit as the records. So nothing is lost or done twice \
when either process or machine fails. All is copied anew when a table is altered, and \
when a commit is too large for a transaction of the copy.

The database may be in use by another process, and has to keep its changes: lode changes --keep. \
While the command runs, others can only read the copy.

Exit status: 3 also if the changes since the position of the copy are not kept any more.

Examples:
  lode changes zoo --keep 1G
  lode follow zoo /mnt/zoo
  lode follow zoo /mnt/zoo --once")]
pub(crate) struct FollowArgs {
    /// Directory of the database
    pub dir: PathBuf,
    /// Directory of the copy: empty, missing, or with an earlier one
    pub to: PathBuf,
    /// End when the copy has all changes, and print its position
    #[arg(long)]
    pub once: bool,
    /// Copy all tables anew if the copy cannot continue at its position
    #[arg(long)]
    pub anew: bool,
}
