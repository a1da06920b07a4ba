//! From a command line to the cells that it asks for.

use std::collections::BTreeMap;
use std::path::PathBuf;

use assay_core::driver::{Driver, Durability, KeyKind, Profile, Storage};
use assay_core::plan::{Cell, PageCache};
use assay_core::run_file::Status;
use assay_suites::crossbench::{self, Fill, Options};

use crate::Outcome;
use crate::cli::{Common, CrossbenchArgs, StorageArg};
use crate::engines::{self, NULL, Settings};
use crate::exit::Failure;
use crate::places::Places;

/// The published default of every count.
const DEFAULT_COUNT: u64 = 1_000_000;
/// Calibration takes no more operations than this, which is enough for its figure.
const CALIBRATION_COUNT: u64 = 1_000_000;

/// A cell, or the reason why there is nothing to measure.
pub struct Planned {
    pub cell: Cell,
    pub refusal: Option<Status>,
}

/// What all cells of a command have in common.
pub struct Setting {
    pub engines: Vec<Box<dyn Driver>>,
    /// Engines that were asked for by name are shown even where they cannot do it.
    pub named: bool,
    pub settings: Settings,
    pub wanted: Option<Durability>,
    pub key: Option<KeyKind>,
    pub cpus: Vec<usize>,
    pub page_cache: PageCache,
    pub seed: u64,
}

impl Setting {
    pub fn new(common: &Common, key: Option<KeyKind>) -> Outcome<Self> {
        let usable = assay_core::environment::usable_cpus();
        for cpu in &common.cpu {
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
        let chosen = engines::named(&common.engine)?;
        let named = !chosen.is_empty();
        Ok(Self {
            engines: if named { chosen } else { engines::all() },
            named,
            settings: Settings::parse(&common.set, common.as_published)?,
            wanted: common.durability.map(|level| level.level()),
            key,
            cpus: common.cpu.clone(),
            page_cache: common.page_cache.state(),
            seed: common.seed,
        })
    }
}

/// What a plan's cell works on.
#[derive(Clone, Copy)]
pub struct Work<'w> {
    pub storage: Storage,
    pub rows: u64,
    pub options: &'w Options,
    pub trial: u32,
}

/// The level at which storage modes are compared unless the user names one: memory promises
/// nothing, a RAM disk outlives a process, and on disk SQLite's published setting is `periodic`.
pub fn default_level(storage: Storage) -> Durability {
    match storage {
        Storage::Memory => Durability::None,
        Storage::Ramdisk => Durability::Process,
        Storage::Disk => Durability::Periodic,
    }
}

