//! Memory of a thread that is used again by each call.

use std::cell::Cell;

/// The most bytes that are kept for the next call.
const KEPT_BYTES: usize = 64 << 10;

thread_local! {
    static KEY: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
    static RECORD: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Calls `work` with memory for a key. Its content is from an earlier call.
pub(crate) fn with_key_memory<T>(work: impl FnOnce(&mut Vec<u8>) -> T) -> T {
    with_memory(&KEY, work)
}

/// Calls `work` with memory for a record. Its content is from an earlier call.
pub(crate) fn with_record_memory<T>(work: impl FnOnce(&mut Vec<u8>) -> T) -> T {
    with_memory(&RECORD, work)
}

fn with_memory<T>(
    memory: &'static std::thread::LocalKey<Cell<Vec<u8>>>,
    work: impl FnOnce(&mut Vec<u8>) -> T,
) -> T {
    // While a thread ends there may be none left.
    let mut bytes = memory.try_with(Cell::take).unwrap_or_default();
    let done = work(&mut bytes);
    if bytes.capacity() <= KEPT_BYTES {
        let _ = memory.try_with(|memory| memory.set(bytes));
    }
    done
}
