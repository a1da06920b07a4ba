//! Counts cells: each three times by either counter, several cells at once.
//!
//! Both builds' stores have paths of equal length, and addresses are not drawn at random, so that
//! nothing but the engine differs between two counts.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use assay_core::counting::Counter;
use assay_core::engine::WhichBuild;
use assay_core::plan::Cell;
use assay_core::run_file::Status;
use assay_driver::machine::usable_cpus;
use program_support::exit::{Failure, Outcome};
use program_support::interrupt::Interrupt;
use program_support::output::say;

use super::counts::{Counted, INSTRUCTIONS, Phase, Quantities};
use super::readings::{self, Reading, Readings};
use crate::planning::baseline::Baseline;
use crate::running::executor::remove_store;
use crate::worker::parent::{self, End, Order};
use crate::worker::patience::Patience;
use crate::worker::{Job, Message, Program};

/// How often a cell is counted.
const REPETITIONS: usize = 3;
/// The most cells at once.
const AT_ONCE_MOST: usize = 4;

/// The means by which cells are counted.
pub(crate) struct Means<'m> {
    pub baseline: Option<&'m Baseline>,
    pub interrupt: &'m Interrupt,
    pub timeout: Option<Duration>,
    pub quiet: bool,
}

impl Means<'_> {
    /// Counts all cells; those of one engine and build, which share a folder, one after another.
    pub(crate) fn count(&self, cells: &[Cell]) -> Outcome<Vec<Counted>> {
        let mut lanes: Vec<Vec<usize>> = Vec::new();
        for (at, cell) in cells.iter().enumerate() {
            let shares = |lane: &&mut Vec<usize>| cells[lane[0]].engine == cell.engine;
            match lanes.iter_mut().find(shares) {
                Some(lane) => lane.push(at),
                None => lanes.push(vec![at]),
            }
        }
        let waiting = Mutex::new(VecDeque::from(lanes));
        let results = Mutex::new(vec![None; cells.len()]);
        let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let threads = usable_cpus().len().clamp(1, AT_ONCE_MOST);
        let ended: Vec<Outcome> = thread::scope(|scope| {
            let work = || {
                while let Some(lane) = next() {
                    for at in lane {
                        let counted = self.count_one(&cells[at])?;
                        let mut all = results.lock().unwrap_or_else(PoisonError::into_inner);
                        all[at] = Some(counted);
                    }
                }
                Ok(())
            };
            let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            let crashed = |_| Err(Failure::Refused("a thread of the gate panicked".into()));
            threads.into_iter().map(|thread| thread.join().unwrap_or_else(crashed)).collect()
        });
        ended.into_iter().collect::<Outcome<()>>()?;
        let all = results.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(all.into_iter().flatten().collect())
    }

    fn count_one(&self, cell: &Cell) -> Outcome<Counted> {
        let mut counted = Counted {
            cell: cell.clone(),
            engine_version: String::new(),
            failed: None,
            phases: Vec::new(),
            background: Quantities::new(),
        };
        for done in 0..REPETITIONS {
            for counter in [Counter::Callgrind, Counter::Calls] {
                let result = self.repetition(cell, counter, done, &mut counted);
                remove_store(cell);
                if let Err(why) = result? {
                    counted.failed = Some(why);
                    return Ok(counted);
                }
            }
            if !self.quiet {
                say(&format!("{} {}: {} of {REPETITIONS}", cell.engine, cell.variant, done + 1));
            }
        }
        counted.fill();
        Ok(counted)
    }

    /// Counts a cell once; the outer error is the user's interrupt.
    fn repetition(
        &self,
        cell: &Cell,
        counter: Counter,
        done: usize,
        counted: &mut Counted,
    ) -> Outcome<Result<(), String>> {
        let folder = tempfile::Builder::new().prefix("assay-gate").tempdir();
        let folder = folder.map_err(|e| Failure::Refused(format!("cannot make a folder: {e}")))?;
        let other = self.baseline.filter(|_| cell.engine.is_of_other_build());
        // To its worker, the other build is its own.
        let own = Cell { engine: cell.engine.of(WhichBuild::This), ..cell.clone() };
        let job = Job::Count(Box::new(own), counter, folder.path().into());
        let end = parent::carry_out(
            Order { job: &job, program: other.map_or(Program::This, Baseline::program) },
            Patience::with_cells(self.timeout),
            self.interrupt,
            &mut |_| (),
        );
        let (measured, marks) = match end {
            End::Replied(Message::Counted(measured, marks)) => (measured, marks),
            End::Replied(other) => {
                return Ok(Err(format!("its worker sent {} instead of a count", other.what())));
            }
            End::Failed(why) | End::Killed(why) => return Ok(Err(why)),
            End::Interrupted => return Err(Failure::Interrupted("interrupted".into())),
        };
        match measured.status {
            Status::Measured => {}
            Status::Failed(why)
            | Status::Wrong(why)
            | Status::Killed(why)
            | Status::Unsupported(why)
            | Status::Unavailable(why) => return Ok(Err(why)),
        }
        let read: fn(&Path, &[_]) -> Result<Readings, String> = match counter {
            Counter::Callgrind => readings::instructions,
            Counter::Calls => readings::calls,
        };
        Ok(read(folder.path(), &marks).and_then(|readings| {
            let operations: Vec<(String, u64)> = measured
                .measurement
                .phases
                .iter()
                .map(|phase| {
                    (phase.name.clone(), phase.rounds.iter().map(|round| round.operations).sum())
                })
                .collect();
            if counter == Counter::Callgrind {
                expect_spans(&readings, &operations)?;
            }
            counted.engine_version = measured.measurement.engine_version.clone();
            counted.keep(readings, done, operations);
            Ok(())
        }))
    }
}