/// The level at which an engine runs where `wanted` was asked for, or why it does not.
///
/// An engine that lacks the level takes the weakest that promises as much. One that promises
/// less at best runs at its best if nobody named a level, and the table says so.
pub fn level(
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

/// One engine's cell.
pub fn planned(driver: &dyn Driver, setting: &Setting, work: Work<'_>, places: &Places) -> Planned {
    let profile = driver.profile();
    let key_kind = setting.key.unwrap_or(profile.key_kinds[0]);
    let mut refusal = driver.version().err().map(Status::Unavailable);
    if !profile.key_kinds.contains(&key_kind) {
        refusal.get_or_insert(Status::Unsupported(format!("it has no {key_kind} keys")));
    }
    let wanted = setting.wanted.unwrap_or_else(|| default_level(work.storage));
    let (durability, durability_wanted) = level(profile, work.storage, setting.wanted)
        .unwrap_or_else(|why| {
            refusal.get_or_insert(Status::Unsupported(why));
            (wanted, wanted)
        });
    if work.options.fill == Fill::Open && !profile.reopens(work.storage) {
        refusal.get_or_insert(Status::Unsupported(format!(
            "it leaves no store on {} that -r could open",
            work.storage
        )));
    }
    if setting.page_cache == PageCache::Cold && work.storage != Storage::Disk {
        refusal.get_or_insert(Status::Unsupported(format!(
            "its data on {} is in memory, so there is no page cache to drop",
            work.storage
        )));
    }
    let dir: Option<PathBuf> = places
        .store(profile.id, work.storage)
        .filter(|_| profile.keeps_data && !profile.levels_in(work.storage).is_empty());
    Planned {
        cell: Cell {
            suite: crossbench::ID.into(),
            engine: profile.id.into(),
            storage: work.storage,
            durability,
            durability_wanted,
            key_kind,
            rows: work.rows,
            threads: 1,
            trial: work.trial,
            seed: setting.seed,
            variant: work.options.variant(),
            options: serde_json::to_value(work.options).expect("options are plain data"),
            engine_options: setting.settings.of(profile.id),
            engine_parameters: BTreeMap::new(),
            cpus: setting.cpus.clone(),
            page_cache: setting.page_cache,
            dir,
            calibration: false,
        },
        refusal,
    }
}

/// The cell that shows what the instrument costs at this size.
pub fn calibration(setting: &Setting, rows: u64, options: &Options, places: &Places) -> Planned {
    let mut null = engines::named(&[NULL.to_string()]).expect("the null engine is always there");
    let options = Options {
        fill: match options.fill {
            Fill::Load => Fill::Load,
            Fill::Insert | Fill::Open => Fill::Insert,
        },
        query: options.query.min(CALIBRATION_COUNT),
        update: options.update.min(CALIBRATION_COUNT),
        delete: options.delete.min(CALIBRATION_COUNT),
        ..*options
    };
    let work = Work { storage: Storage::Memory, rows, options: &options, trial: 1 };
    let plain = Setting {
        engines: Vec::new(),
        named: true,
        settings: Settings::default(),
        wanted: None,
        key: None,
        cpus: setting.cpus.clone(),
        page_cache: PageCache::Warm,
        seed: setting.seed,
    };
    let mut planned = planned(null.remove(0).as_ref(), &plain, work, places);
    planned.cell.calibration = true;
    planned
}

/// Rows and options that the published command line asks for.
pub fn crossbench_work(args: &CrossbenchArgs) -> Outcome<(u64, Options)> {
    let (fill, rows) = match (args.rows, args.load, args.insert) {
        (Some(rows), _, _) => (Fill::Open, rows),
        (_, Some(rows), _) => (Fill::Load, rows),
        (_, _, rows) => (Fill::Insert, rows.unwrap_or(DEFAULT_COUNT)),
    };
    if rows == 0 {
        return Err(Failure::Usage(
            "-r 0 leaves nothing to measure; it is for -H, which prints the header".into(),
        ));
    }
    if rows > crossbench::MOST_ROWS {
        return Err(Failure::Usage(format!(
            "{rows} rows are more than there are different keys ({})",
            crossbench::MOST_ROWS
        )));
    }
    Ok((
        rows,
        Options {
            fill,
            query: args.query,
            update: args.update,
            delete: args.delete,
            sequential: args.sequential,
            keys: args.common.keys.keys(),
        },
    ))
}

/// The cells of `assay run crossbench`: calibration first, then for each trial and storage mode
/// all engines in turn.
pub fn crossbench(args: &CrossbenchArgs, places: &Places) -> Outcome<Vec<Planned>> {
    let (rows, options) = crossbench_work(args)?;
    let setting = Setting::new(&args.common, args.key.kind())?;
    if options.fill == Fill::Open && args.trials > 1 {
        return Err(Failure::Usage(
            "-r opens the one store that is there, so there can be one trial; leave --trials out"
                .into(),
        ));
    }
    let mut plan = vec![calibration(&setting, rows, &options, places)];
    let trials = u32::try_from(args.trials)
        .map_err(|_| Failure::Usage(format!("{} trials are too many", args.trials)))?;
    for trial in 1..=trials {
        for storage in StorageArg::modes(&args.storage) {
            let work = Work { storage, rows, options: &options, trial };
            plan.extend(
                setting
                    .engines
                    .iter()
                    .map(|driver| planned(driver.as_ref(), &setting, work, places))
                    .filter(|planned| setting.named || planned.refusal.is_none()),
            );
        }
    }
    if plan.iter().all(|planned| planned.cell.calibration) {
        return Err(Failure::Usage("no engine here can do that; see assay list".into()));
    }
    Ok(plan)
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
        assert_eq!(of("crossdb", None), Ok(Durability::Process), "its best, if nobody asks");
        assert_eq!(of("lmdb", Some(Durability::Process)), Ok(Durability::Process));
        // A killed process costs redb and sled what `periodic` may lose.
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
