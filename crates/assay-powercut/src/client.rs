//! The client of a server: another process starts it and sends it commands.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use crate::disk::{Cut, Directories};
use crate::fault::Injection;
use crate::loss::Loss;
use crate::server::{Answer, Command, Found, State};

/// The longest that a command may take. A server that takes longer is ended.
const PATIENCE: Duration = Duration::from_secs(60);
/// The longest line that a server may send.
const ANSWER_MOST_BYTES: u64 = 1 << 20;

/// A server at work. It ends when this value is dropped.
pub struct Server {
    child: Child,
    commands: Option<ChildStdin>,
    answers: Receiver<io::Result<String>>,
    patience: Duration,
}

impl Server {
    /// Starts a process that calls [`crate::server::serve`], with an empty disk. It dies with the
    /// calling thread.
    pub fn start(mut process: std::process::Command, directories: Directories) -> io::Result<Self> {
        let mut child =
            process.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let ends = (child.stdin.take(), child.stdout.take());
        let (Some(commands), Some(answers)) = ends else {
            return Err(io::Error::other("its ends of the pipes are missing"));
        };
        let answers = listen(answers);
        let mut server = Self { child, commands: Some(commands), answers, patience: PATIENCE };
        server.clear(directories)?;
        Ok(server)
    }

    /// Returns the id of the process, whose mount namespace is to be entered.
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// Starts again with an empty disk.
    pub fn clear(&mut self, directories: Directories) -> io::Result<()> {
        self.tell(Command::Clear(directories)).map(drop)
    }

    /// Arms a power cut in place of an operation, which also kills a process.
    pub fn arm(&mut self, operation: u64, process: u32) -> io::Result<()> {
        self.tell(Command::Arm { operation, process }).map(drop)
    }

    /// Lets operations meet a fault from now on. If the power goes after it, a process is killed.
    pub fn inject(&mut self, injection: Injection, process: u32) -> io::Result<()> {
        self.tell(Command::Inject { injection, process }).map(drop)
    }

    /// Lets all processes on the filesystem be in one boot from now on: the power stays.
    pub fn stay_in_boot(&mut self) -> io::Result<()> {
        self.tell(Command::StayInBoot).map(drop)
    }

    /// Heals the disk.
    pub fn heal(&mut self) -> io::Result<()> {
        self.tell(Command::Heal).map(drop)
    }

    /// Returns the server's state.
    pub fn state(&mut self) -> io::Result<State> {
        match self.tell(Command::State)? {
            Answer::State(state) => Ok(state),
            other => Err(unexpected(&other)),
        }
    }

    /// Cuts the power and restores it.
    pub fn cut(&mut self, loss: Loss, seed: u64) -> io::Result<Cut> {
        match self.tell(Command::Cut { loss, seed })? {
            Answer::Cut(cut) => Ok(cut),
            other => Err(unexpected(&other)),
        }
    }

    /// Cuts the power and finds up to `most` states in which that can leave the disk; a seed draws
    /// those that no rule names. [`Self::enter`] is for each of them; the disk is gone until then.
    pub fn enumerate(&mut self, most: u32, seed: u64) -> io::Result<Found> {
        match self.tell(Command::Enumerate { most, seed })? {
            Answer::States(found) => Ok(found),
            other => Err(unexpected(&other)),
        }
    }

    /// Restores the power with a state of those that were found last, by its place.
    pub fn enter(&mut self, place: u32) -> io::Result<()> {
        self.tell(Command::Enter(place)).map(drop)
    }

    /// Puts the disk back to how the last cut left it.
    pub fn restore(&mut self) -> io::Result<()> {
        self.tell(Command::Restore).map(drop)
    }

    /// Writes the disk after the last cut, or as it was healed, into a new folder of a real disk.
    ///
    /// # Errors
    /// If the folder exists, or cannot be written.
    pub fn save(&mut self, folder: &Path) -> io::Result<()> {
        self.tell(Command::Save(folder.into())).map(drop)
    }

    fn tell(&mut self, command: Command) -> io::Result<Answer> {
        let mut text = serde_json::to_string(&command)?;
        text.push('\n');
        let told = match &mut self.commands {
            Some(commands) => commands.write_all(text.as_bytes()),
            None => Ok(()),
        };
        if told.is_err() {
            return Err(io::Error::other(self.last_words()));
        }
        let line = match self.answers.recv_timeout(self.patience) {
            Ok(line) => line?,
            Err(RecvTimeoutError::Disconnected) => return Err(io::Error::other(self.last_words())),
            Err(RecvTimeoutError::Timeout) => {
                let seconds = self.patience.as_secs();
                let why = format!("the filesystem's process did not answer for {seconds} s");
                return Err(io::Error::new(io::ErrorKind::TimedOut, why));
            }
        };
        match serde_json::from_str(&line)? {
            Answer::Failed(why) => Err(io::Error::other(why)),
            answer => Ok(answer),
        }
    }

    /// Ends a server that is silent, and returns its last words.
    fn last_words(&mut self) -> String {
        // A process that closed its end, and lives, would never close its standard error.
        let _ = self.child.kill();
        let mut said = String::new();
        if let Some(stderr) = &mut self.child.stderr {
            // Text that cannot be read is left out.
            let _ = stderr.read_to_string(&mut said);
        }
        match said.lines().last() {
            Some(line) => format!("the filesystem's process ended: {line}"),
            None => "the filesystem's process ended".into(),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The end of its input ends the server; the kill is for one that hangs.
        self.commands = None;
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads answers, a line each, until the other end is closed or a line is too long.
fn listen(answers: ChildStdout) -> Receiver<io::Result<String>> {
    let (sender, receiver) = mpsc::sync_channel(1);
    thread::spawn(move || {
        let mut answers = BufReader::new(answers);
        loop {
            let mut line = String::new();
            let read = (&mut answers).take(ANSWER_MOST_BYTES).read_line(&mut line);
            let said = match read {
                Ok(0) => return,
                Ok(_) => Ok(line),
                Err(error) => Err(error),
            };
            if sender.send(said).is_err() {
                return;
            }
        }
    });
    receiver
}

fn unexpected(answer: &Answer) -> io::Error {
    io::Error::other(format!("the filesystem's process answered {answer:?}"))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// Returns a server that a shell script plays.
    fn played(script: &str) -> Server {
        let mut shell = Command::new("sh");
        let shell = shell.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = shell.stderr(Stdio::piped()).spawn().expect("a shell");
        let commands = child.stdin.take();
        let answers = listen(child.stdout.take().expect("it is piped"));
        Server { child, commands, answers, patience: Duration::from_millis(200) }
    }

    #[test]
    fn a_server_that_does_not_answer_is_given_up() {
        for script in ["exec sleep 1000", "kill -STOP $$", "printf '{\"State\"'; exec sleep 1000"] {
            let error = played(script).state().expect_err("no answer").to_string();
            assert!(error.contains("did not answer"), "{script}: {error}");
        }
        for script in ["exec >&-; exec sleep 1000", "exit 3"] {
            let error = played(script).state().expect_err("no answer").to_string();
            assert!(error.contains("process ended"), "{script}: {error}");
        }
        assert!(played("exec cat /dev/zero").state().is_err(), "garbage is no answer");
    }
}
