//! Mending the blob stores of a repaired database: each blob has all of its chunks then, and each
//! chunk is of a blob, or is pending.

use std::ops::{Bound, Range};

use super::MOST_BLOB_BYTES;
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
            found.iter().try_for_each(|(key, head)| self.mend_blob(key, *head))?;
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

    /// Gives a blob all of its chunks: cuts it after the last that is left, and puts zeros in the
    /// place of others that are lost.
    fn mend_blob(&mut self, key: &[u8], head: Head) -> Result<()> {
        let left_bytes = head.id.map_or(Ok(0), |id| self.left_bytes(id))?;
        let length_bytes = head.length_bytes.min(left_bytes);
        let id = head.id.filter(|_| length_bytes > 0);
        let mended = Head { id, length_bytes };
        if length_bytes < head.length_bytes {
            let lost_bytes = head.length_bytes - length_bytes;
            let why = format!("its last {lost_bytes} bytes are lost, and it ends before them");
            self.lose(key, why);
        }
        if mended != head {
            self.db.transact(|transaction| self.tables.put_head(transaction, key, mended))?;
        }
        if let Some(id) = head.id {
            self.fill(key, id, mended)?;
            self.leave_out_chunks_from(id, mended.chunks())?;
        }
        Ok(())
    }

    /// Returns the number of bytes up to the end of the last chunk that an id has.
    fn left_bytes(&self, id: u64) -> Result<u64> {
        let most = MOST_BLOB_BYTES / CHUNK_BYTES as u64;
        let mut chunks = self.tables.chunks.range((id, 0)..=(id, most as u32)).rev().limit(1);
        let Some(last) = chunks.next_row()? else { return Ok(0) };
        let (_, number) = parts_of_chunk(last.key());
        let size = bytes_of_chunk(last.payload()).len();
        let end = u64::from(number) * CHUNK_BYTES as u64 + size as u64;
        Ok(end.min(MOST_BLOB_BYTES))
    }

    /// Puts zeros in the place of lost bytes of a blob.
    fn fill(&mut self, key: &[u8], id: u64, head: Head) -> Result<()> {
        let mut lost: Option<Range<u64>> = None;
        let mut found = Vec::new();
        for number in 0..head.chunks() {
            let packed = chunk_key(id, number as u32);
            let is_there = self.tables.chunks.get_into(&packed, &mut found)?;
            let bytes = if is_there { bytes_of_chunk(&found) } else { &[] };
            let size = head.chunk_size(number);
            let from = number * CHUNK_BYTES as u64;
            if bytes.len() == size {
                continue;
            }
            let mut chunk = ChunkRecord::new();
            chunk.extend(&bytes[..bytes.len().min(size)]);
            let start = from + chunk.size() as u64;
            chunk.extend(&vec![0; size - chunk.size()]);
            self.tables.chunks.upsert(chunk.packed(id, number as u32))?;
            let end = from + size as u64;
            match &mut lost {
                Some(lost) if lost.end == start => lost.end = end,
                _ => self.lose_range(key, lost.replace(start..end)),
            }
        }
        self.lose_range(key, lost);
        Ok(())
    }

    /// Leaves out the chunks of an id that are after the end of its blob.
    fn leave_out_chunks_from(&mut self, id: u64, number: u64) -> Result<()> {
        debug_assert!(number <= u64::from(u32::MAX), "no blob has more chunks");
        loop {
            let from = (id, number as u32);
            let mut after = self.tables.chunks.range(from..=(id, u32::MAX)).limit(1);
            let Some(row) = after.next_row()? else { return Ok(()) };
            let (_, number) = parts_of_chunk(row.key());
            drop(after);
            let key = chunk_key(id, number);
            self.tables.chunks.delete(key)?;
            (self.lose)(Loss::Record {
                table: self.tables.chunks.schema().name().into(),
                key: Some(key.into()),
                shown: format!("{id}, {number}"),
                why: "it is after the end of its blob".into(),
            });
        }
    }

    /// Reports a part of a blob as lost.
    fn lose_range(&mut self, key: &[u8], range: Option<Range<u64>>) {
        if let Some(Range { start, end }) = range.filter(|range| !range.is_empty()) {
            let lost_bytes = end - start;
            let why = format!("{lost_bytes} bytes from {start} on are lost, and are zeros now");
            self.lose(key, why);
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
        let length_bytes = self.left_bytes(id)?;
        let head = Head { id: Some(id).filter(|_| length_bytes > 0), length_bytes };
        if head.id.is_none() {
            return self.leave_out_chunks_from(id, 0);
        }
        let mut key = format!("{FOUND}{id}").into_bytes();
        while self.tables.head(&self.tables.blobs, &key)?.is_some() {
            key.push(b'+');
        }
        let why = match length_bytes % CHUNK_BYTES as u64 {
            0 => "its key is lost, and what came after its end, if there was more",
            _ => "its key is lost",
        };
        self.lose(&key, why.into());
        self.db.transact(|transaction| self.tables.put_head(transaction, &key, head))?;
        self.mend_blob(&key, head)
    }
}
