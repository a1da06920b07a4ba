//! The stores that a cell's phases work on: their directory and marker, opening, closing, and the
//! account of used resources.

use std::collections::BTreeMap;
use std::fs::File;
use std::time::{Duration, Instant};

use assay_core::counting;
use assay_core::crew;
use assay_core::environment::filesystem_of;
use assay_core::plan::{Cell, PageCache};
use assay_core::resources::{Resources, count_in, cpu_time, peak_rss_bytes, written_bytes};
use assay_core::run_file::{
    Latency, Measurement, NOTE_BLIND_WRITES, NOTE_STRONGER, NotOffered, Phase, Timeline,
};
use assay_core::store_dir::{Marker, StoreDir, StoreDirError};
use assay_core::timing::Clock;
use assay_driver::error::{Error, ErrorKind, Result};
use assay_driver::schema::Schema;
use assay_driver::{
    Change, Connection, Driver, Durability, Endpoint, OpenSpec, Profile, Reach, Storage, Store,
};
use serde::{Deserialize, Serialize};

/// The progress of a cell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// The phase.
    pub phase: String,
    /// The round in the phase, from 1.
    pub round: usize,
    /// Rounds in the phase.
    pub rounds: usize,
    /// Operations done in the round.
    pub done: u64,
    /// Operations in the round.
    pub total: u64,
}

/// A function that takes progress.
pub type Report<'r> = dyn FnMut(&Progress) + 'r;

/// Returns the directory of a cell's stores; none in memory.
pub(crate) fn dir_of(cell: &Cell, profile: &Profile) -> Option<StoreDir> {
    cell.dir.clone().filter(|_| profile.keeps_data).map(StoreDir::new)
}

/// Writes the resources that this process has used so far.
pub(crate) fn account(resources: &mut Resources) {
    let (user, system) = cpu_time();
    resources.cpu_user_ns = as_ns(user);
    resources.cpu_system_ns = as_ns(system);
    resources.peak_rss_bytes = peak_rss_bytes();
    resources.written_bytes = written_bytes();
}

/// The stores that a suite's cell works on.
pub(crate) struct Needs<'n> {
    /// The shape of the records.
    pub(crate) schema: &'n Schema,
    /// The parameters, besides schema and seed, that decide the records.
    pub(crate) records: String,
    /// True if a store of an earlier run is opened, instead of a new one created.
    pub(crate) keep: bool,
    /// The approximate number of records in the stores at their fullest.
    pub(crate) expected_rows: u64,
    /// The most connections at once.
    pub(crate) threads: u32,
    /// The number of volumes, if any are used: a store each, or one store that mounts them all.
    pub(crate) volumes: Option<u32>,
}

/// Open stores (most suites have one), with their directory and the marker that describes it.
pub(crate) struct Session<'m> {
    driver: &'m dyn Driver,
    spec: OpenSpec,
    page_cache: PageCache,
    /// The open stores; taken out only while they are closed.
    stores: Vec<Box<dyn Store>>,
    cpus: Vec<usize>,
    dir: Option<StoreDir>,
    pub(crate) marker: Marker,
    measurement: &'m mut Measurement,
}

