//! `lode volume export`

use std::io;

use lode_volumes::{EntryAt, Error, Options};
use program_support::destination::Destination;
use program_support::exit::{Failure, Outcome};
use program_support::interrupt;

use super::Opened;
use super::show::written;
use crate::cli::volume::ExportArgs;
use crate::commands::outside_of;

/// Writes an entry and all below it as lines of JSON.
pub(crate) fn export(args: &ExportArgs, options: &Options) -> Outcome {
    let target = args.output.as_deref().map(|path| outside_of(&args.dir, path)).transpose()?;
    let opened = Opened::to_read(&args.dir, options)?;
    let exported = opened.entry_at(&args.path).and_then(|entry| match &target {
        None => written(&opened, &mut |out| to_stream(entry.export(out))),
        Some(target) => to_file(&opened, &entry, target),
    });
    opened.close_after(exported)
}

/// Separates an error of the stream from one of the volume.
fn to_stream(exported: lode_volumes::Result<u64>) -> io::Result<lode_volumes::Result<()>> {
    match exported {
        Ok(_) => Ok(Ok(())),
        Err(Error::Stream { source, .. }) => Err(source
            .raw_os_error()
            .map_or_else(|| source.kind().into(), io::Error::from_raw_os_error)),
        Err(error) => Ok(Err(error)),
    }
}

fn to_file(opened: &Opened, entry: &EntryAt, target: &Destination) -> Outcome {
    interrupt::watch("lode", || ())?;
    let mut read = Ok(());
    let written = target.write_with(&mut |out| {
        read = to_stream(entry.export(out))?;
        if read.is_ok() {
            Ok(())
        } else {
            // The output so far is not the wanted one.
            Err(io::Error::other("it is not whole"))
        }
    });
    read.map_err(|error| opened.failure(&error))?;
    written.map_err(|error| Failure::Refused(format!("{}: {error}", target.name())))
}
