//! `lode volume ls`, `get` and `tree`.

use std::io::{self, Write};

use lode_volumes::{EntryAt, Options, Value, ValueRef};
use program_support::exit::Outcome;
use program_support::{output, printable};

use super::Opened;
use crate::cli::volume::{GetArgs, LsArgs, TreeArgs};

/// Lists the children of an entry.
pub(crate) fn ls(args: &LsArgs, options: &Options) -> Outcome {
    let opened = Opened::to_read(&args.dir, options)?;
    let listed = opened.entry(&args.path).and_then(|entry| {
        let mut names = match entry.links_with_prefix(&args.prefix) {
            Ok(names) => names,
            Err(error) => return Err(opened.failure(&error)),
        };
        written(&opened, &mut |out| {
            for name in &mut names {
                match name {
                    Ok(name) => writeln!(out, "{}", printable::line(&name))?,
                    Err(error) => return Ok(Err(error)),
                }
            }
            Ok(Ok(()))
        })
    });
    opened.close_after(listed)
}

/// Prints a property, or all of them.
pub(crate) fn get(args: &GetArgs, options: &Options) -> Outcome {
    let opened = Opened::to_read(&args.dir, options)?;
    let got = match &args.name {
        Some(name) => property(args, name, &opened),
        None => properties(args, &opened),
    };
    opened.close_after(got)
}

fn property(args: &GetArgs, name: &str, opened: &Opened) -> Outcome {
    let found = opened.entry(&args.path)?.property(name);
    let found = found.map_err(|error| opened.failure(&error))?;
    let value = found.ok_or_else(|| opened.no_property(&args.path, name))?;
    match (args.raw, value.as_ref()) {
        (true, ValueRef::Text(text)) => raw(text.as_bytes()),
        (true, ValueRef::Blob(bytes)) => raw(bytes),
        (true, other) => raw(other.to_string().as_bytes()),
        (false, other) => output::print(&format!("{other}\n")),
    }
}

fn raw(bytes: &[u8]) -> Outcome {
    output::to_standard_output(&mut |out| out.write_all(bytes))
}

fn properties(args: &GetArgs, opened: &Opened) -> Outcome {
    let entry = opened.entry_at(&args.path)?;
    written(opened, &mut |out| {
        for property in entry.properties() {
            match property {
                Ok((name, value)) => {
                    writeln!(out, "{}\t{}", printable::line(&name), typed(&value))?
                }
                Err(error) => return Ok(Err(error)),
            }
        }
        Ok(Ok(()))
    })
}

/// Returns a value behind its type, on one line.
fn typed(value: &Value) -> String {
    format!("{}\t{}", value.kind(), printable::line(&value.to_string()))
}

/// Shows an entry and all below it.
pub(crate) fn tree(args: &TreeArgs, options: &Options) -> Outcome {
    let opened = Opened::to_read(&args.dir, options)?;
    let shown = opened.entry_at(&args.path).and_then(|top| {
        written(&opened, &mut |out| {
            for entry in top.walk() {
                let shown = match entry {
                    Ok(entry) => show(&entry, args.properties, out)?,
                    Err(error) => Err(error),
                };
                if shown.is_err() {
                    return Ok(shown);
                }
            }
            Ok(Ok(()))
        })
    });
    opened.close_after(shown)
}

/// Prints an entry, further to the right the further down it is.
fn show(
    entry: &EntryAt,
    with_properties: bool,
    out: &mut dyn Write,
) -> io::Result<lode_volumes::Result<()>> {
    let indent = "  ".repeat(entry.depth());
    let name = match (entry.depth(), entry.path().rsplit_once('/')) {
        (1.., Some((_, name))) => name,
        _ => entry.path(),
    };
    writeln!(out, "{indent}{}", printable::line(name))?;
    if with_properties {
        for property in entry.properties() {
            match property {
                Ok((name, value)) => {
                    let kind = value.kind();
                    let value = value.to_string();
                    let name = printable::line(&name);
                    let value = printable::line(&value);
                    writeln!(out, "{indent}  .{name} = {value} ({kind})")?;
                }
                Err(error) => return Ok(Err(error)),
            }
        }
    }
    Ok(Ok(()))
}

/// Writes to standard output what `work` reads from a volume.
pub(super) fn written(
    opened: &Opened,
    work: &mut dyn FnMut(&mut dyn Write) -> io::Result<lode_volumes::Result<()>>,
) -> Outcome {
    let mut read = Ok(());
    output::to_standard_output(&mut |out| {
        read = work(out)?;
        Ok(())
    })?;
    read.map_err(|error| opened.failure(&error))
}
