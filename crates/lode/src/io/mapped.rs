//! Writing to a mapped file.

#![allow(unsafe_code)]

use std::fs::File;
use std::io::Result;
#[cfg(target_os = "linux")]
use std::ops::Range;

use memmap2::{MmapOptions, MmapRaw};

use super::{Home, Mapped};

/// The front of a file of the operating system, mapped and shared with the file's other readers.
pub(super) struct Front {
    map: MmapRaw,
    ahead: Ahead,
    home: Home,
}

/// The way to ask the operating system for a mapping's memory ahead of need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ahead {
    /// For a file with its pages in memory only: they are filled with zeros and mapped.
    Map,
    /// For a file on a disk: the pages that would be read come into the cache; mapping them too,
    /// before they are written to, would have each page mapped twice.
    #[cfg(any(target_os = "linux", test))]
    Read,
}

/// Bytes of a mapping for which memory is asked at a time. Other threads may wait for the lock of
/// the process's addresses during that.
#[cfg(target_os = "linux")]
const STEP: usize = 1 << 20;

impl Front {
    /// Maps the first bytes of a file, which must stay there: writing to a part that was cut off
    /// ends the process (`SIGBUS`), though it never touches memory that is not the mapping's.
    pub(super) fn new(file: &File, size_bytes: usize, ahead: Ahead) -> Result<Self> {
        let map = MmapOptions::new().len(size_bytes).map_raw(file)?;
        Ok(Self { map, ahead, home: Home::here() })
    }
}

impl Mapped for Front {
    fn write(&self, at: usize, bytes: &[u8]) -> Result<()> {
        // A child shares the file: it would write into its parent's bytes.
        self.home.expect_here()?;
        assert!(
            at.checked_add(bytes.len()).is_some_and(|end| end <= self.map.len()),
            "{} bytes from byte {at} on lie in the {} that are mapped",
            bytes.len(),
            self.map.len()
        );
        // SAFETY: the bytes from `at` on are in the mapping, as the assertion says (which also
        // rules out that the sum overflows). The mapping is writable and lives as long as `self`.
        // No reference into the mapping exists: it is private to this struct, which never makes
        // one, so `bytes` cannot overlap it, and no reference is invalidated. No thread reads the
        // mapping through memory, only through the file. The trait's callers make sure that no two
        // write to the same bytes at once, so there is no data race.
        unsafe {
            std::ptr::copy_nonoverlapping(
                bytes.as_ptr(),
                self.map.as_mut_ptr().add(at),
                bytes.len(),
            );
        }
        Ok(())
    }

    fn is_in_memory(&self) -> bool {
        self.ahead == Ahead::Map
    }

    /// Gets memory for the mapping: space set aside for a file and never written has to be filled
    /// with zeros, which takes longer than writing to it.
    #[cfg(target_os = "linux")]
    fn prepare(&self) {
        let advice = match self.ahead {
            Ahead::Map => memmap2::Advice::PopulateRead,
            Ahead::Read => memmap2::Advice::WillNeed,
        };
        for from in (0..self.map.len()).step_by(STEP) {
            let size = STEP.min(self.map.len() - from);
            if self.map.advise_range(advice, from, size).is_err() {
                // The system does not know what is asked.
                return;
            }
        }
    }

    /// Unmaps whole pages. Before the system writes a page of a file out to a disk, it interrupts
    /// every processor that runs the process, for each page separately. Unmapped together, two
    /// mebibytes take one interruption.
    #[cfg(target_os = "linux")]
    fn unmap(&self, bytes: Range<usize>) {
        let is_mapped = bytes.start <= bytes.end && bytes.end <= self.map.len();
        assert!(is_mapped, "the bytes {bytes:?} are mapped");
        if self.ahead == Ahead::Map || bytes.is_empty() {
            return;
        }
        // SAFETY: the bytes are in the mapping, as the assertion says, and so are their pages,
        // which this struct keeps mapped. The mapping is shared with the file: what was written
        // there is in the file's pages, which stay what they are, and comes back with the next
        // access. No reference into the mapping exists, and threads that write to these pages at
        // the same time write to the same ones.
        let advised = unsafe {
            self.map.unchecked_advise_range(
                memmap2::UncheckedAdvice::DontNeed,
                bytes.start,
                bytes.len(),
            )
        };
        // If it fails, a sync takes longer.
        drop(advised);
    }
}

