//! The engine's files as the operating system sees them: their space, and their pages in the cache.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};
use nix::unistd::{Whence, lseek};

/// Drops a path's files from the page cache. Syncs each first: dirty pages cannot be dropped.
pub(super) fn drop_from_page_cache(path: &Path) -> io::Result<()> {
    for entry in fs::read_dir(path)? {
        let path = entry?.path();
        if path.is_dir() {
            drop_from_page_cache(&path)?;
            continue;
        }
        let file = fs::File::open(&path)?;
        file.sync_all()?;
        posix_fadvise(&file, 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED)?;
    }
    Ok(())
}

/// Returns the bytes of all files below `path`; files that vanish in between do not count.
pub(super) fn size_bytes(path: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(path) else {
        return 0;
    };
    entries
        .flatten()
        .map(|entry| match entry.metadata() {
            Ok(meta) if meta.is_dir() => size_bytes(&entry.path()),
            Ok(meta) => (meta.blocks() * 512).max(data_bytes(&entry.path(), meta.len())),
            Err(_) => 0,
        })
        .sum()
}

/// Returns the bytes of a file without its holes. Written data without blocks counts too: the
/// number of blocks leaves it out as long as the file system delays to allocate them.
fn data_bytes(path: &Path, len: u64) -> u64 {
    let Ok(file) = fs::File::open(path) else {
        return 0;
    };
    let seek = |from: i64, whence| lseek(&file, from, whence).ok();
    let mut at = 0;
    let mut bytes = 0;
    // No data from there on is an error, and the end.
    while let Some(data) = seek(at, Whence::SeekData) {
        let hole = seek(data, Whence::SeekHole).unwrap_or(len.cast_signed());
        bytes += (hole - data).cast_unsigned();
        at = hole;
    }
    bytes
}
