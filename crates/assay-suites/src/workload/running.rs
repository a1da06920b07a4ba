//! A cell from its load to its last phase.

use std::time::{Duration, Instant};

use assay_core::ageing::{self, Window};
use assay_core::crew::Taken;
use assay_core::latency::{Stopwatch, summary};
use assay_core::plan::Cell;
use assay_core::resources::{memory_bytes, written_bytes};
use assay_core::run_file::{Latency, Phase as Measured};
use assay_core::tape::{Order, Records as _};
use assay_driver::error::{Error, Result};
use assay_driver::{Driver, Storage};

use super::check::{Ways, first_answer, look_at_all};
use super::clients::{Clients, Done, Resumed, hash_of_timed, timed_kinds};
use super::course::Course;
use super::model::Model;
use super::offer::{Offer, offer, refusal};
use super::records::Records;
use super::spec::{Kind, Phase, Spec, Task, Until};
use super::{Carried, Left, recover};
use crate::phases::{LOAD, Loading, NthRound, kept, load_as, telling};
use crate::session::{self, Progress, Report, Session, as_ns};
use crate::suite::Farewell;

/// The bytes of the records of a transaction of the load, about, and the most records of one.
const LOAD_BYTES: u64 = 4 << 20;
const LOAD_MOST: u64 = 1_000;

/// The word for what is done in the background, in names of latencies.
const BACKGROUND: &str = "background";

/// The time between two looks at the space that comes back after a delete.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// A cell that is being measured.
pub(super) struct Running<'r, 'm> {
    pub(super) cell: &'r Cell,
    pub(super) spec: &'r Spec,
    pub(super) driver: &'r dyn Driver,
    pub(super) records: &'r Records,
    pub(super) session: Session<'m>,
    pub(super) model: Model,
    pub(super) left: Left,
    /// True if what was written depends on how fast the engine is.
    pub(super) depends_on_time: bool,
}

impl Running<'_, '_> {
    /// Inserts the first records.
    pub(super) fn load(&mut self, report: &mut Report<'_>) -> Result<()> {
        let records = self.records;
        let first = &self.spec.records;
        let is_kept = self.driver.has_indexes();
        let names = first.indexed();
        if !names.is_empty() && !is_kept {
            let names = names.join(", ");
            self.session
                .note(format!("it has no secondary indexes: its writes keep none of {names}"));
        }
        if first.count == 0 {
            return Ok(());
        }
        let written = self.written();
        let bytes = records.schema().record_size() as u64;
        let order = if first.in_order { Order::Sequential } else { Order::Permutation };
        let batch = (LOAD_BYTES / bytes).clamp(1, LOAD_MOST);
        let loading = Loading { rows: first.count, batch, order, bulk: first.bulk };
        load_as(self.cell, records, &loading, self.driver, &mut self.session, report)?;
        let window = self.window(written, None, self.model.live_bytes(records));
        self.session.amend(LOAD, |phase| {
            let rounds = phase.rounds.iter();
            let (operations, time_ns) =
                rounds.fold((0, 0), |(o, t), round| (o + round.operations, t + round.time_ns));
            phase.windows =
                window.map(|w| Window { operations, time_ns, ..w }).into_iter().collect();
        });
        Ok(())
    }

    /// Carries the phases from one on out, and closes the store.
    pub(super) fn phases_from(
        mut self,
        first: usize,
        threads: u32,
        report: &mut Report<'_>,
        farewell: &mut Farewell<'_>,
    ) -> Result<Option<Left>> {
        let rounds = self.spec.phases.len();
        for (round, phase) in (1..).zip(&self.spec.phases).skip(first) {
            let threads = phase.threads_in(threads);
            self.phase(phase, threads, NthRound { round, rounds }, report, farewell)?;
        }
        let Running { session, left, .. } = self;
        Ok(session.close()?.then_some(left))
    }