impl<'m> Session<'m> {
    /// Creates the stores that a suite needs, or opens those that an earlier run left.
    pub(crate) fn open(
        cell: &Cell,
        driver: &'m dyn Driver,
        needs: &Needs<'_>,
        measurement: &'m mut Measurement,
    ) -> Result<Self> {
        let profile = driver.profile();
        if let Some(why) = profile.refuses(needs.threads) {
            return Err(Error::unsupported(why));
        }
        if let Some(why) = driver.refusal(needs.schema) {
            return Err(Error::unsupported(why));
        }
        let keep = needs.keep;
        let expected = marker_of(cell, &measurement.engine_version, needs);
        let dir = dir_of(cell, profile);
        let marker = match &dir {
            Some(dir) if keep => dir.expect(&expected).map_err(store_error)?,
            Some(dir) => {
                dir.create(&expected).map_err(store_error)?;
                expected
            }
            None => expected,
        };
        measurement.filesystem = dir.as_ref().and_then(|dir| filesystem_of(&dir.data()));
        measurement.resources.rss_before_open_bytes = peak_rss_bytes();
        let store_count = stores_for(driver, needs);
        let spec = spec_of(cell, driver, needs, !keep);
        if let (true, PageCache::Cold, Some(dir)) = (keep, cell.page_cache, &dir) {
            dir.drop_from_page_cache().map_err(store_error)?;
        }
        let start = Instant::now();
        let stores = open_all(driver, &spec, store_count)?;
        measurement.resources.open_ns = as_ns(start.elapsed());
        count_in(stores.iter().flat_map(|store| store.processes()));
        measurement.settings = stores[0].settings();
        if profile.keeps_data {
            measurement.settings.push(match store_count {
                1 => stores[0].cache().to_string(),
                count => format!("{}, in each of {count} stores", stores[0].cache()),
            });
        }
        if let Some(why) = driver.stronger(cell.durability) {
            measurement.notes.push(format!("{NOTE_STRONGER}{}: {why}", cell.durability));
        }
        if let (true, Some(why)) = (profile.keeps_data, profile.blind_writes()) {
            measurement.notes.push(format!("{NOTE_BLIND_WRITES}{why}"));
        }
        Ok(Self {
            driver,
            spec,
            page_cache: cell.page_cache,
            stores,
            cpus: cell.cpus.clone(),
            dir,
            marker,
            measurement,
        })
    }

    /// Returns true if an earlier run left a store of any kind in the cell's directory.
    pub(crate) fn is_there(cell: &Cell, driver: &dyn Driver) -> bool {
        let there = |dir: &std::path::PathBuf| StoreDir::new(dir.clone()).is_marked();
        driver.profile().keeps_data && cell.dir.as_ref().is_some_and(there)
    }

    /// Closes the store of a cold cell, drops its files from the page cache, and opens it again.
    pub(crate) fn cool(&mut self) -> Result<()> {
        match self.page_cache {
            PageCache::Warm => Ok(()),
            PageCache::Cold => self.reopen(),
        }
    }

    /// Runs one phase on a connection and keeps its result and the size of the store after it.
    pub(crate) fn phase(
        &mut self,
        work: impl FnOnce(&mut dyn Connection) -> Result<Phase>,
    ) -> Result<()> {
        let mut work = Some(work);
        let mut phase = None;
        self.connected(&mut |connection| {
            let work = work.take().expect("a store runs its work once");
            phase = Some(work(connection)?);
            Ok(())
        })?;
        phase.into_iter().for_each(|phase| self.keep(phase));
        Ok(())
    }

    /// Runs work on a connection to the store, which stays open until the end of the work.
    pub(crate) fn connected(
        &self,
        work: &mut dyn FnMut(&mut dyn Connection) -> Result<()>,
    ) -> Result<()> {
        self.stores[0].connect(work)
    }

    /// Runs a duty on `threads` threads at once, each with a connection to every store.
    pub(crate) fn crew<T: Send>(
        &self,
        threads: u32,
        progress: &mut dyn FnMut(u64),
        duty: &crew::Duty<'_, T>,
    ) -> Result<Vec<T>> {
        crew::run(&self.stores, threads, &self.cpus, progress, duty)
    }

    /// Keeps a phase's result, and the size of the store after it.
    pub(crate) fn keep(&mut self, phase: Phase) {
        counting::end(Some(&phase.name));
        self.measurement.phases.push(phase);
        self.measure_space();
    }

    /// Changes a phase that was kept.
    pub(crate) fn amend(&mut self, name: &str, change: impl FnOnce(&mut Phase)) {
        let mut phases = self.measurement.phases.iter_mut();
        if let Some(phase) = phases.find(|phase| phase.name == name) {
            change(phase);
        }
    }

