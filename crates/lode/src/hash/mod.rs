//! A table of hashed keys: extendible hashing over pages (Fagin, Nievergelt, Pippenger, Strong:
//! Extendible Hashing, TODS 4(3), 1979, sections 2 and 3).
//!
//! A *place* is 64 bits made of the hash. The [`directory`] finds the bucket of a place, which is
//! one page; the [`shortcut`] is a copy of it for single records. In the [`bucket`], a record is in
//! the slot that other bits of the hash name, or after it. If keys were spread evenly, all buckets
//! would fill and split at the same time, and the table would be half empty after that. So places
//! are denser at the low end of the range than at its high end, by a factor of two: some bucket is
//! always just splitting. (Spiral storage: Martin, Spiral Storage: Incrementally Augmentable Hash
//! Addressed Storage, Warwick 1979.)

mod bucket;
mod changed;
mod directory;
mod estimate;
mod place;
mod root;
mod salvage;
mod shortcut;
#[cfg(test)]
mod tests;
mod write;

use bucket::{Joins, Probe, Slots};
use directory::{Directory, Parts};
use place::Place;
use shortcut::{Entry, Shortcut};

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::batch::Batch;
use crate::error::{Error, Result};
use crate::index::{AtEntry, Index, Shape, Step, WriteContext};
use crate::pager::{PageNumber, PageRef, Pager, ReadEpoch, Seen, Space};

pub(crate) use bucket::MOST_RECORD_BYTES;
pub(crate) use changed::Places;
pub(crate) use directory::FirstBuckets;
pub(crate) use place::HashPlace;

/// The lookups that should be in progress at once.
pub(crate) const AHEAD: usize = 16;

/// The fixed parameters of a table of hashed keys.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parameters {
    /// The sizes of its records.
    pub shape: Shape,
    /// The seed of its hash function.
    pub seed: u64,
}

/// A table of hashed keys.
pub(crate) struct Hash {
    directory: Directory,
    shortcut: Shortcut,
    slots: Slots,
    seed: u64,
}

/// A walk over all buckets, one at a time, in the order of their places.
#[derive(Clone)]
pub(crate) struct Buckets {
    /// The place of the next bucket.
    next: Option<HashPlace>,
    /// True if the place of the next bucket is not known.
    pub is_lost: bool,
}

impl Buckets {
    pub(crate) fn new() -> Self {
        Self { next: Some(HashPlace::FIRST), is_lost: false }
    }

    /// Has the walk come to a bucket again that could not be read, if it is not damaged.
    fn stay_unless_damaged(&mut self, place: HashPlace, error: &Error) {
        if !matches!(error, Error::Corrupt { .. }) {
            self.next = Some(place);
        }
    }

    /// Returns the place up to which the walk has come; `None` at the end.
    pub(crate) fn place(&self) -> Option<HashPlace> {
        self.next
    }
}

impl Hash {
    /// Creates a table without records.
    pub(crate) fn create(
        pager: &Pager,
        space: &Space,
        parameters: Parameters,
        first: FirstBuckets,
    ) -> Result<Self> {
        Self::with_directory(pager, Directory::create(pager, space, first)?, parameters)
    }

    /// Opens an existing table by the page of its directory's root.
    pub(crate) fn open(pager: &Pager, root: PageNumber, parameters: Parameters) -> Result<Self> {
        Self::with_directory(pager, Directory::open(root), parameters)
    }

    fn with_directory(pager: &Pager, directory: Directory, parameters: Parameters) -> Result<Self> {
        let shortcut = Shortcut::new()?;
        directory.each(pager, &mut |bucket, first, bits| {
            shortcut.make_room(bits)?;
            shortcut.set(bucket, first, bits);
            Ok(())
        })?;
        let Parameters { shape, seed } = parameters;
        Ok(Self { directory, shortcut, slots: Slots::new(shape), seed })
    }

    /// Returns the page of the directory's root, which stays the same.
    pub(crate) fn root(&self) -> PageNumber {
        self.directory.root()
    }