    /// Carries a phase out, unless the engine cannot.
    fn phase(
        &mut self,
        phase: &Phase,
        threads: u32,
        nth: NthRound,
        report: &mut Report<'_>,
        farewell: &mut Farewell<'_>,
    ) -> Result<()> {
        self.session.cool()?;
        let inserts_replace = match self.offered(phase, threads)? {
            Offer::Can { inserts_replace } => inserts_replace,
            Offer::Cannot(why) => {
                self.session.leave_out(&phase.name, why);
                return Ok(());
            }
        };
        let (measured, latencies) = match phase.task {
            Task::Reopen => self.reopen(phase)?,
            Task::Recover => return self.write_until_killed(phase, nth, report, farewell),
            Task::Operations | Task::DeleteHalf => {
                self.operations(phase, threads, inserts_replace, nth, report)?
            }
        };
        if measured.conflicts > 0 {
            self.session.note(format!(
                "{}: {} transactions were refused because of other threads, and done again",
                phase.name, measured.conflicts
            ));
        }
        if let (Some(is_steady), Until::Steady { window, limit }) = (measured.steady, phase.until) {
            let windows = measured.windows.len();
            self.session.note(if is_steady {
                format!("{}: steady after {windows} windows of {window} s", phase.name)
            } else {
                format!("{}: not steady after {:.1} minutes", phase.name, limit as f64 / 60.0)
            });
        }
        let name = &phase.name;
        self.session.keep(measured);
        let looked_at = self.look(name, nth, report)?;
        self.session.amend(name, |phase| phase.checked += looked_at);
        match latencies {
            Latencies::Taken { stopwatches, apart } => {
                if let Some(taken) = self.summary(phase, "", stopwatches) {
                    self.session.add_latencies(name, threads, 0, taken);
                }
                if let Some((apart, _)) = self.summary(phase, BACKGROUND, apart) {
                    self.session.amend(name, |phase| phase.latencies.extend(apart));
                }
            }
            Latencies::Once(latencies) => {
                self.session.amend(name, |phase| phase.latencies = latencies);
            }
        }
        Ok(())
    }

    /// Returns the latencies of threads of a phase, or `apart` of one in its background.
    fn summary(&self, phase: &Phase, apart: &str, crew: Vec<Stopwatch>) -> Option<session::Taken> {
        let kinds = timed_kinds(self.spec, phase, apart);
        let kinds: Vec<_> = kinds.iter().map(String::as_str).collect();
        summary(crew, &kinds)
    }

    fn offered(&self, phase: &Phase, threads: u32) -> Result<Offer> {
        if let Some(why) = refusal(self.driver, phase, self.cell.key_kind, threads) {
            return Ok(Offer::Cannot(why.into()));
        }
        let reopens = matches!(phase.task, Task::Reopen | Task::Recover);
        if reopens && !self.session.outlives_closing() {
            return Ok(Offer::Cannot("its data does not outlive closing".into()));
        }
        let level = self.cell.durability;
        let why = recover::refusal(self.promise(), level);
        if let Some(why) = why.filter(|_| phase.task == Task::Recover) {
            return Ok(Offer::Cannot(why));
        }
        let mut offered = None;
        self.session.connected(&mut |connection| {
            let profile = self.driver.profile();
            offered = Some(offer(connection, profile, phase, self.records, &self.model)?);
            Ok(())
        })?;
        offered.ok_or_else(|| Error::engine("connect", "the store did not run its work"))
    }

