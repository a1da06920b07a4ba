//! A plan in a file: TOML with a `[[run]]` for each suite and a `[[crash]]` for each crash test.
//! Either all runs are one run file, or each has its own in a folder.
//!
//! Options have the names of the command line and are parsed by it. So a plan can say what a
//! command line can say, and is refused with the same words.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use assay_suites::options::add_words;
use program_support::exit::{Failure, Outcome};
use program_support::{given_file, printable};
use serde::Deserialize;
use serde_json::Value;

use crate::cli::count;
use crate::cli::{self, CrashArgs, RunSuite};
use crate::files;

/// The most bytes of a plan.
const MOST_BYTES: u64 = 16 << 20;

/// Options that belong to the plan as a whole.
const OF_THE_PLAN: [&str; 4] = ["dir", "timeout", "output", "runs"];

/// Options that have no meaning in a plan.
const REFUSED: [&str; 8] =
    ["quiet", "header", "verify", "format", "raw-out", "until-ci", "max-trials", "against"];

/// Options of crash tests that have no meaning in a plan.
const REFUSED_OF_CRASH: [&str; 7] = ["output", "round", "at", "loss", "missing", "open", "dir"];

/// A plan.
pub(crate) struct PlanFile {
    /// The runs, in order.
    pub runs: Vec<RunSuite>,
    /// For each run the command line that does the same, in words.
    pub commands: Vec<Vec<String>>,
    /// The crash tests, in order; they come before the runs, which are marked by their verdicts.
    pub crashes: Vec<CrashArgs>,
    /// The directory for stores.
    pub dir: Option<PathBuf>,
    /// The time limit of a cell, in seconds.
    pub timeout_s: Option<u64>,
    /// The target of results.
    pub target: Target,
}

/// The target of a plan's results.
pub(crate) enum Target {
    /// All runs in one run file; none: its default.
    File(Option<PathBuf>),
    /// Each run in a separate file in a folder.
    Folder {
        /// The folder.
        folder: PathBuf,
        /// The names of the runs, in order.
        names: Vec<String>,
    },
}

#[derive(Deserialize)]
struct Text {
    #[serde(default)]
    run: Vec<BTreeMap<String, Value>>,
    #[serde(default)]
    crash: Vec<BTreeMap<String, Value>>,
    dir: Option<PathBuf>,
    timeout: Option<u64>,
    output: Option<PathBuf>,
    runs: Option<PathBuf>,
    #[serde(flatten)]
    shared: BTreeMap<String, Value>,
}

impl PlanFile {
    /// Reads a plan.
    pub(crate) fn read(path: &Path) -> Outcome<Self> {
        files::check_readable(path, "--config")?;
        let name = path.display();
        let text = given_file::read_text(path, MOST_BYTES)
            .map_err(|e| Failure::Refused(format!("{name}: {e}; name a plan with --config")))?;
        let plan: Text = toml::from_str(&text).map_err(|e| {
            let line = e.span().map(|span| text[..span.start].lines().count().max(1));
            let line = line.map_or_else(String::new, |line| format!(", line {line}"));
            let said = e.message().lines().next().unwrap_or_default();
            Failure::Usage(format!("{name}{line}: {}", printable::excerpt(said)))
        })?;
        if let Some(seconds) = plan.timeout {
            count::parse_seconds(&seconds.to_string())
                .map_err(|why| Failure::Usage(format!("{name}: timeout = {seconds}: {why}")))?;
        }
        if plan.run.is_empty() {
            return Err(Failure::Usage(format!(
                "{name}: there is no [[run]] in it; see assay plan --help"
            )));
        }
        let runs = (1..).zip(&plan.run).map(|(number, run)| {
            read_run(&plan.shared, run).map_err(|(suite, why)| {
                Failure::Usage(format!("{name}, run {number} ({suite}): {why}"))
            })
        });
        let (runs, words): (Vec<_>, Vec<_>) =
            runs.collect::<Outcome<Vec<_>>>()?.into_iter().unzip();
        let commands = words.into_iter().map(|words| plan.command(words)).collect();
        let crashes = (1..).zip(&plan.crash).map(|(number, crash)| {
            read_crash(crash)
                .map_err(|why| Failure::Usage(format!("{name}, crash test {number}: {why}")))
        });
        Ok(Self {
            runs,
            commands,
            crashes: crashes.collect::<Outcome<_>>()?,
            dir: plan.dir.clone(),
            timeout_s: plan.timeout,
            target: target(&plan).map_err(|why| Failure::Usage(format!("{name}: {why}")))?,
        })
    }
}

