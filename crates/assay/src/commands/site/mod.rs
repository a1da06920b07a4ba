//! `assay site`

mod folder;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use assay_core::run_file::{self, RunFile, RunFileError};
use assay_core::verdict_file::{Kept, VerdictFile};
use assay_core::{durability, isolation};
use assay_report::site::{self, SiteRun, Tests};
use program_support::exit::{Failure, Outcome};
use program_support::given_file;
use program_support::output::{print, say};

use crate::cli::SiteArgs;
use crate::crash::VERDICTS_NAME;
use crate::files::ISOLATION_NAME;
use crate::output::charts::{about, charts_by_suite};

use folder::{SiteFile, SiteFolder};

/// Makes a static site of run files and verdicts, and prints the path of its first page.
pub(crate) fn site(args: &SiteArgs) -> Outcome {
    let folder = SiteFolder::look(&args.output)?;
    let Inputs { mut runs, crashes, isolation } = Inputs::read(&args.run)?;
    if runs.is_empty() {
        return Err(Failure::Usage("there is no run file in what was named".into()));
    }
    runs.sort_by(|a, b| (a.run.created, &a.path).cmp(&(b.run.created, &b.path)));
    let names = names(&runs);
    let copies = runs
        .iter()
        .zip(&names)
        .map(|(read, name)| SiteFile { name: name.clone(), content: read.content.clone() });
    let mut files: Vec<_> = copies.collect();
    let site_runs: Vec<_> = runs
        .into_iter()
        .zip(names)
        .map(|(Read { run, .. }, file)| {
            let run = run.printable();
            SiteRun { charts: charts_by_suite(&run), run, file }
        })
        .collect();
    let tests = Tests {
        crashes: &crashes,
        crashes_file: &format!("{RUNS}/{VERDICTS_NAME}"),
        isolation: &isolation,
        isolation_file: &format!("{RUNS}/{ISOLATION_NAME}"),
    };
    if !crashes.verdicts.is_empty() {
        files.push(verdicts_file(tests.crashes_file, &crashes)?);
    }
    if !isolation.verdicts.is_empty() {
        files.push(verdicts_file(tests.isolation_file, &isolation)?);
    }
    let pages =
        site::pages(&site_runs, tests, &about).map_err(|e| Failure::Refused(e.to_string()))?;
    let begin = args.output.join(&pages[0].file);
    files.extend(
        pages.into_iter().map(|page| SiteFile { name: page.file, content: page.text.into() }),
    );
    folder.write(files)?;
    print(&format!("{}\n", begin.display()))
}

/// Returns a file of verdicts in a site.
fn verdicts_file(name: &str, verdicts: &VerdictFile<impl Kept>) -> Outcome<SiteFile> {
    let mut content = serde_json::to_vec_pretty(verdicts)
        .map_err(|e| Failure::Refused(format!("the verdicts: {e}")))?;
    content.push(b'\n');
    Ok(SiteFile { name: name.into(), content })
}

/// The folder of run files in a site.
const RUNS: &str = "runs";

/// A run file.
struct Read {
    path: PathBuf,
    run: RunFile,
    content: Vec<u8>,
}

/// The inputs of a site.
#[derive(Default)]
struct Inputs {
    runs: Vec<Read>,
    crashes: durability::Verdicts,
    isolation: isolation::Verdicts,
}

impl Inputs {
    /// Reads files and the files in folders, each once, even if several names lead to it.
    fn read(named: &[PathBuf]) -> Outcome<Self> {
        let mut inputs = Self::default();
        let mut known = BTreeSet::new();
        for path in named {
            if path.is_dir() {
                for file in results_in(path)? {
                    if let Err(failure) = inputs.add(&file, &mut known) {
                        let why = failure.line().unwrap_or_default().to_string();
                        say(&format!("note: left out: {why}"));
                    }
                }
            } else {
                inputs.add(path, &mut known)?
            }
        }
        Ok(inputs)
    }

    fn add(&mut self, path: &Path, known: &mut BTreeSet<PathBuf>) -> Outcome {
        let refused = |e: &dyn std::fmt::Display| Failure::Refused(e.to_string());
        let real = path
            .canonicalize()
            .map_err(|e| Failure::Refused(format!("{}: {e}", path.display())))?;
        if !known.insert(real) {
            return Ok(());
        }
        match RunFile::load(path) {
            Ok(run) => {
                let content = given_file::read(path, run_file::MOST_BYTES)
                    .map_err(|e| Failure::Refused(format!("{}: {e}", path.display())))?;
                self.runs.push(Read { path: path.into(), run, content });
            }
            Err(RunFileError::Foreign { .. }) if durability::Verdicts::is_at(path) => {
                let crashes = durability::Verdicts::load(path).map_err(Failure::Refused)?;
                crashes.verdicts.into_iter().for_each(|verdict| {
                    self.crashes.add(verdict);
                });
            }
            Err(RunFileError::Foreign { .. }) if isolation::Verdicts::is_at(path) => {
                let isolation = isolation::Verdicts::load(path).map_err(Failure::Refused)?;
                isolation.verdicts.into_iter().for_each(|verdict| {
                    self.isolation.add(verdict);
                });
            }
            Err(error) => return Err(refused(&error)),
        }
        Ok(())
    }
}

/// Returns the files in a folder that may be run files or verdicts, ordered by name.
fn results_in(folder: &Path) -> Outcome<Vec<PathBuf>> {
    let entries =
        fs::read_dir(folder).map_err(|e| Failure::Refused(format!("{}: {e}", folder.display())))?;
    let is_result = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        path.is_file() && (name.ends_with(".json") || name.ends_with(".json.gz"))
    };
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).filter(is_result).collect();
    paths.sort();
    Ok(paths)
}

/// Returns the names of run files in the site: their own, made unique and safe in an address.
fn names(runs: &[Read]) -> Vec<String> {
    let mut taken =
        BTreeSet::from([VERDICTS_NAME, ISOLATION_NAME].map(|name| format!("{RUNS}/{name}")));
    let name = |read: &Read| {
        let own = read.path.file_name().unwrap_or_default().to_string_lossy();
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let plain: String = own
            .trim_start_matches('.')
            .chars()
            .map(|c| if is_plain(c) { c } else { '_' })
            .take(100)
            .collect();
        // A file is JSON unless its extension says otherwise.
        let (stem, end) = match plain.strip_suffix(".json.gz") {
            Some(stem) => (stem, ".json.gz"),
            None => (plain.strip_suffix(".json").unwrap_or(&plain), ".json"),
        };
        let numbered = |number: u32| match number {
            1 => format!("{RUNS}/{stem}{end}"),
            number => format!("{RUNS}/{stem}-{number}{end}"),
        };
        let free = (1..).map(numbered).find(|name| taken.insert(name.clone()));
        free.expect("there are more numbers than files")
    };
    runs.iter().map(name).collect()
}
