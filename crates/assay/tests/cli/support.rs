//! Runs the program as a user would, in a directory of its own.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use assay_driver::{Driver, Profile, Storage};

/// An empty directory in which Assay is run.
pub struct Bench {
    folder: tempfile::TempDir,
}

/// The engines of the registry that need no server, so that a new engine is tested by itself.
/// Engines whose library is missing here are among them.
pub fn engines() -> Vec<&'static str> {
    ids(|_| true)
}

/// The engines whose library is here.
pub fn engines_here() -> Vec<&'static str> {
    ids(|driver| driver.version().is_ok())
}

/// The engines whose library is here and whose stores on disk can be opened again.
pub fn engines_on_disk() -> Vec<&'static str> {
    ids(|driver| driver.version().is_ok() && !driver.profile().levels_in(Storage::Disk).is_empty())
}

fn ids(is_wanted: fn(&dyn Driver) -> bool) -> Vec<&'static str> {
    let needs_no_server = |profile: &Profile| profile.parameter("s3-endpoint").is_none();
    let drivers = assay_drivers::all().into_iter();
    let tried = drivers
        .filter(|driver| driver.profile().keeps_data)
        .filter(|driver| needs_no_server(driver.profile()));
    tried.filter(|driver| is_wanted(driver.as_ref())).map(|driver| driver.profile().id).collect()
}

/// The end of a command.
#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Ended {
    /// Returns the output in one line: texts are broken between words.
    pub fn told(&self) -> String {
        self.stdout.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

impl Bench {
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a temporary directory") }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The folder of stores, whatever the storage mode.
    pub fn stores(&self) -> PathBuf {
        self.path().join("stores")
    }

    fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
        command.current_dir(self.path()).args(line.split_whitespace()).stdin(Stdio::null());
        // Plugins of the user that runs the tests are none of theirs.
        command.env("ASSAY_PLUGINS", self.plugins());
        command
    }

    /// The folder of plugins, which is not there unless a test makes it.
    pub fn plugins(&self) -> PathBuf {
        self.path().join("plugins")
    }

    /// Runs a command line to its end.
    pub fn assay(&self, line: &str) -> Ended {
        ended(&mut self.command(line))
    }

    /// Runs a command with a variable of its environment set.
    pub fn assay_with(&self, (name, value): (&str, &str), line: &str) -> Ended {
        ended(self.command(line).env(name, value))
    }

    /// Runs words that need not be UTF-8, in a directory.
    pub fn assay_words(&self, words: &[OsString], here: &Path) -> Ended {
        let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
        command.current_dir(here).args(words).stdin(Stdio::null());
        ended(&mut command)
    }

    /// Runs words that must end with one of these statuses and say one line, which is returned.
    pub fn refuses_words(&self, words: &[OsString], codes: &[i32], what: &str) -> String {
        let ended = self.assay_words(words, self.path());
        assert!(ended.code.is_some_and(|code| codes.contains(&code)), "{what}: {ended:?}");
        let said: Vec<_> = ended.stderr.lines().collect();
        assert_eq!(said.len(), 1, "{what}: one line: {ended:?}");
        assert!(
            said[0].starts_with("assay: ") && !said[0].contains("panicked"),
            "{what}: {ended:?}"
        );
        said[0].to_string()
    }

    /// The names of what is in the directory.
    pub fn list(&self) -> Vec<String> {
        let names = list(self.path())
            .into_iter()
            .filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
        let mut names: Vec<_> = names.collect();
        names.sort();
        names
    }

    /// Runs a command line that must succeed.
    pub fn succeeds(&self, line: &str) -> Ended {
        let ended = self.assay(line);
        assert_eq!(ended.code, Some(0), "{line}: {ended:?}");
        ended
    }

    /// Runs a command line that must end with this status and one line that holds these words.
    pub fn refuses(&self, line: &str, code: i32, words: &[&str]) {
        was_refused(line, &self.assay(line), code, words);
    }

    /// The help of a command says something.
    pub fn helps(&self, command: &str, words: &str) {
        let help = self.succeeds(&format!("{command} --help")).stdout;
        let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(help.contains(words), "{command}: {words}: {help}");
    }

    /// Starts a command line and leaves it running.
    pub fn start(&self, line: &str) -> Child {
        let mut command = self.command(line);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("the program starts")
    }

    /// Nothing is left where stores go.
    pub fn has_no_stores(&self) {
        assert_eq!(list(&self.stores()), [] as [PathBuf; 0]);
    }

    /// The run file as JSON.
    pub fn run_file(&self, name: &str) -> serde_json::Value {
        let text = std::fs::read(self.path().join(name)).expect("the run file is there");
        serde_json::from_slice(&text).expect("the run file is whole")
    }
}

/// A command line ended with this status and one line that holds these words.
pub fn was_refused(line: &str, ended: &Ended, code: i32, words: &[&str]) {
    assert_eq!(ended.code, Some(code), "{line}: {ended:?}");
    let said: Vec<_> = ended.stderr.lines().filter(|l| l.starts_with("assay: ")).collect();
    assert_eq!(said.len(), 1, "{line}: one line on standard error: {ended:?}");
    for word in words {
        assert!(said[0].contains(word), "{line}: {:?} does not say {word:?}", said[0]);
    }
    assert!(!ended.stderr.contains("panicked at"), "{line}: {ended:?}");
}

fn ended(command: &mut Command) -> Ended {
    let output = command.output().expect("the program starts");
    Ended {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

fn list(folder: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(folder).map_or(Vec::new(), |all| all.flatten().map(|e| e.path()).collect())
}

/// Waits for something that must come about; gives up after a long while.
pub fn wait_for<T>(what: &str, mut come: impl FnMut() -> Option<T>) -> T {
    let patience = Instant::now() + Duration::from_secs(120);
    loop {
        if let Some(value) = come() {
            return value;
        }
        assert!(Instant::now() < patience, "{what} did not come about");
        std::thread::yield_now();
    }
}

/// The process ids of this machine.
pub fn processes() -> Vec<i32> {
    let id = |path: PathBuf| path.file_name()?.to_str()?.parse().ok();
    list(Path::new("/proc")).into_iter().filter_map(id).collect()
}

/// Returns true if a process exists, and is no zombie.
pub fn is_running(process: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, after)| !after.trim_start().starts_with('Z'))
}

/// The process ids of a process's children.
pub fn children(parent: u32) -> Vec<i32> {
    let is_child = |stat: &str| {
        let after_name = stat.rsplit_once(')')?.1;
        let of = after_name.split_whitespace().nth(1)?.parse::<u32>().ok()?;
        (of == parent).then_some(())
    };
    list(Path::new("/proc"))
        .into_iter()
        .filter_map(|path| {
            let id = path.file_name()?.to_str()?.parse().ok()?;
            let stat = std::fs::read_to_string(path.join("stat")).ok()?;
            is_child(&stat).map(|()| id)
        })
        .collect()
}

/// Returns true if the power can be cut here, and otherwise prints what is missing.
pub fn has_power_cuts() -> bool {
    match assay_powercut::mount::obstacle() {
        None => true,
        Some(why) => {
            println!("skipped: {why}");
            false
        }
    }
}
