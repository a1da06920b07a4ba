//! Crash tests: a worker writes and is ended at a moment that the round's seed draws. Then another
//! worker checks the files that are left. `process` and `power` are the two ways of ending it.
//! `copies` copies its files instead, while it writes. `faults` lets its disk fail.

pub(crate) mod copies;
mod enumeration;
mod faults;
pub(crate) mod folder;
pub(crate) mod image;
pub(crate) mod levels;
pub(crate) mod power;
pub(crate) mod process;
mod rounds;
mod show;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use assay_core::durability::{Age, Enumerated, Found, Lasts, Recovery};
use assay_core::random::mix;
use assay_powercut::Loss;
use assay_suites::crash::{Checked, Job, Log, Said, Then};
use program_support::exit::{Failure, Outcome};
use program_support::interrupt::Interrupt;

use crate::worker::parent::{self, End, Order, Worker};
use crate::worker::patience::Patience;
use crate::worker::{self, Message, Program};

/// The file of verdicts, which later runs read.
pub(crate) const VERDICTS_FILE: &str = "assay-runs/durability.json";

/// The name of the verdicts' file in a folder of run files.
pub(crate) const VERDICTS_NAME: &str = "durability.json";

/// The interval at which an interrupt is looked for.
const TICK: Duration = Duration::from_millis(50);

/// The common settings of all rounds of one engine at one level.
pub(crate) struct Subject<'s> {
    /// The job of writers and checkers, without the seed, the directory and the namespace.
    pub job: Job,
    /// The seed that the seeds of the rounds are derived from.
    pub seed: u64,
    /// The time limit of a writer or a checker.
    pub patience: Duration,
    /// The user's interrupt.
    pub interrupt: &'s Interrupt,
    /// The crashes of a round: of the writer, then of openings.
    pub crashes: u32,
    /// The choices that are given instead of drawn.
    pub chosen: Chosen,
}

/// The choices of a round that are given instead of drawn.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chosen {
    /// The moment of each crash: of the writer, then of each opening.
    pub at: Vec<u64>,
    /// The writes that a power cut takes.
    pub loss: Option<Loss>,
    /// The time that a fault of the disk lasts.
    pub lasts: Option<Lasts>,
}

/// A way of ending writers, round after round.
pub(crate) trait Rounds {
    /// Runs a round. The inner error says why there is no result.
    fn round(&mut self, number: u32) -> Outcome<Result<Round, String>>;

    /// Writes the files that the last round's crash left, as they were before a checker opened
    /// them, into a folder that does not exist yet.
    fn keep(&mut self, folder: &Path) -> io::Result<()>;

    /// Cuts the power until there is a state to try, and returns what was enumerated if no cut
    /// leaves another; none if there is one, or rounds are drawn.
    fn next_cut(&mut self) -> Outcome<Option<Enumerated>> {
        Ok(None)
    }
}

/// A finished round.
pub(crate) struct Round {
    /// The writer's job.
    pub job: Job,
    /// The commits that were acknowledged before the end.
    pub log: Log,
    /// The number of these commits made before the round, on a disk without a fault.
    pub prepared: u32,
    /// The moment of the end, as a number that repeats it.
    pub at: u64,
    /// The crashes of openings after it.
    pub recoveries: Vec<Recovery>,
    /// The number of these crashes that ended an opening before it was complete.
    pub cut_openings: u32,
    /// The check's finding.
    pub found: Found,
    /// The age of the oldest lost commit, if some were lost.
    pub age: Option<Age>,
    /// The store's report of its settings, if it was opened.
    pub settings: Vec<String>,
    /// The fault of the disk, if the round was of one.
    pub faulted: Option<Faulted>,
    /// The number of the state, counted from 1, of those that the crash may leave; none if one was
    /// drawn.
    pub state: Option<u32>,
}

/// The effect of a fault of the disk on a writer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Faulted {
    pub lasts: Lasts,
    /// True if an operation met the fault.
    pub is_met: bool,
    /// True if the writer's process ended itself.
    pub has_ended: bool,
}

