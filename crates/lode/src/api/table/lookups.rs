//! Lookups. Most have nothing in their way: the record is in a bucket or a leaf that is in memory,
//! no thread changes it, and no commit is under way. Those are *attempted*; everything else is left
//! to the functions that wait, try again, and report errors.

use super::Table;
use crate::error::Result;
use crate::hash::{Attempt, Hash};
use crate::index::{Index, Shape};
use crate::pager::ReadEpoch;

impl Table {
    /// Copies the payload of the record with a packed key into `payload`, which has exactly as many
    /// bytes. Returns false if there is no such record; then anything may be in `payload`.
    ///
    /// It is the fastest lookup, and allocates nothing. [`get`](crate::ReadTable::get) returns a
    /// row instead, and takes keys of any kind.
    ///
    /// ```
    /// use lode::{Database, KeyKind, Schema, Type, Value};
    ///
    /// let db = Database::in_memory()?;
    /// let schema = Schema::build("square").key("of", Type::U32).column("is", Type::U64).finish()?;
    /// let squares = db.create_table(&schema, KeyKind::Hash)?;
    /// squares.insert(&schema.pack(&[Value::Unsigned(12), Value::Unsigned(144)])?)?;
    ///
    /// let mut payload = [0; 8];
    /// assert!(squares.get_exact(&12u32.to_le_bytes(), &mut payload)?);
    /// assert_eq!(u64::from_le_bytes(payload), 144);
    /// # Ok::<(), lode::Error>(())
    /// ```
    ///
    /// # Errors
    /// `NotPacked` when `key` or `payload` do not have the bytes that they should;
    /// `VariablePayload` when there are columns of variable length, which
    /// [`get_into`](crate::ReadTable::get_into) is for. And those of
    /// [reading](crate::ReadTable#errors).
    #[inline]
    pub fn get_exact(&self, key: &[u8], payload: &mut [u8]) -> Result<bool> {
        match self.try_read(key, payload) {
            Some(there) => Ok(there),
            None => self.get_slow(key, payload),
        }
    }

    #[inline(never)]
    fn get_slow(&self, key: &[u8], payload: &mut [u8]) -> Result<bool> {
        self.core.expect_buffer(payload)?;
        if !self.core.can_have(key)? {
            return Ok(false);
        }
        let pager = self.db.pager();
        let there = self.core.in_order(key, |key| {
            self.read_consistent(|moment| match moment {
                None => self.core.read(pager, key, &mut *payload),
                Some(moment) => self.core.get_at(pager, moment, key, &mut *payload),
            })
        })?;
        Ok(there && self.db.is_found(&self.core, payload))
    }

    #[inline]
    pub(in crate::api) fn read_into(&self, key: &[u8], payload: &mut Vec<u8>) -> Result<bool> {
        if let Some(sizes) = self.sizes() {
            if payload.len() != sizes.payload_size {
                payload.resize(sizes.payload_size, 0);
            }
            if let Some(there) = self.try_read(key, payload) {
                return Ok(there);
            }
        }
        self.read_patiently(key, payload)
    }

    /// Copies the payload of a record as [`read_into`](Self::read_into) does, whether it has
    /// expired or not.
    pub(in crate::api) fn read_stored(&self, key: &[u8], payload: &mut Vec<u8>) -> Result<bool> {
        if self.core.has_expiry() {
            return self.read_stored_patiently(key, payload);
        }
        self.read_into(key, payload)
    }

    #[inline(never)]
    pub(super) fn read_patiently(&self, key: &[u8], payload: &mut Vec<u8>) -> Result<bool> {
        let there = self.read_stored_patiently(key, payload)?;
        Ok(there && self.db.is_found(&self.core, payload))
    }

    fn read_stored_patiently(&self, key: &[u8], payload: &mut Vec<u8>) -> Result<bool> {
        if !self.core.can_have(key)? {
            return Ok(false);
        }
        let pager = self.db.pager();
        let there = self.core.in_order(key, |key| {
            self.read_consistent(|moment| match moment {
                None => self.core.read(pager, key, &mut *payload),
                Some(moment) => self.core.get_at(pager, moment, key, &mut *payload),
            })
        })?;
        if there && self.core.schema().is_variable() {
            self.core.expect_stored(payload)?;
        }
        Ok(there)
    }

    /// Calls `look` while no commit is under way, or at the moment before a long one.
    #[inline(always)]
    fn read_consistent(
        &self,
        mut look: impl FnMut(Option<ReadEpoch>) -> Result<bool>,
    ) -> Result<bool> {
        // In a forked process, a commit that was under way would never end.
        self.core.ensure_open()?;
        let gate = self.db.gate();
        let pager = self.db.pager();
        loop {
            let Some(commits) = gate.try_read() else {
                // When the commit ends, the images of the moment go: so an error means nothing.
                match pager.shown().and_then(|moment| look(Some(moment)).ok()) {
                    Some(found) => return Ok(found),
                    None => std::thread::yield_now(),
                }
                continue;
            };
            let found = look(None);
            let is_gone = self.core.is_gone();
            if gate.validate(commits) {
                return if is_gone { self.core.ensure_open().map(|()| false) } else { found };
            }
        }
    }

    /// Copies the columns after the key into `payload`. Returns true if there is such a record, if
    /// that is known at once. (By itself, it needs fewer registers than its caller has left.)
    #[inline(never)]
    fn try_read(&self, key: &[u8], payload: &mut [u8]) -> Option<bool> {
        let Some(hash) = self.buckets() else { return self.try_read_in_order(key, payload) };
        let shape = hash.shape();
        if key.len() != shape.key_size || payload.len() != shape.payload_size {
            return None;
        }
        let commits = self.db.gate().try_read()?;
        let attempt = hash.try_read(self.db.pager(), key)?;
        self.finish(hash, commits, &attempt, key, payload)
    }

    /// Looks a key up as `try_read` does, in a tree whose leaves have the records.
    #[inline(never)]
    fn try_read_in_order(&self, key: &[u8], payload: &mut [u8]) -> Option<bool> {
        let tree = self.core.tree_of_records()?;
        let Shape { is_variable, key_size, payload_size } = tree.shape();
        if is_variable || key.len() != key_size || payload.len() != payload_size {
            return None;
        }
        let commits = self.db.gate().try_read()?;
        let there = self.core.in_order(key, |key| tree.try_get(self.db.pager(), key, payload))?;
        self.is_valid(commits).then_some(there)
    }

    /// Finishes a lookup that started when there had been `commits` commits.
    #[inline(always)]
    pub(super) fn finish(
        &self,
        hash: &Hash,
        commits: u64,
        attempt: &Attempt<'_>,
        key: &[u8],
        payload: &mut [u8],
    ) -> Option<bool> {
        let there = hash.read(attempt, key, payload)?;
        self.is_valid(commits).then_some(there)
    }

    /// Returns true if what was read since there had been `commits` commits counts.
    #[inline(always)]
    pub(super) fn is_valid(&self, commits: u64) -> bool {
        self.db.gate().validate(commits) && self.core.shows_all()
    }
}
