//! A plan: TOML with a `[[run]]` for each suite and a `[[crash]]` for each crash test.
//! Either all runs are one run file, or each has its own in a folder.
//!
//! Options have the names of the command line and are parsed by it. So a plan can say what a
//! command line can say, and is refused with the same words.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use assay_suites::options::add_words;
use program_support::exit::{Failure, Outcome};
use program_support::{given_file, printable};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::cli::count;
use crate::cli::{self, CrashArgs, PlanArgs, RunSuite};
use crate::files;
use crate::planning::request::Request;

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
    pub runs: Vec<PlannedRun>,
    /// The crash tests, in order; they come before the runs, which are marked by their verdicts.
    pub crashes: Vec<CrashArgs>,
    /// The directory for stores.
    pub dir: Option<PathBuf>,
    /// The time limit of a cell, in seconds.
    pub timeout_s: Option<u64>,
    /// The target of results.
    pub target: Target,
}

/// A run of a plan.
pub(crate) struct PlannedRun {
    /// The name of its file in a folder of results; without a folder, its number.
    pub title: String,
    pub request: Request,
    /// The command line that does the same, in words.
    pub command: Vec<String>,
}

/// The target of a plan's results.
pub(crate) enum Target {
    /// All runs in this run file.
    File(PathBuf),
    /// Each run in a separate file in this folder.
    Folder(PathBuf),
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
    /// Reads the plan that a command line names, with the options that it sets.
    pub(crate) fn of(args: &PlanArgs) -> Outcome<Self> {
        let (name, text) = named(args)?;
        let plan: Text = toml::from_str(&text).map_err(|e| {
            let line = e.span().map(|span| text[..span.start].lines().count().max(1));
            let line = line.map_or_else(String::new, |line| format!(", line {line}"));
            let said = e.message().lines().next().unwrap_or_default();
            Failure::Usage(format!("{name}{line}: {}", printable::excerpt(said)))
        })?;
        let plan = plan.with(given(args)).map_err(|why| Failure::Usage(format!("--with {why}")))?;
        if let Some(seconds) = plan.timeout {
            count::parse_seconds(&seconds.to_string())
                .map_err(|why| Failure::Usage(format!("{name}: timeout = {seconds}: {why}")))?;
        }
        if plan.run.is_empty() {
            return Err(Failure::Usage(format!(
                "{name}: there is no [[run]] in it; see assay plan --help"
            )));
        }
        let target = target(&plan).map_err(|why| Failure::Usage(format!("{name}: {why}")))?;
        let mut runs = Vec::new();
        for (number, run) in (1..).zip(&plan.run) {
            let (suite, words) = read_run(&plan.shared, run).map_err(|(suite, why)| {
                Failure::Usage(format!("{name}, run {number} ({suite}): {why}"))
            })?;
            runs.push(PlannedRun {
                title: title(run).map_or_else(|| number.to_string(), String::from),
                request: Request::of(&suite)?,
                command: plan.command(words),
            });
        }
        leave_out_large(&mut runs, args.max_rows)?;
        let crashes = (1..).zip(&plan.crash).map(|(number, crash)| {
            read_crash(crash)
                .map_err(|why| Failure::Usage(format!("{name}, crash test {number}: {why}")))
        });
        let stem = Path::new(&name).file_stem().unwrap_or_default().to_string_lossy();
        Ok(Self {
            runs,
            crashes: crashes.collect::<Outcome<_>>()?,
            target: target.unwrap_or_else(|| {
                Target::File(PathBuf::from(files::RUNS_FOLDER).join(format!("{stem}.json")))
            }),
            dir: plan.dir,
            timeout_s: plan.timeout,
        })
    }
}

/// Returns the name and the text of the plan that a command line names.
fn named(args: &PlanArgs) -> Outcome<(String, String)> {
    match (&args.config, args.plan) {
        (Some(path), _) => {
            files::check_readable(path, "--config")?;
            let name = path.display().to_string();
            match given_file::read_text(path, MOST_BYTES) {
                Ok(text) => Ok((name, text)),
                Err(e) => Err(Failure::Refused(format!("{name}: {e}; name a plan with --config"))),
            }
        }
        (None, Some(shipped)) => Ok((shipped.name().into(), shipped.text().into())),
        (None, None) => Err(Failure::Usage(
            "no plan named; say assay plan crossbench-ladder, or assay plan --config FILE".into(),
        )),
    }
}

