//! Measures how often `assay compare` is right, and prints that as Markdown.
//!
//! `cargo run --release -p assay-benches --example verdicts -- DIR RUNS` makes RUNS runs in the
//! directory and evaluates all that are in it. Runs that exist are not measured again. A run takes
//! some seconds.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use assay_benches::verdicts::{BASE, Engine, SAME, SLOWED, TRIALS, evaluate, markdown, shuffled};
use assay_core::run_file::RunFile;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
/// Of the order by chance.
const SEED: u64 = 1;
const USAGE: &str = "usage: cargo run --release -p assay-benches --example verdicts -- DIR RUNS";

fn main() -> ExitCode {
    match whole() {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("verdicts: {why}");
            ExitCode::from(2)
        }
    }
}

fn whole() -> Result<String, String> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [folder, count] = arguments.as_slice() else {
        return Err(USAGE.into());
    };
    let count: usize = count.parse().map_err(|_| format!("{count}: not a number; {USAGE}"))?;
    // Workers look for files from their own directories.
    std::fs::create_dir_all(folder).map_err(|e| format!("{folder}: {e}"))?;
    let folder = std::fs::canonicalize(folder).map_err(|e| format!("{folder}: {e}"))?;
    let engines: Vec<_> = [BASE, SAME].into_iter().chain(SLOWED).collect();
    let missing: Vec<_> = (1..=count)
        .map(|number| folder.join(format!("run-{number:03}.json")))
        .filter(|path| !path.exists())
        .collect();
    if !missing.is_empty() {
        let program = build_assay(&folder)?;
        for engine in &engines {
            build_plugin(&folder, *engine)?;
        }
        for path in &missing {
            measure(&program, &folder, &engines, path)?;
        }
    }
    let runs = load(&folder)?;
    let tables = |runs: &[RunFile]| markdown(&evaluate(runs)).map_err(|e| e.to_string());
    let (as_made, by_chance) = (tables(&runs)?, tables(&shuffled(&runs, SEED))?);
    Ok(format!(
        "{} runs, as they were made:\n\n{as_made}\nThe same trials, put into runs by chance:\n\n\
         {by_chance}",
        runs.len()
    ))
}

/// Builds `assay` without engines of its own, apart from a build that a user may have.
fn build_assay(folder: &Path) -> Result<PathBuf, String> {
    let target = folder.join("target");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(cargo);
    build
        .args(["build", "--release", "--locked", "-p", "assay-db", "--no-default-features"])
        .arg("--target-dir")
        .arg(&target)
        .current_dir(ROOT);
    succeed(&mut build)?;
    Ok(target.join("release/assay"))
}

fn library(folder: &Path, engine: Engine) -> PathBuf {
    folder.join(format!("lib{}.so", engine.id))
}

fn build_plugin(folder: &Path, engine: Engine) -> Result<(), String> {
    let mut compiler = Command::new("cc");
    compiler
        .args(["-O3", "-std=c11", "-Wall", "-Wextra", "-fPIC", "-pthread", "-shared"])
        .arg(format!("-DSLOWED_PERCENT={}", engine.percent))
        .arg(format!("-DSLOWED_ID=\"{}\"", engine.id))
        .args(["-Icrates/assay-drivers/include", "-Iexamples/plugins/hashtable"])
        .args(["benches/src/verdicts/slowed.c", "-o"])
        .arg(library(folder, engine))
        .current_dir(ROOT);
    succeed(&mut compiler)
}

/// One run of all engines, as many trials as are looked at at most.
fn measure(program: &Path, folder: &Path, engines: &[Engine], path: &Path) -> Result<(), String> {
    let ids: Vec<_> = engines.iter().map(|engine| engine.id).collect();
    let trials = TRIALS.iter().max().expect("there are numbers of trials");
    let mut run = Command::new(program);
    run.args(["run", "crossbench", "-s", "m", "-i", "20k", "-q", "20k", "-u", "20k", "-Q"])
        .args(["-e", &ids.join(","), "--trials", &trials.to_string(), "-o"])
        .arg(path);
    for engine in engines {
        run.arg("--plugin").arg(library(folder, *engine));
    }
    // What is printed is in the file.
    succeed(run.stdout(std::process::Stdio::null()))
}

fn succeed(command: &mut Command) -> Result<(), String> {
    let shown = command.get_program().to_string_lossy().into_owned();
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{shown} ended with {status}")),
        Err(error) => Err(format!("{shown}: {error}")),
    }
}

/// The runs in a folder, in the order in which they were made.
fn load(folder: &Path) -> Result<Vec<RunFile>, String> {
    let entries = std::fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut paths: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    paths.sort_unstable();
    paths.iter().map(|path| RunFile::load(path).map_err(|e| e.to_string())).collect()
}
