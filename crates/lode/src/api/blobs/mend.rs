//! Mending the blob stores of a repaired database: each blob has all of its chunks then, and each
//! chunk is of a blob, or is pending.

use std::ops::{Bound, Range};

use super::tables::{
    CHUNK_BYTES, ChunkRecord, Head, Tables, blob_of, bytes_of_chunk, chunk_key, id_of,
    parts_of_chunk,
};
use crate::api::{Database, Loss, ReadTable};
use crate::error::{Error, Result};
use crate::schema::Value;

/// The most blobs that are found at a time, before any is mended.
const STEP: usize = 64;

/// The start of the keys of blobs whose own keys are lost.
const FOUND: &str = "lost+found/";

impl Database {
    /// Puts zeros in the place of chunks that are lost, and gives chunks whose blob is lost a blob
    /// with a key of its own. Calls `lose` with each loss.
    pub(in crate::api) fn mend_blobs(&self, lose: &mut dyn FnMut(Loss)) -> Result<()> {
        for name in self.blob_names() {
            let mut mending = Mending { db: self, tables: Tables::of(self, &name)?, name, lose };
            match mending.mend() {
                // The index of the ids could not be created again, which is a loss already.
                Err(Error::NoIndex { .. }) => {}
                mended => mended?,
            }
        }
        Ok(())
    }
}

/// A store that is being mended.
struct Mending<'m> {
    db: &'m Database,
    name: String,
    tables: Tables,
    lose: &'m mut dyn FnMut(Loss),
}

impl Mending<'_> {
    fn mend(&mut self) -> Result<()> {
        self.keep_ids_of_blobs()?;
        let mut last: Option<Vec<u8>> = None;
        loop {
            // A cursor keeps pages that change, and here many may.
            let mut found = Vec::new();
            let from = last
                .as_deref()
                .map_or(Bound::Unbounded, |last| Bound::Excluded(Value::Bytes(last)));
            let mut blobs = self.tables.blobs.range((from, Bound::Unbounded));
            while found.len() < STEP
                && let Some(row) = blobs.next_row()?
            {
                let (key, head) = blob_of(row);
                found.push((key.to_vec(), head));
            }
            drop(blobs);
            debug_assert!(found.len() <= STEP, "some are mended at a time");
            debug_assert!(found.is_sorted_by_key(|(key, _)| key), "blobs are in order");
            found.iter().try_for_each(|(key, head)| self.fill(key, *head))?;
            match found.pop() {
                Some((key, _)) => last = Some(key),
                None => return self.find_blobs(),
            }
        }
    }

    /// Removes the ids of blobs from those whose chunks are to be removed.
    fn keep_ids_of_blobs(&self) -> Result<()> {
        let Tables { blobs, pending, .. } = &self.tables;
        let mut ids = pending.iter();
        while let Some(row) = ids.next_row()? {
            let id = id_of(row.key());
            if self.tables.has_id(blobs, id)? {
                pending.delete(id)?;
            }
        }
        Ok(())
    }

    /// Puts zeros in the place of the chunks of a blob that are lost.
    fn fill(&mut self, key: &[u8], head: Head) -> Result<()> {
        let Some(id) = head.id else { return Ok(()) };
        let mut lost: Option<Range<u64>> = None;
        for number in 0..head.chunks() {
            let packed = chunk_key(id, number as u32);
            if self.tables.chunks.contains(packed)? {
                self.lose_range(key, lost.take());
                continue;
            }
            let mut chunk = ChunkRecord::new();
            chunk.extend(&vec![0; head.chunk_size(number)]);
            self.tables.chunks.insert(chunk.packed(id, number as u32))?;
            let from = number * CHUNK_BYTES as u64;
            let end = from + chunk.size() as u64;
            debug_assert!(from < end && end <= head.length_bytes, "a chunk is within its blob");
            debug_assert!(lost.as_ref().is_none_or(|lost| lost.end == from), "parts are joined");
            lost = Some(lost.map_or(from, |lost| lost.start)..end);
        }
        self.lose_range(key, lost);
        Ok(())
    }

    /// Reports a part of a blob as lost.
    fn lose_range(&mut self, key: &[u8], range: Option<Range<u64>>) {
        if let Some(Range { start, end }) = range {
            self.lose(key, format!("bytes {start} to {end} are lost, and are zeros now"));
        }
    }

    fn lose(&mut self, key: &[u8], why: String) {
        let store = self.name.clone();
        let shown = key.escape_ascii().to_string();
        (self.lose)(Loss::Blob { store, key: key.into(), shown, why });
    }

    /// Gives each id that has chunks, and is neither of a blob nor pending, a blob.
    fn find_blobs(&mut self) -> Result<()> {
        let mut next = Some(0);
        while let Some(from) = next {
            let mut chunks = self.tables.chunks.range((from, 0)..).limit(1);
            let Some(row) = chunks.next_row()? else { return Ok(()) };
            let (id, _) = parts_of_chunk(row.key());
            drop(chunks);
            let Tables { blobs, pending, .. } = &self.tables;
            if !pending.contains(id)? && !self.tables.has_id(blobs, id)? {
                self.find_blob(id)?;
            }
            next = id.checked_add(1);
        }
        Ok(())
    }

    /// Gives an id a blob that ends with the last chunk that there is.
    fn find_blob(&mut self, id: u64) -> Result<()> {
        let mut chunks = self.tables.chunks.range((id, 0)..=(id, u32::MAX)).rev().limit(1);
        let Some(last) = chunks.next_row()? else { return Ok(()) };
        let (_, number) = parts_of_chunk(last.key());
        let size = bytes_of_chunk(last.payload()).len();
        let length_bytes = u64::from(number) * CHUNK_BYTES as u64 + size as u64;
        drop(chunks);
        let mut key = format!("{FOUND}{id}").into_bytes();
        while self.tables.head(&self.tables.blobs, &key)?.is_some() {
            key.push(b'+');
        }
        let head = Head { id: Some(id), length_bytes };
        debug_assert!(head.chunks() == u64::from(number) + 1, "it ends with its last chunk");
        self.db.transact(|transaction| self.tables.put_head(transaction, &key, head))?;
        let why = match size {
            CHUNK_BYTES => "its key is lost, and what came after its end, if there was more",
            _ => "its key is lost",
        };
        self.lose(&key, why.into());
        self.fill(&key, head)
    }
}
