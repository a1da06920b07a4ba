//! The process that owns the disk and serves it. It reads a [`Command`] a line from standard input
//! and answers each with a line on standard output. It ends at the end of its input, and the mount
//! with it.

use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};
use std::process;

use fuser::{Config, Session, SessionACL};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

use crate::disk::{Cut, Directories, Disk};
use crate::fault::{Faults, Injection};
use crate::loss::Loss;
use crate::mount;
use crate::power::{Power, Shared};
use crate::states::States;
use crate::volume::Volume;

/// A command to a server.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Command {
    /// Start again with an empty disk.
    Clear(Directories),
    /// Cut the power in place of the operation of this number, and kill the process.
    Arm {
        /// Operations are counted from 1, from the last [`Self::Clear`] or [`Self::Restore`] on.
        operation: u64,
        /// The process to kill then.
        process: u32,
    },
    /// Let operations meet a fault from now on.
    Inject {
        /// The fault.
        injection: Injection,
        /// The process to kill if the power goes after it.
        process: u32,
    },
    /// Let all processes be in one boot from now on: the power stays.
    StayInBoot,
    /// Heal the disk. What is on it now is what [`Self::Save`] writes.
    Heal,
    /// Answer with the server's state.
    State,
    /// Cut the power now, if it has not gone yet, and restore it. No file may be open.
    Cut {
        /// The changes that survive.
        loss: Loss,
        /// The seed of a random loss.
        seed: u64,
    },
    /// Put the disk back to how the last [`Self::Cut`] left it. No file may be open.
    Restore,
    /// Cut the power now, if it has not gone yet, and find states in which that can leave the disk.
    /// [`Self::Enter`] tries each. The disk is gone until then, or [`Self::Clear`].
    Enumerate {
        /// The most states.
        most: u32,
        /// The seed of those that are drawn.
        seed: u64,
    },
    /// Restore the power with a state of those that the last [`Self::Enumerate`] found, by its
    /// place. No file may be open.
    Enter(u32),
    /// Write the disk after the last [`Self::Cut`], [`Self::Enter`] or [`Self::Heal`] into a new
    /// folder of a real disk.
    Save(PathBuf),
}

/// The server's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// Operations since the disk was empty or restored.
    pub operations: u64,
    /// True if the power is gone.
    pub power_is_gone: bool,
    /// The time at which it went at an operation, by the machine's clock: microseconds since 1970.
    pub gone_at_us: Option<u64>,
    /// Operations that the fault concerned since it was injected.
    pub concerned: u64,
    /// Operations that met the fault.
    pub met: u64,
}

/// The states in which a power cut can leave a disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// A digest of each state that was found.
    pub digests: Vec<u64>,
    /// The ways in which whole pages can survive, some of which lead to equal states.
    pub ways: u64,
}

/// The answer to a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// The command was carried out.
    Done,
    /// The server's state.
    State(State),
    /// The power was gone and is back.
    Cut(Cut),
    /// The power is gone, and can leave these states.
    States(Found),
    /// The command failed.
    Failed(String),
}

/// Serves until the end of standard input. `unmount` starts another process that calls
/// [`mount::unmount`].
pub fn serve(at: &Path, unmount: &dyn Fn(&Path) -> process::Command) -> io::Result<()> {
    mount::isolate()?;
    let at = at.into();
    let shared = Shared::default();
    let left = Volume::default();
    let states = Vec::new();
    let mut server = Server { at, shared, left, states, session: None, unmount };
    let mut answers = io::stdout();
    for line in io::stdin().lock().lines() {
        let answer = match serde_json::from_str(&line?) {
            Ok(command) => {
                server.carry_out(command).unwrap_or_else(|e| Answer::Failed(e.to_string()))
            }
            Err(error) => Answer::Failed(format!("not a command: {error}")),
        };
        let mut text = serde_json::to_string(&answer)?;
        text.push('\n');
        answers.write_all(text.as_bytes())?;
        answers.flush()?;
    }
    // The session's threads end with the process.
    Ok(())
}

