//! The phase `recover`: a thread writes until its process is killed; another process opens the
//! store, and finds out which of the writes are there.
//!
//! Each acknowledged write is counted in a file. So a count is at most one behind what the engine
//! acknowledged, and at most one more write was under way.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use assay_core::durability::{Crash, Promise};
use assay_core::run_file::{Phase as Measured, Status};
use assay_core::tape::Records as _;
use assay_driver::error::{Error, ErrorKind, Result};
use assay_driver::{Connection, Durability, InsertRule, Outcome};

use super::Carried;
use super::batch::Batch;
use super::check::{found_versions, plausible_answer, wrong};
use super::clients::hash_of_timed;
use super::course::Course;
use super::finding::look_by_columns;
use super::losses::Losses;
use super::model::{Lane, Model, Start, State};
use super::running::{Running, once};
use super::spec::{Phase, Until};
use super::tape::Tape;
use crate::batch::Manner;
use crate::options::plain;
use crate::phases::NthRound;
use crate::session::{Progress, Report, as_ns};
use crate::suite::{self, Farewell};

/// The time after which a process that is still alive gives up, beyond that of its writes.
const KILLED_WITHIN: Duration = Duration::from_secs(60);

/// The writes of the phase, one after another.
struct Writes {
    tape: Tape,
    lane: Lane,
    start: Start,
    next: u64,
}

impl Writes {
    fn new(phase: &Phase, course: &Course, model: Model) -> Result<Self> {
        let start = Start::of(&model);
        let lane = model.lanes(1).pop();
        let lane = lane.ok_or_else(|| Error::engine("write", "a phase has a thread"))?;
        Ok(Self { tape: Tape::new(phase, course, &start, 0), lane, start, next: 0 })
    }

    /// Returns the next write: the record, and the state after it.
    fn next(&mut self) -> super::tape::Operation {
        let operation = self.tape.next(self.next, &mut self.lane, &self.start);
        self.next += 1;
        operation
    }
}

/// The reason why an engine's level has nothing to recover; none if it has.
pub(super) fn refusal(promise: Promise, level: Durability) -> Option<String> {
    let promises_nothing = promise == Promise::Nothing;
    promises_nothing.then(|| format!("its level {level} need not survive a killed process"))
}

impl Running<'_, '_> {
    /// Returns the promise of the cell's level about a killed process.
    pub(super) fn promise(&self) -> Promise {
        Promise::of(self.driver.profile(), self.cell.durability, Crash::Process)
    }

    /// Updates records until this process is killed. Returns only with an error.
    pub(super) fn write_until_killed(
        &mut self,
        phase: &Phase,
        nth: NthRound,
        report: &mut Report<'_>,
        farewell: &mut Farewell<'_>,
    ) -> Result<()> {
        let Until::Seconds(seconds) = phase.until else {
            return Err(Error::engine("recover", "the phase has no time"));
        };
        self.left.killed = Some(nth.round - 1);
        let (measurement, counted) = self.session.hand_over()?;
        let left = Some(plain(&self.left));
        let mut handed = Some(suite::Measured { status: Status::Measured, measurement, left });
        let model = std::mem::take(&mut self.model);
        let course = Course::new(phase, self.cell.seed, 1, model.rows());
        let mut writes = Writes::new(phase, &course, model)?;
        let start = Instant::now();
        let records = self.records;
        let mut batch = Batch::new(records.schema());
        let mut manner = Manner {
            together: 1,
            insert_rule: InsertRule::Refuses,
            inserts_replace: false,
            base: Duration::ZERO,
        };
        let limit = Duration::from_secs(seconds);
        self.session.connected(&mut |connection| {
            while start.elapsed() < limit + KILLED_WITHIN {
                batch.clear();
                let operation = writes.next();
                batch.add(operation, records);
                batch.perform(records, connection, &mut manner)?;
                let expected = match operation.after {
                    Some(_) => Outcome::Done,
                    None => Outcome::Missing,
                };
                if batch.outcomes[0] != expected {
                    let what = format!("update returned {:?}, not {expected:?}", batch.outcomes[0]);
                    return Err(wrong(operation.row, &what));
                }
                count(&counted, writes.next)?;
                if let Some(handed) = handed.take() {
                    farewell(handed, limit);
                }
                report(&Progress {
                    phase: phase.name.clone(),
                    round: nth.round,
                    rounds: nth.rounds,
                    done: as_ns(start.elapsed().min(limit)) / 1_000_000,
                    total: seconds * 1_000,
                });
            }
            Err(Error::engine("recover", "this process was not killed, as it had asked for"))
        })
    }

