//! Power cuts before each operation of one short history, and every state that each may leave. The
//! first is after the first acknowledged commit: before it there is nothing to keep.

use std::collections::{HashSet, VecDeque};
use std::io;
use std::path::Path;

use assay_core::durability::Enumerated;
use assay_core::random::{derive, mix};
use program_support::exit::{Failure, Outcome};

use super::power::{Bench, RUNS, Written, refused};
use super::{Heard, Pause, Round, Rounds, Subject, gave_up};

/// Every state of one history, one after another.
pub(super) struct Enumeration<'e> {
    bench: Bench,
    subject: &'e Subject<'e>,
    /// The most states of a cut.
    most: u32,
    /// The number of the history.
    history: u32,
    /// The operation of the present cut; before the first, the last one of the opening.
    at: u64,
    /// True if the writer met no cut: it had done all before.
    is_last: bool,
    /// The messages of the writer of the present cut.
    heard: Heard,
    /// The places of the states of the present cut that are to be tried.
    states: VecDeque<u32>,
    /// Digests of the states that were tried, each with the commits acknowledged before it.
    seen: HashSet<(u64, u32)>,
    counted: Enumerated,
}

impl<'e> Enumeration<'e> {
    pub(super) fn new(
        bench: Bench,
        subject: &'e Subject<'e>,
        opened: u64,
        most: u32,
        history: u32,
    ) -> Self {
        Self {
            bench,
            subject,
            most,
            history,
            at: opened,
            is_last: false,
            heard: Heard::default(),
            states: VecDeque::new(),
            seen: HashSet::new(),
            counted: Enumerated { most, ..Enumerated::default() },
        }
    }

    /// Cuts the power before an operation, and finds the states that this may leave. The inner
    /// error says why it cannot.
    fn cut(&mut self, at: u64) -> Outcome<Result<(), String>> {
        let subject = self.subject;
        let mut runs = 0;
        let (Written { pause, heard, .. }, state) = loop {
            let written = self.bench.write(subject, self.history, subject.job.commits, at)?;
            let state = self.bench.server.state().map_err(refused)?;
            runs += 1;
            // Only several runs that meet no cut say that there are no more operations.
            if state.power_is_gone || written.pause == Pause::Gone || runs == RUNS {
                break (written, state);
            }
        };
        if pause == Pause::Gone && !state.power_is_gone {
            return Ok(Err(gave_up(&heard)));
        }
        let acknowledged = heard.acknowledged().unwrap_or_default();
        (self.at, self.is_last) = (at, !state.power_is_gone);
        if acknowledged == 0 {
            return Ok(Ok(()));
        }
        let seed = mix(derive(subject.round_seed(self.history), "states"), at);
        let found = self.bench.server.enumerate(self.most, seed).map_err(refused)?;
        let mut is_new = |digest: &u64| self.seen.insert((*digest, acknowledged));
        let new = (0..).zip(&found.digests).filter_map(|(n, digest)| is_new(digest).then_some(n));
        self.states = new.collect();
        self.counted.operations += u32::from(state.power_is_gone);
        self.counted.bounded += u32::from(found.ways > self.most.into());
        self.counted.equal += found.digests.len() as u64 - self.states.len() as u64;
        self.heard = heard;
        Ok(Ok(()))
    }

    /// Checks a state of the present cut.
    fn check(&mut self, place: u32) -> Outcome<Round> {
        self.bench.server.enter(place).map_err(refused)?;
        let namespace = Some(self.bench.server.process());
        let job = self.subject.job(self.history, self.bench.mount.clone(), namespace);
        let log = self.heard.log.clone().unwrap_or_default();
        let found = self.subject.check(&job, &log)?.found;
        Ok(Round {
            job,
            log,
            prepared: 0,
            at: self.at,
            recoveries: Vec::new(),
            cut_openings: 0,
            found,
            // States that no clock made have no age.
            age: None,
            settings: self.heard.settings.clone().unwrap_or_default(),
            faulted: None,
            state: Some(place + 1),
        })
    }

    /// Returns the one state that was chosen, as operation and place.
    fn chosen(&self) -> Outcome<Option<(u64, u32)>> {
        match self.subject.chosen.at[..] {
            [] => Ok(None),
            [at, state, ..] => Ok(Some((at, u32::try_from(state - 1).unwrap_or(u32::MAX)))),
            [_] => Err(Failure::Usage("--at names an operation and a state".into())),
        }
    }
}

impl Rounds for Enumeration<'_> {
    fn round(&mut self, _: u32) -> Outcome<Result<Round, String>> {
        if let Some((at, place)) = self.chosen()? {
            return match self.cut(at)? {
                Ok(()) if self.states.contains(&place) => self.check(place).map(Ok),
                Ok(()) => Ok(Err(format!(
                    "a cut before operation {at} leaves {} states here that can break a promise; \
                     state {} is none of them",
                    self.states.len(),
                    place + 1
                ))),
                Err(why) => Ok(Err(why)),
            };
        }
        loop {
            if let Some(place) = self.states.pop_front() {
                return self.check(place).map(Ok);
            }
            // The last cut is after all operations.
            if self.is_last {
                return Ok(Err("no commit was acknowledged".into()));
            }
            if let Err(why) = self.cut(self.at + 1)? {
                return Ok(Err(why));
            }
        }
    }

    fn keep(&mut self, folder: &Path) -> io::Result<()> {
        self.bench.save(folder)
    }

    fn next_cut(&mut self) -> Outcome<Option<Enumerated>> {
        if !self.subject.chosen.at.is_empty() {
            return Ok(Some(self.counted));
        }
        while self.states.is_empty() && !self.is_last {
            if self.cut(self.at + 1)?.is_err() {
                // The next round says why.
                return Ok(None);
            }
        }
        Ok(self.states.is_empty().then_some(self.counted))
    }
}
