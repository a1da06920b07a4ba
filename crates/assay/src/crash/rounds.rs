//! The rounds of one engine at one level, and their verdict.

use std::path::PathBuf;

use assay_core::durability::{
    Crash, Failure as BrokenRound, Fault, Found, Promise, Tally, Verdict,
};
use assay_core::random::derive;
use assay_driver::{Driver, Durability, Storage};
use assay_suites::crash::Job;
use jiff::Timestamp;
use program_support::exit::Outcome;
use program_support::interrupt::Interrupt;
use program_support::output::say;

use crate::cli::{CrashArgs, LevelsArg};
use crate::output::shell;
use crate::planning::engines::Settings;
use crate::planning::store_dirs::StoreDirs;
use crate::plugins;

use super::copies::Copies;
use super::enumeration::Enumeration;
use super::faults::Faults;
use super::folder::Folder;
use super::image::Image;
use super::power::{Bench, Cuts};
use super::process::Kills;
use super::{Chosen, Round, Rounds, Subject};

/// One engine at one level, ended in one way.
pub(super) struct Test<'t> {
    pub(super) driver: &'t dyn Driver,
    pub(super) durability: Durability,
    pub(super) crash: Crash,
    /// The fault of the disk before the crash.
    pub(super) fault: Option<Fault>,
}

pub(super) fn tests_of<'t>(driver: &'t dyn Driver, args: &CrashArgs) -> Vec<Test<'t>> {
    let levels = driver.profile().levels_in(Storage::Disk);
    let wanted = args.durability.and_then(LevelsArg::level);
    let mut tests = Vec::new();
    for &durability in levels.iter().filter(|&&level| wanted.is_none_or(|w| w == level)) {
        if args.copy {
            tests.push(Test { driver, durability, crash: Crash::Copy, fault: None });
            continue;
        }
        let kinds = args.ending.kinds().into_iter();
        tests.extend(kinds.map(|(crash, fault)| Test { driver, durability, crash, fault }));
    }
    tests
}

/// Why a test has no verdict.
pub(super) enum Untested {
    /// Nothing that the writer does meets the fault.
    Idle(String),
    /// The writer failed, or did nothing.
    Failed(String),
}

/// The common tools of all tests of a command.
pub(super) struct Workbench<'w> {
    pub(super) args: &'w CrashArgs,
    pub(super) settings: &'w Settings,
    pub(super) store_dirs: &'w StoreDirs,
    pub(super) interrupt: &'w Interrupt,
}