    /// Finds out what a killed process left of the writes of a phase, in the store that was just
    /// opened.
    pub(super) fn recovered(&mut self, phase: &Phase, nth: NthRound) -> Result<Measured> {
        let written = self.written();
        let opened = self.session.opened();
        let acknowledged = self.session.acknowledged()?;
        let before = self.model.clone();
        let course = Course::new(phase, self.cell.seed, 1, before.rows());
        let mut writes = Writes::new(phase, &course, before.clone())?;
        let mut done: Vec<(u64, State)> = Vec::new();
        // The write that was under way is one more.
        for _ in 0..=acknowledged {
            let operation = writes.next();
            done.extend(operation.after.map(|after| (operation.row, after)));
        }
        let newest = Model::of_lanes(&[&writes.lane]);
        let records = self.records;
        let at = acknowledged.saturating_sub(1) as usize;
        let row = done.get(at).map(|(row, _)| *row).or(newest.first_live());
        let start = Instant::now();
        let mut answer = None;
        if let Some(row) = row {
            self.session.connected(&mut |connection: &mut dyn Connection| {
                answer = plausible_answer(connection, records, row, newest.state(row))?;
                Ok(())
            })?;
        }
        let answered = start.elapsed();
        let key_kind = self.cell.key_kind;
        let mut found = Vec::new();
        self.session.connected(&mut |connection| {
            found = found_versions(connection, records, &newest, key_kind)?;
            Ok(())
        })?;
        if let Some(row) = row.filter(|row| found[*row as usize] != answer) {
            let said = |version: Option<u32>| match version {
                Some(version) => format!("version {version}"),
                None => "missing".into(),
            };
            let first = said(answer);
            let later = said(found[row as usize]);
            let what = format!("was {first} when read first after the kill, and {later} later");
            return Err(wrong(row, &what));
        }
        let checked = found.len() as u64;
        let kept = self.kept(&before, &done, acknowledged, &found)?;
        let lost_before = match older(&before, &found).count() {
            0 => String::new(),
            count => format!(", and so are writes of earlier phases to {count} records"),
        };
        let windows = vec![vec![kept]];
        let mut carried = Carried { phase: nth.round - 1, windows, put_back: Vec::new() };
        carried.put_back = older(&before, &found)
            .map(|(row, version)| match version {
                Some(version) => (row, State::new(version, true)),
                None => (row, State::new(newest.state(row).version(), false)),
            })
            .collect();
        self.model = carried.replayed(phase, self.cell.seed, before);
        self.left.phases.push(carried);
        let checked = self.looked_by_columns(checked)?;
        let steps = [("open", opened), ("first answer", answered)];
        let latencies = steps.map(|(what, time)| once(&format!("{} {what}", phase.name), time));
        // Updates of absent records write nothing.
        let writes = acknowledged.min(done.len() as u64);
        self.session.note(format!(
            "{}: killed after {writes} writes, of which {} are lost{lost_before}",
            phase.name,
            writes.saturating_sub(kept),
        ));
        Ok(Measured {
            name: phase.name.clone(),
            threads: 1,
            tape_hash: format!("{:016x}", hash_of_timed(self.spec, &course)),
            checked: checked + 1,
            latencies: latencies.into(),
            windows: self.window(written, None, 0).into_iter().collect(),
            ..Measured::default()
        })
    }

    /// Compares what the indexes of the store find with the model. Returns the number of answers
    /// that were compared, those before included.
    fn looked_by_columns(&self, before: u64) -> Result<u64> {
        if !self.driver.has_indexes() {
            return Ok(before);
        }
        let records = self.records;
        let model = &self.model;
        let mut checked = before;
        self.session.connected(&mut |connection| {
            checked = look_by_columns(connection, records, model, before, &mut |_| ())?;
            Ok(())
        })?;
        Ok(checked)
    }

    /// Returns how many of the writes are there. The level decides which must be.
    fn kept(
        &self,
        before: &Model,
        writes: &[(u64, State)],
        acknowledged: u64,
        found: &[Option<u32>],
    ) -> Result<u64> {
        let is_there = |(row, after): &(u64, State)| {
            found[*row as usize].is_some_and(|version| version >= after.version())
        };
        let kept = writes.iter().take_while(|write| is_there(write)).count();
        let level = self.cell.durability;
        if let Some((row, after)) = writes[kept..].iter().find(|write| is_there(write)) {
            let version = after.version();
            let what = format!("version {version} is there, and a write before it is lost");
            return Err(wrong(*row, &what));
        }
        let lost = older(before, found).next();
        let is_whole = self.promise() == Promise::Everything;
        match (lost, writes.get(kept)) {
            (Some((row, _)), _) if is_whole || kept > 0 => {
                let version = before.state(row).version();
                let what = format!("version {version}, of an earlier phase, is lost");
                Err(wrong(row, &what))
            }
            (_, Some((row, after))) if is_whole && (kept as u64) < acknowledged => {
                let version = after.version();
                let what = format!("version {version} was acknowledged at level {level}, and lost");
                Err(wrong(*row, &what))
            }
            (lost, _) => {
                if lost.is_some() {
                    let losses = Losses { before, found };
                    losses.check(self.spec, self.cell.seed, &self.left)?;
                }
                Ok(kept as u64)
            }
        }
    }
}

/// Returns the records that are older than before the phase, with the version that is there.
fn older<'f>(
    before: &'f Model,
    found: &'f [Option<u32>],
) -> impl Iterator<Item = (u64, Option<u32>)> + 'f {
    let is_older = |(row, version): &(u64, Option<u32>)| {
        let state = before.state(*row);
        match version {
            Some(version) => *version < state.version(),
            None => state.is_there(),
        }
    };
    (0..).zip(found.iter().copied()).filter(is_older)
}

/// Writes the number of acknowledged writes.
fn count(counted: &File, writes: u64) -> Result<()> {
    counted.write_all_at(&writes.to_le_bytes(), 0).map_err(|why| {
        let kind = match why.kind() {
            std::io::ErrorKind::StorageFull => ErrorKind::Full,
            _ => ErrorKind::Engine,
        };
        Error::new(kind, format!("count acknowledged writes: {why}"))
    })
}
