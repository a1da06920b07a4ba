//! What the command line of any suite comes down to.

use assay_driver::KeyKind;
use program_support::exit::Outcome;

use crate::cli::{Common, CrossbenchArgs, Measure, NudbArgs, RunSuite, StorageArg, Trials};
use crate::planning::Work;
use crate::works;

/// What is to be measured, and how.
pub struct Request {
    pub common: Common,
    pub storage: Vec<StorageArg>,
    pub trials: Trials,
    pub quiet: bool,
    pub key: Option<KeyKind>,
    pub works: Vec<Work>,
}

impl Request {
    /// The request of any suite's command line.
    pub fn of(suite: &RunSuite) -> Outcome<Self> {
        let (measure, works) = match suite {
            RunSuite::Crossbench(args) => return Self::crossbench(args),
            RunSuite::Nudb(args) => return Self::nudb(args),
            RunSuite::Skvdb(args) => (&args.measure, works::skvdb::works(args)),
            RunSuite::TonboWrite(args) => (&args.measure, vec![works::tonbo::write_work(args)?]),
            RunSuite::TonboRead(args) => (&args.measure, vec![works::tonbo::read_work(args)?]),
            RunSuite::TonboMicro(args) => (&args.measure, vec![works::tonbo::micro_work(args)]),
            RunSuite::Ycsb(args) => (&args.measure, works::ycsb::works(args)),
        };
        Ok(Self::measuring(measure, works))
    }

    /// That of CrossBench.
    pub fn crossbench(args: &CrossbenchArgs) -> Outcome<Self> {
        Ok(Self {
            common: args.common.clone(),
            storage: args.storage.clone(),
            trials: args.trials.clone(),
            quiet: args.quiet,
            key: args.key.kind(),
            works: works::crossbench::works(args)?,
        })
    }

    /// That of NuDB's bench, which has a second name for engines.
    pub fn nudb(args: &NudbArgs) -> Outcome<Self> {
        let mut request = Self::measuring(&args.measure, works::nudb::works(args)?);
        request.common.engine.extend(args.dbs.iter().cloned());
        Ok(request)
    }

    fn measuring(measure: &Measure, works: Vec<Work>) -> Self {
        Self {
            common: measure.common.clone(),
            storage: measure.storage.clone(),
            trials: measure.trials.clone(),
            quiet: measure.quiet,
            key: None,
            works,
        }
    }
}
