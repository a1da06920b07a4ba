//! A fence in all threads of the process at once, by the system call `membarrier` of Linux. It
//! costs the thread that asks for it microseconds, and the others nothing while no thread asks.

use std::sync::OnceLock;
use std::sync::atomic::{Ordering, fence};

/// Returns true if all threads can be made to pass a fence. The answer stays.
pub(super) fn is_possible() -> bool {
    static POSSIBLE: OnceLock<bool> = OnceLock::new();
    *POSSIBLE.get_or_init(system::register)
}

/// Has all threads pass a fence, or, if that is not possible, only this one: then each pin has one.
/// Returns false if the system refuses what it had promised.
pub(super) fn pass() -> bool {
    fence(Ordering::SeqCst);
    !is_possible() || system::pass()
}

#[cfg(target_os = "linux")]
mod system {
    use rustix::thread::{MembarrierCommand, membarrier};

    pub(super) fn register() -> bool {
        membarrier(MembarrierCommand::RegisterPrivateExpedited).is_ok() && pass()
    }

    pub(super) fn pass() -> bool {
        membarrier(MembarrierCommand::PrivateExpedited).is_ok()
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    pub(super) fn register() -> bool {
        false
    }

    pub(super) fn pass() -> bool {
        false
    }
}
