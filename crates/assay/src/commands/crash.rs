//! `assay crash`

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use assay_core::durability::{Crash, Promise, Verdict, Verdicts};
use assay_core::random::derive;
use assay_driver::{Driver, Durability, Reach, Storage};
use assay_suites::crash::Job;
use comfy_table::{CellAlignment, Table, presets};
use jiff::Timestamp;
use program_support::exit::{Failure, Outcome};
use program_support::interrupt::Interrupt;
use program_support::output::{print, say};
use program_support::whole_file;

use crate::cli::{CrashArg, CrashArgs, LevelsArg};
use crate::crash::power::{Bench, Chosen};
use crate::crash::{Round, Subject, VERDICTS_FILE, process};
use crate::engines::{self, Settings};
use crate::files;
use crate::store_dirs::StoreDirs;

/// Broken rounds that are listed for each engine and level; the file has all.
const LISTED: usize = 3;

/// Tests engines at their levels.
pub(crate) fn crash(args: &CrashArgs) -> Outcome {
    let engines::Chosen { drivers, by_name } = engines::chosen(&args.engine)?;
    if args.at.is_some() && args.round.is_none() {
        // clap does not look at what an option needs if something excludes that.
        return Err(Failure::Usage("--at is the moment of one round; name it with --round".into()));
    }
    let settings = Settings::parse(&args.set, false)?;
    if !CrashArg::has(&args.crash, Crash::Power)
        && (args.loss.is_some() || args.directories.is_strict())
    {
        return Err(Failure::Usage("--loss and --directories are for --crash power".into()));
    }
    let interrupt = Interrupt::noted();
    let store_dirs = StoreDirs::prepare(&[Storage::Disk], args.dir.as_deref())?;
    let path = args.output.clone().unwrap_or_else(|| PathBuf::from(VERDICTS_FILE));
    let keeps = args.round.is_none() && args.loss.is_none();
    if keeps {
        match args.output {
            Some(_) => files::check_writable(&path, "--output")?,
            None => files::check_default(&path)?,
        }
    }
    let mut verdicts = Verdicts::load(&path).map_err(Failure::Refused)?;
    let mut tests = Vec::new();
    let mut notes = Vec::new();
    for driver in &drivers {
        match testable(driver.as_ref()) {
            Ok(()) => tests.extend(tests_of(driver.as_ref(), args)),
            Err(_) if !by_name && !driver.profile().keeps_data => {}
            Err(why) => notes.push(format!("{}: not tested: {why}", driver.profile().id)),
        }
    }
    if let (true, Some(why)) = (CrashArg::has(&args.crash, Crash::Power), obstacle()) {
        let line = format!("no power cuts here: {why}; --crash process tests killed processes");
        tests.retain(|test| test.crash == Crash::Process);
        match tests.is_empty() {
            true => return Err(Failure::Refused(line)),
            false => notes.push(line),
        }
    }
    if tests.is_empty() {
        return Err(Failure::Usage(
            notes.into_iter().next().unwrap_or_else(|| {
                "no engine here has such a level on disk; see assay list".into()
            }),
        ));
    }
    notes.iter().for_each(|note| say(&format!("note: {note}")));
    let bench =
        Workbench { args, settings: &settings, store_dirs: &store_dirs, interrupt: &interrupt };
    let (mut done, mut failed) = (Vec::new(), Vec::new());
    for test in &tests {
        match bench.carry_out(test)? {
            Ok(verdict) => {
                // One round, or losses of one kind, are no verdict on a level.
                if keeps {
                    if !verdicts.add(verdict.clone()) {
                        say(&format!(
                            "note: {} at {}, {}: the file keeps the verdict of a longer test, \
                             which refuted it",
                            verdict.engine, verdict.durability, verdict.crash
                        ));
                    }
                    save(&path, &verdicts)?;
                }
                done.push(verdict);
            }
            Err(why) => failed.push(format!(
                "{} at {}, {}: {why}",
                test.driver.profile().id,
                test.durability,
                test.crash
            )),
        }
    }
    show(&done)?;
    failed.iter().try_for_each(|line| print(&format!(" not tested: {line}\n")))?;
    if keeps && !done.is_empty() {
        print(&format!("\n verdicts: {}\n", path.display()))?;
    }
    let refuted: Vec<_> = done.iter().filter(|verdict| verdict.is_refuted()).collect();
    match (failed.as_slice(), refuted.as_slice()) {
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

fn testable(driver: &dyn Driver) -> Result<(), String> {
    driver.version()?;
    let profile = driver.profile();
    if !profile.keeps_data || profile.levels_in(Storage::Disk).is_empty() {
        return Err("it keeps nothing on disk".into());
    }
    match driver.reach() {
        Reach::Machine => Ok(()),
        Reach::Server => Err("its tables are on a server, which no crash here reaches".into()),
    }
}

/// One engine at one level, ended in one way.
struct Test<'t> {
    driver: &'t dyn Driver,
    durability: Durability,
    crash: Crash,
}

fn tests_of<'t>(driver: &'t dyn Driver, args: &CrashArgs) -> Vec<Test<'t>> {
    let levels = driver.profile().levels_in(Storage::Disk);
    let wanted = args.durability.and_then(LevelsArg::level);
    let mut tests = Vec::new();
    for &durability in levels.iter().filter(|&&level| wanted.is_none_or(|w| w == level)) {
        for crash in [Crash::Process, Crash::Power] {
            if CrashArg::has(&args.crash, crash) {
                tests.push(Test { driver, durability, crash });
            }
        }
    }
    tests
}