/// Returns true if files of the file system, which is XFS, may share blocks, or if it does not say.
#[cfg(target_os = "linux")]
pub(super) fn may_share_blocks_of_xfs(file: &File) -> bool {
    use std::os::fd::AsRawFd;

    /// `struct xfs_fsop_geom`, of which `FLAGS` is one field.
    type Geometry = [u32; 64];
    const FLAGS: usize = 23;
    const REFLINK: u32 = 1 << 20;

    // `XFS_IOC_FSGEOMETRY`, as of Linux 5.2.
    nix::ioctl_read!(geometry_of, b'X', 126, Geometry);

    let mut geometry: Geometry = [0; 64];
    // SAFETY: the descriptor is open as long as `file`. The call writes as many bytes to `geometry`
    // as its number says, which is made of the size of the type.
    let told = unsafe { geometry_of(file.as_raw_fd(), &raw mut geometry) };
    told.is_err() || geometry[FLAGS] & REFLINK != 0
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;

    fn front_of_a_page() -> Front {
        let file = tempfile::tempfile().unwrap();
        file.set_len(4096).unwrap();
        Front::new(&file, 4096, Ahead::Read).unwrap()
    }

    #[test]
    fn the_last_byte_of_a_mapping_can_be_written() {
        front_of_a_page().write(4095, b"x").unwrap();
        front_of_a_page().write(4096, b"").unwrap();
    }

    #[test]
    fn what_is_unmapped_is_still_there_and_can_be_written_again() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(3 << 12).unwrap();
        let front = Front::new(&file, 3 << 12, Ahead::Read).unwrap();
        front.write(5000, b"before").unwrap();
        front.unmap(0..3 << 12);
        front.write(5006, b", after").unwrap();
        front.unmap(4096..5006);
        let mut bytes = [0; 13];
        file.read_exact_at(&mut bytes, 5000).unwrap();
        assert_eq!(&bytes, b"before, after");
    }

    #[test]
    #[should_panic(expected = "lie in the 4096 that are mapped")]
    fn a_write_that_leaves_the_mapping_panics() {
        front_of_a_page().write(4095, b"xy").unwrap();
    }

    /// Returns the KiB of a mapping that the process has in its tables.
    #[cfg(target_os = "linux")]
    fn resident_kib(front: &Front) -> u64 {
        let smaps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let start = format!("{:x}-", front.map.as_ptr() as usize);
        let mut lines = smaps.lines().skip_while(|line| !line.starts_with(&start));
        let rss = lines.find_map(|line| line.strip_prefix("Rss:")).unwrap();
        rss.trim().trim_end_matches(" kB").parse().unwrap()
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn what_is_unmapped_leaves_the_mapping_of_a_file_on_a_disk() {
        const SIZE: usize = 1 << 16;
        for (ahead, stays) in [(Ahead::Read, false), (Ahead::Map, true)] {
            let file = tempfile::tempfile().unwrap();
            file.set_len(SIZE as u64).unwrap();
            let front = Front::new(&file, SIZE, ahead).unwrap();
            front.write(0, &[1; SIZE]).unwrap();
            assert_eq!(resident_kib(&front), SIZE as u64 >> 10);
            front.unmap(0..SIZE);
            assert_eq!(resident_kib(&front) > 0, stays);
        }
    }

    #[test]
    #[should_panic(expected = "the bytes 0..4097 are mapped")]
    fn what_is_not_mapped_cannot_be_unmap() {
        front_of_a_page().unmap(0..4097);
    }

    #[test]
    #[should_panic(expected = "lie in the 4096 that are mapped")]
    fn a_place_near_the_end_of_all_numbers_panics() {
        front_of_a_page().write(usize::MAX, b"xy").unwrap();
    }
}