    /// Returns the disk space of the store; none in memory.
    pub(crate) fn space(&self) -> Option<u64> {
        Some(self.dir.as_ref()?.size_bytes())
    }

    /// Returns the space of the store, and keeps it as the peak if it is the most so far.
    fn measure_space(&mut self) -> Option<u64> {
        let bytes = self.dir.as_ref()?.size_bytes();
        let peak = &mut self.measurement.resources.store_peak_bytes;
        *peak = Some(bytes.max(peak.unwrap_or(0)));
        Some(bytes)
    }

    /// Adds the latencies of a separate round to the phase with this name, which need not exist
    /// yet.
    pub(crate) fn add_latencies(&mut self, name: &str, threads: u32, checked: u64, taken: Taken) {
        // Its rounds are not those of the phase.
        counting::end(None);
        let phases = &mut self.measurement.phases;
        let at = phases.iter().position(|phase| phase.name == name).unwrap_or_else(|| {
            phases.push(Phase { name: name.into(), threads, ..Phase::default() });
            phases.len() - 1
        });
        let (latencies, timeline) = taken;
        if let Some(rate) = timeline.offered_per_second {
            self.measurement.notes.extend(doubts(name, &timeline, rate, threads));
        }
        let phase = &mut phases[at];
        phase.checked += checked;
        phase.latencies = latencies;
        phase.timeline = Some(timeline);
    }

    /// Marks the store as one that holds what its marker says. If it may not survive the end of
    /// this process, it is marked as one that is being changed.
    pub(crate) fn settle(&mut self) -> Result<()> {
        let profile = self.driver.profile();
        self.marker.in_progress = match self.spec.durability {
            Durability::None => true,
            Durability::Periodic => !profile.periodic_survives_kill,
            Durability::Process | Durability::Commit => false,
        };
        self.mark()
    }

