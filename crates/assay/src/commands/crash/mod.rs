//! `assay crash`

mod rounds;
mod show;

use std::path::{Path, PathBuf};
use std::time::Duration;

use assay_core::durability::{Crash, Verdict, Verdicts};
use assay_driver::{Driver, Reach, Storage};
use program_support::exit::{Failure, Outcome};
use program_support::interrupt::Interrupt;
use program_support::output::{print, say};
use program_support::whole_file;

use crate::cli::{CrashArg, CrashArgs};
use crate::crash::VERDICTS_FILE;
use crate::crash::folder::Folder;
use crate::crash::image::Image;
use crate::engines::{self, Settings};
use crate::files;
use crate::sitting::Sitting;
use crate::store_dirs::StoreDirs;

use rounds::{Test, Workbench, tests_of};

/// Tests engines at their levels, or looks at what an earlier round left.
pub(crate) fn crash(args: &CrashArgs) -> Outcome {
    if let Some(image) = &args.open {
        return open(image, args);
    }
    let ordered = Ordered::of(args)?;
    let interrupt = Interrupt::noted();
    let store_dirs = StoreDirs::prepare(&[Storage::Disk], args.dir.as_deref())?;
    let path = args.output.clone().unwrap_or_else(|| PathBuf::from(VERDICTS_FILE));
    // One round, or losses of one kind, are no verdict on a level.
    let keeps = args.round.is_none() && args.loss.is_none();
    if keeps {
        match args.output {
            Some(_) => files::check_writable(&path, "--output")?,
            None => files::check_default(&path)?,
        }
    }
    let place = Place {
        verdicts: keeps.then_some(path.as_path()),
        store_dirs: &store_dirs,
        interrupt: &interrupt,
        sitting: &Sitting::without_end(),
    };
    ordered.carry_out(args, &place)
}

/// The same as part of a plan.
pub(crate) fn test(args: &CrashArgs, place: &Place<'_>) -> Outcome {
    Ordered::of(args)?.carry_out(args, place)
}

/// Where and how long crash tests are carried out.
pub(crate) struct Place<'p> {
    /// The file of verdicts, if they are kept.
    pub verdicts: Option<&'p Path>,
    pub store_dirs: &'p StoreDirs,
    pub interrupt: &'p Interrupt,
    pub sitting: &'p Sitting,
}

/// The engines of a command, and their settings.
struct Ordered {
    chosen: engines::Chosen,
    settings: Settings,
}

/// What a round is taken to need.
const GUESS_ROUND: Duration = Duration::from_millis(300);

impl Ordered {
    fn of(args: &CrashArgs) -> Outcome<Self> {
        let chosen = engines::chosen(&args.engine)?;
        if args.at.is_some() && args.round.is_none() {
            // clap does not look at what an option needs if something excludes that.
            let why = "--at is the moment of one round; name it with --round";
            return Err(Failure::Usage(why.into()));
        }
        let settings = Settings::parse(&args.set, false)?;
        if !CrashArg::has(&args.crash, Crash::Power)
            && (args.loss.is_some() || args.directories.is_strict())
        {
            let why = "--loss and --directories are for --crash power";
            return Err(Failure::Usage(why.into()));
        }
        Ok(Self { chosen, settings })
    }

    fn carry_out(&self, args: &CrashArgs, place: &Place<'_>) -> Outcome {
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
        let (mut done, mut failed) = (Vec::new(), Vec::new());
        for test in &tests {
            if !place.sitting.begins_work_of(GUESS_ROUND * args.rounds) {
                break;
            }
            match bench.carry_out(test)? {
                Ok(verdict) => {
                    if place.verdicts.is_some() {
                        keep(path, &verdict)?;
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
        show::table(&done)?;
        failed.iter().try_for_each(|line| print(&format!(" not tested: {line}\n")))?;
        if place.verdicts.is_some() && !done.is_empty() {
            print(&format!("\n verdicts: {}\n", path.display()))?;
        }
        outcome(&done, &failed)
    }

    /// The tests that can be carried out here; says which cannot.
    fn tests(&self, args: &CrashArgs) -> Outcome<Vec<Test<'_>>> {
        let (mut tests, mut notes) = (Vec::new(), Vec::new());
        for driver in &self.chosen.drivers {
            match testable(driver.as_ref()) {
                Ok(()) => tests.extend(tests_of(driver.as_ref(), args)),
                Err(_) if !self.chosen.by_name && !driver.profile().keeps_data => {}
                Err(why) => notes.push(format!("{}: not tested: {why}", driver.profile().id)),
            }
        }
        let drivers = &self.chosen.drivers;
        if tests.is_empty() && drivers.iter().all(|driver| driver.version().is_err()) {
            return Err(Failure::Refused(notes.join("; ")));
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
            return Err(Failure::Usage(notes.into_iter().next().unwrap_or_else(|| {
                "none of these engines has such a level on disk; see assay list".into()
            })));
        }
        notes.iter().for_each(|note| say(&format!("note: {note}")));
        Ok(tests)
    }
}

/// Keeps a verdict in the file, unless a longer test refuted the level. What other commands have
/// put there meanwhile stays.
fn keep(path: &Path, verdict: &Verdict) -> Outcome {
    let refused = |e: &dyn std::fmt::Display| {
        Failure::Refused(format!("{}: {e}; choose another file with --output", path.display()))
    };
    let text = |verdicts: &Verdicts| {
        let text = serde_json::to_string_pretty(verdicts).map_err(|e| refused(&e))?;
        Ok::<_, Failure>(text + "\n")
    };
    files::make_default_folder(path)?;
    let none = text(&Verdicts::default())?;
    let _alone = files::lock(path, none.as_bytes()).map_err(|e| refused(&e))?;
    let mut verdicts = Verdicts::load(path).map_err(Failure::Refused)?;
    if !verdicts.add(verdict.clone()) {
        say(&format!(
            "note: {} at {}, {}: the file keeps the verdict of a longer test, which refuted it",
            verdict.engine, verdict.durability, verdict.crash
        ));
    }
    whole_file::write(path, text(&verdicts)?.as_bytes()).map_err(|e| refused(&e))
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

/// Looks at a copy of what a round left.
fn open(folder: &Path, args: &CrashArgs) -> Outcome {
    let image = Image::load(folder)?;
    let interrupt = Interrupt::noted();
    let store_dirs = StoreDirs::prepare(&[Storage::Disk], args.dir.as_deref())?;
    let dir = store_dirs
        .store(&format!("crash-{}", image.job.engine), Storage::Disk)
        .expect("store_dirs were prepared for the disk");
    let copy = Folder::make(&dir)?;
    let found = image.look(&copy.store(), Duration::from_secs(args.timeout), &interrupt)?;
    let (engine, level) = (&image.job.engine, image.job.durability);
    print(&format!(
        " {engine} at {level}, {} commits acknowledged\n the round: {}\n   {}\n now: {found}\n",
        image.acknowledged, image.found, image.command
    ))?;
    match image.promise.is_kept(&found) {
        true => Ok(()),
        false => Err(Failure::Wrong(format!("{engine} does not keep what {level} promises"))),
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