/// What all tests of a command share.
struct Workbench<'w> {
    args: &'w CrashArgs,
    settings: &'w Settings,
    store_dirs: &'w StoreDirs,
    interrupt: &'w Interrupt,
}

impl Workbench<'_> {
    /// Runs the rounds of a test. The inner error says why there is no verdict.
    fn carry_out(&self, test: &Test<'_>) -> Outcome<Result<Verdict, String>> {
        let profile = test.driver.profile();
        let id = profile.id;
        say(&format!("testing {id} at {} with {} crashes", test.durability, test.crash));
        let dir = self
            .store_dirs
            .store(&format!("crash-{id}"), Storage::Disk)
            .expect("store_dirs were prepared for the disk");
        let options = self.settings.of(id);
        let mut verdict = self.no_rounds_yet(test, options.clone());
        let subject = Subject {
            job: Job {
                engine: id.into(),
                durability: test.durability,
                key_kind: profile.key_kinds[0],
                dir: PathBuf::new(),
                options,
                seed: 0,
                commits: self.args.commits,
                pace_us: pace_us(&verdict),
                namespace: None,
            },
            seed: derive(self.args.seed, id),
            patience: Duration::from_secs(self.args.timeout),
            interrupt: self.interrupt,
        };
        let rounds = match self.args.round {
            Some(round) => round..round + 1,
            None => 0..self.args.rounds,
        };
        let folder = Folder::make(&dir)?;
        if test.crash == Crash::Process {
            for number in rounds {
                folder.empty()?;
                match process::round(&subject, number, self.args.at, &folder.store())? {
                    Ok(round) => self.take(&mut verdict, test, number, &round),
                    Err(why) => return Ok(Err(why)),
                }
            }
        } else {
            let directories = self.args.directories.rule();
            let mut bench = Bench::set_up(&folder.store(), directories)?;
            let span = match self.args.at {
                Some(_) => None,
                None => match bench.span(&subject)? {
                    Ok(span) => Some(span),
                    Err(why) => return Ok(Err(why)),
                },
            };
            let chosen = Chosen { at: self.args.at, loss: self.args.loss };
            for number in rounds {
                match bench.round(&subject, number, chosen, span)? {
                    Ok(round) => self.take(&mut verdict, test, number, &round),
                    Err(why) => return Ok(Err(why)),
                }
            }
        }
        verdict.tested = Timestamp::now();
        Ok(Ok(verdict))
    }

    fn no_rounds_yet(&self, test: &Test<'_>, options: BTreeMap<String, String>) -> Verdict {
        let profile = test.driver.profile();
        let is_periodic = test.durability == Durability::Periodic;
        let interval = is_periodic.then(|| test.driver.periodic_interval()).flatten();
        Verdict {
            engine: profile.id.into(),
            engine_version: test.driver.version().unwrap_or_default(),
            engine_options: options,
            settings: Vec::new(),
            durability: test.durability,
            crash: test.crash,
            strict_directories: test.crash == Crash::Power && self.args.directories.is_strict(),
            promise: Promise::of(profile, test.durability, test.crash),
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
            failures: Vec::new(),
            tested: Timestamp::now(),
        }
    }

    fn take(&self, verdict: &mut Verdict, test: &Test<'_>, number: u32, round: &Round) {
        verdict.add(round.acknowledged, &round.found, round.age);
        if verdict.settings.is_empty() {
            verdict.settings.clone_from(&round.settings);
        }
        if !verdict.is_kept(&round.found, round.age) {
            let (found, age) = (round.found.clone(), round.age);
            let command = self.replay(test, number, round.at);
            verdict.failures.push(assay_core::durability::Failure { found, age, command });
        }
    }

    /// The command line that repeats a round.
    fn replay(&self, test: &Test<'_>, number: u32, at: u64) -> String {
        let args = self.args;
        let mut words = vec![
            format!("assay crash -e {}", test.driver.profile().id),
            format!("--durability {} --crash {}", test.durability, test.crash),
            format!("--seed {} --commits {} --round {number} --at {at}", args.seed, args.commits),
        ];
        words.extend(args.set.iter().map(|set| format!("--set {set}")));
        if test.crash == Crash::Power {
            words.extend(args.loss.map(|loss| format!("--loss {loss}")));
            words.extend(args.directories.is_strict().then(|| "--directories strict".to_string()));
        }
        words.join(" ")
    }
}