    /// Returns the engine's profile.
    pub(crate) fn profile(&self) -> &'m Profile {
        self.driver.profile()
    }

    /// Returns true if the engine has a change; otherwise notes that the phase is left out.
    pub(crate) fn offers(&mut self, change: Change, phase: &str) -> bool {
        let lacks = self.driver.lacks().contains(&change);
        if lacks {
            self.leave_out(phase, format!("it has no {change}"));
        }
        !lacks
    }

    /// Notes that a phase is left out, because the engine cannot do it.
    pub(crate) fn leave_out(&mut self, phase: &str, why: String) {
        self.measurement.not_offered.push(NotOffered { phase: phase.into(), why });
    }

    /// Notes the effect of a clock that never stops on the worker's memory.
    pub(crate) fn note_clock(&mut self, clock: Clock) {
        if clock == Clock::Continuous {
            self.note(
                "continuous: the worker's memory has the operations and results of a whole round \
                 in it"
                    .into(),
            );
        }
    }

    /// Adds a note for the reader of the figures.
    pub(crate) fn note(&mut self, note: String) {
        self.measurement.notes.push(note);
    }

    /// Returns the measurement so far, and the file in which to count acknowledged writes. They are
    /// for the process that continues with the store when this one was killed.
    pub(crate) fn hand_over(&mut self) -> Result<(Measurement, File)> {
        let cannot = |why: &dyn std::fmt::Display| Error::engine("count acknowledged writes", why);
        let dir = self.dir.as_ref().ok_or_else(|| cannot(&"the store is in no directory"))?;
        let counted = File::create(dir.acknowledged()).map_err(|e| cannot(&e))?;
        self.marker.in_progress = false;
        self.mark()?;
        self.measure_space();
        account(&mut self.measurement.resources);
        Ok((self.measurement.clone(), counted))
    }

    /// Returns the number of writes that the killed process counted.
    pub(crate) fn acknowledged(&self) -> Result<u64> {
        let cannot = |why: &dyn std::fmt::Display| Error::engine("read acknowledged writes", why);
        let dir = self.dir.as_ref().ok_or_else(|| cannot(&"the store is in no directory"))?;
        let bytes = std::fs::read(dir.acknowledged()).map_err(|e| cannot(&e))?;
        let count = bytes.first_chunk().ok_or_else(|| cannot(&"none was counted"))?;
        Ok(u64::from_le_bytes(*count))
    }

    /// Returns the time that opening the stores took.
    pub(crate) fn opened(&self) -> Duration {
        Duration::from_nanos(self.measurement.resources.open_ns)
    }

    /// Writes the marker in its current state, if there is a directory.
    pub(crate) fn mark(&self) -> Result<()> {
        match &self.dir {
            Some(dir) => dir.mark(&self.marker).map_err(store_error),
            None => Ok(()),
        }
    }

    /// Returns true if stores can be closed and opened again.
    pub(crate) fn outlives_closing(&self) -> bool {
        self.profile().reopens(self.spec.storage)
    }

    /// Checks that the stores have files: data that an engine keeps only in this process would
    /// survive closing, and nothing else.
    fn has_files(&self) -> Result<()> {
        let Some(dir) = self.dir.as_ref().filter(|_| self.driver.reach() == Reach::Machine) else {
            return Ok(());
        };
        let held_nothing = self.measurement.resources.store_peak_bytes == Some(0);
        if held_nothing && dir.size_bytes() == 0 {
            Err(Error::new(
                ErrorKind::WrongAnswer,
                "it wrote nothing into the files of its store, so nothing can survive its process",
            ))
        } else {
            Ok(())
        }
    }

    /// Closes the stores and opens them again, if they outlive closing.
    pub(crate) fn reopen(&mut self) -> Result<()> {
        if self.outlives_closing() { self.reopen_timed().map(drop) } else { Ok(()) }
    }

    /// Closes the stores and opens them again. Returns how long either took.
    pub(crate) fn reopen_timed(&mut self) -> Result<(Duration, Duration)> {
        let volumes = self.stores.len() as u32;
        let start = Instant::now();
        self.stores.drain(..).try_for_each(Store::close)?;
        let closed = start.elapsed();
        if let (PageCache::Cold, Some(dir)) = (self.page_cache, &self.dir) {
            dir.drop_from_page_cache().map_err(store_error)?;
        }
        let spec = OpenSpec { create: false, ..self.spec.clone() };
        let start = Instant::now();
        self.stores = open_all(self.driver, &spec, volumes)?;
        let opened = start.elapsed();
        count_in(self.stores.iter().flat_map(|store| store.processes()));
        Ok((closed, opened))
    }

    /// Closes the stores on the clock. Returns true if they outlive closing: then they stay for a
    /// process that looks at them.
    pub(crate) fn close(mut self) -> Result<bool> {
        let start = Instant::now();
        self.stores.drain(..).try_for_each(Store::close)?;
        count_in([]);
        self.measurement.resources.close_ns = as_ns(start.elapsed());
        account(&mut self.measurement.resources);
        self.measurement.resources.store_closed_bytes = self.measure_space();
        if !self.outlives_closing() {
            if let Some(dir) = &self.dir {
                dir.remove().map_err(store_error)?;
            }
            return Ok(false);
        }
        self.has_files()?;
        self.marker.in_progress = false;
        self.mark()?;
        Ok(true)
    }
}

/// Returns the marker of the stores that a cell makes, or expects.
pub(crate) fn marker_of(cell: &Cell, engine_version: &str, needs: &Needs<'_>) -> Marker {
    Marker::new(
        &cell.engine.id,
        engine_version,
        &cell.engine_options,
        &cell.suite,
        needs.schema.fingerprint(),
        needs.records.clone(),
        cell.key_kind,
        cell.seed,
    )
}

