//! The texts of a run file, for views: each of them may hold anything, since a file comes from
//! anywhere, and engines, plugins and paths say what they like.

use std::collections::BTreeMap;
use std::path::PathBuf;

use program_support::printable;
use serde_json::Value;

use crate::advice::{Advice, Facts, LeftOut};
use crate::doctor::Finding;
use crate::environment::{Build, Environment};
use crate::plan::Cell;
use crate::run_file::{CellResult, Measurement, OtherBuild, RunFile, Status};

impl RunFile {
    /// Returns the run with texts that are safe to show, for views.
    pub fn printable(mut self) -> Self {
        let Self {
            format: _,
            schema_version: _,
            created: _,
            command,
            build,
            baseline,
            advice,
            environment,
            findings,
            planned_cells: _,
            cells,
        } = &mut self;
        command.iter_mut().for_each(text);
        of_build(build);
        if let Some(OtherBuild { path: file, kind: _, build }) = baseline {
            path(file);
            build.iter_mut().for_each(of_build);
        }
        advice.iter_mut().for_each(of_advice);
        of_environment(environment);
        findings.iter_mut().for_each(of_finding);
        cells.iter_mut().for_each(of_result);
        self
    }
}

impl CellResult {
    /// Returns the result with texts that are safe to show.
    pub fn printable(mut self) -> Self {
        of_result(&mut self);
        self
    }
}

fn text(text: &mut String) {
    if let std::borrow::Cow::Owned(safe) = printable::line(text) {
        *text = safe;
    }
}

fn of_advice(advice: &mut Advice) {
    let Advice {
        title,
        rank: _,
        rate_per_second: _,
        isolation,
        language,
        phases,
        limits: _,
        weights: _,
        facts,
        left_out,
    } = advice;
    phases.iter_mut().for_each(|weight| text(&mut weight.phase));
    text(title);
    isolation.iter_mut().chain(language).for_each(text);
    for Facts { engine, licence, languages, isolation, released, .. } in facts {
        text(engine);
        text(licence);
        isolation.iter_mut().chain(released).for_each(text);
        languages.iter_mut().for_each(text);
    }
    for LeftOut { engine, why } in left_out {
        text(engine);
        text(why);
    }
}

fn path(path: &mut PathBuf) {
    let mut shown = path.to_string_lossy().into_owned();
    text(&mut shown);
    *path = shown.into();
}

fn map(map: &mut BTreeMap<String, String>) {
    let pairs = std::mem::take(map).into_iter().map(|(mut name, mut value)| {
        text(&mut name);
        text(&mut value);
        (name, value)
    });
    *map = pairs.collect();
}

fn value(json: &mut Value) {
    match json {
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
        Value::String(string) => text(string),
        Value::Array(values) => values.iter_mut().for_each(value),
        Value::Object(fields) => {
            let pairs = std::mem::take(fields).into_iter().map(|(mut name, mut field)| {
                text(&mut name);
                value(&mut field);
                (name, field)
            });
            *fields = pairs.collect();
        }
    }
}

fn of_build(build: &mut Build) {
    let Build { version, rustc, target, opt_level, engines } = build;
    [version, rustc, target, opt_level].into_iter().chain(engines).for_each(text);
}

fn of_environment(environment: &mut Environment) {
    let Environment {
        cpu_model,
        cpus: _,
        memory_bytes: _,
        memory_available_bytes: _,
        kernel,
        distribution,
        governor,
        clock_source,
        transparent_huge_pages,
        aslr,
        load_1min: _,
    } = environment;
    let texts = [cpu_model, kernel, distribution, clock_source, transparent_huge_pages, aslr];
    texts.into_iter().chain(governor).for_each(text);
}

fn of_finding(finding: &mut Finding) {
    let Finding { subject, gravity: _, found, advice, storage: _ } = finding;
    [subject, found, advice].into_iter().for_each(text);
}

fn of_result(result: &mut CellResult) {
    let CellResult { cell, started: _, whole_ns: _, status, refuted, held, measurement } = result;
    of_cell(cell);
    match status {
        Status::Measured => {}
        Status::Unsupported(why)
        | Status::Unavailable(why)
        | Status::Wrong(why)
        | Status::Failed(why)
        | Status::Killed(why) => text(why),
    }
    refuted.iter_mut().for_each(text);
    held.iter_mut().for_each(|held| text(&mut held.words));
    of_measurement(measurement);
}

fn of_cell(cell: &mut Cell) {
    text(&mut cell.suite);
    text(&mut cell.engine.id);
    text(&mut cell.variant);
    value(&mut cell.options);
    map(&mut cell.engine_options);
    map(&mut cell.engine_parameters);
    cell.dir.iter_mut().for_each(path);
}

fn of_measurement(measurement: &mut Measurement) {
    let Measurement {
        engine_version,
        engine_name,
        settings,
        notes,
        not_offered,
        filesystem,
        phases,
        reopened: _,
        resources: _,
    } = measurement;
    [engine_version, engine_name].into_iter().chain(settings).chain(notes).for_each(text);
    for left_out in not_offered {
        text(&mut left_out.phase);
        text(&mut left_out.why);
    }
    if let Some(filesystem) = filesystem {
        text(&mut filesystem.kind);
        text(&mut filesystem.options);
        path(&mut filesystem.mount_point);
    }
    for phase in phases {
        text(&mut phase.name);
        text(&mut phase.tape_hash);
        phase.latencies.iter_mut().for_each(|latency| text(&mut latency.operation));
    }
}