/// Returns the options that a command line sets in place of the plan's. Those that it sets more
/// than once are lists.
fn given(args: &PlanArgs) -> Map<String, Value> {
    let mut all: Vec<(&str, Value)> = args.engine.iter().map(|v| ("engine", value(v))).collect();
    all.extend(args.storage.iter().map(|mode| ("storage", value(mode))));
    all.extend(args.dir.iter().map(|dir| ("dir", Value::String(dir.clone()))));
    all.extend(args.with.iter().map(|(name, text)| (name.as_str(), value(text))));
    let mut given = Map::new();
    for (name, value) in all {
        let values = match given.remove(name) {
            None => value,
            Some(Value::Array(mut values)) => {
                values.push(value);
                Value::Array(values)
            }
            Some(first) => Value::Array(vec![first, value]),
        };
        given.insert(name.into(), values);
    }
    given
}

/// Returns a value of the command line as a plan has it.
fn value(text: &str) -> Value {
    let flag = text.parse().map(Value::Bool);
    let value = flag.or_else(|_| text.parse::<u64>().map(Value::from));
    value.unwrap_or_else(|_| Value::String(text.into()))
}

/// Leaves out the workloads with more rows than the command line allows, and runs without others.
fn leave_out_large(runs: &mut Vec<PlannedRun>, max_rows: Option<u64>) -> Outcome {
    let Some(most) = max_rows else { return Ok(()) };
    let all = runs.iter().flat_map(|run| &run.request.workloads);
    let least = all.map(|workload| workload.rows).min().unwrap_or_default();
    if least > most {
        return Err(Failure::Usage(format!(
            "--max-rows {most} leaves no run: the smallest of the plan has {least} rows"
        )));
    }
    for run in runs.iter_mut() {
        run.request.workloads.retain(|workload| workload.rows <= most);
    }
    runs.retain(|run| !run.request.workloads.is_empty());
    Ok(())
}

/// Returns true if two names are of one option, whose words are joined by hyphens or underscores.
fn is_same(name: &str, other: &str) -> bool {
    name.replace('_', "-") == other.replace('_', "-")
}

/// Returns the name that a run has in the plan.
fn title(run: &BTreeMap<String, Value>) -> Option<&str> {
    run.get("name")?.as_str()
}

impl Text {
    /// Returns the plan with these options in place of its own; the error names a wrong one.
    fn with(mut self, given: Map<String, Value>) -> Result<Self, String> {
        for (name, value) in given {
            let is_other = |own: &String, _: &mut Value| !is_same(own, &name);
            self.run.iter_mut().for_each(|run| run.retain(is_other));
            self.shared.retain(is_other);
            let one = Value::Object(Map::from_iter([(name.clone(), value)]));
            let one = Self::deserialize(one).map_err(|why| format!("{name}: {why}"))?;
            self.dir = one.dir.or(self.dir);
            self.timeout = one.timeout.or(self.timeout);
            self.output = one.output.or(self.output);
            self.runs = one.runs.or(self.runs);
            self.shared.extend(one.shared);
        }
        Ok(self)
    }

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

/// Returns the target that a plan names for its results; the error says which options contradict
/// each other.
fn target(plan: &Text) -> Result<Option<Target>, String> {
    let mut named = plan.run.iter().map(|run| run.get("name"));
    let Some(folder) = &plan.runs else {
        return match named.find_map(|name| name) {
            Some(_) => Err("runs have names in a plan with runs = \"FOLDER\"; add that".into()),
            None if !plan.crash.is_empty() => {
                Err("[[crash]] is for plans with runs = \"FOLDER\"; add that".into())
            }
            None => Ok(plan.output.clone().map(Target::File)),
        };
    };
    if plan.output.is_some() {
        return Err("it has both output and runs; leave one of them out".into());
    }
    let mut names = HashSet::new();
    for (number, run) in (1..).zip(&plan.run) {
        let Some(name) = title(run) else {
            return Err(format!("run {number} has no name for its file; add name = \"…\""));
        };
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if name.is_empty() || !name.chars().all(is_plain) {
            return Err(format!(
                "run {number}: name = {name:?}: a name has lower-case letters, digits and hyphens"
            ));
        }
        if !names.insert(name) {
            return Err(format!("two runs have the name {name}"));
        }
    }
    Ok(Some(Target::Folder(folder.clone())))
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
    let own = run.iter().filter(|(name, _)| !["suite", "name"].contains(&name.as_str()));
    let is_shared = |name: &str| !run.keys().any(|own| is_same(own, name));
    let others = shared.iter().filter(|(name, _)| is_shared(name));
    let options: BTreeMap<_, _> = others.chain(own).collect();
    let mut words = vec![suite.clone()];
    for (name, value) in options {
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