/// Returns how the stores of a cell are opened.
pub(crate) fn spec_of(
    cell: &Cell,
    driver: &dyn Driver,
    needs: &Needs<'_>,
    create: bool,
) -> OpenSpec {
    let store_count = u64::from(stores_for(driver, needs));
    let spec = OpenSpec {
        endpoint: Endpoint::of(dir_of(cell, driver.profile()).as_ref().map(StoreDir::data)),
        threads: needs.threads,
        // Stores that are open together share the cache.
        cache_bytes: cell.memory.cache_bytes.map(|bytes| bytes / store_count),
        volumes: needs.volumes.map(|count| driver.volume_keys().map_or(1, |_| count)),
        parameters: BTreeMap::new(),
        create,
        storage: cell.storage,
        durability: cell.durability,
        key_kind: cell.key_kind,
        schema: needs.schema.clone(),
        expected_rows: needs.expected_rows,
    };
    let set = cell.engine_options.clone();
    let given = cell.engine_parameters.clone();
    // A parameter that was set for the engine wins.
    spec.with(given.into_iter().chain(set).collect())
}

/// Returns the number of stores of a suite.
pub(crate) fn stores_for(driver: &dyn Driver, needs: &Needs<'_>) -> u32 {
    match needs.volumes {
        Some(count) if driver.volume_keys().is_none() => count,
        _ => 1,
    }
}

/// Opens a suite's stores: one is in the directory itself, several are in separate ones.
pub(crate) fn open_all(
    driver: &dyn Driver,
    spec: &OpenSpec,
    volumes: u32,
) -> Result<Vec<Box<dyn Store>>> {
    if volumes == 1 || spec.storage == Storage::Memory {
        return (0..volumes).map(|_| driver.open(spec)).collect();
    }
    (1..=volumes)
        .map(|volume| {
            let endpoint = spec.endpoint.within(&format!("volume-{volume}"));
            std::fs::create_dir_all(endpoint.dir())
                .map_err(|e| Error::engine("create the volume", e))?;
            driver.open(&OpenSpec { endpoint, ..spec.clone() })
        })
        .collect()
}

pub(crate) fn store_error(error: StoreDirError) -> Error {
    match &error {
        StoreDirError::Io { .. } => Error::engine("store", &error),
        _ => Error::new(ErrorKind::Engine, error.to_string()),
    }
}

/// The result of [`assay_core::latency::summary`].
pub(crate) type Taken = (Vec<Latency>, Timeline);

/// Returns doubts about the figures of an open loop: clearly fewer operations were done than
/// arrived, or fewer arrived than were meant to.
fn doubts(name: &str, timeline: &Timeline, rate: u64, threads: u32) -> Vec<String> {
    let mut doubts = Vec::new();
    let operations: u64 = timeline.intervals.iter().map(|interval| interval.operations).sum();
    // A small delay after the last arrival is ignored.
    let turns_ns = 2e9 * f64::from(threads) / rate as f64;
    let enough_ns = timeline.offered_ns.map_or(f64::INFINITY, |ns| ns as f64 * 1.05 + turns_ns);
    if timeline.time_ns as f64 > enough_ns {
        doubts.push(format!(
            "latencies of {name}: {rate} operations a second arrived and {:.0} were done, so that \
             the last ones waited longest",
            timeline.rate()
        ));
    }
    if timeline.instrument_ns > timeline.time_ns / 10 {
        let real_s = (timeline.time_ns + timeline.instrument_ns) as f64 / 1e9;
        doubts.push(format!(
            "latencies of {name}: checking took so long that {:.0} operations a second arrived, \
             not {rate}; what the engine did meanwhile took none of its time",
            operations as f64 / real_s
        ));
    }
    doubts
}

pub(crate) fn as_ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_loop_that_ends_behind_its_last_arrival_is_doubted() {
        let timeline = |time_ms: u64| Timeline {
            offered_per_second: Some(100),
            // 60 operations took by chance longer to arrive than 600 milliseconds.
            offered_ns: Some(900_000_000),
            time_ns: time_ms * 1_000_000,
            instrument_ns: 0,
            interval_ns: 10_000_000,
            intervals: Vec::new(),
        };
        let doubts = |time_ms| doubts("run", &timeline(time_ms), 100, 1);
        assert!(doubts(900).is_empty() && doubts(960).is_empty());
        assert_eq!(doubts(1_000).len(), 1);
    }
}