struct Server<'s> {
    at: PathBuf,
    shared: Shared,
    /// The disk after the last cut.
    left: Volume,
    /// The states that were enumerated.
    states: Vec<Volume>,
    session: Option<fuser::BackgroundSession>,
    unmount: &'s dyn Fn(&Path) -> process::Command,
}

impl Server<'_> {
    fn carry_out(&mut self, command: Command) -> io::Result<Answer> {
        match command {
            Command::Clear(directories) => {
                self.shared.lock().frozen = true;
                self.unmount()?;
                *self.shared.lock() = Power::new(Disk::new(directories));
                self.mount()?;
                Ok(Answer::Done)
            }
            Command::Arm { operation, process } => {
                let pid = i32::try_from(process).map_err(io::Error::other)?;
                self.shared.lock().armed = Some((operation, Pid::from_raw(pid)));
                Ok(Answer::Done)
            }
            Command::Inject { injection, process } => {
                let pid = i32::try_from(process).map_err(io::Error::other)?;
                self.shared.lock().inject(injection, Pid::from_raw(pid));
                Ok(Answer::Done)
            }
            Command::StayInBoot => {
                mount::stay_in_boot()?;
                Ok(Answer::Done)
            }
            Command::Heal => {
                let mut power = self.shared.lock();
                power.faults = Faults::default();
                self.left = power.disk.live().clone();
                Ok(Answer::Done)
            }
            Command::State => {
                let power = self.shared.lock();
                Ok(Answer::State(State {
                    operations: power.operations,
                    power_is_gone: power.frozen,
                    gone_at_us: power.gone_at_us,
                    concerned: power.faults.seen,
                    met: power.faults.met,
                }))
            }
            Command::Cut { loss, seed } => {
                self.shared.lock().frozen = true;
                self.unmount()?;
                let mut power = self.shared.lock();
                let cut = power.disk.cut(loss, seed);
                self.left = power.disk.live().clone();
                (power.armed, power.frozen, power.gone_at_us) = (None, false, None);
                power.faults = Faults::default();
                drop(power);
                self.mount()?;
                Ok(Answer::Cut(cut))
            }
            Command::Restore => self.restore(),
            Command::Enumerate { most, seed } => {
                self.shared.lock().frozen = true;
                self.unmount()?;
                let States { found, ways } = self.shared.lock().disk.states(most as usize, seed);
                let (digests, states) = found.into_iter().unzip();
                self.states = states;
                Ok(Answer::States(Found { digests, ways }))
            }
            Command::Enter(place) => {
                let state = self.states.get(place as usize);
                self.left =
                    state.ok_or_else(|| io::Error::other("there is no such state"))?.clone();
                self.restore()
            }
            Command::Save(folder) => {
                self.left.write_to(&folder)?;
                Ok(Answer::Done)
            }
        }
    }

    /// Starts again with the disk that was left.
    fn restore(&mut self) -> io::Result<Answer> {
        self.shared.lock().frozen = true;
        self.unmount()?;
        let mut power = self.shared.lock();
        let directories = power.disk.directories();
        *power = Power::new(Disk::holding(self.left.clone(), directories));
        drop(power);
        self.mount()?;
        Ok(Answer::Done)
    }

    fn mount(&mut self) -> io::Result<()> {
        let device = mount::mount(&self.at)?;
        let filesystem = self.shared.clone();
        let session = Session::from_fd(filesystem, device, SessionACL::All, Config::default())?;
        self.session = Some(session.spawn()?);
        Ok(())
    }

    fn unmount(&mut self) -> io::Result<()> {
        let Some(session) = self.session.take() else {
            return Ok(());
        };
        let output = (self.unmount)(&self.at).output()?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(io::Error::other(format!("cannot unmount: {}", said.trim())));
        }
        session.join()
    }
}