    /// Does the operations of a phase, in windows if it is to become steady.
    fn operations(
        &mut self,
        phase: &Phase,
        threads: u32,
        inserts_replace: bool,
        nth: NthRound,
        report: &mut Report<'_>,
    ) -> Result<(Measured, Latencies)> {
        let mut measured =
            Measured { name: phase.name.clone(), published_top: 1, threads, ..Measured::default() };
        let mut one = phase.one_window(self.model.live());
        if matches!(phase.until, Until::Steady { .. }) && !self.driver.profile().keeps_data {
            one.until = Until::Seconds(1);
        }
        let (total, told_by) = match phase.until {
            Until::Seconds(seconds) | Until::Steady { limit: seconds, .. } => (seconds * 1_000, 1),
            Until::Operations(_) | Until::Half { .. } => (one.expected_operations(), threads),
        };
        let mut hash = None;
        let mut behind_ns = 0;
        let mut resumed = Resumed::default();
        let mut course = Course::new(&one, self.cell.seed, threads, self.model.rows());
        self.left.phases.push(Carried {
            phase: nth.round - 1,
            windows: Vec::new(),
            put_back: Vec::new(),
        });
        loop {
            let written = self.written();
            let model = std::mem::take(&mut self.model);
            let profile = self.driver.profile();
            let clients =
                Clients::new(self.records, &one, &course, model, profile, inserts_replace, resumed);
            let mut told = telling(report, &phase.name, nth, total, told_by);
            let done = clients.run(&self.session, &mut told)?;
            drop(told);
            let Done { timed, taken, mut stopwatches, due, operations, model, .. } = done;
            self.model = model;
            let window = self.window(written, Some((timed.operations, taken)), done.changed_bytes);
            measured.windows.extend(window);
            measured.rounds.push(kept(timed.operations, taken));
            measured.checked += timed.checked;
            measured.conflicts += done.conflicts;
            behind_ns += done.behind_ns;
            hash.get_or_insert(timed.tape.value());
            course.advance(&operations);
            let behind = course.done(course.threads as usize);
            if let Some(carried) = self.left.phases.last_mut() {
                carried.windows.push(operations);
            }
            let is_over = match phase.until {
                // An engine that keeps nothing does not age.
                Until::Steady { .. } if measured.windows.is_empty() => true,
                Until::Steady { limit, .. } => {
                    let is_steady = ageing::is_steady(&measured.windows);
                    let is_over = is_steady || done.clock_ns >= limit * 1_000_000_000;
                    measured.steady = is_over.then_some(is_steady);
                    is_over
                }
                _ => true,
            };
            if is_over {
                self.finish(phase, &course, hash.unwrap_or_default(), &mut measured);
                if let Until::Half { looks } = phase.until {
                    let looks = self.looks(&phase.name, looks, nth, report);
                    measured.windows.extend(looks);
                }
                let apart = stopwatches.split_off(threads as usize);
                // A shorter clock says little of a rate.
                let background = phase.background.as_ref();
                if let Some(background) = background.filter(|_| done.clock_ns >= 1_000_000_000) {
                    // It may work on while the phase itself waits for it.
                    let clock_ns = done.clock_ns.max(behind_ns);
                    let rate = behind as f64 * 1e9 / clock_ns as f64;
                    self.session.note(format!(
                        "{}: in the background, {rate:.0} operations a second of {}",
                        phase.name, background.rate
                    ));
                }
                return Ok((measured, Latencies::Taken { stopwatches, apart }));
            }
            resumed = Resumed { clock_ns: done.clock_ns, stopwatches, due };
        }
    }

    /// Writes the hash of a phase, and chooses the rounds that make its figure.
    fn finish(&mut self, phase: &Phase, course: &Course, hash: u64, measured: &mut Measured) {
        // What a timed phase wrote decides what later ones find.
        let is_timed = phase.is_timed();
        let hash =
            if is_timed || self.depends_on_time { hash_of_timed(self.spec, course) } else { hash };
        self.depends_on_time |= is_timed && phase.does(Kind::writes);
        measured.tape_hash = format!("{hash:016x}");
        if measured.steady.is_some() {
            // The figure is the median of the windows that the rule looks at.
            let first = measured.rounds.len().saturating_sub(ageing::STEADY_WINDOWS);
            measured.rounds.drain(..first);
            measured.published_top = measured.rounds.len();
        }
    }

