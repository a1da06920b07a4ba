//! `assay torture`

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use assay_core::durability::Crash;
use assay_driver::Storage;
use program_support::exit::{Failure, Outcome};
use program_support::interrupt::Interrupt;
use program_support::output::{print, say};

use crate::cli::{CrashArg, PromiseArg, TortureArgs};
use crate::crash::folder::{Folder, removed};
use crate::planning::store_dirs::StoreDirs;
use crate::torture::rounds::Rounds;
use crate::torture::show::{Broken, Tortured, shown};
use crate::torture::{Found, Promise, Round, Subject};

/// The file that marks the folder of a directory that broke a promise.
const SIGNATURE: &str = "assay-torture";

/// Crashes a program in the kinds asked for, and prints what survived.
pub(crate) fn torture(args: &TortureArgs) -> Outcome {
    let interrupt = Interrupt::noted();
    let store_dirs = StoreDirs::prepare(&[Storage::Disk], args.dir.as_deref())?;
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
        seed: args.seed,
        patience: Duration::from_secs(args.timeout),
        interrupt: &interrupt,
        at: args.at,
        loss: args.loss,
    };
    let kinds = [Crash::Process, Crash::Power].into_iter();
    let mut all = Vec::new();
    for crash in kinds.filter(|crash| CrashArg::has(&args.crash, *crash)) {
        say(&format!("torturing with {crash} crashes"));
        all.push(carry_out(args, &subject, &folder, crash)?);
    }
    print(&shown(&all))?;
    match all.iter().map(|tortured| tortured.broken.len()).sum::<usize>() {
        0 => Ok(()),
        1 => Err(Failure::Wrong("1 round broke the promise".into())),
        count => Err(Failure::Wrong(format!("{count} rounds broke the promise"))),
    }
}

/// Runs the rounds of one kind.
fn carry_out(
    args: &TortureArgs,
    subject: &Subject<'_>,
    folder: &Folder,
    crash: Crash,
) -> Outcome<Tortured> {
    let mut rounds = Rounds::prepare(subject, folder, crash, args.directories.rule())?;
    let mut tortured = Tortured { crash, rounds: 0, acknowledged: 0, broken: Vec::new() };
    let numbers = match args.round {
        Some(round) => round..round + 1,
        None => 0..args.rounds,
    };
    for number in numbers {
        let Round { at, acknowledged, found } = rounds.round(number)?;
        tortured.rounds += 1;
        tortured.acknowledged += acknowledged as u64;
        if found != Found::Everything {
            let strict = if args.directories.is_strict() { "-strict" } else { "" };
            let name = format!("{crash}{strict}-{}-{number}", args.seed);
            let image = args.images.join(name);
            keep(&image, &mut |to| rounds.keep(to))?;
            let command = replay(args, crash, number, at);
            tortured.broken.push(Broken { number, found, command, image });
        }
    }
    if tortured.acknowledged == 0 {
        let why = "no round acknowledged an item, so nothing was tested; allow more with --rounds";
        return Err(Failure::Refused(why.into()));
    }
    Ok(tortured)
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
fn replay(args: &TortureArgs, crash: Crash, number: u32, at: u64) -> String {
    let (writer, checker) = (quoted(&args.writer), quoted(&args.checker));
    let mut words = vec![
        format!("assay torture --writer {writer} --checker {checker} --crash {crash}"),
        format!("--seed {} --round {number} --at {at}", args.seed),
    ];
    let promise = args.promise;
    words.extend((promise != PromiseArg::All).then(|| format!("--promise {}", promise.name())));
    words.extend(args.loss.map(|loss| format!("--loss {loss}")));
    words.extend(args.directories.is_strict().then(|| "--directories strict".to_string()));
    words.extend((args.acks != 300).then(|| format!("--acks {}", args.acks)));
    words.join(" ")
}

/// Returns a word for the shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}
