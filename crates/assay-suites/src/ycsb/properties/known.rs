//! The treatment of each property that YCSB's core workload and its client document.

use std::ops::RangeInclusive;
use std::str::FromStr;

use clap::ValueEnum;

use super::super::core_workload::{Draft, FieldLengths};
use super::super::options::{FIELD_BYTES_BETWEEN, FIELDS_BETWEEN, MOST_RECORDS, Options};
use super::super::workload::{Distribution, Kind};
use crate::options::{Threads, count};

type Said = Result<(), String>;

/// The treatment of a property.
#[derive(Clone, Copy)]
pub(super) enum Rule {
    /// Sets an option of the suite.
    Is(fn(&mut Options, &str) -> Said),
    /// Sets a part of the workload.
    Says(fn(&mut Draft, &str) -> Said),
    /// Only these values name what is done; what to do about others.
    Only(&'static [&'static str], &'static str),
}

/// The most records that a scan asks for.
const MOST_SCANNED: u64 = 100_000;
/// The digits of a key, of which the first may be zeros.
const KEY_DIGITS: u64 = 20;

const KNOWN: [(&str, Rule); 55] = [
    ("recordcount", Rule::Is(records)),
    ("operationcount", Rule::Is(operations)),
    ("threadcount", Rule::Is(threads)),
    ("target", Rule::Is(target)),
    ("fieldcount", Rule::Is(fields)),
    ("fieldlength", Rule::Is(field_bytes)),
    ("requestdistribution", Rule::Is(distribution)),
    ("readproportion", Rule::Says(|draft, text| share(draft, Kind::Read, text))),
    ("updateproportion", Rule::Says(|draft, text| share(draft, Kind::Update, text))),
    ("insertproportion", Rule::Says(|draft, text| share(draft, Kind::Insert, text))),
    ("scanproportion", Rule::Says(|draft, text| share(draft, Kind::Scan, text))),
    (
        "readmodifywriteproportion",
        Rule::Says(|draft, text| share(draft, Kind::ReadModifyWrite, text)),
    ),
    ("hotspotdatafraction", Rule::Says(|d, text| fraction(text, &mut d.skew.hot_records))),
    ("hotspotopnfraction", Rule::Says(|d, text| fraction(text, &mut d.skew.hot_operations))),
    ("exponential.percentile", Rule::Says(percentile)),
    ("exponential.frac", Rule::Says(|d, text| positive(text, &mut d.skew.within))),
    ("minscanlength", Rule::Says(|d, text| scanned(text, &mut d.scanned.least))),
    ("maxscanlength", Rule::Says(|d, text| scanned(text, &mut d.scanned.most))),
    ("scanlengthdistribution", Rule::Says(scan_lengths)),
    ("fieldlengthdistribution", Rule::Says(field_lengths)),
    ("minfieldlength", Rule::Says(|d, text| number(text, 0..=u64::MAX, &mut d.least_field))),
    ("writeallfields", Rule::Says(|d, text| truth(text, &mut d.writes_all))),
    ("insertorder", Rule::Says(order)),
    ("insertcount", Rule::Says(inserted)),
    ("zeropadding", Rule::Says(|_, text| number(text, 0..=KEY_DIGITS, &mut 0))),
    (
        "workload",
        Rule::Only(
            &["site.ycsb.workloads.CoreWorkload", "com.yahoo.ycsb.workloads.CoreWorkload"],
            "only YCSB's CoreWorkload is run here; say site.ycsb.workloads.CoreWorkload",
        ),
    ),
    ("table", Rule::Only(&["usertable"], "the table is usertable; leave it out")),
    ("fieldnameprefix", Rule::Only(&["field"], "fields are field0, field1, …; leave it out")),
    ("readallfields", Rule::Only(&["true"], "whole records are read; say true")),
    ("readallfieldsbyname", Rule::Only(&["false"], "fields are not named to read; say false")),
    ("dataintegrity", Rule::Only(&["true", "false"], "say true; every answer is compared")),
    ("insertstart", Rule::Only(&["0"], "a cell loads all its records; say 0")),
    (
        "fieldlengthhistogram",
        Rule::Only(&[], "for a histogram write value = { histogram = … } in a workload file"),
    ),
    (
        "core_workload_insertion_retry_limit",
        Rule::Only(&["0"], "a failed insert ends the cell; say 0"),
    ),
    (
        "core_workload_insertion_retry_interval",
        Rule::Only(&["3"], "a failed insert ends the cell; leave it out"),
    ),
    (
        "core_workload_insertion_keep_going_on_error",
        Rule::Only(&["false"], "a failed insert ends the cell; say false"),
    ),
    (
        "maxexecutiontime",
        Rule::Only(&["0"], "for a phase of seconds use a workload file; leave it out"),
    ),
    ("dotransactions", Rule::Only(&["true"], "a cell loads its records and then runs; say true")),
    ("db", Rule::Only(&[], "engines are chosen with --engine; leave it out")),
    ("label", Rule::Only(&[""], "a run has the name of its file; leave it out")),
    ("exporter", Rule::Only(&[], "figures are in the run file, see --output; leave it out")),
    ("exportfile", Rule::Only(&[], "name the run file with --output; leave it out")),
    ("status", Rule::Only(&["true"], "progress is shown unless --quiet; leave it out")),
    ("status.interval", Rule::Only(&[], "progress has no interval; leave it out")),
    (
        "measurementtype",
        Rule::Only(
            &["hdrhistogram", "histogram", "hdrhistogram+histogram", "timeseries"],
            "latencies are kept as a histogram and over time; leave it out",
        ),
    ),
    ("measurement.interval", Rule::Only(&["op"], "with target latency counts as intended; say op")),
    ("measurement.histogram.verbose", Rule::Only(&["false"], "see the run file; say false")),
    ("measurement.trackjvm", Rule::Only(&["false"], "there is no virtual machine; say false")),
    ("histogram.buckets", Rule::Only(&["1000"], "latencies have no buckets; leave it out")),
    ("timeseries.granularity", Rule::Only(&["1000"], "intervals are fixed; leave it out")),
    ("reportlatencyforeacherror", Rule::Only(&["false"], "an error ends the cell; say false")),
    ("columnfamily", Rule::Only(&[], "engines here have no column families; leave it out")),
    ("maxscanrate", Rule::Only(&["0"], "scans have no limit of rate; say 0")),
    ("scanoptimelimit", Rule::Only(&["0"], "scans have no limit of time; say 0")),
    ("discardscannedrecord", Rule::Only(&["false"], "scanned records are compared; say false")),
];

