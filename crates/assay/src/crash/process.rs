//! Killed processes, on a real filesystem.

use std::io;
use std::path::Path;
use std::time::Duration;

use assay_core::durability::{Recovery, now_us};
use assay_core::random::{derive, draw};
use assay_suites::crash::Job;
use program_support::exit::{Failure, Outcome};

use super::folder::{Folder, removed};
use super::image::copy_tree;
use super::{Pause, Round, Rounds, Subject, Writer, gave_up};

/// The most microseconds that a writer lives after the commit for which it is killed.
const DELAY_MOST_US: u64 = 2_000;

/// Rounds in which writers are killed a little after they have acknowledged a commit.
pub(crate) struct Kills<'k> {
    pub subject: &'k Subject<'k>,
    pub folder: &'k Folder,
}

impl Kills<'_> {
    /// Copies the store as a crash left it.
    fn copy(&self) -> Outcome {
        let store = self.folder.store();
        let copy = self.folder.copy();
        removed(&copy)
            .and_then(|()| copy_tree(&store, &copy))
            .map_err(|e| Failure::Refused(format!("{}: {e}", store.display())))
    }

    /// Kills a process that opens the store, which was copied, and copies what is left. Returns
    /// where it was killed, and true if it was not done yet; none if the store cannot be opened.
    fn crash_again(&self, job: &Job, crash: u32, seed: u64) -> Outcome<Option<(Recovery, bool)>> {
        let subject = self.subject;
        let whole = Job { dir: self.folder.copy(), ..job.clone() };
        let Some(of_us) = self.open_for(&whole, None)?.1 else {
            self.copy()?;
            return Ok(None);
        };
        let drawn = 1 + draw(derive(seed, "opening"), u64::from(crash), of_us.max(1));
        // A later moment would only be waited for.
        let at_us = subject.chosen.at.get(crash as usize).copied().unwrap_or(drawn).min(of_us);
        let (was_killed, _) = self.open_for(job, Some(at_us))?;
        self.copy()?;
        Ok(Some((Recovery::Time { at_us, of_us }, was_killed)))
    }

    /// Opens a store and closes it, or kills the process that does so, a time after it began.
    /// Returns true if it was killed before it was done, and the microseconds that it took if not.
    fn open_for(&self, job: &Job, kill_after_us: Option<u64>) -> Outcome<(bool, Option<u64>)> {
        let interrupt = self.subject.interrupt;
        let mut opener = Writer::reopen(self.subject, job, &mut |_| Ok(()))?;
        match kill_after_us {
            None => drop(opener.listen(interrupt, |heard| heard.closed.is_some())?),
            Some(after_us) => {
                opener.listen(interrupt, |heard| heard.opening.is_some())?;
                std::thread::sleep(Duration::from_micros(after_us));
            }
        }
        let heard = opener.end();
        let took = heard.opening.zip(heard.closed).map(|(opening, closed)| closed - opening);
        let took_us = took.map(|took| u64::try_from(took.as_micros()).unwrap_or(u64::MAX));
        Ok((took.is_none(), took_us))
    }
}

impl Rounds for Kills<'_> {
    fn round(&mut self, number: u32) -> Outcome<Result<Round, String>> {
        self.folder.empty()?;
        let subject = self.subject;
        let store = self.folder.store();
        let job = subject.job(number, store.clone(), None);
        let seed = derive(job.seed, "process");
        let drawn = 1 + draw(seed, 0, u64::from(job.commits));
        let at = subject.chosen.at.first().copied().unwrap_or(drawn);
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
        self.copy()?;
        let mut recoveries = Vec::new();
        let mut cut_openings = 0;
        for crash in 1..subject.crashes {
            let Some((recovery, is_cut)) = self.crash_again(&job, crash, seed)? else { break };
            recoveries.push(recovery);
            cut_openings += u32::from(is_cut);
        }
        let checked = subject.check(&job, &log)?;
        let age = heard.age(&checked, killed_us);
        let settings = heard.settings.unwrap_or_default();
        Ok(Ok(Round {
            job,
            log,
            prepared: 0,
            at,
            recoveries,
            cut_openings,
            found: checked.found,
            age,
            settings,
            faulted: None,
            state: None,
        }))
    }

    fn keep(&mut self, folder: &Path) -> io::Result<()> {
        copy_tree(&self.folder.copy(), folder)
    }
}
