//! `lode blob`

mod stream;

use std::os::unix::ffi::OsStrExt;

use lode::{Blobs, Error, Options};
use program_support::exit::{Failure, Outcome};
use program_support::output;

use super::target;
use crate::cli::blob::{BlobArgs, BlobCommand, DropArgs, ListArgs, Named, RemoveArgs};
use crate::database::Opened;
use crate::progress;
use crate::schema_text;

/// Writes, reads, lists or removes blobs.
pub(crate) fn blob(args: &BlobArgs, options: &Options) -> Outcome {
    match &args.command {
        BlobCommand::Put(args) => stream::put(args, options),
        BlobCommand::Get(args) => stream::get(args, options),
        BlobCommand::List(args) => list(args, options),
        BlobCommand::Remove(args) => remove(args, options),
        BlobCommand::Drop(args) => drop_store(args, options),
    }
}

/// Returns a store; if it is not there, the failure names those that are.
fn store(opened: &Opened, name: &str) -> Outcome<Blobs> {
    opened.db.blobs(name).map_err(|error| match error {
        Error::NoTable { .. } => missing_store(opened, name),
        other => opened.failure(&other),
    })
}

fn missing_store(opened: &Opened, name: &str) -> Failure {
    let names = opened.db.blob_names();
    let there = match &names[..] {
        [] => "the database has none yet".into(),
        [only] => format!("the only one is {only}"),
        [others @ .., last] => format!("there are {} and {last}", others.join(", ")),
    };
    Failure::Usage(opened.fault(&format!("there is no blob store {name}; {there}")))
}

/// Returns the failure of a key without a blob.
fn missing_blob(opened: &Opened, named: &Named) -> Failure {
    let key = shown(named.key.as_bytes());
    let store = &named.store;
    Failure::Usage(opened.fault(&format!("blob store {store} has no blob {key}; list its keys")))
}

/// Returns a key as one line of plain text.
fn shown(key: &[u8]) -> String {
    match std::str::from_utf8(key) {
        Ok(text) if !text.contains('\\') => {
            let is_plain = |letter: char| {
                !letter.is_control() && !program_support::printable::is_hidden(letter)
            };
            let escaped = |letter: char| letter.escape_default().to_string();
            let shown = text
                .chars()
                .map(|letter| if is_plain(letter) { letter.to_string() } else { escaped(letter) });
            shown.collect()
        }
        _ => key.escape_ascii().to_string(),
    }
}

fn list(args: &ListArgs, options: &Options) -> Outcome {
    let opened = Opened::to_read(&args.dir, options)?;
    let listed = match &args.store {
        None => list_stores(&opened),
        Some(name) => store(&opened, name).and_then(|store| {
            let start = args.prefix.as_deref().unwrap_or_default();
            list_blobs(&opened, &store, start.as_bytes())
        }),
    };
    opened.close_after(listed)
}

fn list_stores(opened: &Opened) -> Outcome {
    let mut lines = String::new();
    for name in opened.db.blob_names() {
        let count = opened.db.blobs(&name).and_then(|store| store.len());
        let count = count.map_err(|error| opened.failure(&error))?;
        lines += &format!("{count}\t{}\n", schema_text::name(&name));
    }
    output::print(&lines)
}

fn list_blobs(opened: &Opened, store: &Blobs, start: &[u8]) -> Outcome {
    let mut read = Ok(());
    output::to_standard_output(&mut |out| {
        for blob in store.prefix(start) {
            match blob {
                Ok(blob) => writeln!(out, "{}\t{}", blob.length_bytes, shown(&blob.key))?,
                Err(error) => {
                    read = Err(error);
                    break;
                }
            }
        }
        Ok(())
    })?;
    read.map_err(|error| opened.failure(&error))
}

fn remove(args: &RemoveArgs, options: &Options) -> Outcome {
    let Named { dir, store: name, key } = &args.named;
    let opened = Opened::existing(dir, options)?;
    let removed = store(&opened, name).and_then(|store| {
        let removed = progress::during("removing", || store.remove(key.as_bytes()));
        if removed.map_err(|error| opened.failure(&error))? {
            Ok(())
        } else {
            Err(missing_blob(&opened, &args.named))
        }
    });
    opened.close_after(removed)
}

fn drop_store(args: &DropArgs, options: &Options) -> Outcome {
    let opened = Opened::existing(&args.dir, options)?;
    let dropped = dropped(&opened, &args.store);
    opened.close_after(dropped)
}

fn dropped(opened: &Opened, name: &str) -> Outcome {
    // A damaged store, or what is left of one, cannot be counted, but can be dropped.
    let count = opened.db.blobs(name).and_then(|store| store.len()).ok();
    let done = progress::during("dropping", || opened.db.drop_blobs(name));
    done.map_err(|error| match error {
        Error::NoTable { .. } => missing_store(opened, name),
        other => opened.failure(&other),
    })?;
    let count = match count {
        None => "it was damaged".into(),
        Some(1) => "1 blob".into(),
        Some(count) => format!("{count} blobs"),
    };
    output::print(&format!("blob store {} dropped: {count}\n", schema_text::name(name)))
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn keys_are_shown_as_one_line_from_which_they_can_be_told_apart() {
        assert_eq!(shown("2026/Bär.png".as_bytes()), "2026/Bär.png");
        assert_eq!(shown(b"a\n\x1b[1m"), "a\\n\\u{1b}[1m");
        assert_eq!(shown(b"\xff"), "\\xff");
        assert_eq!(shown(b"\\xff"), "\\\\xff");
    }
}
