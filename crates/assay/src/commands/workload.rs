//! `assay workload`

use std::path::Path;

use assay_driver::{Driver, Storage};
use assay_suites::trace::{self, Fit, FitOptions};
use assay_suites::workload::spec::Spec;
use assay_suites::workload::{self, Ready, Text};
use program_support::exit::{Failure, Outcome};
use program_support::output::print;
use program_support::whole_file;

use crate::files;
use crate::planning::{self, engines};

/// Writes a commented file of a kind.
pub(crate) fn new(kind: &Ready, output: Option<&Path>) -> Outcome {
    match output {
        Some(path) => check_new(path).and_then(|()| write_new(path, kind.text())),
        None => print(kind.text()),
    }
}

/// Writes the file of the workload that is like a trace, and prints how far it is from it.
pub(crate) fn fit(options: &FitOptions, output: Option<&Path>) -> Outcome {
    output.map_or(Ok(()), check_new)?;
    let Fit { text, distances } = trace::fit(options)?;
    let Some(path) = output else {
        let told = distances.lines().map(|line| format!("# {line}\n"));
        return print(&format!("{text}\n{}", told.collect::<String>()));
    };
    write_new(path, &text)?;
    print(&distances)
}

/// Checks that a name for a new file is free.
fn check_new(path: &Path) -> Outcome {
    files::check_other(path, "--output")?;
    if path.exists() { Err(refused(path, "is there already")) } else { Ok(()) }
}

fn write_new(path: &Path, text: &str) -> Outcome {
    whole_file::write(path, text.as_bytes()).map_err(|e| refused(path, &e.to_string()))
}

fn refused(path: &Path, why: &str) -> Failure {
    let shown = path.display();
    Failure::Refused(format!("{shown}: {why}; choose another file with --output"))
}

/// Prints what a file means.
pub(crate) fn check(path: &Path) -> Outcome {
    let text = Text::of_file(path)?;
    let spec = text.spec();
    let mut said = workload::meaning(spec).expect("text can be written to memory");
    said += "\nengines on disk\n";
    let mut able = Vec::new();
    let mut others = Vec::new();
    for driver in engines::chosen(&[])?.drivers {
        match lacks(driver.as_ref(), spec) {
            why if why.is_empty() => able.push(driver.profile().id),
            why => others.push(format!("  {}: {}\n", driver.profile().id, why.join("; "))),
        }
    }
    said += &format!("  all of it: {}\n{}", able.join(", "), others.concat());
    print(&said)
}

/// Returns what an engine cannot do, as far as what it declares says that.
fn lacks(driver: &dyn Driver, spec: &Spec) -> Vec<String> {
    let profile = driver.profile();
    if let Err(why) = driver.version() {
        return vec![why];
    }
    if let Err(why) = planning::level(profile, Storage::Disk, spec.survives) {
        return vec![why];
    }
    if let Some(why) = workload::records_refusal(driver, spec) {
        return vec![why];
    }
    let key_kind = planning::key_kind_for(profile, spec.scans());
    let phases = spec.phases.iter().filter_map(|phase| {
        let why = workload::refusal(driver, phase, key_kind, phase.threads[0])?;
        Some(format!("{} – {why}", phase.name))
    });
    let indexed = spec.records.indexed();
    let lacks_indexes = !indexed.is_empty() && !driver.has_indexes();
    let keeps_none = lacks_indexes.then(|| format!("it keeps no index of {}", indexed.join(", ")));
    keeps_none.into_iter().chain(phases).collect()
}
