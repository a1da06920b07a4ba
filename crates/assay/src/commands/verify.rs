//! `assay verify`

use std::collections::BTreeMap;
use std::time::Duration;

use assay_driver::{Driver, Durability, KeyKind, Storage};
use assay_suites::verify::{self, Check, Verdict};
use comfy_table::Table;
use program_support::exit::{Failure, Outcome};
use program_support::interrupt::Interrupt;
use program_support::output::{print, say};

use crate::cli::{LevelsArg, StorageArg, VerifyArgs};
use crate::files::remove_signed;
use crate::output::folded::folded;
use crate::planning;
use crate::planning::engines;
use crate::planning::store_dirs::StoreDirs;
use crate::worker::parent::{self, End};
use crate::worker::patience::{self, Patience};
use crate::worker::{Job, Message};

/// Verifies engines in every storage mode, key kind and level asked for.
pub(crate) fn verify(args: &VerifyArgs) -> Outcome {
    let drivers = engines::chosen(&args.engine)?.drivers;
    let modes = StorageArg::modes(&args.storage);
    let interrupt = Interrupt::noted();
    let store_dirs = StoreDirs::prepare(&modes, args.dir.as_deref())?;
    let mut table = Table::new();
    table.set_header(["engine", "storage", "durability", "key", "checks", "result"]);
    let mut failures = Vec::new();
    let mut subjects = 0;
    let mut skipped = Vec::new();
    for driver in &drivers {
        if let Err(why) = subject_rows(driver.as_ref()) {
            skipped.push(format!("{}: {why}", driver.profile().id));
            table.add_row([driver.profile().id, "", "", "", "", &format!("skipped: {why}")]);
            continue;
        }
        let variants = variants(driver.as_ref(), args, &modes);
        for storage in named_without_variant(&variants, args, &modes) {
            let why = "skipped: it has no such storage mode or level";
            table.add_row([driver.profile().id, &storage.to_string(), "", "", "", why]);
        }
        for (storage, durability, key_kind, parameters) in variants {
            let job = verify::Job {
                engine: driver.profile().id.into(),
                storage,
                durability,
                key_kind,
                dir: store_dirs
                    .store(&format!("verify-{}", driver.profile().id), storage)
                    .unwrap_or_default(),
                parameters,
                seed: args.seed,
            };
            say(&format!("verifying {} on {storage} at {durability}, {key_kind} keys", job.engine));
            let checks = checks(&job, args, &interrupt)?;
            subjects += 1;
            let ending = Ending::of(checks);
            if let Some(why) = &ending.failure {
                failures.push(format!("{} on {storage}: {why}", job.engine));
            }
            let settings: Vec<_> =
                job.parameters.iter().map(|(n, v)| format!("\n{n}={v}")).collect();
            table.add_row([
                job.engine + &settings.concat(),
                storage.to_string(),
                durability.to_string(),
                key_kind.to_string(),
                ending.passed.to_string(),
                ending.text(args.long),
            ]);
        }
    }
    print(&folded(table))?;
    match (failures.as_slice(), subjects) {
        ([], 0) if skipped.len() == drivers.len() => {
            Err(Failure::Refused(format!("there was nothing to verify: {}", skipped.join("; "))))
        }
        ([], 0) => Err(Failure::Usage(
            "there was nothing to verify: none of these engines has that storage mode or level"
                .into(),
        )),
        ([], _) => Ok(()),
        ([first, others @ ..], _) => Err(Failure::Wrong(match others.len() {
            0 => first.clone(),
            more => format!("{first} (and {more} more)"),
        })),
    }
}

/// Checks that the engine can be verified: it is available and keeps what it stores.
fn subject_rows(driver: &dyn Driver) -> Result<(), String> {
    driver.version()?;
    if driver.profile().keeps_data {
        Ok(())
    } else {
        Err("it keeps nothing that could be verified".into())
    }
}

/// A variant of an engine that is verified by itself: storage, level, key kind and settings.
type Variant = (Storage, Durability, KeyKind, BTreeMap<String, String>);

/// Returns all variants of an engine: the defaults, and every other value of every setting.
fn variants(driver: &dyn Driver, args: &VerifyArgs, modes: &[Storage]) -> Vec<Variant> {
    let profile = driver.profile();
    let mut variants = Vec::new();
    for &storage in modes {
        let levels = match args.durability {
            Some(LevelsArg::All) => profile.levels_in(storage).to_vec(),
            chosen => planning::level(profile, storage, chosen.and_then(LevelsArg::level))
                .map(|(level, _)| vec![level])
                .unwrap_or_default(),
        };
        for level in levels {
            for &key in profile.key_kinds {
                variants.push((storage, level, key, BTreeMap::new()));
                let in_memory = storage == Storage::Memory;
                let set = profile.parameters.iter().filter(|set| !(in_memory && set.of_files));
                for parameter in set {
                    variants.extend(parameter.word_list().iter().skip(1).map(|&value| {
                        let set = BTreeMap::from([(parameter.name.into(), value.into())]);
                        (storage, level, key, set)
                    }));
                }
            }
        }
    }
    variants
}

