//! `assay run crossbench`.

use assay_suites::crossbench::latencies::Latencies;
use assay_suites::crossbench::{CrossBench, Fill, MOST_ROWS, Options};
use program_support::exit::{Failure, Outcome};

use crate::cli::CrossbenchArgs;
use crate::cli::count::each_thread_count;
use crate::planning::Workload;

/// The published default of every count.
const DEFAULT_COUNT: u64 = 1_000_000;

/// Returns the workloads that the command line asks for: one for each number of threads.
pub(crate) fn workloads(args: &CrossbenchArgs) -> Outcome<Vec<Workload>> {
    let (fill, rows) = match (args.rows, args.load, args.insert) {
        (Some(rows), _, _) => (Fill::Open, rows),
        (_, Some(rows), _) => (Fill::Load, rows),
        (_, _, rows) => (Fill::Insert, rows.unwrap_or(DEFAULT_COUNT)),
    };
    if rows == 0 {
        return Err(Failure::Usage(
            "-r 0 leaves nothing to measure; it is for -H, which prints the header".into(),
        ));
    }
    if rows > MOST_ROWS {
        return Err(Failure::Usage(format!(
            "{rows} rows are more than there are different keys ({MOST_ROWS})"
        )));
    }
    let several = args.trials.trials > 1 || args.trials.until_ci.is_some();
    if fill == Fill::Open && several {
        return Err(Failure::Usage(
            "-r opens the one store that is there, so there can be one trial; leave --trials out"
                .into(),
        ));
    }
    if fill == Fill::Open && each_thread_count(&args.threads).len() > 1 {
        return Err(Failure::Usage(
            "-r opens the one store that is there, so there can be one number of threads".into(),
        ));
    }
    let options = Options {
        fill,
        query: args.query,
        update: args.update,
        delete: args.delete,
        sequential: args.sequential,
        keys: args.keys.keys(),
        repeats: args.repeats.repeats,
        clock: args.continuous.clock(),
        latencies: args.latency.then_some(Latencies { rate: args.rate }),
    };
    let workloads = each_thread_count(&args.threads).into_iter();
    Ok(workloads
        .map(|threads| Workload { threads, ..Workload::of::<CrossBench>(rows, &options) })
        .collect())
}
