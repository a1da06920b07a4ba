//! The process that opened something, as opposed to its forks.
//!
//! A fork copies memory, but not threads, and the copy shares the files. What a thread had locked
//! stays locked in the copy. So a copy of a database must never be used. A page of memory that the
//! kernel wipes in the child (`MADV_WIPEONFORK`, Linux 4.14) distinguishes parent and child for the
//! price of a load.

#![allow(unsafe_code)]

#[cfg(unix)]
use std::io::{Error, Result};
use std::sync::atomic::{AtomicU64, Ordering};

/// The process that has something open.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Home {
    /// The number of the process that runs; zero in a child that has opened nothing.
    current: &'static AtomicU64,
    number: u64,
}

/// The number where the system cannot distinguish processes.
static ANYWHERE: AtomicU64 = AtomicU64::new(0);

impl Home {
    /// Returns the running process; every process, where the system cannot distinguish them.
    pub(crate) fn here() -> Self {
        #[cfg(all(target_os = "linux", not(miri)))]
        if let Some(current) = linux::wiped_word() {
            return Self { current, number: number_of_this_process(current) };
        }
        Self::anywhere()
    }

    /// Returns a value that stands for every process.
    fn anywhere() -> Self {
        Self { current: &ANYWHERE, number: 0 }
    }

    /// Returns true if this process runs, and not one that was forked from it.
    #[inline(always)]
    pub(crate) fn is_here(&self) -> bool {
        self.current.load(Ordering::Relaxed) == self.number
    }

    /// Fails in a process that was forked from this one.
    #[cfg(unix)]
    #[inline]
    pub(crate) fn expect_here(&self) -> Result<()> {
        if self.is_here() {
            Ok(())
        } else {
            Err(Error::other("this process was forked from the one that opened it"))
        }
    }
}

/// Returns the number of this process; a new one after a fork.
#[cfg(all(target_os = "linux", not(miri)))]
fn number_of_this_process(current: &AtomicU64) -> u64 {
    /// A child has its own copy, which never goes back. So it never gets a number of its parent.
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let number = current.load(Ordering::Relaxed);
    if number != 0 {
        return number;
    }
    let new = NEXT.fetch_add(1, Ordering::Relaxed);
    match current.compare_exchange(0, new, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => new,
        Err(other) => other,
    }
}

#[cfg(all(target_os = "linux", not(miri)))]
mod linux {
    use std::ptr::NonNull;
    use std::sync::OnceLock;
    use std::sync::atomic::AtomicU64;

    use memmap2::MmapOptions;
    use nix::sys::mman::{MmapAdvise, madvise};

    const PAGE_BYTES: usize = 1 << 12;

    /// Returns a word that is zero in a child of the process; `None` if the kernel cannot do that.
    pub(super) fn wiped_word() -> Option<&'static AtomicU64> {
        static WORD: OnceLock<Option<&'static AtomicU64>> = OnceLock::new();
        *WORD.get_or_init(map)
    }

    fn map() -> Option<&'static AtomicU64> {
        let mut page = MmapOptions::new().len(PAGE_BYTES).map_anon().ok()?;
        let start = NonNull::new(page.as_mut_ptr())?;
        // SAFETY: the range is exactly that of the private anonymous mapping that was just made. No
        // reference into it exists, and the advice changes nothing in this process.
        unsafe { madvise(start.cast(), PAGE_BYTES, MmapAdvise::MADV_WIPEONFORK) }.ok()?;
        std::mem::forget(page);
        // SAFETY: the mapping is never unmapped, page-aligned and large enough; any bits are an
        // `AtomicU64`. Only this reference has its address.
        Some(unsafe { start.cast::<AtomicU64>().as_ref() })
    }
}
