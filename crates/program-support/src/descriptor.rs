//! Open files of this process, named by a path.

use std::fs;
use std::path::Path;

/// The most links from a name to its file, as Linux has it.
const MOST_LINKS: usize = 40;

/// The folder with the open files of a process, by its own name.
pub(crate) const DESCRIPTORS: &str = "/proc/self/fd";

/// Returns the number of an open file of this process, if a path names it by that.
pub fn descriptor(path: &Path) -> Option<u32> {
    let descriptors = fs::canonicalize(DESCRIPTORS).ok()?;
    let mut path = std::path::absolute(path).ok()?;
    for _ in 0..MOST_LINKS {
        let folder = path.parent()?.canonicalize().ok()?;
        let name = path.file_name()?;
        if folder == descriptors {
            return name.to_str()?.parse().ok();
        }
        path = folder.join(fs::read_link(folder.join(name)).ok()?);
    }
    None
}
