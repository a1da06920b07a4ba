//! `lode blob put` and `get`: bytes go through in pieces.

use std::fs::File;
use std::io::{self, ErrorKind, IsTerminal, Read, Seek, SeekFrom, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use lode::{BlobReader, Blobs, Error, MOST_BLOB_KEY_BYTES, Options};
use program_support::exit::{Failure, Outcome};
use program_support::interrupt;
use program_support::output;

use super::{missing_blob, store, target};
use crate::cli::blob::{GetArgs, PutArgs};
use crate::commands::{STANDARD, noted_for, outside_of};
use crate::database::Opened;
use crate::progress::Progress;

/// Bytes that are copied at a time.
const PIECE_BYTES: usize = 64 << 10;

/// The end of copying: all is there, or what kept it from that.
enum Fault {
    Source(io::Error),
    Target(io::Error),
    Interrupted,
}

/// Writes a blob.
pub(super) fn put(args: &PutArgs, options: &Options) -> Outcome {
    // A key that is too long, or a file that cannot be read, creates nothing.
    let key_bytes = args.named.key.as_bytes().len();
    if key_bytes > MOST_BLOB_KEY_BYTES {
        return Err(Failure::Usage(format!(
            "KEY has {key_bytes} bytes; name one of at most {MOST_BLOB_KEY_BYTES}"
        )));
    }
    let (source, name, total) = source(args.file.as_deref())?;
    let opened = target::open(&args.named.dir, args.create, options)?;
    let put = store_to_put(&opened, args)
        .and_then(|store| write(&opened, &store, args, source, &name, total));
    opened.close_after(put)
}

fn store_to_put(opened: &Opened, args: &PutArgs) -> Outcome<Blobs> {
    let name = &args.named.store;
    if args.create {
        return opened.db.blobs_or_create(name).map_err(|error| opened.failure(&error));
    }
    store(opened, name).map_err(|failure| failure.and("--create creates one"))
}

/// Returns what is to be read, its name, and its size as far as that is known.
fn source(path: Option<&Path>) -> Outcome<(Box<dyn Read>, String, u64)> {
    match path.filter(|path| path.as_os_str() != STANDARD) {
        None => Ok((Box::new(io::stdin().lock()), "standard input".into(), 0)),
        Some(path) => {
            let name = path.display().to_string();
            let refused = |error: io::Error| Failure::Refused(format!("{name}: {error}"));
            let file = File::open(path).map_err(refused)?;
            let found = file.metadata().map_err(refused)?;
            if found.is_dir() {
                return Err(Failure::Usage(format!("{name}: it is a directory; name a file")));
            }
            Ok((Box::new(file), name, found.len()))
        }
    }
}

fn write(
    opened: &Opened,
    store: &Blobs,
    args: &PutArgs,
    mut source: Box<dyn Read>,
    name: &str,
    total_bytes: u64,
) -> Outcome {
    let writer = store.write(args.named.key.as_bytes());
    let mut writer = writer.map_err(|error| opened.failure(&error))?;
    let mut progress = Progress::of_bytes("writing", total_bytes);
    // A signal ends the process. The next one that writes to the store removes what it has left.
    match copy(&mut source, &mut writer, &mut progress, &|| false) {
        Ok(()) => writer.finish().map_err(|error| opened.failure(&error)),
        Err(Fault::Source(error)) => Err(Failure::Refused(format!("{name}: {error}"))),
        Err(Fault::Target(error)) => Err(of_database(opened, error)),
        Err(Fault::Interrupted) => unreachable!("nothing interrupts it"),
    }
}

/// Writes a blob, or a part of it, to a file or to standard output.
pub(super) fn get(args: &GetArgs, options: &Options) -> Outcome {
    let dir = &args.named.dir;
    let to = args.output.as_deref().map(|path| outside_of(dir, path)).transpose()?;
    let opened = Opened::to_read(dir, options)?;
    let got = reader(&opened, args).and_then(|mut part| {
        let total_bytes = part.limit();
        let Some(to) = to else {
            let mut progress =
                Progress::of_bytes("reading", total_bytes).only_if(!io::stdout().is_terminal());
            let mut copied = Ok(());
            output::to_standard_output(&mut |out| {
                copied = copy(&mut part, out, &mut progress, &|| false);
                settle(&mut copied)
            })?;
            return whole(&opened, copied);
        };
        let noted = noted_for(&to);
        interrupt::watch("lode", || ())?;
        let mut progress = Progress::of_bytes("reading", total_bytes);
        let mut copied = Ok(());
        let written = to.write_with(&mut |out| {
            copied = copy(&mut part, out, &mut progress, &|| noted.came());
            settle(&mut copied)?;
            // The output so far is not the wanted one.
            if copied.is_ok() { Ok(()) } else { Err(io::Error::other("it is not whole")) }
        });
        whole(&opened, copied)?;
        written.map_err(|error| Failure::Refused(format!("{}: {error}", to.name())))
    });
    opened.close_after(got)
}

/// Returns the error of writing; one of reading stays.
fn settle(copied: &mut Result<(), Fault>) -> io::Result<()> {
    match std::mem::replace(copied, Ok(())) {
        Err(Fault::Target(error)) => Err(error),
        other => {
            *copied = other;
            Ok(())
        }
    }
}

fn whole(opened: &Opened, copied: Result<(), Fault>) -> Outcome {
    match copied {
        Ok(()) => Ok(()),
        Err(Fault::Source(error) | Fault::Target(error)) => Err(of_database(opened, error)),
        Err(Fault::Interrupted) => {
            Err(Failure::Interrupted("interrupted; the file was not written".into()))
        }
    }
}

/// Returns a reader of the bytes that were asked for.
fn reader(opened: &Opened, args: &GetArgs) -> Outcome<io::Take<BlobReader>> {
    let found = store(opened, &args.named.store)?.read(args.named.key.as_bytes());
    let found = found.map_err(|error| opened.failure(&error))?;
    let mut found = found.ok_or_else(|| missing_blob(opened, &args.named))?;
    found.seek(SeekFrom::Start(args.from)).map_err(|error| of_database(opened, error))?;
    let left = found.length_bytes().saturating_sub(args.from);
    Ok(found.take(args.length.map_or(left, |most| most.min(left))))
}

fn of_database(opened: &Opened, error: io::Error) -> Failure {
    match error.downcast::<Error>() {
        Ok(error) => opened.failure(&error),
        Err(error) => Failure::Refused(opened.fault(&error.to_string())),
    }
}

/// Copies all bytes, until `is_over`.
fn copy(
    source: &mut dyn Read,
    target: &mut dyn Write,
    progress: &mut Progress,
    is_over: &dyn Fn() -> bool,
) -> Result<(), Fault> {
    let mut piece = vec![0; PIECE_BYTES];
    let mut done = 0;
    loop {
        if is_over() {
            return Err(Fault::Interrupted);
        }
        match source.read(&mut piece) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(Fault::Source(error)),
            Ok(0) => return Ok(()),
            Ok(count) => {
                target.write_all(&piece[..count]).map_err(Fault::Target)?;
                done += count as u64;
                progress.at(done);
            }
        }
    }
}