/// Returns what becomes of a property, with its name as a constant.
pub(super) fn entry(name: &str) -> Option<(&'static str, Rule)> {
    KNOWN.into_iter().find(|(known, _)| *known == name)
}

/// Returns what becomes of a property; the error says why it is refused.
pub(super) fn rule(name: &str) -> Result<Rule, String> {
    let unknown =
        "is no property of YCSB's core workload; leave it out (engines' parameters: --set)";
    entry(name).map(|(_, rule)| rule).ok_or_else(|| unknown.into())
}

/// Sets an option, unless the command line says it too.
fn set<T>(option: &mut Option<T>, value: T, flag: &str) -> Said {
    match option.replace(value) {
        None => Ok(()),
        Some(_) => Err(format!("{flag} says it too; leave one of them out")),
    }
}

fn parsed(text: &str, between: RangeInclusive<u64>) -> Result<u64, String> {
    let [least, most] = [between.start(), between.end()];
    let fault = || format!("must be a whole number between {least} and {most}");
    let found = text.parse::<u64>().map_err(|_| fault())?;
    if between.contains(&found) { Ok(found) } else { Err(fault()) }
}

fn records(options: &mut Options, text: &str) -> Said {
    set(&mut options.records, parsed(text, 1..=MOST_RECORDS)?, "--records")
}

