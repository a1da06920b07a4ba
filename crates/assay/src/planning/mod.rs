//! From a command line to the cells that it asks for.

pub(crate) mod baseline;
pub(crate) mod engines;
pub(crate) mod estimate;
pub(crate) mod memory;
pub(crate) mod plan_file;
pub(crate) mod request;
pub(crate) mod store_dirs;

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;
use std::rc::Rc;

use assay_core::engine::{EngineRef, WhichBuild};
use assay_core::plan::{Cell, MemoryGrant, PageCache};
use assay_core::run_file::Status;
use assay_core::store_dir::StoreDir;
use assay_driver::{Driver, Durability, KeyKind, Profile, SERVER, Storage};
use assay_suites::options::{Part, plain};
use assay_suites::{StoreUse, Suite};
use program_support::exit::{Failure, Outcome};

use crate::cli::count;
use crate::cli::{Common, DurabilityArg};
use crate::planning::baseline::Baseline;
use crate::planning::engines::{NULL, Settings};
use crate::planning::store_dirs::StoreDirs;

/// A cell, or the reason why there is nothing to measure.
pub(crate) struct Planned {
    pub cell: Cell,
    pub refusal: Option<Status>,
}

/// The common setting of all cells of a command.
pub(crate) struct Setting {
    pub engines: Vec<Box<dyn Driver>>,
    /// True if engines were asked for by name: they are shown even if they cannot do it.
    pub named: bool,
    pub settings: Settings,
    /// Parameters for the engines that take them.
    pub parameters: BTreeMap<String, String>,
    pub wanted: Option<Durability>,
    pub key: Option<KeyKind>,
    pub cpus: Vec<usize>,
    pub page_cache: PageCache,
    pub memory: MemoryGrant,
    pub seed: u64,
    /// A build that takes turns with this one.
    pub baseline: Option<Baseline>,
}

impl Setting {
    /// Sets another build that takes turns with this one, in the engines that both have.
    pub(crate) fn take_turns(&mut self, baseline: Baseline) -> Outcome {
        self.engines = baseline.common(std::mem::take(&mut self.engines), self.named)?;
        self.baseline = Some(baseline);
        Ok(())
    }

    pub(crate) fn new(common: &Common, key: Option<KeyKind>) -> Outcome<Self> {
        let usable = assay_driver::machine::usable_cpus();
        let cpus = count::each_cpu(&common.cpu);
        for cpu in &cpus {
            if !usable.contains(cpu) {
                let list: Vec<_> = usable.iter().map(ToString::to_string).collect();
                return Err(Failure::Usage(format!(
                    "there is no processor {cpu} for this process; there are {}",
                    list.join(", ")
                )));
            }
        }
        for path in [&common.dir, &common.output].into_iter().flatten() {
            if path.to_str().is_none() {
                let shown = path.display();
                return Err(Failure::Usage(format!(
                    "{shown}: not UTF-8, so a run file could not name it; choose another name"
                )));
            }
        }
        let engines::Chosen { drivers, by_name } = engines::chosen(&common.engine)?;
        let absent = common.set.iter().find(|set| {
            let engine = set.split('.').next().unwrap_or_default();
            !drivers.iter().any(|driver| driver.profile().id == engine)
        });
        if let Some(set) = absent {
            Settings::parse(std::slice::from_ref(set), false)?;
            return Err(Failure::Usage(format!("--set {set}: that engine is not among --engine")));
        }
        Ok(Self {
            engines: drivers,
            named: by_name,
            settings: Settings::parse(&common.set, common.as_published)?,
            parameters: [("s3-endpoint", &common.s3_endpoint), ("s3-bucket", &common.s3_bucket)]
                .into_iter()
                .filter_map(|(name, value)| Some((name.into(), value.clone()?)))
                .collect(),
            wanted: common.durability.map(DurabilityArg::level),
            key,
            cpus,
            page_cache: common.page_cache.state(),
            memory: memory::granted(&common.memory, common.as_published)?,
            seed: common.seed,
            baseline: None,
        })
    }
}

/// A function that returns the options of a suite for an engine in a storage mode.
pub(crate) type OptionsFor = Rc<dyn Fn(&Profile, Storage) -> serde_json::Value>;

