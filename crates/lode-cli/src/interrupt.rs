//! An interrupt from the keyboard (or a polite request to end) is noted here and looked at where it
//! is safe to stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::Outcome;
use crate::exit::Failure;

/// Whether the user wants to stop.
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// From now on signals are noted instead of ending the process.
    pub fn watch() -> Outcome<Self> {
        let flag = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            signal_hook::flag::register(signal, Arc::clone(&flag)).map_err(|error| {
                Failure::Refused(format!("cannot watch for interrupts: {error}"))
            })?;
        }
        Ok(Self(flag))
    }

    /// Whether a signal came.
    pub fn came(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