impl Workbench<'_> {
    /// Runs the rounds of a test. The inner error says why there is no verdict.
    pub(super) fn carry_out(&self, test: &Test<'_>) -> Outcome<Result<Verdict, Untested>> {
        let profile = test.driver.profile();
        let id = profile.id;
        let level = test.durability;
        say(&match (test.crash, test.fault) {
            (Crash::Copy, _) => format!("copying {id} at {level}"),
            (crash, None) => format!("testing {id} at {level} with {crash} crashes"),
            (crash, Some(fault)) => {
                format!("testing {id} at {level} with {fault}, then {crash} crashes")
            }
        });
        let dir = self
            .store_dirs
            .store(&format!("crash-{id}"), Storage::Disk)
            .expect("store_dirs were prepared for the disk");
        let mut verdict = self.no_rounds_yet(test);
        let subject = Subject {
            job: Job {
                engine: id.into(),
                durability: test.durability,
                key_kind: profile.key_kinds[0],
                dir: PathBuf::new(),
                options: self.settings.of(id),
                seed: 0,
                commits: self.args.commits,
                threads: self.args.threads,
                pace_us: pace_us(&verdict),
                namespace: None,
            },
            seed: derive(self.args.ending.seed, id),
            patience: self.args.ending.patience(),
            interrupt: self.interrupt,
            crashes: self.args.crashes,
            chosen: Chosen {
                at: self.args.at.clone(),
                loss: self.args.ending.loss,
                lasts: self.args.ending.fault_lasts,
            },
        };
        let folder = Folder::make(&dir)?;
        let mut way: Box<dyn Rounds> = match (test.crash, test.fault) {
            (crash, Some(fault)) => {
                let mut bench =
                    Bench::set_up(&folder.store(), self.args.ending.directories.rule())?;
                if crash == Crash::Process {
                    bench.stay_in_boot()?;
                }
                let mut faults = Faults { bench, subject: &subject, crash, fault, span: None };
                if self.args.at.is_empty()
                    && let Err(untested) = faults.calibrate()?
                {
                    return Ok(Err(untested));
                }
                Box::new(faults)
            }
            (Crash::Process, None) => Box::new(Kills { subject: &subject, folder: &folder }),
            (Crash::Copy, None) => Box::new(Copies { subject: &subject, folder: &folder }),
            (Crash::Power, None) => {
                let mut bench =
                    Bench::set_up(&folder.store(), self.args.ending.directories.rule())?;
                let enumerates = self.args.enumerate;
                let history = self.args.round.filter(|_| enumerates).unwrap_or_default();
                let span = if self.args.at.is_empty() {
                    match bench.span(&subject, history)? {
                        Ok(span) => Some(span),
                        Err(why) => return Ok(Err(Untested::Failed(why))),
                    }
                } else {
                    None
                };
                if enumerates {
                    let opened = span.map_or(0, |span| span.opened);
                    let most = self.args.states;
                    Box::new(Enumeration::new(bench, &subject, opened, most, history))
                } else {
                    Box::new(Cuts { bench, subject: &subject, span })
                }
            }
        };
        let mut number = self.args.round.unwrap_or_default();
        loop {
            match way.round(number)? {
                Ok(round) => self.take(&mut verdict, test, number, &round, way.as_mut())?,
                Err(why) => return Ok(Err(Untested::Failed(why))),
            }
            number += 1;
            let is_over = if self.args.enumerate {
                let enumerated = way.next_cut()?;
                verdict.enumerated = enumerated.or(verdict.enumerated);
                enumerated.is_some()
            } else {
                self.args.round.is_some() || !self.wants_more_than(&verdict)
            };
            if is_over {
                break;
            }
        }
        match test.fault {
            Some(fault) if verdict.judged_rounds() == 0 => {
                let why = format!("in {} rounds no operation met {fault}", verdict.rounds);
                return Ok(Err(Untested::Idle(why)));
            }
            None if verdict.acknowledged == 0 => {
                return Ok(Err(Untested::Failed(
                    "no round acknowledged a commit, so that nothing was tested; allow more with \
                     --commits or --rounds"
                        .into(),
                )));
            }
            // An engine that meets a fault at once may rightly acknowledge nothing.
            _ => {}
        }
        verdict.tested = Timestamp::now();
        Ok(Ok(verdict))
    }

    /// Returns true if the rounds of a verdict are not all. A level that broke its promise gets
    /// further rounds, which show how often it does. A round that met no fault is followed by
    /// another in its place, but at most as many again.
    fn wants_more_than(&self, verdict: &Verdict) -> bool {
        let args = self.args;
        let further = args.further.unwrap_or(args.rounds.saturating_mul(FURTHER));
        let further = if verdict.is_refuted() { further } else { 0 };
        let wanted = args.rounds.saturating_add(further);
        verdict.judged_rounds() < wanted && verdict.rounds < wanted.saturating_mul(2)
    }

    /// Returns the verdict of a test before its first round.
    pub(super) fn no_rounds_yet(&self, test: &Test<'_>) -> Verdict {
        let profile = test.driver.profile();
        let is_periodic = test.durability == Durability::Periodic;
        let interval = is_periodic.then(|| test.driver.periodic_interval()).flatten();
        Verdict {
            engine: profile.id.into(),
            engine_version: test.driver.version().unwrap_or_default(),
            engine_options: self.settings.of(profile.id),
            settings: Vec::new(),
            durability: test.durability,
            crash: test.crash,
            strict_directories: test.crash == Crash::Power
                && self.args.ending.directories.is_strict(),
            promise: Promise::of(profile, test.durability, test.crash),
            threads: self.args.threads,
            crashes: self.args.crashes,
            cut_openings: 0,
            commits: self.args.commits,
            rounds: 0,
            acknowledged: 0,
            lost_rounds: 0,
            lost_commits_most: 0,
            interval_ms: interval.map(|interval| interval.as_millis() as u64),
            lost_age_most_ms: None,
            torn_rounds: 0,
            refused_rounds: 0,
            unusable_rounds: 0,
            copy_rule: match test.crash {
                Crash::Copy => test.driver.copy_rule().map(str::to_string),
                Crash::Process | Crash::Power => None,
            },
            enumerated: self.args.enumerate.then(Default::default),
            faults: test.fault.map(|fault| Tally::new(fault, self.args.ending.fault_lasts)),
            failures: Vec::new(),
            tested: Timestamp::now(),
        }
    }

    fn take(
        &self,
        verdict: &mut Verdict,
        test: &Test<'_>,
        number: u32,
        round: &Round,
        way: &mut dyn Rounds,
    ) -> Outcome {
        verdict.add(round.log.commits() - round.prepared, &round.found, round.age);
        verdict.cut_openings += round.cut_openings;
        if let (Some(tally), Some(faulted)) = (&mut verdict.faults, round.faulted) {
            tally.met_rounds += u32::from(faulted.is_met);
            tally.ended_rounds += u32::from(faulted.has_ended);
            tally.refused_commits += round.log.refused().len() as u64;
        }
        if verdict.settings.is_empty() {
            verdict.settings.clone_from(&round.settings);
        }
        if !verdict.is_kept(&round.found, round.age) {
            let found = round.found.clone();
            let age = round.age;
            let command = self.replay(test, number, round);
            let strict = if verdict.strict_directories { "-strict" } else { "" };
            let beyond = verdict.beyond().replace(" with ", " ").replace(' ', "-");
            let engine = &verdict.engine;
            let level = test.durability;
            let crash = test.crash;
            let seed = self.args.ending.seed;
            let history = self.args.round.unwrap_or_default();
            let state = round.state.map(|state| format!("{history}-{}-{state}", round.at));
            let state = state.unwrap_or_else(|| number.to_string());
            let name = format!("{engine}-{level}-{crash}{strict}{beyond}-{seed}-{state}");
            let folder = self.args.images.join(name);
            let job = round.job.clone();
            let promise = verdict.promise;
            let found_here = found.clone();
            let log = round.log.clone();
            let is_kept = !self.args.enumerate || verdict.failures.len() < MOST_STATES_KEPT;
            let image = if is_kept {
                Image::of(job, crash, promise, log, found_here, command.clone())
                    .keep(&folder, &mut |to| way.keep(to))?;
                folder.to_str().map(str::to_string)
            } else {
                None
            };
            let recoveries = round.recoveries.clone();
            let lasts = round.faulted.map(|faulted| faulted.lasts);
            verdict.failures.push(BrokenRound { found, age, lasts, recoveries, command, image });
        }
        Ok(())
    }

    /// Returns the command line that repeats a round.
    fn replay(&self, test: &Test<'_>, number: u32, round: &Round) -> String {
        let args = self.args;
        let openings = round.recoveries.iter().map(|recovery| format!(",{}", recovery.at()));
        let state = round.state.map(|state| format!(",{state}")).unwrap_or_default();
        let at = round.at.to_string() + &openings.collect::<String>() + &state;
        let number = if round.state.is_some() { args.round.unwrap_or_default() } else { number };
        let id = test.driver.profile().id;
        let plugin = plugins::named_file(id).map(|file| shell::word(&file.to_string_lossy()));
        let plugin = plugin.map(|file| format!(" --plugin {file}")).unwrap_or_default();
        let mut words = vec![
            format!("assay crash -e {id}{plugin}"),
            match test.crash {
                Crash::Copy => format!("--durability {} --copy", test.durability),
                crash => format!("--durability {} --crash {crash}", test.durability),
            },
            format!(
                "--seed {} --commits {} --round {number} --at {at}",
                args.ending.seed, args.commits
            ),
        ];
        words.extend(args.enumerate.then(|| format!("--enumerate --states {}", args.states)));
        let crashes = 1 + round.recoveries.len();
        words.extend((crashes > 1).then(|| format!("--crashes {crashes}")));
        words.extend((args.threads > 1).then(|| format!("--threads {}", args.threads)));
        words.extend(args.set.iter().map(|set| format!("--set {set}")));
        let fault = test.fault.zip(round.faulted.map(|faulted| faulted.lasts));
        let hung = matches!(round.found, Found::Hung(_));
        words.extend(args.ending.replay(test.crash, fault, hung));
        words.join(" ")
    }
}

/// The most images of broken states that an enumeration keeps: one cut may leave many alike.
const MOST_STATES_KEPT: usize = 16;

/// The factor by which a level that broke its promise gets further rounds.
const FURTHER: u32 = 4;

/// The least number of intervals between syncs in a history, if an interval is stated.
const INTERVALS: u64 = 5;

/// Returns the microseconds of a writer's pause before each commit; 0 if neither a loss's age is
/// judged nor a sync may fail.
fn pace_us(verdict: &Verdict) -> u64 {
    match (verdict.promise, verdict.interval_ms) {
        (promise, Some(interval_ms)) if promise == Promise::Prefix || verdict.faults.is_some() => {
            interval_ms * 1_000 * INTERVALS / u64::from(verdict.commits.max(1))
        }
        _ => 0,
    }
}