/// The work to measure on every engine and storage mode.
#[derive(Clone)]
pub(crate) struct Workload {
    pub suite: &'static str,
    pub rows: u64,
    pub threads: u32,
    pub variant: String,
    /// The options for an engine in a storage mode.
    pub options: OptionsFor,
    /// The options of the cell that shows the instrument's own cost; none: no such cell.
    pub calibration: Option<serde_json::Value>,
    /// Parameters for the engines that take them.
    pub parameters: BTreeMap<String, String>,
    /// The level that the workload itself asks for; none: the command decides.
    pub wanted: Option<Durability>,
    /// True if the workload opens a store that an earlier run left.
    pub reopens: bool,
    /// True if the workload reads ranges, for which keys must be in order.
    pub scans: bool,
    /// True if the workload uses volumes, which an engine may implement itself.
    pub mounts_volumes: bool,
}

impl Workload {
    /// Returns the workloads that a suite's options ask for.
    pub(crate) fn all<S: Suite>(options: &S::Options) -> Outcome<Vec<Self>> {
        let parts = S::parts(options.clone())?.into_iter();
        let workload = |Part { rows, threads, options }: Part<S::Options>| Self {
            threads,
            ..Self::of::<S>(rows, &options)
        };
        Ok(parts.map(workload).collect())
    }

    /// Returns a suite's workload on `rows` rows, by one thread.
    pub(crate) fn of<S: Suite>(rows: u64, options: &S::Options) -> Self {
        Self {
            suite: S::ID,
            rows,
            threads: 1,
            variant: S::variant(options),
            options: {
                let options = options.clone();
                Rc::new(move |profile, storage| plain(&S::options_for(&options, profile, storage)))
            },
            calibration: S::calibration(options).map(|options| plain(&options)),
            parameters: S::parameters(options),
            wanted: S::durability(options),
            reopens: S::store_use(options) == StoreUse::Opens,
            scans: S::scans(options),
            mounts_volumes: S::mounts_volumes(options),
        }
    }
}

/// Returns the default level of a storage mode: memory promises nothing, a RAM disk outlives a
/// process, and on disk SQLite's published setting is `periodic`.
pub(crate) fn default_level(storage: Storage) -> Durability {
    match storage {
        Storage::Memory => Durability::None,
        Storage::Ramdisk => Durability::Process,
        Storage::Disk => Durability::Periodic,
    }
}

/// Returns the level at which an engine runs if `wanted` was asked for, or why it does not run.
///
/// An engine that lacks the level takes the weakest that promises as much. An engine whose best
/// level promises less runs at that level if none was named, and the table says so.
pub(crate) fn level(
    profile: &Profile,
    storage: Storage,
    named: Option<Durability>,
) -> Result<(Durability, Durability), String> {
    let wanted = named.unwrap_or_else(|| default_level(storage));
    let levels = profile.levels_in(storage);
    let Some(&strongest) = levels.last() else {
        return Err(format!("it has no storage mode {storage}"));
    };
    match profile.level_for(storage, wanted) {
        Some(level) => Ok((level, wanted)),
        None if named.is_none() => Ok((strongest, wanted)),
        None => Err(format!("its strongest level on {storage} is {strongest}")),
    }
}

/// Returns the default key kind of an engine: its first, or the one with an order if ranges are
/// read.
pub(crate) fn key_kind_for(profile: &Profile, scans: bool) -> KeyKind {
    if scans && profile.key_kinds.contains(&KeyKind::Tree) {
        KeyKind::Tree
    } else {
        profile.key_kinds[0]
    }
}

