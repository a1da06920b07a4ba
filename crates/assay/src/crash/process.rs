//! Killed processes, on a real filesystem.

use std::io;
use std::path::Path;
use std::time::Duration;

use assay_core::durability::now_us;
use assay_core::random::{derive, draw};
use program_support::exit::{Failure, Outcome};

use super::folder::Folder;
use super::image::copy_tree;
use super::{Pause, Round, Rounds, Subject, Writer, gave_up};

/// The most microseconds that a writer lives after the commit for which it is killed.
const DELAY_MOST_US: u64 = 2_000;

/// Rounds in which writers are killed a little after they have acknowledged a commit.
pub(crate) struct Kills<'k> {
    pub subject: &'k Subject<'k>,
    pub folder: &'k Folder,
    /// The commit after which writers are killed, if it is not drawn.
    pub at: Option<u64>,
}

impl Rounds for Kills<'_> {
    fn round(&mut self, number: u32) -> Outcome<Result<Round, String>> {
        self.folder.empty()?;
        let subject = self.subject;
        let store = self.folder.store();
        let job = subject.job(number, store.clone(), None);
        let seed = derive(job.seed, "process");
        let at = self.at.unwrap_or_else(|| 1 + draw(seed, 0, u64::from(job.commits)));
        let mut writer = Writer::start(subject, &job, &mut |_| Ok(()))?;
        let pause = writer.until(u32::try_from(at).unwrap_or(u32::MAX), subject.interrupt)?;
        if pause == Pause::Reached {
            std::thread::sleep(Duration::from_micros(draw(seed, 1, DELAY_MOST_US)));
        }
        let killed_us = now_us();
        let mut heard = writer.end();
        let (Pause::Reached | Pause::Late, Some(log)) = (pause, heard.log.take()) else {
            return Ok(Err(gave_up(&heard)));
        };
        copy_tree(&store, &self.folder.copy())
            .map_err(|e| Failure::Refused(format!("{}: {e}", store.display())))?;
        let checked = subject.check(&job, &log)?;
        let age = heard.age(&checked, killed_us);
        let settings = heard.settings.unwrap_or_default();
        Ok(Ok(Round { job, log, at, found: checked.found, age, settings }))
    }

    fn keep(&mut self, folder: &Path) -> io::Result<()> {
        copy_tree(&self.folder.copy(), folder)
    }
}
