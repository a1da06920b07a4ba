//! The space and the costs of a store as it ages: by phase and engine, and over the windows of a
//! phase.

use assay_core::ageing::{Window, write_amplification};
use assay_core::run_file::{Phase, Status};
use assay_core::stats::median;

use crate::blocks::{Distinct, Line};

/// The store of an engine at the end of a phase, the median over trials.
#[derive(Clone, Debug, PartialEq)]
pub struct Aged {
    /// The phase.
    pub phase: String,
    /// Bytes of the store's files.
    pub store_bytes: u64,
    /// Bytes of keys and values that are there.
    pub live_bytes: u64,
    /// Bytes on disk for a byte that is live; none if none is.
    pub space: Option<f64>,
    /// Bytes written to the device for a byte that changed; none if none did, or if the kernel does
    /// not count them.
    pub written: Option<f64>,
    /// The longest latency; none in phases without operations.
    pub stall_ns: Option<u64>,
    /// The resident set of the process.
    pub memory_bytes: u64,
    /// The verdict of the windows, if the phase was to become steady: of the trial that came last
    /// to one.
    pub steady: Option<Steady>,
}

/// The end of a phase that was to become steady.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steady {
    /// True if it became so, false if the limit came first.
    pub is_steady: bool,
    /// The number of windows.
    pub windows: usize,
}

impl Steady {
    /// Returns the end in words.
    pub fn words(self) -> String {
        let Self { is_steady, windows } = self;
        let end = if is_steady { "yes" } else { "no" };
        format!("{end}, {windows} windows")
    }
}

/// Returns the phases of an engine that say what its store on disk took.
pub fn aged(line: &Line<'_>) -> Vec<Aged> {
    if matches!(line.trouble(), Some(Status::Wrong(_))) {
        return Vec::new();
    }
    let names = line.trials[0].measurement.phases.iter().map(|phase| phase.name.as_str());
    names.filter_map(|name| of_phase(line, name)).collect()
}

fn of_phase(line: &Line<'_>, name: &str) -> Option<Aged> {
    let phases: Vec<&Phase> =
        line.trials.iter().filter_map(|trial| trial.measurement.phase(name)).collect();
    let of = |value: &dyn Fn(&Phase, &Window) -> Option<f64>| {
        let values = phases.iter().filter_map(|phase| value(phase, phase.windows.last()?));
        median(&values.collect::<Vec<f64>>())
    };
    let stall = |phase: &Phase| phase.latencies.iter().map(|latency| latency.max_ns).max();
    let last = phases.last()?;
    Some(Aged {
        phase: name.into(),
        store_bytes: of(&|_, window| Some(window.store_bytes? as f64))? as u64,
        live_bytes: of(&|_, window| Some(window.live_bytes as f64))? as u64,
        space: of(&|_, window| window.space_amplification()),
        written: of(&|phase, _| write_amplification(&phase.windows)),
        stall_ns: of(&|phase, _| Some(stall(phase)? as f64)).map(|ns| ns as u64),
        memory_bytes: of(&|_, window| Some(window.memory_bytes as f64))? as u64,
        steady: last.steady.map(|is_steady| Steady { is_steady, windows: last.windows.len() }),
    })
}

/// Sorts phases of several engines: all of one after all of another, in the order of a run.
pub(crate) fn by_phase<T>(all: &mut [T], of: impl Fn(&T) -> &Aged) {
    let mut names = Distinct::default();
    all.iter().for_each(|one| names.add(of(one).phase.clone()));
    all.sort_by_key(|one| names.in_order.iter().position(|name| *name == of(one).phase));
}

/// A value over the windows of a phase: by seconds, at the end of each window.
pub(crate) fn course(phase: &Phase, value: impl Fn(&Window) -> Option<f64>) -> Vec<(f64, f64)> {
    let mut at_ns = 0;
    let points = phase.windows.iter().filter_map(|window| {
        at_ns += window.time_ns;
        Some((at_ns as f64 / 1e9, value(window)?))
    });
    points.collect()
}
