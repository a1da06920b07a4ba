//! `assay isolate`

use std::path::{Path, PathBuf};
use std::time::Duration;

use assay_core::isolation::{Isolated, Verdict, Verdicts};
use assay_driver::{Driver, Storage};
use assay_isolation::Level;
use assay_suites::isolate::{self, Job, promise, why_not};
use jiff::Timestamp;
use program_support::exit::{Failure, Outcome};
use program_support::interrupt::Interrupt;
use program_support::output::{print, say};

use crate::cli::{DurabilityArg, IsolateArgs, IsolationArg, LevelsArg, StorageArg};
use crate::files::{self, ISOLATION_FILE, remove_signed};
use crate::output::isolation::{self, Looked, Transactions};
use crate::planning;
use crate::planning::engines::{self, Chosen, Settings};
use crate::planning::store_dirs::StoreDirs;
use crate::worker::parent::{self, End};
use crate::worker::patience::{self, Patience};
use crate::worker::{Job as WorkerJob, Message};

/// Looks at the isolation of engines, in every storage mode asked for.
pub(crate) fn isolate(args: &IsolateArgs) -> Outcome {
    let Chosen { drivers, by_name } = engines::chosen(&args.engine)?;
    let modes = StorageArg::modes(&args.storage);
    let interrupt = Interrupt::noted();
    let settings = Settings::parse(&args.set, false)?;
    let store_dirs = StoreDirs::prepare(&modes, args.dir.as_deref())?;
    let path = file_of_verdicts(args)?;
    let mut looked = Vec::new();
    let mut is_kept = Ok(());
    for driver in &drivers {
        for &storage in &modes {
            let id = driver.profile().id;
            let result = match job(args, driver.as_ref(), storage, &store_dirs, &settings) {
                Ok(job) => {
                    say(&format!("{id} on {storage} at {}", job.durability));
                    look(&job, args, &interrupt)?
                }
                Err(why) => Err(why),
            };
            match result {
                Ok(verdict) => {
                    // What was seen is printed even if it cannot be kept.
                    if let Some(path) = &path {
                        is_kept = is_kept.and(keep(path, &verdict));
                    }
                    looked.push(Looked::At(verdict));
                }
                // Of all engines, those that cannot do it would hide the others.
                Err(why) if by_name || why_not(driver.as_ref()).is_none() => {
                    looked.push(Looked::Not { engine: id.into(), storage, why });
                }
                Err(_) => {}
            }
        }
    }
    let transactions =
        Transactions { threads: args.threads, drawn: args.transactions, seed: args.seed };
    print(&isolation::shown(&looked, transactions, args.format, args.long))?;
    ending(&looked).and(is_kept)
}

/// Returns the file that keeps the verdicts; none if they are of engines that are set up in another
/// way, or of another promise. A file of something else is refused before the work.
fn file_of_verdicts(args: &IsolateArgs) -> Outcome<Option<PathBuf>> {
    if !args.set.is_empty() || args.expect.is_some() {
        return Ok(None);
    }
    let path = args.output.clone().unwrap_or_else(|| PathBuf::from(ISOLATION_FILE));
    match args.output {
        Some(_) => files::check_writable(&path, "--output")?,
        None => files::check_default(&path)?,
    }
    Verdicts::load(&path).map_err(Failure::Refused)?;
    Ok(Some(path))
}

/// Returns the job of an engine in a storage mode, or why it has none.
fn job(
    args: &IsolateArgs,
    driver: &dyn Driver,
    storage: Storage,
    store_dirs: &StoreDirs,
    settings: &Settings,
) -> Result<Job, String> {
    if let Some(why) = why_not(driver) {
        return Err(why);
    }
    let named = args.durability.and_then(|level: DurabilityArg| LevelsArg::from(level).level());
    let (durability, _) = planning::level(driver.profile(), storage, named)?;
    let engine = driver.profile().id.to_string();
    let dir = store_dirs.store(&format!("isolate-{engine}"), storage).unwrap_or_default();
    let IsolateArgs { threads, transactions, seed, .. } = *args;
    let parameters = settings.of(&engine);
    Ok(Job { engine, storage, durability, dir, threads, transactions, seed, parameters })
}

/// Writes a verdict to the file, unless that has one of a longer test.
fn keep(path: &Path, verdict: &Verdict) -> Outcome {
    let is_added = files::change_verdicts(path, |all: &mut Verdicts| all.add(verdict.clone()))?;
    if !is_added {
        let Verdict { engine, storage, .. } = verdict;
        say(&format!(
            "note: {engine} on {storage}: the file keeps the verdict of a test with more \
             transactions or threads"
        ));
    }
    Ok(())
}

/// Has a worker look; the outer error is the user's interrupt.
fn look(job: &Job, args: &IsolateArgs, interrupt: &Interrupt) -> Outcome<Result<Verdict, String>> {
    let limit = args.timeout.map_or(patience::VERIFY, Duration::from_secs);
    let patience = Patience::Whole(limit, "--timeout");
    remove_signed(&job.dir, isolate::SIGNATURE)?;
    let end = parent::run(&WorkerJob::Isolate(job.clone()), patience, interrupt, &mut |_| ());
    remove_signed(&job.dir, isolate::SIGNATURE)?;
    match end {
        End::Replied(Message::Isolated(isolated)) => {
            let expected = args.expect.map(IsolationArg::level);
            Ok(isolated.map(|isolated| verdict(job, isolated, expected)))
        }
        End::Replied(other) => {
            Ok(Err(format!("its worker sent {} instead of its isolation", other.what())))
        }
        End::Failed(why) | End::Killed(why) => Ok(Err(why)),
        End::Interrupted => Err(Failure::Interrupted("interrupted".into())),
    }
}

/// Returns the verdict of a job in which this isolation was seen, by the promise of the engine or
/// the level that the user expects.
fn verdict(job: &Job, mut isolation: Isolated, expected: Option<Level>) -> Verdict {
    let documented = promise(&job.engine).filter(|_| expected.is_none());
    if let Some(level) = expected {
        isolation.expect(level);
    }
    Verdict {
        engine: job.engine.clone(),
        storage: job.storage,
        durability: job.durability,
        promised: expected.or(documented.map(|it| it.level)).map(|level| level.to_string()),
        source: documented.map(|promise| promise.source.into()),
        threads: job.threads,
        transactions: job.transactions,
        seed: job.seed,
        isolation,
        tested: Timestamp::now(),
    }
}

/// Returns the end of the command.
fn ending(looked: &[Looked]) -> Outcome {
    let seen = looked.iter().filter_map(Looked::verdict);
    let mut against = seen.clone().flat_map(|verdict| {
        let against = verdict.isolation.seen.iter().filter(|seen| seen.is_against_promise);
        against.map(|seen| {
            let Verdict { engine, storage, .. } = verdict;
            format!("{engine} on {storage}: {}, {}", seen.anomaly, verdict.excluded_by())
        })
    });
    if let Some(first) = against.next() {
        let more = match against.count() {
            0 => String::new(),
            more => format!(" (and {more} more)"),
        };
        return Err(Failure::Wrong(format!("{first}{more}")));
    }
    if seen.count() > 0 {
        return Ok(());
    }
    let why = looked.iter().find_map(|looked| match looked {
        Looked::At(_) => None,
        Looked::Not { engine, why, .. } => Some(format!("{engine}: {why}")),
    });
    let why = why.unwrap_or_else(|| "no engine here has transactions to look at".into());
    Err(Failure::Refused(format!("nothing was looked at; {why}")))
}
