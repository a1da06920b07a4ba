//! `assay torture`

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use assay_driver::Storage;
use program_support::exit::{Failure, Outcome};
use program_support::interrupt::Interrupt;
use program_support::output::{print, say};

use crate::cli::{PromiseArg, TortureArgs};
use crate::crash::Faulted;
use crate::crash::folder::{Folder, removed};
use crate::output::shell::quoted;
use crate::planning::store_dirs::StoreDirs;
use crate::torture::rounds::Rounds;
use crate::torture::show::{Broken, Tortured, shown};
use crate::torture::{Found, Kind, Promise, Round, Subject};

/// The file that marks the folder of a directory that broke a promise.
const SIGNATURE: &str = "assay-torture";

/// Crashes a program in the kinds asked for, and prints what survived.
pub(crate) fn torture(args: &TortureArgs) -> Outcome {
    let ending = &args.ending;
    ending.check()?;
    let interrupt = Interrupt::noted();
    let store_dirs = StoreDirs::prepare(&[Storage::Disk], ending.dir.as_deref())?;
    let dir = store_dirs.store("torture", Storage::Disk).expect("it was prepared for the disk");
    let folder = Folder::make(&dir)?;
    let subject = Subject {
        writer: &args.writer,
        checker: &args.checker,
        promise: match args.promise {
            PromiseArg::All => Promise::All,
            PromiseArg::Prefix => Promise::Prefix,
        },
        acks: args.acks,
        seed: ending.seed,
        patience: ending.patience(),
        interrupt: &interrupt,
        at: args.at,
        loss: ending.loss,
        lasts: ending.fault_lasts,
    };
    let mut all = Vec::new();
    let mut notes = Vec::new();
    for (crash, fault) in ending.kinds() {
        let kind = Kind { crash, fault };
        say(&match fault {
            None => format!("torturing with {crash} crashes"),
            Some(fault) => format!("torturing with {fault}, then {crash} crashes"),
        });
        match carry_out(args, &subject, &folder, kind)? {
            Ok(tortured) => all.push(tortured),
            Err(why) => notes.push(why),
        }
    }
    notes.dedup();
    if all.is_empty() {
        return Err(Failure::Refused(notes.join("; ")));
    }
    notes.iter().for_each(|note| say(&format!("note: {note}")));
    print(&shown(&all))?;
    match all.iter().map(|tortured| tortured.broken.len()).sum::<usize>() {
        0 => Ok(()),
        1 => Err(Failure::Wrong("1 round broke the promise".into())),
        count => Err(Failure::Wrong(format!("{count} rounds broke the promise"))),
    }
}

/// Runs the rounds of one kind. The inner error says why there are none.
fn carry_out(
    args: &TortureArgs,
    subject: &Subject<'_>,
    folder: &Folder,
    kind: Kind,
) -> Outcome<Result<Tortured, String>> {
    let mut rounds = match Rounds::prepare(subject, folder, kind, args.ending.directories.rule())? {
        Ok(rounds) => rounds,
        Err(why) => return Ok(Err(why)),
    };
    let mut tortured = Tortured {
        kind,
        rounds: 0,
        met: 0,
        ended: 0,
        uncrashed: 0,
        acknowledged: 0,
        broken: Vec::new(),
    };
    let numbers = match args.round {
        Some(round) => round..round + 1,
        None => 0..args.rounds,
    };
    for number in numbers {
        let round = rounds.round(number)?;
        tortured.rounds += 1;
        tortured.uncrashed += u32::from(round.is_uncrashed);
        if let Some(Faulted { is_met, has_ended, .. }) = round.faulted {
            tortured.met += u32::from(is_met);
            tortured.ended += u32::from(has_ended);
        }
        tortured.acknowledged += round.acknowledged as u64;
        if round.found != Found::Everything {
            let strict = if args.ending.directories.is_strict() { "-strict" } else { "" };
            let fault = kind.fault.map(|fault| format!("-{fault}")).unwrap_or_default();
            let name = format!("{}{fault}{strict}-{}-{number}", kind.crash, args.ending.seed);
            let image = args.images.join(name);
            keep(&image, &mut |to| rounds.keep(to))?;
            let command = replay(args, kind, number, &round);
            tortured.broken.push(Broken { number, found: round.found, command, image });
        }
    }
    match kind.fault {
        Some(fault) if tortured.met == 0 && tortured.broken.is_empty() => {
            Ok(Err(format!("no operation met {fault} before {} crashes", kind.crash)))
        }
        None if tortured.acknowledged == 0 => {
            let why =
                "no round acknowledged an item, so nothing was tested; allow more with --rounds";
            Err(Failure::Refused(why.into()))
        }
        // A program that meets a fault at once may rightly acknowledge nothing.
        _ => Ok(Ok(tortured)),
    }
}

/// Keeps what a crash left in a folder, in place of what an earlier one left.
fn keep(image: &Path, fill: &mut dyn FnMut(&Path) -> io::Result<()>) -> Outcome {
    let refused = |why: &str| {
        let shown = image.display();
        Failure::Refused(format!("{shown}: {why}; choose another folder with --images"))
    };
    if image.exists() && !image.join(SIGNATURE).exists() {
        return Err(refused("there are files here that Assay did not make"));
    }
    let unfinished: PathBuf = image.with_extension("unfinished");
    let whole = removed(&unfinished)
        .and_then(|()| fs::create_dir_all(&unfinished))
        .and_then(|()| fill(&unfinished.join("store")))
        .and_then(|()| fs::write(unfinished.join(SIGNATURE), ""))
        .and_then(|()| removed(image))
        .and_then(|()| fs::rename(&unfinished, image));
    whole.map_err(|error| {
        // The rest of it is of no use.
        let _ = removed(&unfinished);
        refused(&error.to_string())
    })
}

/// Returns the command line that repeats a round.
fn replay(args: &TortureArgs, Kind { crash, fault }: Kind, number: u32, round: &Round) -> String {
    let writer = quoted(&args.writer);
    let checker = quoted(&args.checker);
    let mut words = vec![
        format!("assay torture --writer {writer} --checker {checker} --crash {crash}"),
        format!("--seed {} --round {number} --at {}", args.ending.seed, round.at),
    ];
    let promise = args.promise;
    words.extend((promise != PromiseArg::All).then(|| format!("--promise {}", promise.name())));
    let fault = fault.zip(round.faulted.map(|faulted| faulted.lasts));
    let hung = matches!(round.found, Found::Hung(_));
    words.extend(args.ending.replay(crash, fault, hung));
    words.extend((args.acks != 300).then(|| format!("--acks {}", args.acks)));
    words.join(" ")
}
