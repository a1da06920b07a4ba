//! Crash tests of engines at their levels, and the file of their verdicts.

use std::path::Path;
use std::time::Duration;

use assay_core::durability::{Crash, Promise, Verdict, Verdicts};
use assay_driver::{Driver, Reach, Storage};
use program_support::exit::{Failure, Outcome};
use program_support::interrupt::Interrupt;
use program_support::output::{print, say};

use crate::cli::CrashArgs;
use crate::files;
use crate::planning::engines::{self, Settings};
use crate::planning::store_dirs::StoreDirs;
use crate::running::time_budget::TimeBudget;

use super::rounds::{Test, Untested, Workbench, tests_of};
use super::{VERDICTS_FILE, show};

/// The directories and limits of crash tests.
pub(crate) struct Place<'p> {
    /// The file of verdicts, if they are kept.
    pub verdicts: Option<&'p Path>,
    pub store_dirs: &'p StoreDirs,
    pub interrupt: &'p Interrupt,
    pub time_budget: &'p TimeBudget,
}

/// The engines of a command, and their settings.
pub(crate) struct Ordered {
    chosen: engines::Chosen,
    settings: Settings,
}

/// The commits before several threads start: those of the rows that they share.
const LEAST_COMMITS: u32 = 8;

/// The estimated time of a round.
const GUESS_ROUND: Duration = Duration::from_millis(300);

impl Ordered {
    /// Reads the engines and settings of a command.
    pub(crate) fn of(args: &CrashArgs) -> Outcome<Self> {
        let chosen = engines::chosen(&args.engine)?;
        if !args.at.is_empty() && args.round.is_none() {
            // clap does not check an option's requirements if another option excludes them.
            let why = "--at is the moment of one round; name it with --round";
            return Err(Failure::Usage(why.into()));
        }
        if args.enumerate && !args.ending.cuts_power() {
            let why = "--enumerate is for --crash power";
            return Err(Failure::Usage(why.into()));
        }
        if args.enumerate && !args.at.is_empty() && args.at.len() != 2 {
            let why = "--at names an operation and a state with --enumerate, as in --at 57,3";
            return Err(Failure::Usage(why.into()));
        }
        if !args.enumerate && !args.at.is_empty() && args.at.len() != args.crashes as usize {
            return Err(Failure::Usage(format!(
                "--at names {} of {} moments; name one of the writer, then one of each opening \
                 (--crashes)",
                args.at.len(),
                args.crashes
            )));
        }
        let has_faults = !args.ending.fault.is_empty();
        let is_killed = args.ending.kills() && !has_faults && !args.enumerate;
        let is_counted_in_commits = args.copy || is_killed;
        if let Some(&at) = args.at.first()
            && is_counted_in_commits
            && at > u64::from(args.commits)
        {
            return Err(Failure::Usage(format!(
                "--at waits for commit {at} of {}; name an earlier one, or raise --commits",
                args.commits
            )));
        }
        let least = LEAST_COMMITS.saturating_add(args.threads);
        if args.threads > 1 && args.commits < least {
            return Err(Failure::Usage(format!(
                "--commits {} leaves {} threads nothing to do at the same time; {least} are the \
                 fewest",
                args.commits, args.threads
            )));
        }
        let settings = Settings::parse(&args.set, false)?;
        args.ending.check()?;
        Ok(Self { chosen, settings })
    }

    /// Tests the engines and keeps the verdicts.
    pub(crate) fn carry_out(&self, args: &CrashArgs, place: &Place<'_>) -> Outcome {
        let path = place.verdicts.unwrap_or(Path::new(VERDICTS_FILE));
        let verdicts = Verdicts::load(path).map_err(Failure::Refused)?;
        let mut tests = self.tests(args)?;
        let bench = Workbench {
            args,
            settings: &self.settings,
            store_dirs: place.store_dirs,
            interrupt: place.interrupt,
        };
        if args.missing {
            tests.retain(|test| !verdicts.has_as_much(&bench.no_rounds_yet(test), args.rounds));
            if tests.is_empty() {
                return print(&format!(" {} has all these verdicts\n", path.display()));
            }
        }
        let mut done = Vec::new();
        let mut failed = Vec::new();
        let mut idle = Vec::new();
        for test in &tests {
            if !place.time_budget.begins_work_of(GUESS_ROUND * args.rounds) {
                break;
            }
            match bench.carry_out(test)? {
                Ok(verdict) => {
                    if place.verdicts.is_some() {
                        keep(path, &verdict)?;
                    }
                    done.push(verdict);
                }
                Err(untested) => {
                    let (lines, why) = match untested {
                        Untested::Idle(why) => (&mut idle, why),
                        Untested::Failed(why) => (&mut failed, why),
                    };
                    lines.push(format!(
                        "{} at {}, {}{}: {why}",
                        test.driver.profile().id,
                        test.durability,
                        test.crash,
                        bench.no_rounds_yet(test).beyond()
                    ));
                }
            }
        }
        if done.is_empty() && failed.is_empty() && !idle.is_empty() {
            return Err(Failure::Refused(idle.join("; ")));
        }
        idle.iter().for_each(|line| say(&format!("note: not tested: {line}")));
        show::table(&done)?;
        failed.iter().try_for_each(|line| print(&format!(" not tested: {line}\n")))?;
        if place.verdicts.is_some() && !done.is_empty() {
            print(&format!("\n verdicts: {}\n", path.display()))?;
        }
        outcome(&done, &failed)
    }

