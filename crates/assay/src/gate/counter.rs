//! Counts cells: each three times by either counter, several cells at once.
//!
//! Both builds' stores have paths of equal length, and addresses are not drawn at random, so that
//! nothing but the engine differs between two counts.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use assay_core::counting::{Counter, Marks};
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

/// The number of times that a cell is counted.
const REPETITIONS: usize = 3;
/// The most cells at once.
const AT_ONCE_MOST: usize = 4;

/// The reason why a cell has no counts.
enum NotCounted {
    /// The engine cannot do what the cell asks for, as only its worker could tell.
    Unsupported(String),
    Failed(String),
}

/// The means by which cells are counted.
pub(crate) struct Means<'m> {
    /// The counter of instructions.
    pub instructions: Counter,
    pub baseline: Option<&'m Baseline>,
    pub interrupt: &'m Interrupt,
    pub timeout: Option<Duration>,
    pub quiet: bool,
}

impl Means<'_> {
    /// Counts all cells but those that an engine cannot do, which are named; those of one engine
    /// and build, which share a folder, one after another.
    ///
    /// # Errors
    /// `Refused` if no cell can be counted; the user's interrupt.
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
                        all[at] = counted;
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
        let counted: Vec<_> = all.into_iter().flatten().collect();
        if counted.is_empty() {
            return Err(Failure::Refused("no engine here can do that; see assay list".into()));
        }
        Ok(counted)
    }

    /// Counts a cell; none if its engine cannot do it.
    fn count_one(&self, cell: &Cell) -> Outcome<Option<Counted>> {
        let mut counted = Counted {
            cell: cell.clone(),
            engine_version: String::new(),
            failed: None,
            phases: Vec::new(),
            background: Quantities::new(),
        };
        for done in 0..REPETITIONS {
            for counter in [self.instructions, Counter::Calls] {
                let result = self.repetition(cell, counter, done, &mut counted);
                remove_store(cell);
                match result? {
                    Ok(()) => {}
                    Err(NotCounted::Unsupported(why)) => {
                        say(&format!("note: {}: {why}", cell.engine));
                        return Ok(None);
                    }
                    Err(NotCounted::Failed(why)) => {
                        counted.failed = Some(why);
                        return Ok(Some(counted));
                    }
                }
            }
            if !self.quiet {
                say(&format!("{} {}: {} of {REPETITIONS}", cell.engine, cell.variant, done + 1));
            }
        }
        counted.fill();
        Ok(Some(counted))
    }

    /// Counts a cell once; the outer error is the user's interrupt.
    fn repetition(
        &self,
        cell: &Cell,
        counter: Counter,
        done: usize,
        counted: &mut Counted,
    ) -> Outcome<Result<(), NotCounted>> {
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
                let why = format!("its worker sent {} instead of a count", other.what());
                return Ok(Err(NotCounted::Failed(why)));
            }
            End::Failed(why) | End::Killed(why) => return Ok(Err(NotCounted::Failed(why))),
            End::Interrupted => return Err(Failure::Interrupted("interrupted".into())),
        };
        match measured.status {
            Status::Measured => {}
            Status::Failed(why) | Status::Wrong(why) | Status::Killed(why) => {
                return Ok(Err(NotCounted::Failed(why)));
            }
            Status::Unsupported(why) | Status::Unavailable(why) => {
                return Ok(Err(NotCounted::Unsupported(why)));
            }
        }
        let read: fn(&Path, &Marks) -> Result<Readings, String> = match counter {
            Counter::Callgrind => readings::of_callgrind,
            Counter::Hardware => |_, marks| Ok(readings::of_processor(marks)),
            Counter::Calls => readings::calls,
        };
        let kept = read(folder.path(), &marks).and_then(|readings| {
            let operations: Vec<(String, u64)> = measured
                .measurement
                .phases
                .iter()
                .map(|phase| {
                    (phase.name.clone(), phase.rounds.iter().map(|round| round.operations).sum())
                })
                .collect();
            if counter != Counter::Calls {
                expect_spans(&readings, &operations)?;
            }
            counted.engine_version = measured.measurement.engine_version.clone();
            counted.keep(readings, done, operations);
            Ok(())
        });
        Ok(kept.map_err(NotCounted::Failed))
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
                "{phase}: {instructions} instructions were counted in {done} operations: the \
                 counter did not see when they start; build this program anew"
            ));
        }
    }
    Ok(())
}
