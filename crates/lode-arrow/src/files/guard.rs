//! A guard for panics in the libraries that read files: some of them panic at damage that they did
//! not expect. A panic becomes an error like any other fault of the file.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};

use crate::error::{Error, Result};

thread_local! {
    /// True while this thread is where panics are caught.
    static IS_GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Has this process print nothing more about the panics that a [`FileReader`](super::FileReader)
/// makes errors of. For programs that report faults themselves; call it once.
pub fn silence_reader_panics() {
    let others = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if !IS_GUARDED.get() {
            others(info);
        }
    }));
}

/// Calls `work`, which reads a file, and returns an error if it panics. Nothing that `work` changes
/// is used after a panic.
///
/// # Errors
/// The errors of `work`; `Format` when it panics.
pub fn guard_panics<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    let before = IS_GUARDED.replace(true);
    let done = panic::catch_unwind(AssertUnwindSafe(work));
    IS_GUARDED.set(before);
    done.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_string());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        let why = text.map_or(String::new(), |text| format!(": {text}"));
        Err(Error::Format(format!("the file is damaged{why}").into()))
    })
}