impl Text {
    /// Returns the whole command line of a run with these words after `assay run`.
    fn command(&self, words: Vec<String>) -> Vec<String> {
        let mut command: Vec<String> = ["assay", "run"].map(String::from).into();
        command.extend(words);
        command.extend(self.dir.iter().map(|dir| format!("--dir={}", dir.display())));
        command.extend(self.timeout.iter().map(|seconds| format!("--timeout={seconds}")));
        command.extend(plugins_of_command_line());
        command
    }
}

/// Returns the plugins that the command line of this process names, as options.
fn plugins_of_command_line() -> Vec<String> {
    let mut options = Vec::new();
    let mut words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
    while let Some(word) = words.next() {
        match word.as_str() {
            "--plugin" => options.extend(words.next().map(|file| format!("--plugin={file}"))),
            _ if word.starts_with("--plugin=") => options.push(word),
            _ => {}
        }
    }
    options
}

/// Returns the target of a plan's results; the error says which options contradict each other.
fn target(plan: &Text) -> Result<Target, String> {
    let named = plan.run.iter().map(|run| run.get("name"));
    let Some(folder) = &plan.runs else {
        return match named.flatten().next() {
            Some(_) => Err("runs have names in a plan with runs = \"FOLDER\"; add that".into()),
            None if !plan.crash.is_empty() => {
                Err("[[crash]] is for plans with runs = \"FOLDER\"; add that".into())
            }
            None => Ok(Target::File(plan.output.clone())),
        };
    };
    if plan.output.is_some() {
        return Err("it has both output and runs; leave one of them out".into());
    }
    let mut names: Vec<String> = Vec::new();
    for (number, name) in (1..).zip(named) {
        let Some(Value::String(name)) = name else {
            return Err(format!("run {number} has no name for its file; add name = \"…\""));
        };
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if name.is_empty() || !name.chars().all(is_plain) {
            return Err(format!(
                "run {number}: name = {name:?}: a name has lower-case letters, digits and hyphens"
            ));
        }
        if names.contains(name) {
            return Err(format!("two runs have the name {name}"));
        }
        names.push(name.clone());
    }
    Ok(Target::Folder { folder: folder.clone(), names })
}

/// Reads a crash test.
fn read_crash(crash: &BTreeMap<String, Value>) -> Result<CrashArgs, String> {
    // Levels that have a verdict are not tested again.
    let mut words = vec!["--missing".to_string()];
    for (name, value) in crash {
        if REFUSED_OF_CRASH.contains(&name.as_str()) {
            return Err(format!("{name} has no meaning in a plan; leave it out"));
        }
        add_words(&mut words, name, value)?;
    }
    cli::parse_crash(&words)
}

/// Reads a run, with the options that it shares with others; returns its words too. The error names
/// its suite.
fn read_run(
    shared: &BTreeMap<String, Value>,
    run: &BTreeMap<String, Value>,
) -> Result<(RunSuite, Vec<String>), (String, String)> {
    let suite = match run.get("suite") {
        Some(Value::String(suite)) => suite.clone(),
        _ => return Err(("?".into(), "it names no suite: suite = \"crossbench\"".into())),
    };
    let of_suite = |why: String| (suite.clone(), why);
    let mut options = shared.clone();
    options.extend(run.iter().map(|(name, value)| (name.clone(), value.clone())));
    options.remove("suite");
    options.remove("name");
    let mut words = vec![suite.clone()];
    for (name, value) in &options {
        if OF_THE_PLAN.contains(&name.as_str()) {
            return Err(of_suite(format!("{name} is for the whole plan; write it above the runs")));
        }
        if REFUSED.contains(&name.replace('_', "-").as_str()) {
            return Err(of_suite(format!("{name} has no meaning in a plan; leave it out")));
        }
        add_words(&mut words, name, value).map_err(of_suite)?;
    }
    let run = cli::parse_suite(&words).map_err(of_suite)?;
    Ok((run, words))
}
