//! `assay crash`

use std::path::{Path, PathBuf};

use assay_core::durability::{Crash, Found};
use assay_driver::Storage;
use program_support::exit::{Failure, Outcome};
use program_support::interrupt::Interrupt;
use program_support::output::print;

use crate::cli::CrashArgs;
use crate::crash::VERDICTS_FILE;
use crate::crash::folder::Folder;
use crate::crash::image::Image;
use crate::crash::levels::{Ordered, Place};
use crate::files;
use crate::planning::engines;
use crate::planning::store_dirs::StoreDirs;
use crate::running::time_budget::TimeBudget;

/// Tests engines at their levels, or checks the files that an earlier round left.
pub(crate) fn crash(args: &CrashArgs) -> Outcome {
    if let Some(image) = &args.open {
        return open(image, args);
    }
    let ordered = Ordered::of(args)?;
    let interrupt = Interrupt::noted();
    let store_dirs = StoreDirs::prepare(&[Storage::Disk], args.ending.dir.as_deref())?;
    let path = args.output.clone().unwrap_or_else(|| PathBuf::from(VERDICTS_FILE));
    // One round, or losses of one kind, are no verdict on a level.
    let keeps = args.round.is_none() && args.ending.loss.is_none();
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
        time_budget: &TimeBudget::without_end(),
    };
    ordered.carry_out(args, &place)
}

/// Checks a copy of the files that a round left.
fn open(folder: &Path, args: &CrashArgs) -> Outcome {
    let image = Image::load(folder)?;
    // Otherwise a worker would open it without its engine.
    engines::named(std::slice::from_ref(&image.job.engine))?;
    let interrupt = Interrupt::noted();
    let store_dirs = StoreDirs::prepare(&[Storage::Disk], args.ending.dir.as_deref())?;
    let dir = store_dirs
        .store(&format!("crash-{}", image.job.engine), Storage::Disk)
        .expect("store_dirs were prepared for the disk");
    let copy = Folder::make(&dir)?;
    let found = image.look(&copy.store(), args.ending.patience(), &interrupt)?;
    let engine = &image.job.engine;
    let level = image.job.durability;
    print(&format!(
        " {engine} at {level}, {} commits acknowledged\n the round: {}\n   {}\n now: {found}\n",
        image.log.commits(),
        image.found,
        image.command
    ))?;
    if matches!(image.found, Found::Wrong(_) | Found::Hung(_)) {
        // The writer was at work then.
        print(&format!(" no files show that; repeat the round with\n   {}\n", image.command))?;
    }
    if image.promise.is_kept(&found) || image.crash == Crash::Copy {
        Ok(())
    } else {
        Err(Failure::Wrong(format!("{engine} does not keep what {level} promises")))
    }
}
