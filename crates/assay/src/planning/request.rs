//! The request that the command line of any suite becomes.

use std::path::PathBuf;

use assay_driver::KeyKind;
use program_support::exit::{Failure, Outcome};

use crate::cli::{
    Common, CrossbenchArgs, Measure, NudbArgs, PageCacheArg, RunSuite, StorageArg, Trials,
};
use crate::planning::Workload;
use crate::planning::workloads;

/// The cells to measure, and how.
pub(crate) struct Request {
    pub common: Common,
    pub storage: Vec<StorageArg>,
    pub trials: Trials,
    pub quiet: bool,
    pub key: Option<KeyKind>,
    pub workloads: Vec<Workload>,
    /// Another build that takes turns with this one.
    pub baseline: Option<PathBuf>,
    /// Options with which a run takes less time.
    pub shorter: &'static str,
}

impl Request {
    /// Returns the request of any suite's command line.
    pub(crate) fn of(suite: &RunSuite) -> Outcome<Self> {
        let (measure, workloads, shorter) = match suite {
            RunSuite::Crossbench(args) => return Self::crossbench(args),
            RunSuite::Nudb(args) => return Self::nudb(args),
            RunSuite::Skvdb(args) => {
                (&args.measure, workloads::skvdb::workloads(args), "--threads 2,16")
            }
            RunSuite::TonboWrite(args) => {
                (&args.measure, vec![workloads::tonbo::write_workload(args)?], "--scale 0.01")
            }
            RunSuite::TonboRead(args) => {
                (&args.measure, vec![workloads::tonbo::read_workload(args)?], "--records 40k")
            }
            RunSuite::TonboMicro(args) if args.measure.common.page_cache == PageCacheArg::Cold => {
                return Err(Failure::Usage(
                    "tonbo-micro warms up before it measures, so its page cache is never cold; \
                     leave --page-cache out"
                        .into(),
                ));
            }
            RunSuite::TonboMicro(args) => {
                (&args.measure, vec![workloads::tonbo::micro_workload(args)], "--measurement 1")
            }
            RunSuite::Ycsb(args) => {
                (&args.measure, workloads::ycsb::workloads(args), "--records 10k --operations 10k")
            }
        };
        Ok(Self::measuring(measure, workloads, shorter))
    }

    /// Returns the request of CrossBench's command line.
    pub(crate) fn crossbench(args: &CrossbenchArgs) -> Outcome<Self> {
        Ok(Self {
            common: args.common.clone(),
            storage: args.storage.clone(),
            trials: args.trials.clone(),
            quiet: args.quiet,
            key: args.key.kind(),
            workloads: workloads::crossbench::workloads(args)?,
            baseline: args.baseline.against.clone(),
            shorter: "-i 100k -q 100k -u 20k",
        })
    }

    /// Returns the request of NuDB's command line, which has a second name for engines.
    pub(crate) fn nudb(args: &NudbArgs) -> Outcome<Self> {
        let shorter = "--inserts 10k --fetches 10k";
        let workloads = workloads::nudb::workloads(args)?;
        let mut request = Self::measuring(&args.measure, workloads, shorter);
        request.common.engine.extend(args.dbs.iter().cloned());
        Ok(request)
    }

    fn measuring(measure: &Measure, workloads: Vec<Workload>, shorter: &'static str) -> Self {
        Self {
            common: measure.common.clone(),
            storage: measure.storage.clone(),
            trials: measure.trials.clone(),
            quiet: measure.quiet,
            key: None,
            workloads,
            baseline: measure.baseline.against.clone(),
            shorter,
        }
    }
}
