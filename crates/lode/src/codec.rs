//! Numbers and byte strings one after another, little-endian, as files have them.

use crate::error::{Error, Result};

/// A writer of numbers and byte strings.
#[derive(Default)]
pub(crate) struct Writer(pub Vec<u8>);

impl Writer {
    pub(crate) fn u8(&mut self, number: u8) -> &mut Self {
        self.bytes(&[number])
    }

    pub(crate) fn u32(&mut self, number: u32) -> &mut Self {
        self.bytes(&number.to_le_bytes())
    }

    pub(crate) fn u64(&mut self, number: u64) -> &mut Self {
        self.bytes(&number.to_le_bytes())
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.extend_from_slice(bytes);
        self
    }

    /// Appends the number of bytes in 32 bits, and the bytes.
    pub(crate) fn counted(&mut self, bytes: &[u8]) -> &mut Self {
        debug_assert!(u32::try_from(bytes.len()).is_ok(), "a length has four bytes");
        self.u32(bytes.len() as u32).bytes(bytes)
    }
}

/// A reader of numbers and byte strings.
pub(crate) struct Reader<'b> {
    rest: &'b [u8],
    /// The name of the bytes, for errors.
    what: &'static str,
}

impl<'b> Reader<'b> {
    pub(crate) fn new(bytes: &'b [u8], what: &'static str) -> Self {
        Self { rest: bytes, what }
    }

    /// Returns all bytes that are left.
    pub(crate) fn rest(&mut self) -> &'b [u8] {
        std::mem::take(&mut self.rest)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(crate) fn bytes(&mut self, count: usize) -> Result<&'b [u8]> {
        let parts = self.rest.split_at_checked(count);
        let (bytes, rest) =
            parts.ok_or_else(|| Error::corrupt(self.what, "it ends in the middle"))?;
        self.rest = rest;
        Ok(bytes)
    }

    pub(crate) fn counted(&mut self) -> Result<&'b [u8]> {
        let count = self.u32()?;
        self.bytes(count as usize)
    }

    /// Reads counted bytes that are text.
    pub(crate) fn text(&mut self) -> Result<&'b str> {
        let what = self.what;
        str::from_utf8(self.counted()?).map_err(|_| Error::corrupt(what, "a name is not text"))
    }

    fn array<const COUNT: usize>(&mut self) -> Result<[u8; COUNT]> {
        Ok(*self.bytes(COUNT)?.first_chunk().expect("as many bytes as asked for"))
    }

    pub(crate) fn u8(&mut self) -> Result<u8> {
        Ok(self.array::<1>()?[0])
    }

    pub(crate) fn u32(&mut self) -> Result<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Result<u64> {
        self.array().map(u64::from_le_bytes)
    }
}