impl Counted {
    /// Keeps what one counter read in a repetition, after `done` of them.
    fn keep(&mut self, readings: Readings, done: usize, operations: Vec<(String, u64)>) {
        for (name, reading) in readings.phases {
            let at = self.phases.iter().position(|phase| phase.name == name);
            let at = at.unwrap_or_else(|| {
                let counts = Quantities::new();
                self.phases.push(Phase { name: name.clone(), operations: Vec::new(), counts });
                self.phases.len() - 1
            });
            let phase = &mut self.phases[at];
            if phase.operations.len() == done {
                let count = operations.iter().find(|(phase, _)| *phase == name);
                phase.operations.push(count.map_or(0, |(_, count)| *count));
            }
            put(&mut phase.counts, reading, done);
        }
        put(&mut self.background, readings.background, done);
    }

    /// Notes that what was not counted in a repetition was zero.
    fn fill(&mut self) {
        let of_phases = self.phases.iter_mut().flat_map(|phase| phase.counts.values_mut());
        of_phases.chain(self.background.values_mut()).for_each(|it| it.resize(REPETITIONS, 0));
    }
}

/// Puts a reading behind those of `done` repetitions.
fn put(quantities: &mut Quantities, reading: Reading, done: usize) {
    for (name, count) in reading {
        let values = quantities.entry(name).or_default();
        values.resize(done, 0);
        values.push(count);
    }
}

/// Refuses counts with less than an instruction an operation: the spans were not seen.
fn expect_spans(readings: &Readings, operations: &[(String, u64)]) -> Result<(), String> {
    for (phase, reading) in &readings.phases {
        let instructions = reading.get(INSTRUCTIONS).copied().unwrap_or(0);
        let done = operations.iter().find(|(name, _)| name == phase).map_or(0, |(_, count)| *count);
        if instructions < done {
            return Err(format!(
                "{phase}: callgrind counted {instructions} instructions in {done} operations: it \
                 did not see when they start; build this program anew"
            ));
        }
    }
    Ok(())
}
