//! The request that the command line of any suite becomes.

use std::path::PathBuf;

use assay_driver::KeyKind;
use assay_suites::Suite;
use assay_suites::crossbench::{CrossBench, Fill};
use assay_suites::nudb::Nudb;
use assay_suites::skvdb::Skvdb;
use assay_suites::tonbo::micro::TonboMicro;
use assay_suites::tonbo::read::TonboRead;
use assay_suites::tonbo::write::TonboWrite;
use assay_suites::trace::Trace;
use assay_suites::workload;
use assay_suites::ycsb::Ycsb;
use program_support::exit::{Failure, Outcome};

use crate::cli::{
    Common, CrossbenchArgs, Measure, NudbArgs, PageCacheArg, RunSuite, StorageArg, Trials,
};
use crate::planning::Workload;

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
        match suite {
            RunSuite::Crossbench(args) => Self::crossbench(args),
            RunSuite::Nudb(args) => Self::nudb(args),
            RunSuite::Skvdb(args) => Self::suite::<Skvdb>(&args.options, &args.measure),
            RunSuite::TonboWrite(args) => Self::suite::<TonboWrite>(&args.options, &args.measure),
            RunSuite::TonboRead(args) => Self::suite::<TonboRead>(&args.options, &args.measure),
            RunSuite::TonboMicro(args) if args.measure.common.page_cache == PageCacheArg::Cold => {
                Err(Failure::Usage(
                    "tonbo-micro warms up before it measures, so its page cache is never cold; \
                     leave --page-cache out"
                        .into(),
                ))
            }
            RunSuite::TonboMicro(args) => Self::suite::<TonboMicro>(&args.options, &args.measure),
            RunSuite::Ycsb(args) => Self::suite::<Ycsb>(&args.options, &args.measure),
            RunSuite::Workload(args) => {
                Self::suite::<workload::Workload>(&args.options, &args.measure)
            }
            RunSuite::Trace(args) => Self::suite::<Trace>(&args.options, &args.measure),
        }
    }

    /// Returns the request of CrossBench's command line.
    pub(crate) fn crossbench(args: &CrossbenchArgs) -> Outcome<Self> {
        let several = args.trials.trials > 1 || args.trials.until_ci.is_some();
        if args.options.filled().0 == Fill::Open && several {
            return Err(Failure::Usage(
                "-r opens the one store that is there, so there can be one trial; leave --trials \
                 out"
                .into(),
            ));
        }
        Ok(Self {
            common: args.common.clone(),
            storage: args.storage.clone(),
            trials: args.trials.clone(),
            quiet: args.quiet,
            key: args.key.kind(),
            workloads: Workload::all::<CrossBench>(&args.options)?,
            baseline: args.baseline.against.clone(),
            shorter: CrossBench::SHORTER,
        })
    }

    /// Returns the request of NuDB's command line, which has a second name for engines.
    pub(crate) fn nudb(args: &NudbArgs) -> Outcome<Self> {
        let options = &args.options;
        let in_batches = options.batch_size.is_some() || options.num_batches.is_some();
        if args.raw_out.is_some() && !in_batches {
            return Err(Failure::Usage(
                "--raw-out is for batches; add --batch-size or --num-batches".into(),
            ));
        }
        let mut request = Self::suite::<Nudb>(options, &args.measure)?;
        request.common.engine.extend(args.dbs.iter().cloned());
        Ok(request)
    }

    fn suite<S: Suite>(options: &S::Options, measure: &Measure) -> Outcome<Self> {
        Ok(Self {
            common: measure.common.clone(),
            storage: measure.storage.clone(),
            trials: measure.trials.clone(),
            quiet: measure.quiet,
            key: None,
            workloads: Workload::all::<S>(options)?,
            baseline: measure.baseline.against.clone(),
            shorter: S::SHORTER,
        })
    }
}
