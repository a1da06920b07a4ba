//! `lode volume watch`

use std::collections::BTreeMap;
use std::fmt::Write;
use std::thread;

use lode_volumes::{Error, Options, Value, Volume};
use program_support::exit::Outcome;
use program_support::printable;

use super::failure;
use crate::cli::volume::WatchArgs;

/// The content of a subtree: the properties of each path.
type Seen = BTreeMap<String, BTreeMap<String, Value>>;

/// Prints what changes between two looks at a volume, until the process is ended or the output is
/// read no more.
pub(crate) fn watch(args: &WatchArgs, options: &Options) -> Outcome {
    super::expect_volume(&args.dir)?;
    let mut before = None;
    loop {
        match look(args, options) {
            Ok(now) => {
                let changes = before.as_ref().map_or_else(String::new, |then| changes(then, &now));
                if !say(&changes)? {
                    return Ok(());
                }
                before = Some(now);
            }
            // Another process is changing the volume.
            Err(Error::Database(lode::Error::Locked)) => {}
            Err(error) => return Err(failure(&args.dir, &error)),
        }
        thread::sleep(args.interval);
    }
}

/// Prints lines at once; returns false if they are read no more.
fn say(lines: &str) -> Outcome<bool> {
    let written = std::io::Write::write_all(&mut std::io::stdout(), lines.as_bytes())
        .and_then(|()| std::io::Write::flush(&mut std::io::stdout()));
    match written {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(program_support::exit::Failure::Refused(format!(
            "cannot write to standard output: {error}"
        ))),
    }
}

fn look(args: &WatchArgs, options: &Options) -> lode_volumes::Result<Seen> {
    let volume = options.open_read_only(&args.dir)?;
    let seen = subtree(&volume, &args.path);
    volume.close()?;
    seen
}

fn subtree(volume: &Volume, path: &str) -> lode_volumes::Result<Seen> {
    let mut seen = Seen::new();
    if let Some(top) = volume.snapshot()?.entry(path)? {
        for entry in top.walk() {
            let entry = entry?;
            seen.insert(entry.path().into(), entry.properties().collect::<Result<_, _>>()?);
        }
    }
    Ok(seen)
}

/// Returns a line for each change; children before their parents where they are unlinked.
fn changes(before: &Seen, now: &Seen) -> String {
    let mut lines = String::new();
    let mut line = |parts: &[&str]| {
        let parts: Vec<_> = parts.iter().map(|part| printable::line(part)).collect();
        writeln!(lines, "{}", parts.join("\t")).expect("a text takes all");
    };
    for path in before.keys().rev().filter(|path| !now.contains_key(*path)) {
        line(&["unlinked", path]);
    }
    let nothing = BTreeMap::new();
    for (path, properties) in now {
        let then = before.get(path).unwrap_or_else(|| {
            line(&["linked", path]);
            &nothing
        });
        for name in then.keys().filter(|name| !properties.contains_key(*name)) {
            line(&["removed", path, name]);
        }
        for (name, value) in
            properties.iter().filter(|(name, value)| then.get(*name) != Some(value))
        {
            line(&["set", path, name, &value.to_string()]);
        }
    }
    lines
}