fn operations(options: &mut Options, text: &str) -> Said {
    set(&mut options.operations, parsed(text, 1..=count::MOST)?, "--operations")
}

fn threads(options: &mut Options, text: &str) -> Said {
    if !options.threads.is_empty() {
        return Err("--threads says it too; leave one of them out".into());
    }
    options.threads = vec![Threads::from_str(text)?];
    Ok(())
}

fn target(options: &mut Options, text: &str) -> Said {
    match text {
        "0" => Ok(()),
        _ => set(&mut options.rate, count::parse_rate(text)?, "--rate"),
    }
}

fn fields(options: &mut Options, text: &str) -> Said {
    set(&mut options.field_count, parsed(text, FIELDS_BETWEEN)? as u32, "--field-count")
}

fn field_bytes(options: &mut Options, text: &str) -> Said {
    set(&mut options.field_length, parsed(text, FIELD_BYTES_BETWEEN)? as u32, "--field-length")
}

fn distribution(options: &mut Options, text: &str) -> Said {
    let words = "must be uniform, zipfian, latest, hotspot, sequential or exponential";
    let value = Distribution::from_str(text, false).map_err(|_| words)?;
    set(&mut options.distribution, value, "--distribution")
}

fn real(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
    number.ok_or_else(|| "must be a number".into())
}

fn share(draft: &mut Draft, kind: Kind, text: &str) -> Said {
    let value = real(text)?;
    if !(0.0..=1e6).contains(&value) {
        return Err("must be a share, from 0 on".into());
    }
    draft.shares[kind as usize] = value;
    Ok(())
}

fn fraction(text: &str, into: &mut f64) -> Said {
    let value = real(text)?;
    if !(0.0..=1.0).contains(&value) {
        return Err("must be a fraction between 0 and 1".into());
    }
    *into = value;
    Ok(())
}

fn positive(text: &str, into: &mut f64) -> Said {
    let value = real(text)?;
    if value <= 0.0 || value > 1e6 {
        return Err("must be above 0, at most a million".into());
    }
    *into = value;
    Ok(())
}

fn percentile(draft: &mut Draft, text: &str) -> Said {
    let value = real(text)?;
    if value <= 0.0 || value >= 100.0 {
        return Err("must be above 0 and below 100".into());
    }
    draft.skew.percentile = value;
    Ok(())
}

fn number(text: &str, between: RangeInclusive<u64>, into: &mut u64) -> Said {
    *into = parsed(text, between)?;
    Ok(())
}

fn scanned(text: &str, into: &mut u64) -> Said {
    number(text, 1..=MOST_SCANNED, into)
}

fn scan_lengths(draft: &mut Draft, text: &str) -> Said {
    draft.scanned.is_zipfian = match text {
        "uniform" => false,
        "zipfian" => true,
        _ => return Err("must be uniform or zipfian".into()),
    };
    Ok(())
}

fn field_lengths(draft: &mut Draft, text: &str) -> Said {
    draft.fields_vary = match text {
        "constant" => FieldLengths::Constant,
        "uniform" => FieldLengths::Uniform,
        "zipfian" => FieldLengths::Zipfian,
        _ => return Err("must be constant, uniform or zipfian".into()),
    };
    Ok(())
}

fn truth(text: &str, into: &mut bool) -> Said {
    *into = text.parse().map_err(|_| "must be true or false")?;
    Ok(())
}

fn order(draft: &mut Draft, text: &str) -> Said {
    draft.in_order = match text {
        "hashed" => false,
        "ordered" => true,
        _ => return Err("must be hashed or ordered".into()),
    };
    Ok(())
}

fn inserted(draft: &mut Draft, text: &str) -> Said {
    draft.loaded = Some(parsed(text, 1..=MOST_RECORDS)?);
    Ok(())
}
