//! Rounds: a writer is ended at a moment, and a checker looks at what is left.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use assay_core::durability::{Crash, Fault, Lasts};
use assay_core::random::{derive, draw, mix};
use assay_powercut::client::Server;
use assay_powercut::fault::{Injection, delay_most};
use assay_powercut::{Directories, Loss};
use program_support::exit::{Failure, Outcome};

use super::items::Items;
use super::program::{Place, Program, ending};
use super::{Found, Kind, Round, Subject};
use crate::crash::Faulted;
use crate::crash::folder::Folder;
use crate::crash::image::copy_tree;
use crate::crash::power::{refused, served};

/// The interval at which an interrupt is looked for.
const TICK: Duration = Duration::from_millis(50);

/// The most microseconds that a writer lives after the acknowledgement for which it is killed.
const DELAY_MOST_US: u64 = 2_000;

/// The most items that a writer tries without a crash. It may try them for ever.
const TRIED_MOST: u64 = 1_000_000;

/// The most bytes of the lines of a checker.
const LEFT_MOST_BYTES: usize = 256 << 20;

/// A way of ending writers.
enum Way {
    /// By a kill.
    Kill,
    /// By a power cut of the filesystem that this process serves.
    Cut(Box<Server>, Directories),
}

/// All rounds of one kind of crash.
pub(crate) struct Rounds<'r> {
    subject: &'r Subject<'r>,
    folder: &'r Folder,
    kind: Kind,
    way: Way,
    /// The moments from which that of a crash is drawn: acknowledgements, file operations, or those
    /// of them that a fault concerns.
    moments: u64,
    /// The items that a writer acknowledges without a crash.
    acknowledged: u64,
    /// The most items that a writer tries. On a disk that fails it may acknowledge none of them.
    tried_most: u64,
}

/// The work of a writer.
struct Written {
    items: Items,
    end: End,
}

/// The end of a writer.
enum End {
    /// Ended by this program.
    Killed,
    /// Ended well.
    Well,
    /// Ended with an error.
    Failed(String),
    /// Said nothing for too long.
    Late(String),
}

/// The moment of a crash, and of a fault before it.
#[derive(Clone, Copy)]
struct Moment {
    at: u64,
    seed: u64,
    lasts: Lasts,
}

impl<'r> Rounds<'r> {
    /// Prepares rounds: runs both commands once without a crash. The inner error says why a fault
    /// concerns nothing that the writer does.
    ///
    /// # Errors
    /// `Refused` if nothing can be tested with them.
    pub(crate) fn prepare(
        subject: &'r Subject<'r>,
        folder: &'r Folder,
        kind: Kind,
        directories: Directories,
    ) -> Outcome<Result<Self, String>> {
        folder.empty()?;
        let way = if kind.crash == Crash::Power || kind.fault.is_some() {
            let server = Server::start(served(&folder.store()), directories);
            let mut server = server.map_err(refused)?;
            if kind.crash == Crash::Process {
                server.stay_in_boot().map_err(refused)?;
            }
            Way::Cut(Box::new(server), directories)
        } else {
            Way::Kill
        };
        let moments = 0;
        let acknowledged = 0;
        let tried_most = TRIED_MOST;
        let mut rounds = Self { subject, folder, kind, way, moments, acknowledged, tried_most };
        let items = rounds.write(None)?.items;
        let acknowledged = items.acknowledged() as u64;
        rounds.acknowledged = acknowledged;
        rounds.tried_most = items.tried() as u64 + u64::from(subject.acks);
        let wrong = |why: String| Err(Failure::Refused(format!("without a crash {why}")));
        if acknowledged == 0 {
            return wrong("the writer acknowledged nothing, so nothing can be tested".into());
        }
        let mut changes = 0;
        rounds.moments = match &mut rounds.way {
            Way::Kill => acknowledged,
            Way::Cut(server, _) => {
                let state = server.state().map_err(refused)?;
                changes = state.operations;
                if kind.fault.is_some() { state.concerned } else { changes }
            }
        };
        let is_empty = match rounds.way {
            Way::Kill => {
                let entries = fs::read_dir(folder.store());
                let first = entries.map(|mut entries| entries.next());
                first.map_err(|e| Failure::Refused(e.to_string()))?.is_none()
            }
            Way::Cut(..) => changes == 0,
        };
        if is_empty {
            let why = "the writer changed nothing in its directory; it is to write there, in the \
                       working directory of the command";
            return wrong(why.into());
        }
        if let (Some(fault), 0) = (kind.fault, rounds.moments) {
            return Ok(Err(format!("the writer does nothing that {fault} concerns")));
        }
        match rounds.check(&items)? {
            Found::Everything => Ok(Ok(rounds)),
            other => wrong(format!("too: {other}")),
        }
    }

