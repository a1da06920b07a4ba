//! An interrupt from the keyboard (or a polite request to end) is noted here and looked at where it
//! is safe to stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::Outcome;
use crate::exit::Failure;

/// Whether the user wants to stop: the number of the signal that came, or 0.
pub struct Interrupt(Arc<AtomicUsize>);

impl Interrupt {
    /// From now on signals are noted instead of ending the process.
    pub fn watch() -> Outcome<Self> {
        let flag = Arc::new(AtomicUsize::new(0));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            let number = usize::try_from(signal).unwrap_or_default();
            signal_hook::flag::register_usize(signal, Arc::clone(&flag), number).map_err(
                |error| Failure::Refused(format!("cannot watch for interrupts: {error}")),
            )?;
        }
        Ok(Self(flag))
    }

    /// Whether a signal came.
    pub fn came(&self) -> bool {
        self.0.load(Ordering::Relaxed) != 0
    }

    /// How a command ends that a signal interrupted: with status 128 and the signal's number.
    pub fn failure(&self, line: &str) -> Failure {
        let signal = u8::try_from(self.0.load(Ordering::Relaxed)).unwrap_or_default();
        Failure::Interrupted { line: line.into(), status: 128 + signal }
    }
}
