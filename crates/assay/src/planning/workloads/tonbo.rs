//! `assay run tonbo-write`, `tonbo-read` and `tonbo-micro`.

use assay_suites::tonbo::micro::TonboMicro;
use assay_suites::tonbo::read::TonboRead;
use assay_suites::tonbo::tbl::Table;
use assay_suites::tonbo::write::TonboWrite;
use assay_suites::tonbo::{micro, read, write};
use program_support::exit::{Failure, Outcome};

use crate::cli::count::each_thread_count;
use crate::cli::{TonboMicroArgs, TonboReadArgs, TonboWriteArgs};
use crate::files;
use crate::planning::Workload;

/// Records that `tonbo-read` loads, where the published bench has a hundred times as many.
const READ_RECORDS: u64 = 400_000;

/// Returns the workload of `tonbo-write`.
pub(crate) fn write_workload(args: &TonboWriteArgs) -> Outcome<Workload> {
    let published = write::Options::scaled(args.scale, each_thread_count(&args.threads));
    let options = write::Options { clock: args.continuous.clock(), ..published };
    let rows = options.rows();
    if rows > write::MOST_ROWS {
        return Err(Failure::Usage(format!(
            "{rows} records are more than there are keys ({}); choose a smaller --scale",
            write::MOST_ROWS
        )));
    }
    Ok(Workload::of::<TonboWrite>(rows, &options))
}

/// Returns the workload of `tonbo-read`.
pub(crate) fn read_workload(args: &TonboReadArgs) -> Outcome<Workload> {
    let rows = match &args.tbl {
        None => args.records.unwrap_or(READ_RECORDS),
        Some(path) => {
            files::check_readable(path, "--tbl")?;
            Table::read(path).map_err(|error| Failure::Refused(error.to_string()))?.rows()
        }
    };
    if rows > write::MOST_ROWS {
        return Err(Failure::Usage(format!(
            "{rows} records are more than there are keys ({})",
            write::MOST_ROWS
        )));
    }
    if args.range_size > rows {
        return Err(Failure::Usage(format!(
            "a range of {} records is more than the {rows} that there are; choose a smaller \
             --range-size",
            args.range_size
        )));
    }
    let tbl = match &args.tbl {
        None => None,
        Some(path) => Some(
            path.canonicalize()
                .map_err(|error| Failure::Refused(format!("{}: {error}", path.display())))?,
        ),
    };
    if let Some(path) = tbl.as_ref().filter(|path| path.to_str().is_none()) {
        return Err(Failure::Usage(format!(
            "--tbl {}: not UTF-8, so a run file could not name it; choose another name",
            path.display()
        )));
    }
    let options = read::Options {
        ranges: args.ranges,
        range_size: args.range_size,
        threads: each_thread_count(&args.threads),
        tbl,
        keep: args.measure.common.dir.is_some(),
        repeats: args.repeats.repeats,
    };
    Ok(Workload::of::<TonboRead>(rows, &options))
}

/// Returns the workload of `tonbo-micro`.
pub(crate) fn micro_workload(args: &TonboMicroArgs) -> Workload {
    let options = micro::Options {
        batches: args.batches.clone(),
        warm_up_ms: (args.warm_up * 1e3) as u64,
        measurement_ms: (args.measurement * 1e3) as u64,
        samples: args.samples,
        repeats: args.repeats.repeats,
    };
    Workload::of::<TonboMicro>(0, &options)
}