    /// Runs a round.
    pub(crate) fn round(&mut self, number: u32) -> Outcome<Round> {
        let subject = self.subject;
        let seed = mix(derive(subject.seed, "torture"), u64::from(number));
        let at = subject.at.unwrap_or_else(|| 1 + draw(seed, 0, self.moments));
        let turns = Lasts::ALL.len();
        let lasts = subject.lasts.unwrap_or(Lasts::ALL[number as usize % turns]);
        let Written { items, end } = self.write(Some(Moment { at, seed, lasts }))?;
        let mut faulted = None;
        if let Way::Cut(server, _) = &mut self.way {
            let mut turn = number as usize;
            if self.kind.fault.is_some() {
                let is_met = server.state().map_err(refused)?.met > 0;
                let has_ended = matches!(end, End::Failed(_));
                faulted = Some(Faulted { lasts, is_met, has_ended });
                turn /= turns;
            }
            if self.kind.crash == Crash::Power {
                let turn = Loss::ALL[turn % Loss::ALL.len()];
                server.cut(subject.loss.unwrap_or(turn), seed).map_err(refused)?;
            } else {
                server.heal().map_err(refused)?;
            }
        } else {
            self.copy()?;
        }
        let is_uncrashed = self.kind.crash == Crash::Process && matches!(end, End::Well);
        let found = match end {
            End::Late(why) => Found::Hung(why),
            End::Killed | End::Well | End::Failed(_) => self.check(&items)?,
        };
        Ok(Round { at, acknowledged: items.acknowledged(), found, faulted, is_uncrashed })
    }

    /// Writes the files that the last crash left, as they were before the checker, into a folder
    /// that does not exist yet.
    pub(crate) fn keep(&mut self, to: &Path) -> io::Result<()> {
        match &mut self.way {
            Way::Kill => copy_tree(&self.folder.copy(), to),
            // The server may work in another directory than this process.
            Way::Cut(server, _) => server.save(&std::path::absolute(to)?),
        }
    }

    fn copy(&self) -> Outcome {
        let store = self.folder.store();
        let copied = copy_tree(&store, &self.folder.copy());
        copied.map_err(|e| Failure::Refused(format!("{}: {e}", store.display())))
    }

    fn place(&self) -> Place {
        let namespace = match &self.way {
            Way::Kill => None,
            Way::Cut(server, _) => Some(server.process()),
        };
        Place { dir: self.folder.store(), namespace }
    }

    /// Runs a writer in an empty directory, until it is ended at a moment, or meets a fault then
    /// and is ended later. If it failed or took too long, a fault of the disk was the reason.
    fn write(&mut self, crash: Option<Moment>) -> Outcome<Written> {
        let (acks, after_us) = self.kill_at(crash);
        match &mut self.way {
            Way::Kill => self.folder.empty()?,
            Way::Cut(server, directories) => server.clear(*directories).map_err(refused)?,
        }
        let place = self.place();
        let injection = self.kind.fault.map(|fault| self.injection(fault, crash));
        let cut_at = crash.map_or(u64::MAX, |moment| moment.at);
        let way = &mut self.way;
        let started = Program::start(self.subject.writer, &place, &mut |process| match way {
            Way::Kill => Ok(()),
            Way::Cut(server, _) => match injection {
                Some(injection) => server.inject(injection, process),
                None => server.arm(cut_at, process),
            },
        });
        let failed = |e: io::Error| Failure::Refused(format!("cannot start the writer: {e}"));
        let written = self.listen(started.map_err(failed)?, acks, after_us)?;
        let (is_gone, is_met) = match &mut self.way {
            Way::Kill => (false, false),
            Way::Cut(server, _) => {
                let state = server.state().map_err(refused)?;
                (state.power_is_gone, state.met > 0)
            }
        };
        let Written { items, end } = written;
        match end {
            // Its end is that of the power.
            End::Failed(_) if is_gone => Ok(Written { items, end: End::Killed }),
            End::Failed(why) if !is_met => {
                let after = items.acknowledged();
                let line = format!("the writer failed after {after} acknowledgements: {why}");
                Err(Failure::Refused(line))
            }
            End::Late(why) if !is_met => Err(Failure::Refused(format!("the writer: {why}"))),
            end => Ok(Written { items, end }),
        }
    }

