//! Runs the program as a user would, in a directory of its own.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use lode::{Database, Durability, KeyKind, Options, Schema, Type, Value};

/// An empty directory in which the program is run.
pub struct Bench {
    folder: tempfile::TempDir,
}

/// The end of a command: status and output.
#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// The columns of the animals.
pub const ANIMALS: &str = "id:u64 key, name:text(32), tag:bytes(2)?";

impl Bench {
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a temporary directory") }
    }

    /// One with a database `zoo`, in which three animals are.
    pub fn with_animals() -> Self {
        let bench = Self::new();
        bench.feeds(
            &["load", "zoo", "animal", "--schema", ANIMALS],
            "{\"id\":1,\"name\":\"Ada\",\"tag\":{\"hex\":\"00ff\"}}\n\
             {\"id\":2,\"name\":\"Bo\",\"tag\":null}\n\
             {\"id\":3,\"name\":\"Cé\",\"tag\":null}\n",
        );
        bench
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, content: &str) {
        std::fs::write(self.path(name), content).expect("the file is written");
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).expect("the file is there")
    }

    /// The names of what is in a directory.
    pub fn list(&self, folder: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.path(folder)).expect("the directory is there");
        let mut names: Vec<_> = entries
            .map(|entry| entry.expect("an entry").file_name().into_string().expect("a plain name"))
            .collect();
        names.sort();
        names
    }

    /// The command, which has no standard input and whose output is kept.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lode"));
        command.current_dir(self.folder.path()).args(args).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs a command to its end.
    pub fn lode(&self, args: &[&str]) -> Ended {
        end(start(&mut self.command(args)))
    }

    /// Runs a command that reads something to its end.
    pub fn feed(&self, args: &[&str], input: &str) -> Ended {
        let mut command = self.command(args);
        let mut child = start(command.stdin(Stdio::piped()));
        let mut stdin = child.stdin.take().expect("it is piped");
        let input = input.to_string();
        // What stops at a line that is wrong does not read on.
        let feeder = std::thread::spawn(move || drop(stdin.write_all(input.as_bytes())));
        let ended = end(child);
        feeder.join().expect("the feeder ends");
        ended
    }

    /// Runs a command that must succeed, and returns what it prints.
    pub fn succeeds(&self, args: &[&str]) -> String {
        expect_success(args, self.lode(args))
    }

    /// Runs a command that reads `input` and must succeed, and returns what it prints.
    pub fn feeds(&self, args: &[&str], input: &str) -> String {
        expect_success(args, self.feed(args, input))
    }

    /// Runs a command that must end with this status and say this one line.
    pub fn refuses(&self, args: &[&str], code: i32, line: &str) {
        expect_refusal(args, &self.lode(args), code, line);
    }

    /// Runs a command that reads `input` and must end with this status and line.
    pub fn refuses_input(&self, args: &[&str], input: &str, code: i32, line: &str) {
        expect_refusal(args, &self.feed(args, input), code, line);
    }

    /// Opens a database as a program does; what is made in it need not survive the machine.
    pub fn open(&self, name: &str) -> Database {
        let options = Options::new().durability(Durability::Process).memory_bytes(64 << 20);
        options.open(self.path(name)).expect("the database opens")
    }

    /// Makes a database with a table of `count` numbers.
    pub fn with_numbers(&self, name: &str, kind: KeyKind, count: u64) {
        let db = self.open(name);
        let schema = Schema::build("number").key("id", Type::U64).column("square", Type::U64);
        let schema = schema.finish().expect("a schema");
        let table = db.create_table(&schema, kind).expect("a table");
        for id in 0..count {
            let values = [Value::Unsigned(id), Value::Unsigned(id.wrapping_mul(id))];
            let record = schema.pack(&values).expect("a record");
            assert!(table.insert(&record).expect("there is room"), "{id} is new");
        }
        close(db);
    }
}

/// A process that is being started has all that is open here until it is another program: also the
/// lock of a database, which would stay taken after it is closed here.
static STARTING: Mutex<()> = Mutex::new(());

/// Starts a command.
pub fn start(command: &mut Command) -> Child {
    let _alone = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
    command.spawn().expect("the program starts")
}

/// Closes a database, which the program can open then.
pub fn close(db: Database) {
    let _alone = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
    db.close().expect("the database closes");
}

/// Waits for the end of a command.
pub fn end(child: Child) -> Ended {
    let output = child.wait_with_output().expect("the program ends");
    Ended {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Returns what a command printed that ended well, without a message.
pub fn expect_success(args: &[&str], ended: Ended) -> String {
    assert_eq!((ended.code, &ended.stderr[..]), (Some(0), ""), "{args:?}: {}", ended.stdout);
    ended.stdout
}

/// A command ended with this status and said this one line.
pub fn expect_refusal(args: &[&str], ended: &Ended, code: i32, line: &str) {
    assert_eq!(ended.stderr, format!("lode: {line}\n"), "{args:?}");
    assert_eq!(ended.code, Some(code), "{args:?}: {line}");
}

/// Returns the files of a directory, with their bytes.
pub fn content(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let entries = std::fs::read_dir(folder).expect("the directory is there");
    let mut all: Vec<_> = entries
        .map(|entry| entry.expect("an entry").path())
        .map(|path| (path.clone(), std::fs::read(&path).unwrap_or_default()))
        .collect();
    all.sort();
    all
}
