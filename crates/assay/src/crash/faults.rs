//! Faults of the disk: operations of the writer fail, and it continues. Then it is killed, or the
//! power is cut, and the store is opened on a healed disk.

use std::io;
use std::path::Path;

use assay_core::durability::{Crash, Fault, Found, Lasts};
use assay_core::random::{derive, draw};
use assay_powercut::Loss;
use assay_powercut::fault::{Injection, delay_most};
use assay_suites::crash::{Job, Log, Then};
use program_support::exit::Outcome;

use super::power::{Bench, Span, refused};
use super::rounds::Untested;
use super::{Faulted, Heard, Pause, Round, Rounds, Subject, Writer, gave_up};

/// Rounds in which the disk fails from an operation on.
pub(super) struct Faults<'f> {
    pub bench: Bench,
    pub subject: &'f Subject<'f>,
    pub crash: Crash,
    pub fault: Fault,
    /// The operations from which the first that fails is drawn, unless one is chosen.
    pub span: Option<Span>,
}

/// The fate of a writer, and of its disk.
struct Endured {
    pause: Pause,
    heard: Heard,
    /// Operations that the fault concerned.
    concerned: u64,
    is_met: bool,
    power_is_gone: bool,
}

impl Rounds for Faults<'_> {
    fn round(&mut self, number: u32) -> Outcome<Result<Round, String>> {
        let subject = self.subject;
        let seed = derive(subject.round_seed(number), "fault");
        let lasts = subject.chosen.lasts.unwrap_or(turn(&Lasts::ALL, number));
        let drawn = self.span.map(|span| 1 + span.opened + draw(seed, 0, span.ended - span.opened));
        let at = subject.chosen.at.first().copied().or(drawn).unwrap_or(1);
        let mut injection = Injection::new(self.fault, lasts, at, seed);
        if self.crash == Crash::Power {
            injection = injection.with_power_cut(seed);
        }
        let log = match self.before(number)? {
            Ok(log) => log,
            Err(why) => return Ok(Err(why)),
        };
        let job = self.job(number);
        let prepared = log.commits();
        let endured = self.endure(&job, log, Then::Waits, injection)?;
        let Endured { pause, heard, is_met, power_is_gone, .. } = endured;
        if !is_met && pause != Pause::Reached {
            return Ok(Err(gave_up(&heard)));
        }
        match self.crash {
            Crash::Power => {
                let loss = subject.loss(number / Lasts::ALL.len() as u32);
                self.bench.server.cut(loss, seed).map(drop)
            }
            Crash::Process | Crash::Copy => self.bench.server.heal(),
        }
        .map_err(refused)?;
        let has_ended = pause == Pause::Gone && !power_is_gone && !heard.has_given_up;
        let found = self.found(&job, pause, &heard)?;
        let faulted = Some(Faulted { lasts, is_met, has_ended });
        let log = heard.log.unwrap_or_default();
        let settings = heard.settings.unwrap_or_default();
        Ok(Ok(Round {
            job,
            log,
            prepared,
            at,
            recoveries: Vec::new(),
            cut_openings: 0,
            found,
            age: None,
            settings,
            faulted,
            state: None,
        }))
    }

    fn keep(&mut self, folder: &Path) -> io::Result<()> {
        self.bench.save(folder)
    }
}

