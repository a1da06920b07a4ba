//! Crash tests of any program: a writer and a checker, which are shell commands. The lines of both
//! are read by `items`, which judges them; `program` starts and ends their processes, and `rounds`
//! ends writers in the two ways, or lets their disk fail before. `show` prints what came of it.

mod items;
pub(crate) mod program;
pub(crate) mod rounds;
pub(crate) mod show;

use std::fmt;
use std::time::Duration;

use assay_core::durability::{Crash, Fault, Lasts};
use assay_powercut::Loss;
use program_support::interrupt::Interrupt;

use crate::crash::Faulted;

pub(crate) use items::Promise;

/// The common settings of all rounds.
pub(crate) struct Subject<'s> {
    pub writer: &'s str,
    pub checker: &'s str,
    pub promise: Promise,
    /// The acknowledgements after which a writer is ended at the latest.
    pub acks: u32,
    pub seed: u64,
    /// The time that a writer may be silent, or a checker may take.
    pub patience: Duration,
    pub interrupt: &'s Interrupt,
    /// The moment of the crash, if it is not drawn.
    pub at: Option<u64>,
    /// The writes that a power cut takes, if rounds do not take turns.
    pub loss: Option<Loss>,
    /// The time that a fault of the disk lasts, if rounds do not take turns.
    pub lasts: Option<Lasts>,
}

/// A kind of round: a crash, and the fault of the disk before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    pub crash: Crash,
    pub fault: Option<Fault>,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.crash.fmt(f)?;
        self.fault.map_or(Ok(()), |fault| write!(f, " after {fault}"))
    }
}

/// The state that a crash left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// All that has to be there, and nothing that was never tried.
    Everything,
    /// Items are missing that were acknowledged, or tried before others that are there.
    Lost { count: usize, of: usize, first: String },
    /// An item that was never tried, or is there twice.
    Wrong(String),
    /// The checker failed.
    Refused(String),
    /// The writer hung while the disk failed.
    Hung(String),
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Everything => f.write_str("everything is there"),
            Self::Lost { count, of, first } => {
                write!(f, "{count} of {of} items are lost, {first:?} first")
            }
            Self::Wrong(why) => f.write_str(why),
            Self::Refused(why) => write!(f, "the checker failed: {why}"),
            Self::Hung(why) => write!(f, "the writer hung: {why}"),
        }
    }
}

/// A finished round.
#[derive(Debug)]
pub(crate) struct Round {
    /// The moment of the crash, as a number that repeats it.
    pub at: u64,
    pub acknowledged: usize,
    pub found: Found,
    /// The fault of the disk, if it had one.
    pub faulted: Option<Faulted>,
    /// True if the writer ended well before it was to be killed.
    pub is_uncrashed: bool,
}
