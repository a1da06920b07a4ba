//! `lode volume import`

use std::fs::File;
use std::io::{BufRead, BufReader};

use lode_volumes::{Error, Options};
use program_support::exit::{Failure, Outcome};
use program_support::output::print;

use super::Opened;
use crate::cli::volume::ImportArgs;

/// Makes entries from lines of JSON.
pub(crate) fn import(args: &ImportArgs, options: &Options) -> Outcome {
    let (mut lines, source): (Box<dyn BufRead>, String) = match &args.file {
        None => (Box::new(std::io::stdin().lock()), "standard input".into()),
        Some(path) => {
            let shown = path.display().to_string();
            let opened = File::open(path).and_then(|file| {
                if file.metadata()?.is_dir() {
                    Err(std::io::ErrorKind::IsADirectory.into())
                } else {
                    Ok(file)
                }
            });
            let file = opened.map_err(|error| Failure::Refused(format!("{shown}: {error}")))?;
            (Box::new(BufReader::new(file)), shown)
        }
    };
    // A pipe may come from a command that has the volume open.
    let waited = lines.fill_buf().map(drop);
    waited.map_err(|error| Failure::Refused(format!("{source}: {error}")))?;
    let opened = Opened::to_write(&args.dir, options)?;
    let imported = opened.volume.import(&args.path, &mut lines).map_err(|error| match error {
        Error::Line { line, why } => Failure::Wrong(format!(
            "{source}:{line}: {why}; the lines before it are imported, and stay"
        )),
        Error::Stream { source: error, .. } => Failure::Refused(format!("{source}: {error}")),
        other => opened.failure(&other),
    });
    match opened.close_after(imported)? {
        1 => print("1 line imported\n"),
        count => print(&format!("{count} lines imported\n")),
    }
}