/// Intervals between syncs that a history takes at least, where one is stated.
const INTERVALS: u64 = 5;

/// The pause of a writer before each commit: none where no age of a loss is judged.
fn pace_us(verdict: &Verdict) -> u64 {
    match (verdict.promise, verdict.interval_ms) {
        (Promise::Prefix, Some(interval_ms)) => {
            interval_ms * 1_000 * INTERVALS / u64::from(verdict.commits.max(1))
        }
        _ => 0,
    }
}

/// A directory for the stores of a test, removed with all that is in it.
struct Folder(PathBuf);

impl Folder {
    fn make(path: &Path) -> Outcome<Self> {
        if path.exists() && !path.join(SIGNATURE).exists() {
            return Err(Failure::Refused(format!(
                "{}: there are files here that Assay did not make; choose another directory with \
                 --dir",
                path.display()
            )));
        }
        let folder = Self(path.into());
        folder.empty()?;
        Ok(folder)
    }

    fn store(&self) -> PathBuf {
        self.0.join("store")
    }

    fn empty(&self) -> Outcome {
        let remade = match fs::remove_dir_all(self.store()) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
            _ => fs::create_dir_all(self.store())
                .and_then(|()| fs::write(self.0.join(SIGNATURE), "")),
        };
        remade.map_err(|e| Failure::Refused(format!("{}: {e}", self.0.display())))
    }
}

/// The name of the file by which a directory is known as one of a crash test.
const SIGNATURE: &str = "assay-crash";

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed, the next test replaces or names.
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn save(path: &Path, verdicts: &Verdicts) -> Outcome {
    files::make_default_folder(path)?;
    let refused = |e: &dyn std::fmt::Display| {
        Failure::Refused(format!("{}: {e}; choose another file with --output", path.display()))
    };
    let mut text = serde_json::to_vec_pretty(verdicts).map_err(|e| refused(&e))?;
    text.push(b'\n');
    whole_file::write(path, &text).map_err(|e| refused(&e))
}

fn show(verdicts: &[Verdict]) -> Outcome {
    if verdicts.is_empty() {
        return Ok(());
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header([
        "engine",
        "version",
        "durability",
        "crash",
        "rounds",
        "commits",
        "lost",
        "torn",
        "refused",
        "unusable",
        "promise",
    ]);
    for verdict in verdicts {
        let lost = match verdict.lost_rounds {
            0 => "0".into(),
            rounds => {
                let age = verdict.lost_age_most_ms.map(|age| format!(", {age} ms"));
                let (most, age) = (verdict.lost_commits_most, age.unwrap_or_default());
                format!("{rounds} (at most {most}{age})")
            }
        };
        let options: Vec<_> = verdict
            .engine_options
            .iter()
            .map(|(name, value)| format!("\n{name}={value}"))
            .collect();
        table.add_row([
            verdict.engine.clone() + &options.concat(),
            verdict.engine_version.clone(),
            verdict.durability.to_string(),
            verdict.crash.to_string(),
            verdict.rounds.to_string(),
            verdict.acknowledged.to_string(),
            lost,
            verdict.torn_rounds.to_string(),
            verdict.refused_rounds.to_string(),
            verdict.unusable_rounds.to_string(),
            verdict.summary(),
        ]);
    }
    for column in table.column_iter_mut().skip(4).take(6) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let mut text: String =
        table.to_string().lines().map(|line| line.trim_end().to_string() + "\n").collect();
    text += "\n rounds that lost acknowledged commits (at most how many, and how long after the \
             oldest of them the crash came),\n that left no moment of the history, after which the \
             store could not be opened, or could not go on\n";
    for verdict in verdicts.iter().filter(|verdict| verdict.is_refuted()) {
        let Verdict { engine, durability, crash, failures, .. } = verdict;
        text += &format!("\n {engine} at {durability}, {crash}:\n");
        for failure in failures.iter().take(LISTED) {
            text += &format!("  {failure}\n    {}\n", failure.command);
        }
        if failures.len() > LISTED {
            text += &format!("  and {} more\n", failures.len() - LISTED);
        }
    }
    print(&text)
}
