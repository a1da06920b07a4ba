//! Rows of numbers in a temporary file, or in memory while they are few: written once, then read
//! from the first on. The file has no name, so nothing is left of it however this process ends.

use std::io::{self, BufReader, BufWriter, Read, Seek, Write};

use tempfile::SpooledTempFile;

/// The bytes that stay in memory.
const IN_MEMORY: usize = 128 << 10;

/// The bytes that are written and read at once.
const PIECE: usize = 32 << 10;

/// Rows of `N` bytes.
pub(super) struct Spool<const N: usize> {
    out: BufWriter<SpooledTempFile>,
    rows: u64,
}

/// The rows of a spool from the first on.
pub(super) struct Rows<const N: usize> {
    from: BufReader<SpooledTempFile>,
    left: u64,
}

impl<const N: usize> Spool<N> {
    pub(super) fn new() -> Self {
        let file = SpooledTempFile::new(IN_MEMORY);
        Self { out: BufWriter::with_capacity(PIECE, file), rows: 0 }
    }

    pub(super) fn push(&mut self, row: &[u8; N]) -> io::Result<()> {
        self.rows += 1;
        self.out.write_all(row)
    }

    /// Returns the rows from the first on.
    pub(super) fn read(self) -> io::Result<Rows<N>> {
        let mut file = self.out.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.rewind()?;
        Ok(Rows { from: BufReader::with_capacity(PIECE, file), left: self.rows })
    }
}

impl<const N: usize> Rows<N> {
    /// Returns the next row; none behind the last one.
    pub(super) fn next(&mut self) -> io::Result<Option<[u8; N]>> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        let mut row = [0; N];
        self.from.read_exact(&mut row)?;
        Ok(Some(row))
    }

    /// Returns the number of rows that are left.
    pub(super) fn left(&self) -> u64 {
        self.left
    }

    /// Starts again from the first row; `rows` are all of them.
    pub(super) fn restart(&mut self, rows: u64) -> io::Result<()> {
        self.left = rows;
        self.from.rewind()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back_in_their_order_from_memory_and_from_a_file() {
        for count in [0, 3, 100_000_u64] {
            let mut spool = Spool::<8>::new();
            (0..count).for_each(|row| spool.push(&row.to_le_bytes()).expect("a temporary file"));
            let mut rows = spool.read().expect("it is read");
            for _ in 0..2 {
                for row in 0..count {
                    assert_eq!(rows.next().expect("a row"), Some(row.to_le_bytes()));
                }
                assert_eq!(rows.next().expect("the end"), None);
                rows.restart(count).expect("from the first on");
            }
        }
    }
}
