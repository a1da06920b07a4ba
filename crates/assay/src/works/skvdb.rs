//! `assay run skvdb`.

use std::collections::BTreeMap;

use assay_suites::skvdb::{ID, Options};

use crate::cli::SkvdbArgs;
use crate::count::each_thread_count;
use crate::planning::{Work, plain};

/// The work of a command line: one for each number of entries and of threads.
pub fn works(args: &SkvdbArgs) -> Vec<Work> {
    let mut works = Vec::new();
    for &entries in &args.entries {
        for threads in each_thread_count(&args.threads) {
            let options = Options { operations: args.operations, children: args.children, entries };
            works.push(Work {
                suite: ID,
                rows: args.operations,
                threads,
                variant: options.variant(),
                options: plain(&options),
                calibration: Some(plain(&options)),
                parameters: BTreeMap::new(),
                reopens: false,
                scans: false,
            });
        }
    }
    works
}
