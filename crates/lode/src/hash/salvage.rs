//! Reads what is left of a damaged table of hashed keys: the buckets that its directory leads to,
//! and, if a page of the directory is lost, all pages that are buckets.

use std::collections::HashSet;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::bucket::Slots;
use super::directory::buckets_of;
use super::place::Place;
use super::root::{Entries, entries_of_part, entries_of_root};
use super::{Hash, Page, Parameters};
use crate::error::Result;
use crate::index::{Remains, Salvaged, Visit};
use crate::pager::PageNumber;

/// The pages of a table of hashed keys, as far as they are known.
#[derive(Default)]
struct Known {
    directory: HashSet<PageNumber>,
    buckets: Vec<PageNumber>,
    /// True if a page of the directory is lost.
    is_incomplete: bool,
}

impl Known {
    /// Reads the directory.
    fn read(root: PageNumber, remains: &Remains<'_>, visit: &mut Visit<'_>) -> Result<Self> {
        let mut known = Self::default();
        let mut entries = Vec::new();
        match known.look(root, remains, visit, entries_of_root)? {
            Some(Entries::Here(here)) => entries = here,
            Some(Entries::InParts(parts)) => {
                for part in parts {
                    let found = known.look(part, remains, visit, entries_of_part)?;
                    entries.extend(found.into_iter().flatten());
                }
            }
            None => {}
        }
        let mut seen = HashSet::new();
        for entry in entries {
            if known.directory.contains(&entry.segment) {
                continue;
            }
            let found = known
                .look(entry.segment, remains, visit, |words| Ok(buckets_of(words, entry.bits)))?;
            let new = found.into_iter().flatten().filter(|bucket| seen.insert(*bucket));
            known.buckets.extend(new);
        }
        Ok(known)
    }

    /// Calls `work` with a page of the directory. If that is lost, says so, and returns `None`.
    fn look<T>(
        &mut self,
        page: PageNumber,
        remains: &Remains<'_>,
        visit: &mut Visit<'_>,
        work: impl FnOnce(Page<'_>) -> Result<T, String>,
    ) -> Result<Option<T>> {
        self.directory.insert(page);
        match remains.read(page, work)? {
            Ok(found) => Ok(Some(found)),
            Err(why) => {
                self.is_incomplete = true;
                visit(Salvaged::Page { why })?;
                Ok(None)
            }
        }
    }
}

impl Hash {
    /// Calls `visit` with every record that can be read, in no order, and with the pages that are
    /// damaged. The keys on these are not known.
    ///
    /// # Errors
    /// Those of `visit`; `Full`.
    pub(crate) fn salvage(
        root: PageNumber,
        parameters: Parameters,
        remains: &Remains<'_>,
        visit: &mut Visit<'_>,
    ) -> Result<()> {
        let Parameters { shape, seed } = parameters;
        let slots = Slots::new(shape);
        let home =
            |key: &[u8]| Some(Place::of_hash(xxh3_64_with_seed(key, seed), slots.count()).home);
        let mut known = Known::read(root, remains, visit)?;
        let mut records = Vec::new();
        for page in &known.buckets {
            records.clear();
            let read = remains.read(*page, |words| {
                slots.check(words, &home)?;
                slots.copy_all(words, &mut records);
                Ok(())
            })?;
            match read {
                Ok(()) => visit_all(&records, shape.key_size, shape.payload_size, visit)?,
                Err(why) => visit(Salvaged::Page { why })?,
            }
        }
        if !known.is_incomplete {
            return Ok(());
        }
        known.directory.extend(known.buckets);
        let seen = known.directory;
        let damaged = remains.each(|page| !seen.contains(&page), &mut |_, words| {
            // Every slot that is taken says how far its record is from the home of its key. A
            // page of the directory says nothing like that.
            if slots.check(words, &home).is_err() {
                return Ok(Ok(()));
            }
            records.clear();
            slots.copy_all(words, &mut records);
            visit_all(&records, shape.key_size, shape.payload_size, visit).map(Ok)
        })?;
        damaged.into_iter().try_for_each(|why| visit(Salvaged::Page { why }))
    }
}

fn visit_all(
    records: &[u8],
    key_size: usize,
    payload_size: usize,
    visit: &mut Visit<'_>,
) -> Result<()> {
    records.chunks_exact(key_size + payload_size).try_for_each(|record| {
        let (key, payload) = record.split_at(key_size);
        visit(Salvaged::Entry { key, payload })
    })
}
