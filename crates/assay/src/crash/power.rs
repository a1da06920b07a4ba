//! Power cuts, on a filesystem whose power can be cut.

use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use assay_core::durability::{Found, Recovery, now_us};
use assay_core::random::{derive, draw, mix};
use assay_powercut::Directories;
use assay_powercut::client::Server;
use assay_suites::crash::{Checked, Job};
use program_support::exit::{Failure, Outcome};

use super::{Heard, Pause, Round, Rounds, Subject, Writer, gave_up};
use crate::worker::program;

/// The filesystem, served by a separate process, and its mount point for processes that enter its
/// namespace.
pub(crate) struct Bench {
    pub(super) server: Server,
    pub(super) mount: PathBuf,
    pub(super) directories: Directories,
}

/// The outcome of a writer.
pub(super) struct Written {
    pub(super) pause: Pause,
    pub(super) heard: Heard,
    /// The time when the writer was killed, if it still ran: microseconds since 1970.
    killed_us: u64,
}

/// The runs of a writer that say how many operations it does, where its engine's own threads may do
/// more in one run than in another.
pub(super) const RUNS: usize = 3;

/// The operations of a writer before which a cut may come, or which may meet a fault.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(super) opened: u64,
    pub(super) ended: u64,
}

/// Rounds in which the power is cut before an operation of the writer.
pub(crate) struct Cuts<'c> {
    pub bench: Bench,
    pub subject: &'c Subject<'c>,
    /// The operations from which a cut is drawn, unless one is chosen.
    pub span: Option<Span>,
}

impl Rounds for Cuts<'_> {
    fn round(&mut self, number: u32) -> Outcome<Result<Round, String>> {
        self.bench.round(self.subject, number, self.span)
    }

    fn keep(&mut self, folder: &Path) -> io::Result<()> {
        self.bench.save(folder)
    }
}

impl Bench {
    /// Mounts the filesystem on an empty directory, in a namespace that no other process sees.
    pub(crate) fn set_up(mount: &Path, directories: Directories) -> Outcome<Self> {
        let server = Server::start(served(mount), directories).map_err(refused)?;
        Ok(Self { server, mount: mount.into(), directories })
    }

    /// Lets all processes be in one boot.
    pub(super) fn stay_in_boot(&mut self) -> Outcome {
        self.server.stay_in_boot().map_err(refused)
    }

    /// Writes the disk after the last cut, or as it was healed, into a new folder.
    pub(super) fn save(&mut self, folder: &Path) -> io::Result<()> {
        // The server may work in another directory than this process.
        let folder = std::path::absolute(folder)?;
        self.server.save(&folder)
    }

    /// Counts a writer's operations in undisturbed runs of a history. The inner error says why it
    /// cannot.
    pub(crate) fn span(
        &mut self,
        subject: &Subject<'_>,
        history: u32,
    ) -> Outcome<Result<Span, String>> {
        let mut opened = u64::MAX;
        let mut ended = 0;
        // An engine's own threads may be early with what they do after opening.
        let runs = [0; RUNS].into_iter().chain([subject.job.commits]);
        for commits in runs {
            let Written { pause, heard, .. } = self.write(subject, history, commits, u64::MAX)?;
            if pause == Pause::Gone || heard.log.is_none() {
                return Ok(Err(gave_up(&heard)));
            }
            ended = self.server.state().map_err(refused)?.operations;
            opened = opened.min(ended);
        }
        Ok(Ok(Span { opened, ended: ended.max(opened + 1) }))
    }