impl Subject<'_> {
    /// Returns the seed of a round.
    fn round_seed(&self, round: u32) -> u64 {
        mix(self.seed, u64::from(round))
    }

    fn job(&self, round: u32, dir: PathBuf, namespace: Option<u32>) -> Job {
        Job { seed: self.round_seed(round), dir, namespace, ..self.job.clone() }
    }

    /// Returns the writes that a power cut takes: chosen, or in turn.
    fn loss(&self, turn: u32) -> Loss {
        self.chosen.loss.unwrap_or(Loss::ALL[turn as usize % Loss::ALL.len()])
    }

    fn patience(&self) -> Patience {
        Patience::Whole(self.patience, "--timeout")
    }

    /// Has a worker check the files that a writer left.
    fn check(&self, job: &Job, log: &Log) -> Outcome<Checked> {
        self.check_by(worker::Job::CrashCheck(job.clone(), log.clone(), false))
    }

    /// Has a worker check the files that a writer left on a disk that failed and is healed.
    fn check_healed(&self, job: &Job, log: &Log) -> Outcome<Checked> {
        self.check_by(worker::Job::CrashCheck(job.clone(), log.clone(), true))
    }

    fn check_by(&self, job: worker::Job) -> Outcome<Checked> {
        match parent::run(&job, self.patience(), self.interrupt, &mut |_| ()) {
            End::Replied(Message::Found(checked)) => Ok(checked),
            End::Replied(Message::CannotWrite(why)) => Err(Failure::Refused(why)),
            End::Replied(other) => {
                let what = other.what();
                Err(Failure::Refused(format!(
                    "the checker sent {what} instead of what a crash left"
                )))
            }
            End::Failed(why) | End::Killed(why) => {
                Ok(Checked { found: Found::Died(why), oldest_lost: None })
            }
            End::Interrupted => Err(Failure::Interrupted("interrupted".into())),
        }
    }
}

/// A writer, or a process that opens its store again, as the parent sees it.
struct Writer {
    worker: Worker,
    deadline: Instant,
    /// The time that each message gives it, if each does.
    renewal: Option<Duration>,
    heard: Heard,
}

/// The messages of a writer.
#[derive(Default)]
struct Heard {
    /// The commits that the writer acknowledged; none before the store was open.
    log: Option<Log>,
    /// The time at which the store was about to be opened again, and that at which it was closed.
    opening: Option<Instant>,
    closed: Option<Instant>,
    settings: Option<Vec<String>>,
    /// True if the writer's history is over.
    is_over: bool,
    /// The first wrong answer of the store.
    wrong: Option<String>,
    /// True if the writer said itself why it could not continue.
    has_given_up: bool,
    /// The time of each commit's acknowledgement, as the log has them: microseconds since 1970.
    times_us: Vec<u64>,
    /// The longest delay, in microseconds, before the machine let the writer continue.
    late_us: u64,
    /// Why the writer could not continue.
    trouble: Option<String>,
}

/// Why a writer is no longer listened to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pause {
    /// The writer has said what was waited for.
    Reached,
    /// The writer has ended.
    Gone,
    /// The writer took too long.
    Late,
}

impl Heard {
    fn hear(&mut self, message: Message) {
        match message {
            Message::Wrote(Said::Open(settings)) => {
                self.settings = Some(settings);
                self.log.get_or_insert_default();
            }
            Message::Wrote(Said::Committed { commit, at_us, late_us }) => {
                self.log.get_or_insert_default().add(commit);
                self.late_us = self.late_us.max(late_us);
                self.times_us.push(at_us);
            }
            Message::Wrote(Said::Refused(refused)) => {
                self.log.get_or_insert_default().refuse(refused);
            }
            Message::Wrote(Said::Wrong(why)) => drop(self.wrong.get_or_insert(why)),
            Message::Wrote(Said::Over) => self.is_over = true,
            Message::Wrote(Said::Opening) => self.opening = Some(Instant::now()),
            Message::Wrote(Said::Closed) => {
                self.closed.get_or_insert_with(Instant::now);
            }
            Message::CannotWrite(why) => {
                (self.trouble, self.has_given_up) = (Some(why), true);
            }
            Message::Panicked(why) => self.trouble = Some(why),
            _ => {}
        }
    }
}

impl Heard {
    /// Returns the number of acknowledged commits; none before the store was open.
    fn acknowledged(&self) -> Option<u32> {
        self.log.as_ref().map(Log::commits)
    }

