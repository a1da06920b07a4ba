//! A memory barrier that one thread imposes on all other threads of this process, so that favoured
//! threads need none.

/// Returns true if the system has such barriers.
#[cfg(all(target_os = "linux", not(miri)))]
pub(super) fn is_supported() -> bool {
    use std::sync::LazyLock;
    /// True if the process could register for them, which it does once. A fork inherits this.
    static SUPPORTED: LazyLock<bool> = LazyLock::new(register);
    *SUPPORTED
}

#[cfg(not(all(target_os = "linux", not(miri))))]
pub(super) fn is_supported() -> bool {
    false
}

#[cfg(all(target_os = "linux", not(miri)))]
fn register() -> bool {
    use rustix::thread::{MembarrierCommand, membarrier};
    membarrier(MembarrierCommand::RegisterPrivateExpedited).is_ok()
}

/// Returns after each other thread has passed a full barrier, or did not run.
#[cfg(all(target_os = "linux", not(miri)))]
pub(super) fn pass_everywhere() {
    use std::time::Duration;

    use rustix::thread::{MembarrierCommand, membarrier};
    /// Much longer than a processor delays its stores, and than the time between its interrupts,
    /// each of which is a barrier.
    const LONG_ENOUGH: Duration = Duration::from_millis(100);
    let pass = || membarrier(MembarrierCommand::PrivateExpedited).is_ok();
    if pass() || register() && pass() {
        return;
    }
    // The call was forbidden after it had been used: the process has entered a sandbox.
    std::thread::sleep(LONG_ENOUGH);
}

#[cfg(not(all(target_os = "linux", not(miri))))]
pub(super) fn pass_everywhere() {
    unreachable!("no thread is favoured where there are no such barriers");
}