/// Returns one engine's cell.
pub(crate) fn planned(
    driver: &dyn Driver,
    setting: &Setting,
    workload: &Workload,
    storage: Storage,
    trial: u32,
    store_dirs: &StoreDirs,
) -> Planned {
    let profile = driver.profile();
    let dir: Option<PathBuf> = store_dirs
        .store(profile.id, storage)
        .filter(|_| profile.keeps_data && !profile.levels_in(storage).is_empty());
    let volume_keys = driver.volume_keys().filter(|_| workload.mounts_volumes);
    let own_key_kind = volume_keys.unwrap_or_else(|| key_kind_for(profile, workload.scans));
    // A store that exists says itself how its key is organised.
    let found =
        dir.clone().filter(|_| workload.reopens).and_then(|dir| StoreDir::new(dir).key_kind());
    let named = setting.key.or(found.filter(|&found| found != own_key_kind));
    let key_kind = named.unwrap_or(own_key_kind);
    let mut refusal = driver.version().err().map(Status::Unavailable);
    if !profile.key_kinds.contains(&key_kind) {
        refusal.get_or_insert(Status::Unsupported(format!("it has no {key_kind} keys")));
    }
    if let Some(own) = volume_keys.filter(|own| *own != key_kind) {
        refusal.get_or_insert(Status::Unsupported(format!("its volumes have {own} keys")));
    }
    let named_level = setting.wanted.or(workload.wanted);
    let wanted = named_level.unwrap_or_else(|| default_level(storage));
    let (durability, durability_wanted) =
        level(profile, storage, named_level).unwrap_or_else(|why| {
            refusal.get_or_insert(Status::Unsupported(why));
            (wanted, wanted)
        });
    if workload.reopens && !profile.reopens(storage) {
        refusal.get_or_insert(Status::Unsupported(format!(
            "it leaves no store on {storage} that -r could open"
        )));
    }
    if setting.page_cache == PageCache::Cold
        && (storage != Storage::Disk || store_dirs.disk_is_in_memory())
    {
        refusal.get_or_insert(Status::Unsupported(format!(
            "its data on {storage} is in memory, so there is no page cache to drop"
        )));
    }
    let engine_options = setting.settings.of(profile.id);
    let mut engine_parameters = BTreeMap::new();
    for (name, given) in workload.parameters.iter().chain(&setting.parameters) {
        match profile.parameter(name).map(|parameter| parameter.check(given)) {
            Some(Ok(value)) => drop(engine_parameters.insert(name.clone(), value)),
            Some(Err(why)) => drop(refusal.get_or_insert(Status::Unsupported(why))),
            None => {}
        }
    }
    let names =
        |name: &&str| engine_options.contains_key(*name) || engine_parameters.contains_key(*name);
    if SERVER.iter().filter(|name| names(name)).count() == 1 {
        let [url, part] = SERVER;
        let why = format!("{url} and {part} name one store; set both");
        refusal.get_or_insert(Status::Unsupported(why));
    }
    let of_files = |name: &&String| profile.parameter(name).is_some_and(|known| known.of_files);
    if let Some(name) = engine_options.keys().find(of_files).filter(|_| storage == Storage::Memory)
    {
        refusal.get_or_insert(Status::Unsupported(format!("its {name} is for files")));
    }
    Planned {
        cell: Cell {
            suite: workload.suite.into(),
            revision: revision(workload.suite),
            engine: EngineRef::of_this_build(profile.id),
            storage,
            durability,
            durability_wanted,
            key_kind,
            key_kind_named: named.is_some(),
            rows: workload.rows,
            threads: workload.threads,
            trial,
            seed: setting.seed,
            variant: workload.variant.clone(),
            options: (workload.options)(profile, storage),
            engine_options,
            engine_parameters,
            cpus: setting.cpus.clone(),
            page_cache: setting.page_cache,
            memory: setting.memory,
            dir,
            calibration: false,
        },
        refusal,
    }
}

fn revision(suite: &str) -> u32 {
    assay_suites::find(suite).expect("a plan is made of known suites").revision()
}

/// Returns the cell that shows the instrument's own cost in this workload, if one is wanted.
pub(crate) fn calibration(
    setting: &Setting,
    workload: &Workload,
    store_dirs: &StoreDirs,
) -> Option<Planned> {
    let mut null = engines::named(&[NULL.to_string()]).expect("the null engine is always there");
    let options = workload.calibration.clone()?;
    let options: OptionsFor = Rc::new(move |_, _| options.clone());
    let workload = Workload { options, wanted: None, reopens: false, ..workload.clone() };
    let plain = Setting {
        engines: Vec::new(),
        named: true,
        settings: Settings::default(),
        parameters: BTreeMap::new(),
        wanted: None,
        key: None,
        cpus: setting.cpus.clone(),
        page_cache: PageCache::Warm,
        memory: MemoryGrant::default(),
        seed: setting.seed,
        baseline: None,
    };
    let mut planned =
        planned(null.remove(0).as_ref(), &plain, &workload, Storage::Memory, 1, store_dirs);
    planned.cell.calibration = true;
    Some(planned)
}

