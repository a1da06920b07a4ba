//! How another process starts a server and tells it what to do.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use crate::disk::{Cut, Directories};
use crate::loss::Loss;
use crate::server::{Answer, Command, State};

/// A server at work. It ends when this is dropped.
pub struct Server {
    child: Child,
    commands: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Server {
    /// Starts a process that calls [`crate::server::serve`], with an empty disk. It dies with
    /// the thread that calls this.
    pub fn start(mut process: std::process::Command, directories: Directories) -> io::Result<Self> {
        let mut child =
            process.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let ends = (child.stdin.take(), child.stdout.take());
        let (Some(commands), Some(answers)) = ends else {
            return Err(io::Error::other("its ends of the pipes are missing"));
        };
        let answers = BufReader::new(answers);
        let mut server = Self { child, commands: Some(commands), answers };
        server.clear(directories)?;
        Ok(server)
    }

    /// The process, whose mount namespace is to be entered.
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// Begins anew with an empty disk.
    pub fn clear(&mut self, directories: Directories) -> io::Result<()> {
        self.tell(Command::Clear(directories)).map(drop)
    }

    /// Lets the power go instead of an operation, and kills a process with it.
    pub fn arm(&mut self, operation: u64, process: u32) -> io::Result<()> {
        self.tell(Command::Arm { operation, process }).map(drop)
    }

    /// How things stand.
    pub fn state(&mut self) -> io::Result<State> {
        match self.tell(Command::State)? {
            Answer::State(state) => Ok(state),
            other => Err(unexpected(&other)),
        }
    }

    /// Lets the power go and come back.
    pub fn cut(&mut self, loss: Loss, seed: u64) -> io::Result<Cut> {
        match self.tell(Command::Cut { loss, seed })? {
            Answer::Cut(cut) => Ok(cut),
            other => Err(unexpected(&other)),
        }
    }

    fn tell(&mut self, command: Command) -> io::Result<Answer> {
        let mut text = serde_json::to_string(&command)?;
        text.push('\n');
        let told = match &mut self.commands {
            Some(commands) => commands.write_all(text.as_bytes()),
            None => Ok(()),
        };
        let mut line = String::new();
        if told.is_err() || self.answers.read_line(&mut line)? == 0 {
            return Err(io::Error::other(self.last_words()));
        }
        match serde_json::from_str(&line)? {
            Answer::Failed(why) => Err(io::Error::other(why)),
            answer => Ok(answer),
        }
    }

    /// What a server said that is there no more.
    fn last_words(&mut self) -> String {
        let mut said = String::new();
        if let Some(stderr) = &mut self.child.stderr {
            // What cannot be read is not said.
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
        // The end of its input is the end of it; the other way is for one that hangs.
        self.commands = None;
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn unexpected(answer: &Answer) -> io::Error {
    io::Error::other(format!("the filesystem's process answered {answer:?}"))
}
