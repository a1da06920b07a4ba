//! The options by which a writer is ended, or its disk fails: of `assay crash` and `assay torture`.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use assay_core::durability::{Crash, Fault, Lasts};
use assay_powercut::{Directories, Loss};
use clap::{Args, ValueEnum};
use program_support::exit::{Failure, Outcome};

use super::count;

/// The default time limit of a writer or a checker.
const TIMEOUT_S: u64 = 60;

/// The ways in which writers are ended.
#[derive(Args)]
pub(crate) struct EndingArgs {
    /// Kinds of crash: process kills the writer, power cuts the power of its filesystem
    #[arg(long, value_name = "KIND", value_delimiter = ',', default_value = "process,power")]
    pub crash: Vec<CrashArg>,
    /// Faults of the disk before the crash, separated by commas: eio-read, eio-write, eio-sync,
    /// full, short-write, slow, or all. The writer may continue after errors
    #[arg(long, value_name = "FAULT", value_delimiter = ',')]
    pub fault: Vec<FaultArg>,
    /// Time that a fault lasts: once, for one operation; healed, for some; always, as long as the
    /// writer lives [default: rounds take turns]
    #[arg(long, value_name = "TIME", requires = "fault")]
    pub fault_lasts: Option<Lasts>,
    /// Unsynchronised data that a power cut takes: everything, nothing, prefix, files, sectors-512
    /// or sectors-4096 [default: rounds take turns]
    #[arg(long, value_name = "LOSS")]
    pub loss: Option<Loss>,
    /// File names that survive a power cut: journal, those before any later sync, as on ext4;
    /// strict, those whose directory was synchronised
    #[arg(long, value_name = "RULE", default_value = "journal")]
    pub directories: DirectoriesArg,
    /// Directory for what is written [default: _benchmarkdb here]
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Seed of what is drawn: the histories of engines and the moments of the crashes
    #[arg(long, default_value = "1", value_parser = count::parse_seed)]
    pub seed: u64,
    /// Seconds that a writer or a checker may take. With --fault, and of assay torture, a writer
    /// may be silent for so long
    #[arg(long, value_name = "SECONDS", value_parser = count::parse_seconds,
          default_value_t = TIMEOUT_S)]
    pub timeout: u64,
}

impl EndingArgs {
    /// Returns true if the power is to be cut.
    pub(crate) fn cuts_power(&self) -> bool {
        self.crash.contains(&CrashArg::Power)
    }

    /// Returns true if writers are to be killed.
    pub(crate) fn kills(&self) -> bool {
        self.crash.contains(&CrashArg::Process)
    }

    /// Returns the kinds of crash, each with each fault before it, or with none.
    pub(crate) fn kinds(&self) -> Vec<(Crash, Option<Fault>)> {
        let is_asked = |fault: &Fault| {
            self.fault.iter().any(|arg| *arg == FaultArg::All || *arg == FaultArg::One(*fault))
        };
        let faults: Vec<_> = Fault::ALL.into_iter().filter(is_asked).map(Some).collect();
        let faults = if faults.is_empty() { vec![None] } else { faults };
        let kills = self.kills().then_some(Crash::Process);
        let crashes = || kills.into_iter().chain(self.cuts_power().then_some(Crash::Power));
        faults.into_iter().flat_map(|fault| crashes().map(move |crash| (crash, fault))).collect()
    }

    /// Refuses options of power cuts without one.
    pub(crate) fn check(&self) -> Outcome {
        if !self.cuts_power() && (self.loss.is_some() || self.directories.is_strict()) {
            return Err(Failure::Usage("--loss and --directories are for --crash power".into()));
        }
        Ok(())
    }

    /// Returns the time limit of a writer or a checker.
    pub(crate) fn patience(&self) -> Duration {
        Duration::from_secs(self.timeout)
    }

    /// Returns the options that repeat a round of a crash, with the fault before it. The writer
    /// hung in the round or not.
    pub(crate) fn replay(
        &self,
        crash: Crash,
        fault: Option<(Fault, Lasts)>,
        hung: bool,
    ) -> Vec<String> {
        let fault = fault.map(|(fault, lasts)| format!("--fault {fault} --fault-lasts {lasts}"));
        let mut words: Vec<_> = fault.into_iter().collect();
        if crash == Crash::Power {
            words.extend(self.loss.map(|loss| format!("--loss {loss}")));
            words.extend(self.directories.is_strict().then(|| "--directories strict".to_string()));
        }
        let is_told = hung && self.timeout != TIMEOUT_S;
        words.extend(is_told.then(|| format!("--timeout {}", self.timeout)));
        words
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CrashArg {
    Process,
    Power,
}

/// Faults of a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FaultArg {
    One(Fault),
    All,
}

impl FromStr for FaultArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "all" { Ok(Self::All) } else { text.parse().map(Self::One) }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DirectoriesArg {
    Journal,
    Strict,
}

impl DirectoriesArg {
    /// Returns the rule.
    pub(crate) fn rule(self) -> Directories {
        match self {
            Self::Journal => Directories::Journal,
            Self::Strict => Directories::Strict,
        }
    }

    pub(crate) fn is_strict(self) -> bool {
        self == Self::Strict
    }
}