    #[inline(always)]
    fn place(&self, key: &[u8]) -> Place {
        Place::of_hash(xxh3_64_with_seed(key, self.seed), self.slots.count())
    }

    /// Returns the bucket of a place, and the way to it. What is read there counts if nothing on
    /// the way has changed.
    #[inline(always)]
    fn read_optimistic<'w>(
        &'w self,
        pager: &'w Pager,
        place: Place,
    ) -> Result<(Way<'w>, PageRef<'w>)> {
        let mut changes = None;
        loop {
            let entry = self.shortcut.entry(place.directory);
            match pager.read_optimistic(entry.bucket()) {
                Ok((bucket, words)) => return Ok((Way { entry, bucket }, words)),
                // The bucket may have been joined with another, and its page be another bucket of
                // the place by now: so an error counts if no entry has changed since before this
                // one was read.
                Err(error) if entry.validate() && changes == Some(self.shortcut.changes()) => {
                    return Err(error);
                }
                Err(_) => changes = Some(self.shortcut.changes()),
            }
        }
    }

    /// Copies the record's payload; returns false if the record does not exist.
    pub(crate) fn get(&self, pager: &Pager, key: &[u8], payload: &mut [u8]) -> Result<bool> {
        let place = self.place(key);
        let probe = Probe::new(key);
        loop {
            let (way, words) = self.read_optimistic(pager, place)?;
            let found = self.slots.find(words, place.home, &probe);
            if let Some(slot) = found {
                self.slots.read_payload(words, slot, payload);
            }
            if way.validate() {
                return Ok(found.is_some());
            }
        }
    }

    /// Returns the bucket and first slot of a key, if the bucket is in memory and no thread changes
    /// it. This function and the next ones have few instructions. So the processor comes to the
    /// next lookup while it waits for the memory of this one.
    #[inline(always)]
    pub(crate) fn try_read<'h>(&'h self, pager: &'h Pager, key: &[u8]) -> Option<Attempt<'h>> {
        let place = self.place(key);
        let entry = self.shortcut.try_read(place.directory)?;
        let (bucket, words) = pager.try_read(entry.bucket())?;
        Some(Attempt { way: Way { entry, bucket }, words, home: place.home })
    }

    /// Returns the bucket of a key, if it is in memory and no thread changes it.
    pub(crate) fn page_of(&self, pager: &Pager, key: &[u8]) -> Option<PageNumber> {
        self.try_read(pager, key).map(|attempt| attempt.way.bucket.page())
    }

    /// Has the processor fetch what a lookup reads there.
    #[inline(always)]
    pub(crate) fn fetch(&self, attempt: &Attempt<'_>) {
        self.slots.fetch(attempt.words, attempt.home);
    }

    /// Has the processor fetch what the insertion of a record looks at.
    pub(crate) fn fetch_to_insert(&self, attempt: &Attempt<'_>) {
        self.slots.fetch_to_insert(attempt.words, attempt.home);
    }

    /// Copies the payload of a key's record there, and returns true if the record exists; `None` if
    /// the bucket has changed.
    #[inline(always)]
    pub(crate) fn read(
        &self,
        attempt: &Attempt<'_>,
        key: &[u8],
        payload: &mut [u8],
    ) -> Option<bool> {
        let Attempt { way, words, home } = *attempt;
        let found = self.slots.find(words, home, &Probe::new(key));
        if let Some(slot) = found {
            self.slots.read_payload(words, slot, payload);
        }
        way.validate().then_some(found.is_some())
    }

    /// Copies key and payload of the records of the next bucket, as they were at a moment. Returns
    /// false, and copies nothing, at the end.
    ///
    /// # Errors
    /// The fault of a page. The walk can continue after it, unless it is lost.
    pub(crate) fn next_bucket(
        &self,
        pager: &Pager,
        moment: ReadEpoch,
        buckets: &mut Buckets,
        batch: &mut Batch,
    ) -> Result<bool> {
        batch.clear();
        let Some(place) = buckets.next.take() else { return Ok(false) };
        let found = self.directory.read_at_epoch(pager, moment, place);
        let (bucket, end) = found.inspect_err(|error| {
            buckets.is_lost = true;
            buckets.stay_unless_damaged(place, error);
        })?;
        buckets.next = end;
        let Shape { key_size, payload_size, .. } = self.slots.shape();
        let copied = pager.at(moment, bucket, |words| {
            batch.fill(key_size, payload_size, |bytes| self.slots.copy_all(words, bytes));
        });
        copied.inspect_err(|error| {
            batch.clear();
            buckets.stay_unless_damaged(place, error);
        })?;
        Ok(true)
    }

    fn parts(&self) -> Parts<'_> {
        Parts { slots: &self.slots, shortcut: &self.shortcut }
    }

    /// Joins the bucket of a key with another, if both have few records. Returns true if it did.
    pub(crate) fn merge(&self, pager: &Pager, space: &Space, key: &[u8]) -> Result<bool> {
        /// Each join changes pages.
        const MOST_JOINS: usize = 2;
        let place = self.place(key);
        let mut joins = 0;
        while joins < MOST_JOINS {
            let (way, words) = self.read_optimistic(pager, place)?;
            let is_sparse = self.slots.is_sparse(words) && way.validate();
            let home_of = |key: &[u8]| self.place(key).home;
            let parts = self.parts();
            let to = place.directory;
            if !(is_sparse
                && self.directory.join(pager, space, parts, to, Joins::Sparse, &home_of)?)
            {
                break;
            }
            joins += 1;
        }
        Ok(joins > 0)
    }

    /// Joins the bucket of a place in the directory with the one that it was split from, if the
    /// records of both fit in one. Returns the place to continue at, which is the same after a
    /// join; `None` at the end.
    pub(crate) fn fill(
        &self,
        pager: &Pager,
        space: &Space,
        place: HashPlace,
    ) -> Result<Option<HashPlace>> {
        let home_of = |key: &[u8]| self.place(key).home;
        let parts = self.parts();
        if self.directory.join(pager, space, parts, place, Joins::Fitting, &home_of)? {
            return Ok(Some(place));
        }
        Ok(self.directory.read_optimistic(pager, place)?.1)
    }

    /// Visits the bucket of a place in the directory. Appends the key of each record and the first
    /// eight bytes of its payload, if `wanted` accepts those. Returns the place where the next
    /// bucket starts.
    pub(crate) fn copy_bucket(
        &self,
        pager: &Pager,
        place: HashPlace,
        wanted: &dyn Fn([u8; 8]) -> bool,
        entries: &mut Vec<(Vec<u8>, [u8; 8])>,
    ) -> Result<Option<HashPlace>> {
        let shape = self.slots.shape();
        let mut records = Vec::new();
        loop {
            let changes = self.shortcut.changes();
            let looked = self
                .directory
                .read_optimistic(pager, place)
                .and_then(|(bucket, next)| Ok((pager.read_optimistic(bucket)?, next)));
            let ((seen, words), next) = match looked {
                Ok(looked) => looked,
                // The bucket may have been joined with another.
                Err(_) if self.shortcut.changes() != changes => continue,
                Err(error) => return Err(error),
            };
            records.clear();
            self.slots.copy_all(words, &mut records);
            if !seen.validate() || self.shortcut.changes() != changes {
                continue;
            }
            for record in records.chunks_exact(shape.key_size + shape.payload_size) {
                let (key, payload) = record.split_at(shape.key_size);
                if let Some(first) = payload.first_chunk().filter(|first| wanted(**first)) {
                    entries.push((key.to_vec(), *first));
                }
            }
            return Ok(next);
        }
    }

    /// Counts the records at a moment, by the counts of their buckets.
    pub(crate) fn count(&self, pager: &Pager, moment: ReadEpoch) -> Result<u64> {
        let mut count = 0;
        let mut next = Some(HashPlace::FIRST);
        while let Some(place) = next {
            let (bucket, end) = self.directory.read_at_epoch(pager, moment, place)?;
            count += pager.at(moment, bucket, |words| self.slots.records(words) as u64)?;
            next = end;
        }
        Ok(count)
    }

    /// Calls `wrong` with the fault of each bucket at a moment: a record that its key does not lead
    /// to, or a wrong count.
    pub(crate) fn check(&self, pager: &Pager, moment: ReadEpoch, wrong: &mut dyn FnMut(String)) {
        let mut next = Some(HashPlace::FIRST);
        while let Some(start) = next {
            let (bucket, end) = match self.directory.read_at_epoch(pager, moment, start) {
                Ok(found) => found,
                // The start of the next bucket is not known.
                Err(error) => return wrong(error.to_string()),
            };
            let checked = pager.at(moment, bucket, |words| {
                self.slots.check(words, &|key| {
                    let place = self.place(key);
                    let inside =
                        place.directory >= start && end.is_none_or(|end| place.directory < end);
                    inside.then_some(place.home)
                })
            });
            match checked {
                Ok(Ok(())) => {}
                Ok(Err(why)) => wrong(format!("page {bucket}: {why}")),
                Err(error) => wrong(error.to_string()),
            }
            next = end;
        }
    }
}

