//! Copies the pages of a checkpoint to another data file, and only those that it does not have.

use std::collections::BTreeMap;

use super::map::PageMap;
use super::{DataFile, PageNumber, Ref, SLOT_BYTES, Superblock, read_slot};
use crate::error::{Error, Result};

/// A checkpoint whose slots are given to no other page while this exists, whatever checkpoints
/// follow.
pub(crate) struct Kept<'d> {
    data: &'d DataFile,
    superblock: Superblock,
    map: PageMap,
}

/// A difference between the checkpoint and the other file, in one node of the page map.
pub(crate) struct Difference {
    /// The number of pages that the checkpoint has there.
    pages: u64,
    /// Pages that the other file does not have, or with other bytes.
    missing: Vec<(PageNumber, Ref)>,
    /// Pages that only the other file has.
    needless: Vec<PageNumber>,
}

impl Difference {
    /// Returns the number of pages that were compared: those of the checkpoint.
    pub(crate) fn pages(&self) -> u64 {
        self.pages
    }
}

impl DataFile {
    /// Keeps the current checkpoint. The caller holds the current superblock: no checkpoint is
    /// being written.
    pub(crate) fn keep(&self, superblock: &Superblock) -> Kept<'_> {
        self.state().slots.keep();
        Kept { data: self, superblock: *superblock, map: PageMap::open(superblock.map) }
    }
}

impl Drop for Kept<'_> {
    fn drop(&mut self) {
        self.data.state().slots.let_go();
    }
}

impl Kept<'_> {
    /// Returns the most pages that the checkpoint can have.
    pub(crate) fn pages(&self) -> u64 {
        self.data.used_bytes() / SLOT_BYTES as u64
    }

    /// Returns the catalogue of the checkpoint.
    pub(crate) fn catalogue(&mut self) -> Result<Vec<u8>> {
        let superblock = self.superblock;
        let loaded = superblock.load_catalogue(&*self.data.file, &mut self.map);
        // Another process may have opened the directory and written to it.
        let bytes = if self.data.is_given_up() { Err(Error::Closed) } else { loaded }?;
        let (catalogue, _) = superblock.split_catalogue(&bytes)?;
        Ok(catalogue.to_vec())
    }

    /// Returns the nodes of the page map in which this and another file may differ.
    pub(crate) fn nodes(&mut self, other: &DataFile) -> Result<Vec<u32>> {
        let mut nodes = self.map.table_nodes(&*self.data.file)?;
        nodes.extend(other.state().map.table_nodes(&*other.file)?);
        nodes.sort_unstable();
        nodes.dedup();
        Ok(nodes)
    }

    /// Compares the pages of a node with those of another file, by their checksums.
    pub(crate) fn difference(&mut self, other: &DataFile, node: u32) -> Result<Difference> {
        let here = self.map.take_pages(&*self.data.file, node)?;
        let there = other.state().map.take_pages(&*other.file, node)?;
        let mut there = BTreeMap::from_iter(there);
        let is_missing = |(page, at): &(PageNumber, Ref)| {
            let other = there.remove(page);
            other.is_none_or(|other| (other.checksum, other.note()) != (at.checksum, at.note()))
        };
        let pages = here.len() as u64;
        let missing = here.into_iter().filter(is_missing).collect();
        Ok(Difference { pages, missing, needless: there.into_keys().collect() })
    }

    /// Copies the next pages of a difference to the other file, at most `most`. Returns their
    /// number; 0 if no more are missing, and those that the other file needs no more are removed.
    ///
    /// # Errors
    /// `Corrupt` if a page is damaged here; `DiskFull`, `Io` there; `Closed`.
    pub(crate) fn copy_some(
        &self,
        difference: &mut Difference,
        most: usize,
        other: &DataFile,
    ) -> Result<usize> {
        std::mem::take(&mut difference.needless).iter().try_for_each(|page| other.remove(*page))?;
        let left = difference.missing.len().saturating_sub(most);
        // From the end: each has the pages in the order of their numbers.
        let some = difference.missing.split_off(left);
        let mut bytes = vec![0; some.len() * SLOT_BYTES];
        for ((page, at), bytes) in some.iter().zip(bytes.chunks_mut(SLOT_BYTES)) {
            self.read(*page, *at, bytes)?;
        }
        if !some.is_empty() {
            let pages: Vec<_> = some.iter().map(|(page, _)| *page).collect();
            other.reserve_anew(pages.len() as u64)?;
            other.write(&pages, &bytes)?;
        }
        Ok(some.len())
    }

    fn read(&self, page: PageNumber, at: Ref, bytes: &mut [u8]) -> Result<()> {
        let read = read_slot(&*self.data.file, at, page.word(), bytes, || format!("page {page}"));
        // Another process may have opened the directory and written to it.
        if self.data.is_given_up() { Err(Error::Closed) } else { read }
    }
}
