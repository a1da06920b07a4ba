//! Blob stores, and what writes, reads and lists their blobs.

use lode::{BlobCursor, BlobReader, BlobWriter, Blobs};

use super::{lock, share};

/// A blob store: values of up to 4 GiB under keys of any bytes, written and read as streams. Any
/// number of threads may use one at the same time. Freed by `lode_free_blobs`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct lode_blobs {
    /// A number that means something to Lode only.
    pub id: u64,
}

/// A blob that is being written. One thread at a time may use one; another gets `LODE_BUSY`. It
/// ends with `lode_finish_blob` or `lode_free_blob_writer`, which free the handle.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct lode_blob_writer {
    /// A number that means something to Lode only.
    pub id: u64,
}

/// A blob that is being read. One thread at a time may use one; another gets `LODE_BUSY`. Freed by
/// `lode_free_blob_reader`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct lode_blob_reader {
    /// A number that means something to Lode only.
    pub id: u64,
}

/// The keys of a blob store, one after another. One thread at a time may use one; another gets
/// `LODE_BUSY`. Freed by `lode_free_blob_list`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct lode_blob_list {
    /// A number that means something to Lode only.
    pub id: u64,
}

/// The blobs of a store, with the key that was read last.
pub(crate) struct OpenBlobList {
    pub(crate) blobs: BlobCursor,
    pub(crate) last: Vec<u8>,
}

share!(lode_blobs: Blobs, BLOBS, "blob store");
lock!(lode_blob_writer: BlobWriter, BLOB_WRITER, "writer of a blob");
lock!(lode_blob_reader: BlobReader, BLOB_READER, "reader of a blob");
lock!(lode_blob_list: OpenBlobList, BLOB_LIST, "list of blobs");
