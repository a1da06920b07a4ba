//! Pins on systems that have no locks of parts of a file which end with its handle: there are none.

use std::fs;
use std::io::Result;
use std::ops::Range;
use std::sync::Arc;

use super::super::home::Home;

/// Returns `None`: no number can be pinned.
pub(super) fn pin(_: &Arc<fs::File>, _: u64, _: Home) -> Result<Option<()>> {
    Ok(None)
}

/// Returns `None`: no number is pinned.
pub(super) fn any(_: &fs::File, _: Range<u64>) -> Result<Option<u64>> {
    Ok(None)
}

/// Returns `None`: the whole file is locked, and nothing else.
pub(super) fn mark_writer(_: &Arc<fs::File>, _: Home) -> Result<Option<()>> {
    Ok(None)
}

/// Returns false: whoever asks has the file locked.
pub(super) fn has_writer(_: &fs::File) -> Result<bool> {
    Ok(false)
}
