//! `assay run skvdb`.

use assay_suites::skvdb::{Options, Skvdb};

use crate::cli::SkvdbArgs;
use crate::count::each_thread_count;
use crate::planning::Work;

/// The work of a command line: one for each number of entries and of threads.
pub fn works(args: &SkvdbArgs) -> Vec<Work> {
    let mut works = Vec::new();
    for &entries in &args.entries {
        for threads in each_thread_count(&args.threads) {
            let options = Options { operations: args.operations, children: args.children, entries };
            let work = Work::of::<Skvdb>(args.operations, &options);
            works.push(Work { threads, ..work });
        }
    }
    works
}
