//! Killed processes, on a real filesystem.

use std::path::Path;
use std::time::Duration;

use assay_core::durability::now_us;
use assay_core::random::{derive, draw};
use program_support::exit::Outcome;

use super::{Pause, Round, Subject, Writer, gave_up};

/// A writer lives on for at most so long after the commit that it is killed for.
const DELAY_MOST_US: u64 = 2_000;

/// Runs a round in an empty directory: the writer is killed a little after it has acknowledged
/// commit `at`, which is drawn if it is not given. The inner error says why there is no result.
pub(crate) fn round(
    subject: &Subject<'_>,
    number: u32,
    at: Option<u64>,
    dir: &Path,
) -> Outcome<Result<Round, String>> {
    let job = subject.job(number, dir.into(), None);
    let seed = derive(job.seed, "process");
    let at = at.unwrap_or_else(|| 1 + draw(seed, 0, u64::from(job.commits)));
    let mut writer = Writer::start(subject, &job, &mut |_| Ok(()))?;
    let pause = writer.until(u32::try_from(at).unwrap_or(u32::MAX), subject.interrupt)?;
    if pause == Pause::Reached {
        std::thread::sleep(Duration::from_micros(draw(seed, 1, DELAY_MOST_US)));
    }
    let killed_us = now_us();
    let heard = writer.end();
    let (Pause::Reached | Pause::Late, Some(acknowledged)) = (pause, heard.acknowledged) else {
        return Ok(Err(gave_up(&heard)));
    };
    let found = subject.check(&job, acknowledged)?;
    let age = heard.age(&found, killed_us);
    Ok(Ok(Round { acknowledged, at, found, age, settings: heard.settings.unwrap_or_default() }))
}