impl Faults<'_> {
    /// Counts the operations that the fault concerns, in undisturbed runs. The inner error says why
    /// it cannot, or that there are none after the opening.
    pub(super) fn calibrate(&mut self) -> Outcome<Result<(), Untested>> {
        let mut counts = [0; 2];
        for (count, commits) in counts.iter_mut().zip([0, self.subject.job.commits]) {
            if self.fault == Fault::EioRead && commits == 0 {
                // Opening a store reads most of what is read.
                continue;
            }
            let log = match self.before(0)? {
                Ok(log) => log,
                Err(why) => return Ok(Err(Untested::Failed(why))),
            };
            let job = Job { commits, ..self.job(0) };
            let never = Injection::never(self.fault);
            let endured = self.endure(&job, log, Then::Waits, never)?;
            if let Some(why) = trouble(&endured) {
                return Ok(Err(Untested::Failed(why)));
            }
            *count = endured.concerned;
        }
        let [opened, ended] = counts;
        if ended <= opened {
            let why = format!("the writer does nothing that {} concerns", self.fault);
            return Ok(Err(Untested::Idle(why)));
        }
        self.span = Some(Span { opened, ended });
        Ok(Ok(()))
    }

    fn job(&self, number: u32) -> Job {
        let bench = &self.bench;
        self.subject.job(number, bench.mount.clone(), Some(bench.server.process()))
    }

    /// Empties the disk. If reads fail, a store with half of the history is on it then, and none of
    /// it in the kernel's cache. The inner error says why it cannot be made.
    fn before(&mut self, number: u32) -> Outcome<Result<Log, String>> {
        self.bench.server.clear(self.bench.directories).map_err(refused)?;
        if self.fault != Fault::EioRead {
            return Ok(Ok(Log::default()));
        }
        let commits = self.subject.job.commits.div_ceil(2);
        let job = Job { commits, ..self.job(number) };
        let never = Injection::never(self.fault);
        let endured = self.endure(&job, Log::default(), Then::Closes, never)?;
        self.bench.server.cut(Loss::Nothing, 0).map_err(refused)?;
        Ok(match trouble(&endured) {
            None => Ok(endured.heard.log.unwrap_or_default()),
            Some(why) => Err(why),
        })
    }

    /// Runs a writer on a disk with a fault.
    fn endure(
        &mut self,
        job: &Job,
        log: Log,
        then: Then,
        injection: Injection,
    ) -> Outcome<Endured> {
        let server = &mut self.bench.server;
        let mut inject = |process| server.inject(injection, process);
        let mut writer = Writer::endure(self.subject, job, log, then, &mut inject)?;
        writer.wait_longer(delay_most(self.fault));
        let pause = writer.listen(self.subject.interrupt, |heard| match then {
            Then::Waits => heard.is_over,
            Then::Closes => heard.closed.is_some(),
        })?;
        let heard = writer.end();
        let state = self.bench.server.state().map_err(refused)?;
        Ok(Endured {
            pause,
            heard,
            concerned: state.concerned,
            is_met: state.met > 0,
            power_is_gone: state.power_is_gone,
        })
    }

    /// Returns what a round found.
    fn found(&self, job: &Job, pause: Pause, heard: &Heard) -> Outcome<Found> {
        let after = || format!("after commit {}", heard.acknowledged().unwrap_or_default());
        if pause == Pause::Late {
            let seconds = self.subject.patience.as_secs();
            return Ok(Found::Hung(format!("nothing happened for {seconds} s {}", after())));
        }
        if let Some(why) = &heard.wrong {
            return Ok(Found::Wrong(why.clone()));
        }
        match &heard.log {
            Some(log) => Ok(self.subject.check_healed(job, log)?.found),
            // Nothing is promised of a store that never was open.
            None => Ok(Found::Everything),
        }
    }
}

/// Returns why a writer was in trouble whose disk did not fail; none if it was not.
fn trouble(endured: &Endured) -> Option<String> {
    let Endured { pause, heard, .. } = endured;
    let refused = heard.log.as_ref().and_then(|log| log.refused().first());
    if *pause != Pause::Reached {
        Some(gave_up(heard))
    } else if let Some(why) = &heard.wrong {
        Some(format!("a wrong answer without a fault: {why}"))
    } else {
        refused.map(|refused| format!("without a fault: {}", refused.why))
    }
}

/// Returns what is next in turn.
fn turn<T: Copy>(all: &[T], number: u32) -> T {
    all[number as usize % all.len()]
}