impl Index for Hash {
    #[inline(always)]
    fn shape(&self) -> Shape {
        self.slots.shape()
    }

    fn get_at(
        &self,
        pager: &Pager,
        moment: ReadEpoch,
        key: &[u8],
        payload: &mut [u8],
    ) -> Result<bool> {
        let place = self.place(key);
        let probe = Probe::new(key);
        let (bucket, _) = self.directory.read_at_epoch(pager, moment, place.directory)?;
        pager.at(moment, bucket, |words| {
            let found = self.slots.find(words, place.home, &probe);
            if let Some(slot) = found {
                self.slots.read_payload(words, slot, payload);
            }
            found.is_some()
        })
    }

    #[inline]
    fn locate<T>(
        &self,
        pager: &Pager,
        key: &[u8],
        mut follow: impl FnMut([u8; 8]) -> T,
    ) -> Result<Option<T>> {
        let place = self.place(key);
        let probe = Probe::new(key);
        loop {
            let (way, words) = self.read_optimistic(pager, place)?;
            let followed = self.slots.find(words, place.home, &probe).map(|slot| {
                let mut bytes = [0; 8];
                self.slots.read_payload(words, slot, &mut bytes);
                follow(bytes)
            });
            if way.validate() {
                return Ok(followed);
            }
        }
    }

