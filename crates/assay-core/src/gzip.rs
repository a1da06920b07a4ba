//! Files that are compressed with gzip: run files that are kept and sent.

use std::io::{self, Read, Write};
use std::path::Path;

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;

/// The first bytes of a compressed file.
const MAGIC: [u8; 2] = [0x1f, 0x8b];

/// A text that unpacks to more than this is refused: a small file may unpack to any size.
const TEXT_MOST_BYTES: u64 = 2 << 30;

/// Returns true if a file of this name is to be compressed.
pub(crate) fn is_named(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "gz")
}

/// Compresses what `work` writes; the same content gives the same bytes.
pub(crate) fn write(
    out: &mut dyn Write,
    work: &dyn Fn(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut packed = GzEncoder::new(out, Compression::default());
    work(&mut packed)?;
    packed.finish().map(drop)
}

/// Returns the text of a file that may be compressed.
pub(crate) fn text(content: Vec<u8>) -> io::Result<Vec<u8>> {
    text_of_at_most(content, TEXT_MOST_BYTES)
}

fn text_of_at_most(content: Vec<u8>, most_bytes: u64) -> io::Result<Vec<u8>> {
    if !content.starts_with(&MAGIC) {
        return Ok(content);
    }
    let mut text = Vec::new();
    MultiGzDecoder::new(content.as_slice()).take(most_bytes + 1).read_to_end(&mut text)?;
    if text.len() as u64 > most_bytes {
        Err(io::Error::other(format!("it unpacks to more than {most_bytes} bytes")))
    } else {
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(content: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        write(&mut out, &|out| out.write_all(content)).expect("memory takes all");
        out
    }

    #[test]
    fn what_is_packed_comes_back_and_what_is_not_stays() {
        let content = b"content ".repeat(1000);
        let small = packed(&content);
        assert!(small.len() < content.len() / 10);
        assert_eq!(small, packed(&content), "the same bytes each time");
        assert_eq!(text(small).expect("it is whole"), content);
        assert_eq!(text(content.clone()).expect("it is not packed"), content);
    }

    #[test]
    fn half_a_file_and_one_that_unpacks_to_too_much_are_refused() {
        let small = packed(&[0; 100_000]);
        assert!(text(small[..small.len() / 2].to_vec()).is_err());
        assert_eq!(text_of_at_most(small.clone(), 100_000).expect("it fits").len(), 100_000);
        let error = text_of_at_most(small, 99_999).expect_err("one byte more").to_string();
        assert!(error.contains("more than 99999 bytes"), "{error}");
    }
}