    /// Returns the acknowledgement after which a writer is killed, and after how many microseconds.
    fn kill_at(&self, crash: Option<Moment>) -> (u64, u64) {
        let most = u64::from(self.subject.acks);
        let Some(Moment { at, seed, .. }) = crash else { return (most, 0) };
        let acks = match (&self.way, self.kind.crash) {
            (Way::Kill, _) => at,
            // One after the fault, which is met at about the same place of the history.
            (Way::Cut(..), Crash::Process) => {
                let before = at.min(self.moments) - 1;
                let passed = self.acknowledged * before / self.moments;
                passed + 1 + draw(seed, 2, self.acknowledged - passed)
            }
            (Way::Cut(..), _) => return (most, 0),
        };
        (acks.min(most), draw(seed, 1, DELAY_MOST_US))
    }

    /// Returns the fault for a writer: none that it meets, if it is not to be ended.
    fn injection(&self, fault: Fault, crash: Option<Moment>) -> Injection {
        let Some(Moment { at, seed, lasts }) = crash else { return Injection::never(fault) };
        let injection = Injection::new(fault, lasts, at, seed);
        match self.kind.crash {
            Crash::Power => injection.with_power_cut(seed),
            Crash::Process | Crash::Copy => injection,
        }
    }

    /// Reads the lines of a writer until it has acknowledged `acks` items, or ended, or says
    /// nothing for too long; then kills it.
    fn listen(&self, writer: Program, acks: u64, after_us: u64) -> Outcome<Written> {
        let refused = |why: String| Failure::Refused(format!("the writer: {why}"));
        let mut items = Items::default();
        let more = self.kind.fault.map(delay_most).unwrap_or_default();
        let patience = self.subject.patience + more;
        let mut deadline = Instant::now() + patience;
        let mut has_ended = false;
        let goes_on = |items: &Items| {
            (items.acknowledged() as u64) < acks && (items.tried() as u64) < self.tried_most
        };
        while goes_on(&items) && !has_ended {
            match writer.next(TICK) {
                Ok(line) => {
                    items.take(&line.map_err(|e| refused(e.to_string()))?).map_err(refused)?;
                    deadline = Instant::now() + patience;
                }
                Err(RecvTimeoutError::Disconnected) => has_ended = true,
                Err(RecvTimeoutError::Timeout) => {}
            }
            self.expect_no_interrupt()?;
            if Instant::now() >= deadline {
                let seconds = self.subject.patience.as_secs();
                let count = items.acknowledged();
                let why = format!(
                    "it has said nothing for {seconds} s, after {count} acknowledgements; wait \
                     for longer with --timeout"
                );
                return Ok(Written { items, end: End::Late(why) });
            }
        }
        let last_words = writer.last_words();
        let ended = if has_ended {
            writer.end_by(deadline)
        } else {
            std::thread::sleep(Duration::from_micros(after_us));
            writer.end()
        };
        let (status, rest) = ended.map_err(|e| refused(e.to_string()))?;
        rest.iter().try_for_each(|line| items.take(line)).map_err(refused)?;
        let end = match (has_ended, status.success()) {
            (false, _) => End::Killed,
            (true, true) => End::Well,
            (true, false) => End::Failed(ending(status, &last_words)),
        };
        Ok(Written { items, end })
    }

    /// Has the checker look at the directory.
    fn check(&self, items: &Items) -> Outcome<Found> {
        let failed = |e: io::Error| Failure::Refused(format!("cannot start the checker: {e}"));
        let started = Program::start(self.subject.checker, &self.place(), &mut |_| Ok(()));
        let checker = started.map_err(failed)?;
        let deadline = Instant::now() + self.subject.patience;
        let mut left = String::new();
        loop {
            match checker.next(TICK) {
                Ok(Ok(line)) if left.len() + line.len() <= LEFT_MOST_BYTES => left += &line,
                Ok(Ok(_)) => return Ok(Found::Refused("it prints too much".into())),
                Ok(Err(error)) => return Ok(Found::Refused(error.to_string())),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {}
            }
            self.expect_no_interrupt()?;
            if Instant::now() >= deadline {
                let seconds = self.subject.patience.as_secs();
                return Ok(Found::Refused(format!("it has not ended after {seconds} s")));
            }
        }
        let last_words = checker.last_words();
        let (status, _) = checker.end_by(deadline).map_err(failed)?;
        if !status.success() {
            return Ok(Found::Refused(ending(status, &last_words)));
        }
        Ok(items.judge(&left, self.subject.promise))
    }

    fn expect_no_interrupt(&self) -> Outcome {
        if self.subject.interrupt.came() {
            return Err(Failure::Interrupted("interrupted".into()));
        }
        Ok(())
    }
}
