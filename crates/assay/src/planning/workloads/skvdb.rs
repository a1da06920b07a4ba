//! `assay run skvdb`.

use assay_suites::skvdb::{Options, Skvdb};

use crate::cli::SkvdbArgs;
use crate::cli::count::each_thread_count;
use crate::planning::Workload;

/// Returns the workloads of a command line: one for each number of entries and of threads.
pub(crate) fn workloads(args: &SkvdbArgs) -> Vec<Workload> {
    let mut workloads = Vec::new();
    for &entries in &args.entries {
        for threads in each_thread_count(&args.threads) {
            let options = Options {
                operations: args.operations,
                children: args.children,
                entries,
                repeats: args.repeats.repeats,
            };
            let workload = Workload::of::<Skvdb>(args.operations, &options);
            workloads.push(Workload { threads, ..workload });
        }
    }
    workloads
}
