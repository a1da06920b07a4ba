//! `assay run ycsb`.

use assay_suites::ycsb::{Options, Ycsb};

use crate::cli::count::each_thread_count;
use crate::cli::{DistributionArg, YcsbArgs};
use crate::planning::Workload;

/// Returns the workloads of a command line: one for each workload and number of threads.
pub(crate) fn workloads(args: &YcsbArgs) -> Vec<Workload> {
    let mut workloads = Vec::new();
    for workload in args.workload.iter().map(|workload| workload.workload()) {
        for threads in each_thread_count(&args.threads) {
            let distribution = args.distribution.map(DistributionArg::distribution);
            let options = Options {
                workload,
                operations: args.operations,
                rate: args.rate,
                distribution: distribution.unwrap_or(workload.distribution()),
                field_count: args.field_count,
                field_length: args.field_length,
                repeats: args.repeats.repeats,
            };
            workloads.push(Workload { threads, ..Workload::of::<Ycsb>(args.records, &options) });
        }
    }
    workloads
}
