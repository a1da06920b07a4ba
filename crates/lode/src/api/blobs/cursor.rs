//! Going through the blobs of a store.

use super::tables::blob_of;
use crate::api::Cursor;
use crate::error::Result;

/// A blob of a store, without its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlobEntry {
    /// The key.
    pub key: Vec<u8>,
    /// The number of bytes that the blob has.
    pub length_bytes: u64,
}

/// The blobs of a store, one after another, in the order of their keys. Made by
/// [`Blobs::iter`](super::Blobs::iter) and [`Blobs::prefix`](super::Blobs::prefix).
///
/// It sees the store as it was when it was made, as a [`Cursor`] does, and returns the same errors.
pub struct BlobCursor {
    blobs: Cursor,
}

impl BlobCursor {
    pub(super) fn new(blobs: Cursor) -> Self {
        Self { blobs }
    }
}

impl Iterator for BlobCursor {
    type Item = Result<BlobEntry>;

    fn next(&mut self) -> Option<Self::Item> {
        let row = self.blobs.next_row().transpose()?;
        Some(row.map(|row| {
            let (key, head) = blob_of(row);
            BlobEntry { key: key.to_vec(), length_bytes: head.length_bytes }
        }))
    }
}
