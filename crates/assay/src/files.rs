//! Files that are whole or not there.

use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Writes a file under a temporary name beside its own first.
pub fn write_whole(path: &Path, content: &[u8]) -> io::Result<()> {
    write_with(path, &mut |out| out.write_all(content))
}

/// The same for what is written piece by piece.
pub fn write_with(
    path: &Path,
    work: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let file = tempfile::Builder::new()
        .prefix(".assay-file")
        .permissions(PermissionsExt::from_mode(0o644))
        .tempfile_in(folder)?;
    let mut out = io::BufWriter::new(file);
    work(&mut out)?;
    let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.persist(path)?;
    Ok(())
}