    fn at<A: AtEntry<Error = Error>>(
        &self,
        context: &WriteContext<'_>,
        key: &[u8],
        mut work: A,
    ) -> Result<A::Done> {
        loop {
            let held = match self.try_latch(context.pager, key) {
                Some(held) => held,
                None => self.latch_patiently(context.pager, key)?,
            };
            match self.at_slot(held, context.pager, context.joins(), key, &mut work)? {
                Step::Done(done) => return Ok(done),
                Step::Wait => context.make_log_room()?,
                Step::Full => self.make_room(context, key)?,
            }
        }
    }
}

/// The bucket that a key belongs to, unlatched, and the slot there that is its first choice.
#[derive(Clone, Copy)]
pub(crate) struct Attempt<'h> {
    way: Way<'h>,
    words: PageRef<'h>,
    home: usize,
}

/// The way to a bucket, as it was seen.
#[derive(Clone, Copy)]
struct Way<'w> {
    entry: Entry<'w>,
    bucket: Seen<'w>,
}

impl Way<'_> {
    /// Returns true if it is still the right bucket, and has not changed. In this order: the entry
    /// may have named another bucket in between, and name this one again since the two were joined;
    /// but both changes changed it.
    #[inline(always)]
    fn validate(&self) -> bool {
        self.entry.validate() && self.bucket.validate()
    }
}

/// The content of a page that is only read.
type Page<'p> = PageRef<'p>;