    /// Closes the store and opens it again, and times that and the first right answer.
    fn reopen(&mut self, phase: &Phase) -> Result<(Measured, Latencies)> {
        let written = self.written();
        let (closed, opened) = self.session.reopen_timed()?;
        let start = Instant::now();
        let records = self.records;
        let model = &self.model;
        self.session.connected(&mut |connection| first_answer(connection, records, model))?;
        let answered = start.elapsed();
        let steps = [("close", closed), ("open", opened), ("first answer", answered)];
        let latencies = steps.map(|(what, time)| once(&format!("{} {what}", phase.name), time));
        let window = self.window(written, None, 0);
        let measured = Measured {
            name: phase.name.clone(),
            threads: 1,
            windows: window.into_iter().collect(),
            ..Measured::default()
        };
        Ok((measured, Latencies::Once(latencies.into())))
    }

    /// Looks at the space of a store on disk once a second, `count` times. Engines give space back
    /// in steps, some after seconds without work: a space that is steady may still shrink.
    fn looks(&self, name: &str, count: u64, nth: NthRound, report: &mut Report<'_>) -> Vec<Window> {
        let mut looks: Vec<Window> = Vec::new();
        while (looks.len() as u64) < count {
            let written = self.written();
            std::thread::sleep(LOOK_EVERY);
            let Some(window) = self.window(written, None, 0) else { break };
            if window.store_bytes.is_none() {
                break;
            }
            looks.push(Window { time_ns: as_ns(LOOK_EVERY), ..window });
            report(&Progress {
                phase: format!("{name}: space"),
                round: nth.round,
                rounds: nth.rounds,
                done: looks.len() as u64,
                total: count,
            });
        }
        looks
    }

    /// Compares the whole store with the model.
    fn look(&self, name: &str, nth: NthRound, report: &mut Report<'_>) -> Result<u64> {
        if !self.driver.profile().keeps_data {
            return Ok(0);
        }
        let mut told = telling(report, name, nth, self.model.rows(), 1);
        let ways = Ways { key_kind: self.cell.key_kind, has_indexes: self.driver.has_indexes() };
        let looks = self.session.crew(1, &mut told, &|_, _, connections, told| {
            look_at_all(&mut *connections[0], self.records, &self.model, ways, told)
        })?;
        Ok(looks.iter().sum())
    }

    /// Returns the bytes written so far, if the store is on a device.
    pub(super) fn written(&self) -> Option<u64> {
        written_bytes().filter(|_| self.cell.storage == Storage::Disk)
    }

    /// Returns the window that ends now; none for an engine that keeps nothing.
    pub(super) fn window(
        &self,
        written_before: Option<u64>,
        done: Option<(u64, Taken)>,
        changed_bytes: u64,
    ) -> Option<Window> {
        let written = self.written().zip(written_before);
        self.driver.profile().keeps_data.then(|| Window {
            operations: done.map_or(0, |(operations, _)| operations),
            time_ns: done.map_or(0, |(_, taken)| as_ns(taken.time)),
            live_bytes: self.model.live_bytes(self.records),
            changed_bytes,
            store_bytes: self.session.space(),
            written_bytes: written.map(|(now, before)| now.saturating_sub(before)),
            memory_bytes: memory_bytes(),
        })
    }
}

/// The latencies of a phase.
enum Latencies {
    /// Latencies of its operations, and of those in its background.
    Taken { stopwatches: Vec<Stopwatch>, apart: Vec<Stopwatch> },
    /// Latencies of work that was done once.
    Once(Vec<Latency>),
}

/// Returns the latency of something that was done once.
pub(super) fn once(operation: &str, time: Duration) -> Latency {
    let ns = as_ns(time);
    Latency {
        operation: operation.into(),
        count: 1,
        mean_ns: ns as f64,
        min_ns: ns,
        p50_ns: ns,
        p90_ns: ns,
        p95_ns: ns,
        p99_ns: ns,
        p999_ns: ns,
        p9999_ns: None,
        max_ns: ns,
        histogram: None,
    }
}