    /// Returns the tests that can be carried out here, and prints which cannot.
    fn tests(&self, args: &CrashArgs) -> Outcome<Vec<Test<'_>>> {
        let mut tests = Vec::new();
        let mut notes = Vec::new();
        for driver in &self.chosen.drivers {
            match testable(driver.as_ref(), args.threads) {
                Ok(()) => tests.extend(tests_of(driver.as_ref(), args)),
                Err(_) if !self.chosen.by_name && !driver.profile().keeps_data => {}
                Err(why) => notes.push(format!("{}: not tested: {why}", driver.profile().id)),
            }
        }
        if args.enumerate {
            tests.retain(|test| test.crash == Crash::Power);
            let promises = |test: &Test<'_>| {
                Promise::of(test.driver.profile(), test.durability, test.crash) != Promise::Nothing
            };
            let had_tests = !tests.is_empty();
            tests.retain(promises);
            if had_tests && tests.is_empty() {
                let why = "these levels promise nothing about a power cut, so that no state breaks \
                           a promise; choose another --durability";
                return Err(Failure::Usage(why.into()));
            }
        }
        let drivers = &self.chosen.drivers;
        if tests.is_empty() && drivers.iter().all(|driver| driver.version().is_err()) {
            return Err(Failure::Refused(notes.join("; ")));
        }
        let cuts_power = !args.copy && args.ending.cuts_power();
        let has_faults = !args.ending.fault.is_empty();
        if let (true, Some(why)) = (cuts_power || has_faults, obstacle()) {
            let line = if has_faults {
                format!("no faults of the disk here: {why}")
            } else {
                format!("no power cuts here: {why}; --crash process tests killed processes")
            };
            tests.retain(|test| test.crash == Crash::Process && !has_faults);
            if tests.is_empty() {
                return Err(Failure::Refused(line));
            }
            notes.push(line);
        }
        if tests.is_empty() {
            return Err(Failure::Usage(notes.into_iter().next().unwrap_or_else(|| {
                "none of these engines has such a level on disk; see assay list".into()
            })));
        }
        notes.iter().for_each(|note| say(&format!("note: {note}")));
        Ok(tests)
    }
}

/// Writes a verdict to the file, unless a longer test refuted the level.
fn keep(path: &Path, verdict: &Verdict) -> Outcome {
    let is_added = files::change_verdicts(path, |all: &mut Verdicts| all.add(verdict.clone()))?;
    if !is_added {
        say(&format!(
            "note: {} at {}, {}{}: the file keeps the verdict of a longer test, which refuted it",
            verdict.engine,
            verdict.durability,
            verdict.crash,
            verdict.beyond()
        ));
    }
    Ok(())
}

fn outcome(done: &[Verdict], failed: &[String]) -> Outcome {
    let refuted: Vec<_> = done.iter().filter(|verdict| verdict.is_refuted()).collect();
    match (failed, refuted.as_slice()) {
        ([], []) => Ok(()),
        ([first, ..], _) => Err(Failure::Wrong(first.clone())),
        (_, [first, others @ ..]) => Err(Failure::Wrong(format!(
            "{} does not keep what {} promises: {}{}",
            first.engine,
            first.durability,
            first.failures[0],
            match others.len() {
                0 => String::new(),
                more => format!(" (and {more} more)"),
            }
        ))),
    }
}

fn obstacle() -> Option<String> {
    assay_powercut::mount::obstacle()
}

fn testable(driver: &dyn Driver, threads: u32) -> Result<(), String> {
    driver.version()?;
    let profile = driver.profile();
    if !profile.keeps_data || profile.levels_in(Storage::Disk).is_empty() {
        return Err("it keeps nothing on disk".into());
    }
    match (driver.reach(), profile.refuses(threads)) {
        (Reach::Server, _) => Err("its tables are on a server, which no crash here reaches".into()),
        (Reach::Machine, Some(why)) => Err(why),
        (Reach::Machine, None) => Ok(()),
    }
}
