//! Files that a user names, read whole and with a bound: the name may be of a device without an
//! end, or of a file that does not fit into memory.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use crate::exit::{Failure, Outcome};

/// Reads a file of at most `most_bytes`.
///
/// # Errors
/// If the file cannot be read, is a device, or is larger.
pub fn read(path: &Path, most_bytes: u64) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    let kind = file.metadata()?.file_type();
    if kind.is_char_device() || kind.is_block_device() {
        return Err(io::Error::other("it is a device, which may have no end"));
    }
    let mut content = Vec::new();
    file.take(most_bytes + 1).read_to_end(&mut content)?;
    if content.len() as u64 > most_bytes {
        Err(io::Error::other(format!(
            "it is larger than {} MiB, which no file of this kind is",
            most_bytes >> 20
        )))
    } else {
        Ok(content)
    }
}

/// Reads a text of at most `most_bytes`.
///
/// # Errors
/// As [`read`], and if the text is not UTF-8.
pub fn read_text(path: &Path, most_bytes: u64) -> io::Result<String> {
    let content = read(path, most_bytes)?;
    String::from_utf8(content)
        .map_err(|e| io::Error::new(io::ErrorKind::InvalidData, format!("not UTF-8: {e}")))
}

/// Reads the start of a file: at most `most_bytes`.
///
/// # Errors
/// If the file cannot be read.
pub fn first_bytes(path: &Path, most_bytes: u64) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    File::open(path)?.take(most_bytes).read_to_end(&mut content)?;
    Ok(content)
}

/// Checks that a file can be read. Its end is not looked for: a device may have none.
///
/// # Errors
/// If the file does not exist, or is a directory or a device.
pub fn check_readable(path: &Path, option: &str) -> Outcome {
    let refused = |why: String| {
        let shown = path.display();
        Err(Failure::Refused(format!("{shown}: {why}; name another file with {option}")))
    };
    match fs::metadata(path).map(|found| found.file_type()) {
        Err(error) => refused(error.to_string()),
        Ok(kind) if kind.is_dir() => refused("is a directory".into()),
        Ok(kind) if kind.is_char_device() || kind.is_block_device() => {
            refused("is a device, which may have no end".into())
        }
        Ok(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_and_a_file_that_is_too_large_are_refused() {
        let error = read(Path::new("/dev/zero"), 1 << 20).expect_err("a device").to_string();
        assert!(error.contains("may have no end"), "{error}");
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("file");
        std::fs::write(&path, vec![b'x'; 1 << 20]).expect("write");
        assert_eq!(read(&path, 1 << 20).expect("it fits").len(), 1 << 20);
        std::fs::write(&path, vec![b'x'; (1 << 20) + 1]).expect("write");
        let error = read_text(&path, 1 << 20).expect_err("one byte more").to_string();
        assert!(error.contains("larger than 1 MiB"), "{error}");
        assert!(read(folder.path(), 1).is_err(), "a directory");
    }
}
