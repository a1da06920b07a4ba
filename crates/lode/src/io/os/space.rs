//! Space that is set aside for files, and file systems that allow writing to a mapped file.

use std::fs;
#[cfg(target_os = "linux")]
use std::io::Error;
#[cfg(target_os = "linux")]
use std::io::ErrorKind;
use std::io::Result;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use super::super::mapped::Ahead;

/// Sets space aside for a part of a file, which has `size_bytes` and may become longer.
#[cfg(target_os = "linux")]
pub(super) fn set_aside(file: &fs::File, size_bytes: u64, bytes: Range<u64>) -> Result<()> {
    use nix::fcntl::FallocateFlags;

    if allocate(file, FallocateFlags::empty(), &bytes)? {
        Ok(())
    } else {
        fill(file, bytes.start.max(size_bytes), bytes.end)
    }
}

/// Sets space aside for a part of a file, which has `size_bytes` and may become longer. No part of
/// it is in a hole that can be made here.
#[cfg(not(target_os = "linux"))]
pub(super) fn set_aside(file: &fs::File, size_bytes: u64, bytes: Range<u64>) -> Result<()> {
    fill(file, bytes.start.max(size_bytes), bytes.end)
}

/// Gives the space of a part of a file back; returns false if the system cannot.
#[cfg(target_os = "linux")]
pub(super) fn punch(file: &fs::File, bytes: Range<u64>) -> Result<bool> {
    use nix::fcntl::FallocateFlags;

    let flags = FallocateFlags::FALLOC_FL_PUNCH_HOLE | FallocateFlags::FALLOC_FL_KEEP_SIZE;
    allocate(file, flags, &bytes)
}

/// Returns false: the system cannot give back the space of a part of a file.
#[cfg(not(target_os = "linux"))]
pub(super) fn punch(_: &fs::File, _: Range<u64>) -> Result<bool> {
    Ok(false)
}

/// Changes the space of a part of a file; returns false if its file system cannot.
#[cfg(target_os = "linux")]
fn allocate(
    file: &fs::File,
    flags: nix::fcntl::FallocateFlags,
    bytes: &Range<u64>,
) -> Result<bool> {
    use nix::errno::Errno;
    use nix::fcntl::fallocate;

    if bytes.is_empty() {
        return Ok(true);
    }
    let offset = |at: u64| i64::try_from(at).map_err(|_| Error::from(ErrorKind::FileTooLarge));
    let start = offset(bytes.start)?;
    let size = offset(bytes.end)? - offset(bytes.start)?;
    loop {
        match fallocate(file, flags, start, size) {
            Ok(()) => return Ok(true),
            Err(Errno::EINTR) => {}
            Err(Errno::EOPNOTSUPP | Errno::ENOSYS) => return Ok(false),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Returns the first byte from `at` on that is not in a hole; where that is not known, `at` itself.
#[cfg(target_os = "linux")]
pub(super) fn next_data(file: &fs::File, at: u64) -> Result<Option<u64>> {
    use nix::errno::Errno;
    use nix::unistd::{Whence, lseek};

    let Ok(from) = i64::try_from(at) else { return Ok(None) };
    match lseek(file, from, Whence::SeekData) {
        Ok(found) => Ok(u64::try_from(found).ok()),
        Err(Errno::ENXIO) => Ok(None),
        Err(_) => Ok((at < file.metadata()?.len()).then_some(at)),
    }
}

/// Returns `at`, if it is in the file: where holes are not known, all of the file is data.
#[cfg(not(target_os = "linux"))]
pub(super) fn next_data(file: &fs::File, at: u64) -> Result<Option<u64>> {
    Ok((at < file.metadata()?.len()).then_some(at))
}

/// Writes zeros, if any, to take up space where the file system cannot set it aside.
fn fill(file: &fs::File, from: u64, to: u64) -> Result<()> {
    const PIECE_BYTES: u64 = 1 << 20;
    let zeros = vec![0; PIECE_BYTES.min(to.saturating_sub(from)) as usize];
    let mut at = from;
    while at < to {
        let size = PIECE_BYTES.min(to - at);
        file.write_all_at(&zeros[..size as usize], at)?;
        at += size;
    }
    Ok(())
}

/// Returns a way to get memory for a mapping ahead of need. `None` if writing to a mapped part of a
/// file may need space, though there was space for it.
///
/// If it needs space and finds none, the process ends. So only file systems count that write in
/// place. Blocks that files share are written elsewhere, and XFS may share those of any file at any
/// time, unless it was made without that. F2FS writes everything elsewhere.
#[cfg(target_os = "linux")]
pub(super) fn writes_in_place(file: &fs::File) -> Result<Option<Ahead>> {
    use nix::sys::statfs::{
        EXT2_SUPER_MAGIC, EXT3_SUPER_MAGIC, EXT4_SUPER_MAGIC, FsType, TMPFS_MAGIC, fstatfs,
    };

    use super::super::mapped::may_share_blocks_of_xfs;

    /// The library has it for some systems only.
    const XFS_SUPER_MAGIC: FsType = FsType(0x5846_5342);

    let kind = fstatfs(file)?.filesystem_type();
    Ok(match kind {
        TMPFS_MAGIC => Some(Ahead::Map),
        // The three versions of ext have the same number now, which this code does not rely on.
        kind if [EXT2_SUPER_MAGIC, EXT3_SUPER_MAGIC, EXT4_SUPER_MAGIC].contains(&kind) => {
            Some(Ahead::Read)
        }
        XFS_SUPER_MAGIC if !may_share_blocks_of_xfs(file) => Some(Ahead::Read),
        _ => None,
    })
}

/// Returns `None`: on other systems it is not known.
#[cfg(not(target_os = "linux"))]
pub(super) fn writes_in_place(_: &fs::File) -> Result<Option<Ahead>> {
    Ok(None)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// A file system that cannot punch has no holes.
    #[test]
    fn what_was_punched_is_zeros_without_space_until_it_is_set_aside_again() {
        use std::os::unix::fs::MetadataExt;
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(&[7; 1 << 20], 0).unwrap();
        let blocks = || file.metadata().unwrap().blocks();
        file.sync_all().unwrap();
        let all = blocks();
        let hole = 1 << 16..1 << 18;
        if !punch(&file, hole.clone()).unwrap() {
            return;
        }
        assert_eq!(file.metadata().unwrap().len(), 1 << 20);
        assert!(blocks() < all, "{all} blocks stay");
        let mut bytes = vec![1; 1 << 20];
        let mut expect = || {
            file.read_exact_at(&mut bytes, 0).unwrap();
            let in_hole = |at: usize| hole.contains(&(at as u64));
            assert!(bytes.iter().enumerate().all(|(at, byte)| (*byte == 0) == in_hole(at)));
        };
        expect();
        set_aside(&file, 1 << 20, hole.clone()).unwrap();
        assert!(blocks() >= all);
        expect();
        // A part that has space loses nothing.
        set_aside(&file, 1 << 20, 0..1 << 20).unwrap();
        expect();
    }

    #[test]
    fn filling_with_zeros_goes_exactly_as_far_as_it_should() {
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(b"kept", 0).unwrap();
        let size = (1 << 20) + 4321;
        fill(&file, 4, size).unwrap();
        assert_eq!(file.metadata().unwrap().len(), size);
        let mut bytes = vec![1; size as usize];
        file.read_exact_at(&mut bytes, 0).unwrap();
        assert_eq!(&bytes[..4], b"kept");
        assert!(bytes[4..].iter().all(|&byte| byte == 0));
    }
}
