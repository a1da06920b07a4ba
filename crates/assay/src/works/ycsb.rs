//! `assay run ycsb`.

use std::collections::BTreeMap;

use assay_suites::ycsb::workload::Workload;
use assay_suites::ycsb::{ID, Options};

use crate::cli::YcsbArgs;
use crate::count::each_thread_count;
use crate::planning::{Work, plain};

/// The work of a command line: one for each workload and number of threads.
pub fn works(args: &YcsbArgs) -> Vec<Work> {
    let mut works = Vec::new();
    for workload in args.workload.iter().map(|workload| workload.workload()) {
        for threads in each_thread_count(&args.threads) {
            let distribution = args.distribution.map(|chosen| chosen.distribution());
            let options = Options {
                workload,
                operations: args.operations,
                rate: args.rate,
                distribution: distribution.unwrap_or(workload.distribution()),
                field_count: args.field_count,
                field_length: args.field_length,
            };
            works.push(Work {
                suite: ID,
                rows: args.records,
                threads,
                variant: options.variant(),
                options: plain(&options),
                calibration: Some(plain(&options)),
                parameters: BTreeMap::new(),
                reopens: false,
                scans: workload == Workload::E,
            });
        }
    }
    works
}