    /// Returns the age of the oldest lost commit at the crash, if some were lost.
    fn age(&self, checked: &Checked, crash_us: u64) -> Option<Age> {
        let oldest = usize::try_from(checked.oldest_lost?).ok()?;
        let lost_us = crash_us.saturating_sub(*self.times_us.get(oldest)?);
        Some(Age { lost_us, late_us: self.late_us })
    }
}

impl Writer {
    /// Starts a writer; `prepare` is called with its process number before it gets its job.
    fn start(
        subject: &Subject<'_>,
        job: &Job,
        prepare: &mut dyn FnMut(u32) -> std::io::Result<()>,
    ) -> Outcome<Self> {
        Self::begin(subject, &worker::Job::CrashWrite(job.clone()), prepare)
    }

    /// Starts a writer on a disk that may fail, which continues from where `log` ends.
    fn endure(
        subject: &Subject<'_>,
        job: &Job,
        log: Log,
        then: Then,
        prepare: &mut dyn FnMut(u32) -> std::io::Result<()>,
    ) -> Outcome<Self> {
        let order = worker::Job::CrashEndure(job.clone(), log.clone(), then);
        let mut writer = Self::begin(subject, &order, prepare)?;
        writer.heard.log = (log.commits() > 0).then_some(log);
        writer.renewal = Some(subject.patience);
        Ok(writer)
    }

    /// Starts a process that opens the store again.
    fn reopen(
        subject: &Subject<'_>,
        job: &Job,
        prepare: &mut dyn FnMut(u32) -> std::io::Result<()>,
    ) -> Outcome<Self> {
        Self::begin(subject, &worker::Job::CrashReopen(job.clone()), prepare)
    }

    fn begin(
        subject: &Subject<'_>,
        job: &worker::Job,
        prepare: &mut dyn FnMut(u32) -> std::io::Result<()>,
    ) -> Outcome<Self> {
        let worker = Worker::start(Order { job, program: Program::This }, None, prepare)
            .map_err(|e| Failure::Refused(format!("cannot start a writer: {e}")))?;
        let deadline = Instant::now() + subject.patience;
        Ok(Self { worker, deadline, renewal: None, heard: Heard::default() })
    }

    /// Gives the writer this much more time, before its first message and after each.
    fn wait_longer(&mut self, more: Duration) {
        self.deadline += more;
        self.renewal = self.renewal.map(|time| time + more);
    }

    /// Reads messages until `commits` of them are acknowledged; 0 stands for the open store.
    fn until(&mut self, commits: u32, interrupt: &Interrupt) -> Outcome<Pause> {
        self.listen(interrupt, |heard| heard.acknowledged().is_some_and(|some| some >= commits))
    }

    /// Reads messages until they say what is waited for.
    fn listen(&mut self, interrupt: &Interrupt, heard: impl Fn(&Heard) -> bool) -> Outcome<Pause> {
        while !heard(&self.heard) {
            match self.worker.next(TICK) {
                Ok(message) => {
                    self.heard.hear(message);
                    self.deadline =
                        self.renewal.map_or(self.deadline, |time| Instant::now() + time);
                }
                // A signal to the whole group may reach a writer that has not left it yet.
                Err(RecvTimeoutError::Disconnected) if interrupt.came() => {
                    return Err(Failure::Interrupted("interrupted".into()));
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(Pause::Gone),
                Err(RecvTimeoutError::Timeout) => {}
            }
            if Instant::now() >= self.deadline {
                return Ok(Pause::Late);
            }
            if interrupt.came() {
                return Err(Failure::Interrupted("interrupted".into()));
            }
        }
        Ok(Pause::Reached)
    }

    /// Kills the writer and reads its remaining messages.
    fn end(mut self) -> Heard {
        self.worker.kill();
        let remains = self.worker.wait(Duration::ZERO);
        let cause = remains.cause();
        remains.messages.into_iter().for_each(|message| self.heard.hear(message));
        self.heard.trouble.get_or_insert(cause);
        self.heard
    }
}

/// Returns why an engine's rounds were given up, in one line.
fn gave_up(heard: &Heard) -> String {
    let commit = heard.acknowledged().map_or_else(
        || "before its store was open".to_string(),
        |number| format!("after commit {number}"),
    );
    let why = heard.trouble.as_deref().unwrap_or("without a word");
    format!("the writer ended by itself {commit}: {why}")
}