    /// Runs a round: the power is cut before an operation, which is drawn from the span if it is
    /// not given. The inner error says why there is no result.
    fn round(
        &mut self,
        subject: &Subject<'_>,
        number: u32,
        span: Option<Span>,
    ) -> Outcome<Result<Round, String>> {
        let seed = derive(subject.round_seed(number), "power");
        let drawn = span.map(|span| 1 + span.opened + draw(seed, 0, span.ended - span.opened));
        let at = subject.chosen.at.first().copied().or(drawn).unwrap_or(1);
        let Written { pause, heard, killed_us } =
            self.write(subject, number, subject.job.commits, at)?;
        let state = self.server.state().map_err(refused)?;
        if pause == Pause::Gone && !state.power_is_gone {
            return Ok(Err(gave_up(&heard)));
        }
        self.server.cut(subject.loss(number), seed).map_err(refused)?;
        let job = subject.job(number, self.mount.clone(), Some(self.server.process()));
        let mut recoveries = Vec::new();
        let mut cut_openings = 0;
        if heard.log.is_some() {
            for crash in 1..subject.crashes {
                let again = self.crash_again(subject, &job, number, crash)?;
                let Some((recovery, is_cut)) = again else { break };
                recoveries.push(recovery);
                cut_openings += u32::from(is_cut);
            }
        }
        let checked = match &heard.log {
            Some(log) => subject.check(&job, log)?,
            // Nothing is promised of a store that never was open.
            None => Checked { found: Found::Everything, oldest_lost: None },
        };
        let age = heard.age(&checked, state.gone_at_us.unwrap_or(killed_us));
        let settings = heard.settings.unwrap_or_default();
        let log = heard.log.unwrap_or_default();
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

    /// Cuts the power of a process that opens the store. Returns where, and true if it was not done
    /// yet; none if the store cannot be opened, or opening it changes nothing.
    fn crash_again(
        &mut self,
        subject: &Subject<'_>,
        job: &Job,
        number: u32,
        crash: u32,
    ) -> Outcome<Option<(Recovery, bool)>> {
        let seed = mix(derive(job.seed, "opening"), u64::from(crash));
        let is_open = self.open_until(subject, job, u64::MAX)?;
        let of = self.server.state().map_err(refused)?.operations;
        if !is_open || of == 0 {
            self.server.restore().map_err(refused)?;
            return Ok(None);
        }
        let at = subject.chosen.at.get(crash as usize).copied();
        let at = at.unwrap_or_else(|| 1 + draw(seed, 0, of));
        self.open_until(subject, job, at)?;
        let is_cut = self.server.state().map_err(refused)?.power_is_gone;
        self.server.cut(subject.loss(number + crash), seed).map_err(refused)?;
        Ok(Some((Recovery::Operation { at, of }, is_cut)))
    }

    /// Opens the store and closes it, or cuts the power before operation `at`. Returns true if it
    /// was closed.
    fn open_until(&mut self, subject: &Subject<'_>, job: &Job, at: u64) -> Outcome<bool> {
        let server = &mut self.server;
        server.restore().map_err(refused)?;
        let mut opener = Writer::reopen(subject, job, &mut |process| server.arm(at, process))?;
        opener.listen(subject.interrupt, |heard| heard.closed.is_some())?;
        Ok(opener.end().closed.is_some())
    }

    /// Runs a writer until the power is cut before operation `at`, or to the end.
    pub(super) fn write(
        &mut self,
        subject: &Subject<'_>,
        number: u32,
        commits: u32,
        at: u64,
    ) -> Outcome<Written> {
        self.server.clear(self.directories).map_err(refused)?;
        let mut job = subject.job(number, self.mount.clone(), Some(self.server.process()));
        job.commits = commits;
        let server = &mut self.server;
        let mut writer = Writer::start(subject, &job, &mut |process| server.arm(at, process))?;
        let pause = writer.until(commits, subject.interrupt)?;
        let killed_us = now_us();
        Ok(Written { pause, heard: writer.end(), killed_us })
    }
}

/// Returns the command of the process that serves the filesystem: this same program.
pub(crate) fn served(mount: &Path) -> Command {
    let mut process = program::again();
    // An interrupt from the keyboard is for the parent; the parent's end also ends this process.
    process.arg("power-cut-server").arg(mount).process_group(0);
    process
}

pub(crate) fn refused(error: io::Error) -> Failure {
    Failure::Refused(format!("the power-cut filesystem: {error}"))
}

/// Serves the filesystem; the hidden command behind [`Bench`].
pub(crate) fn serve(mount: &Path) -> Outcome {
    let unmount = |at: &Path| {
        let mut process = program::again();
        process.arg("power-cut-unmount").arg(at);
        process
    };
    assay_powercut::server::serve(mount, &unmount).map_err(refused)
}

/// Unmounts the filesystem; the hidden command that [`serve`] starts.
pub(crate) fn unmount(mount: &Path) -> Outcome {
    assay_powercut::mount::unmount(mount).map_err(refused)
}