/// Returns the named storage modes in which nothing of an engine can be verified; none if all modes
/// were asked for.
fn named_without_variant(
    variants: &[Variant],
    args: &VerifyArgs,
    modes: &[Storage],
) -> Vec<Storage> {
    let is_left_out = |mode: &&Storage| !variants.iter().any(|(storage, ..)| storage == *mode);
    if args.storage.contains(&StorageArg::All) {
        Vec::new()
    } else {
        modes.iter().filter(is_left_out).copied().collect()
    }
}

/// Runs the checks in a worker; the outer error is the user's interrupt.
fn checks(
    job: &verify::Job,
    args: &VerifyArgs,
    interrupt: &Interrupt,
) -> Outcome<Result<Vec<Check>, String>> {
    let limit = args.timeout.map_or(patience::VERIFY, Duration::from_secs);
    let patience = Patience::Whole(limit, "--timeout");
    remove_signed(&job.dir, verify::SIGNATURE)?;
    let end = parent::run(&Job::Verify(job.clone()), patience, interrupt, &mut |_| ());
    remove_signed(&job.dir, verify::SIGNATURE)?;
    match end {
        End::Replied(Message::Verified(checks)) => Ok(Ok(checks)),
        End::Replied(other) => {
            Ok(Err(format!("its worker sent {} instead of a verification", other.what())))
        }
        End::Failed(why) | End::Killed(why) => Ok(Err(why)),
        End::Interrupted => Err(Failure::Interrupted("interrupted".into())),
    }
}

/// The outcome of a variant's checks.
struct Ending {
    checks: Vec<Check>,
    /// The number of checks that passed.
    passed: usize,
    /// The check that failed and why, or why no checks ran.
    failure: Option<String>,
}

impl Ending {
    fn of(checks: Result<Vec<Check>, String>) -> Self {
        let (checks, broken) = match checks {
            Ok(checks) => (checks, None),
            Err(why) => (Vec::new(), Some(why)),
        };
        let passed = checks.iter().filter(|check| check.verdict == Verdict::Passed).count();
        let failure = checks.iter().find_map(|check| match &check.verdict {
            Verdict::Failed(why) => Some(format!("{}: {why}", check.name)),
            Verdict::Passed | Verdict::Skipped(_) => None,
        });
        let nothing = || (passed == 0).then(|| "no check could be carried out".to_string());
        Self { checks, passed, failure: failure.or(broken).or_else(nothing) }
    }

    /// Returns the last column of the table; with `long` every check.
    fn text(&self, long: bool) -> String {
        if let Some(why) = &self.failure {
            return format!("FAILED: {why}");
        }
        let mut lines = Vec::new();
        let mut skipped = Vec::new();
        for Check { name, verdict } in &self.checks {
            match verdict {
                Verdict::Skipped(why) if long => lines.push(format!("skipped {name}: {why}")),
                Verdict::Skipped(why) if !skipped.contains(&why.as_str()) => skipped.push(why),
                Verdict::Passed if long => lines.push(format!("passed  {name}")),
                _ => {}
            }
        }
        let mut result = "passed".to_string();
        if !skipped.is_empty() {
            result += &format!("; not offered: {}", skipped.join(", "));
        }
        lines.insert(0, result);
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, verdict: Verdict) -> Check {
        Check { name: name.into(), verdict }
    }

    #[test]
    fn a_check_named_like_a_failure_is_none() {
        let checks = vec![
            check("FAILED: by name only", Verdict::Passed),
            check("scan", Verdict::Skipped("FAILED: no order".into())),
        ];
        let ending = Ending::of(Ok(checks));
        assert_eq!((ending.passed, &ending.failure), (1, &None));
        assert_eq!(ending.text(false), "passed; not offered: FAILED: no order");
    }

    #[test]
    fn the_failed_check_is_the_failure() {
        let failed = Verdict::Failed("lost".into());
        let ending = Ending::of(Ok(vec![check("insert", Verdict::Passed), check("get", failed)]));
        assert_eq!((ending.passed, ending.failure.as_deref()), (1, Some("get: lost")));
        assert_eq!(ending.text(true), "FAILED: get: lost");
        assert_eq!(Ending::of(Err("it hung".into())).text(false), "FAILED: it hung");
        let skipped = vec![check("scan", Verdict::Skipped("no order".into()))];
        let nothing = "FAILED: no check could be carried out";
        assert_eq!(Ending::of(Ok(skipped)).text(false), nothing, "nothing was seen");
    }
}