/// Returns the cells of a command: calibration first, then its trials.
pub(crate) fn plan(
    setting: &Setting,
    workloads: &[Workload],
    modes: &[Storage],
    trials: u32,
    store_dirs: &StoreDirs,
) -> Outcome<Vec<Planned>> {
    let mut known = HashSet::new();
    let calibrations =
        workloads.iter().filter_map(|workload| calibration(setting, workload, store_dirs));
    let mut plan: Vec<Planned> =
        calibrations.filter(|planned| known.insert(planned.cell.identity())).collect();
    plan.extend(
        (1..=trials).flat_map(|number| trial(setting, workloads, modes, number, store_dirs)),
    );
    if plan.iter().all(|planned| planned.cell.calibration) {
        return Err(Failure::Usage("no engine here can do that; see assay list".into()));
    }
    Ok(plan)
}

/// Returns a cell for the other build, with another store directory.
fn by_other_build(planned: &Planned, store_dirs: &StoreDirs) -> Planned {
    let engine = planned.cell.engine.of(WhichBuild::Other);
    let has_dir = planned.cell.dir.is_some();
    let dir = store_dirs.store(&engine.to_string(), planned.cell.storage).filter(|_| has_dir);
    let cell = Cell { engine, dir, ..planned.cell.clone() };
    Planned { cell, refusal: planned.refusal.clone() }
}

/// Returns one trial: for each storage mode and workload all engines in turn. Another build
/// measures each engine next to this one, first in the even trials.
pub(crate) fn trial(
    setting: &Setting,
    workloads: &[Workload],
    modes: &[Storage],
    number: u32,
    store_dirs: &StoreDirs,
) -> Vec<Planned> {
    let mut cells = Vec::new();
    let mut known = HashSet::new();
    for &storage in modes {
        for workload in workloads {
            for driver in &setting.engines {
                let planned =
                    planned(driver.as_ref(), setting, workload, storage, number, store_dirs);
                // A cell that is asked for twice is measured once.
                let is_new = known.insert(planned.cell.identity());
                if !is_new || !(setting.named || planned.refusal.is_none()) {
                    continue;
                }
                let other = setting.baseline.as_ref().map(|_| by_other_build(&planned, store_dirs));
                let is_other_first = number.is_multiple_of(2);
                let (first, second) =
                    if is_other_first { (other, Some(planned)) } else { (Some(planned), other) };
                cells.extend(first.into_iter().chain(second));
            }
        }
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(id: &str) -> Box<dyn Driver> {
        engines::named(&[id.to_string()]).expect("a known engine").remove(0)
    }

    #[test]
    fn an_engine_without_the_level_takes_one_that_promises_as_much() {
        let of = |id: &str, named| {
            level(profile(id).profile(), Storage::Disk, named).map(|(level, _)| level)
        };
        assert_eq!(of("sqlite", None), Ok(Durability::Periodic));
        assert_eq!(of("lmdb", None), Ok(Durability::Periodic));
        assert_eq!(of("crossdb", None), Ok(Durability::Process), "its best, if no level is named");
        assert_eq!(of("lmdb", Some(Durability::Process)), Ok(Durability::Process));
        // A killed process costs redb and sled the commits that `periodic` may lose.
        assert_eq!(of("redb", Some(Durability::Process)), Ok(Durability::Commit));
        assert_eq!(of("sled", Some(Durability::Process)), Ok(Durability::Commit));
        assert_eq!(of("fjall", Some(Durability::Process)), Ok(Durability::Process));
    }

    #[test]
    fn a_named_level_is_never_undercut() {
        let map = profile("btreemap");
        assert!(level(map.profile(), Storage::Memory, Some(Durability::Process)).is_err());
        assert!(level(map.profile(), Storage::Disk, None).is_err());
    }
}
