//! Lookups of several keys at once. The processor is asked for the memory of some of them, before
//! the first one is read: so the waits overlap.

use super::Table;
use crate::error::Result;
use crate::hash::{AHEAD, Hash};
use crate::index::Index;
use crate::table::FetchFor;
use crate::tree::Tree;

/// A function that is called with the number of a key, and the payload of its record.
type IsFound<'f> = dyn FnMut(usize, Option<&[u8]>) + 'f;

impl Table {
    /// Looks keys up, as [`get_many_with`](crate::ReadTable::get_many_with) does.
    pub(in crate::api) fn read_many(&self, keys: &[u8], found: &mut IsFound<'_>) -> Result<()> {
        self.schema().expect_keys(keys)?;
        if keys.is_empty() {
            return self.core.ensure_open();
        }
        let mut payload = Vec::new();
        let mut rest = keys;
        let mut next = 0;
        while !rest.is_empty() {
            let mut group = [&[][..]; AHEAD];
            let mut count = 0;
            while count < AHEAD && !rest.is_empty() {
                (group[count], rest) = rest.split_at(self.schema().key_length(rest)?);
                count += 1;
            }
            self.read_group(&group[..count], &mut payload, &mut |at, there| {
                found(next + at, there)
            })?;
            next += count;
        }
        Ok(())
    }

    /// Looks up a group of whole keys.
    fn read_group(
        &self,
        keys: &[&[u8]],
        payload: &mut Vec<u8>,
        found: &mut IsFound<'_>,
    ) -> Result<()> {
        if let Some(hash) = self.buckets() {
            return self.read_buckets(hash, keys, payload, found);
        }
        let is_worth_it = |tree: &&Tree| {
            let shape = tree.shape();
            let is_fixed = !shape.is_variable && keys.iter().all(|key| key.len() == shape.key_size);
            is_fixed && tree.has_many_leaves(self.db.pager())
        };
        if let Some(tree) = self.core.tree_of_records().filter(is_worth_it) {
            return self.read_leaves(tree, keys, payload, found);
        }
        self.core.fetch(self.db.pager(), keys.iter().copied(), FetchFor::Lookup);
        for (at, key) in keys.iter().enumerate() {
            let there = self.read_into(key, payload)?;
            found(at, there.then_some(payload));
        }
        Ok(())
    }

    /// Looks up a group of keys whose records are in buckets.
    fn read_buckets(
        &self,
        hash: &Hash,
        keys: &[&[u8]],
        payload: &mut Vec<u8>,
        found: &mut IsFound<'_>,
    ) -> Result<()> {
        payload.resize(hash.shape().payload_size, 0);
        let commits = self.db.gate().try_read();
        let mut attempts = [None; AHEAD];
        for (key, attempt) in keys.iter().zip(&mut attempts) {
            *attempt = hash.try_read(self.db.pager(), key);
            attempt.iter().for_each(|attempt| hash.fetch(attempt));
        }
        for (at, (key, attempt)) in keys.iter().zip(attempts).enumerate() {
            let there = attempt
                .zip(commits)
                .and_then(|(attempt, commits)| self.finish(hash, commits, &attempt, key, payload));
            let there = there.map_or_else(|| self.read_patiently(key, payload), Ok)?;
            found(at, there.then_some(payload));
        }
        Ok(())
    }

    /// Looks up a group of keys of fixed size whose records are in leaves.
    fn read_leaves(
        &self,
        tree: &Tree,
        keys: &[&[u8]],
        payload: &mut Vec<u8>,
        found: &mut IsFound<'_>,
    ) -> Result<()> {
        let key_size = tree.shape().key_size;
        let mut in_order = Vec::with_capacity(keys.len() * key_size);
        for key in keys {
            self.core.in_order(key, |key| in_order.extend_from_slice(key));
        }
        let commits = self.db.gate().try_read();
        let mut attempts = [None; AHEAD];
        tree.try_read_many(self.db.pager(), in_order.chunks_exact(key_size), |at, attempt| {
            attempts[at] = Some(attempt);
        });
        for (at, (key, attempt)) in keys.iter().zip(attempts).enumerate() {
            payload.resize(tree.shape().payload_size, 0);
            let there = attempt.zip(commits).and_then(|(attempt, commits)| {
                attempt.read(payload).filter(|_| self.is_valid(commits))
            });
            let there = there.map_or_else(|| self.read_patiently(key, payload), Ok)?;
            found(at, there.then_some(payload));
        }
        Ok(())
    }
}
