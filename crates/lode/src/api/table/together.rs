//! Writing many records together.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::{BTreeMap, HashSet};

use super::{Table, expect_not_changing};
use crate::api::steps::{Indexed, Step, Steps};
use crate::engine::{CommitSize, Loan};
use crate::error::{Error, MOST_TRANSACTION_BYTES, Result};
use crate::hash::AHEAD;
use crate::index::Record;
use crate::observability::Work;
use crate::schema::Entry;
use crate::table::{EntryChange, FetchFor, KeyKind, Secondaries};
use crate::tree::Tree;
use crate::wal::LogPosition;

/// The treatment of a record whose key exists already, or comes earlier among those written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum IfThere {
    /// Leave the record out.
    Skip,
    /// Write the record.
    Replace,
    /// Write none of the records.
    Refuse,
}

/// The result of writing records together.
struct Written {
    /// The number of new keys.
    new: u64,
    /// The number of the first record whose key exists, if none is written for that reason.
    refused: Option<usize>,
}

impl Table {
    /// Inserts packed records together: readers see all of them or none, also after a crash. A
    /// record whose key exists already, or comes earlier among them, is left out. Returns the
    /// number of inserted records.
    ///
    /// It does what a [transaction](crate::Database::begin) would, in less time: it looks each key
    /// up once, and never returns `Conflict`. While it writes, other writers wait, and
    /// readers too if it is short.
    ///
    /// ```
    /// use lode::{Database, KeyKind, ReadTable, Schema, Type, Value};
    ///
    /// let db = Database::in_memory()?;
    /// let schema = Schema::build("leg").key("of", Type::U64).column("km", Type::U64).finish()?;
    /// let legs = db.create_table(&schema, KeyKind::Hash)?;
    /// let leg = |of, km| schema.pack(&[Value::Unsigned(of), Value::Unsigned(km)]);
    /// assert_eq!(legs.insert_all([leg(1, 12)?, leg(2, 7)?])?, 2);
    /// assert_eq!(legs.insert_all([leg(2, 8)?, leg(3, 30)?])?, 1);
    /// assert_eq!(legs.upsert_all([leg(2, 8)?, leg(4, 5)?])?, 1);
    /// assert_eq!(legs.len()?, 4);
    /// # Ok::<(), lode::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`insert`](Self::insert) of each; `TxnTooLarge` when they have more bytes than a
    /// transaction may hold. None of them is inserted then.
    pub fn insert_all<R: AsRef<[u8]>>(&self, records: impl IntoIterator<Item = R>) -> Result<u64> {
        self.put_all(records, IfThere::Skip).map(|written| written.new)
    }

    /// Inserts packed records together, as [`insert_all`](Self::insert_all) does, if all their keys
    /// are new. Returns the number, from 0 on, of the first record whose key exists already, or
    /// comes earlier among them; none is inserted then.
    ///
    /// ```
    /// use lode::{Database, KeyKind, ReadTable, Schema, Type, Value};
    ///
    /// let db = Database::in_memory()?;
    /// let schema = Schema::build("leg").key("of", Type::U64).column("km", Type::U64).finish()?;
    /// let legs = db.create_table(&schema, KeyKind::Hash)?;
    /// let leg = |of, km| schema.pack(&[Value::Unsigned(of), Value::Unsigned(km)]);
    /// assert_eq!(legs.insert_all_new([leg(1, 12)?, leg(2, 7)?])?, None);
    /// assert_eq!(legs.insert_all_new([leg(3, 30)?, leg(2, 8)?])?, Some(1));
    /// assert_eq!(legs.len()?, 2);
    /// # Ok::<(), lode::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`insert_all`](Self::insert_all).
    pub fn insert_all_new<R: AsRef<[u8]>>(
        &self,
        records: impl IntoIterator<Item = R>,
    ) -> Result<Option<usize>> {
        self.put_all(records, IfThere::Refuse).map(|written| written.refused)
    }

    /// Writes packed records together, as [`insert_all`](Self::insert_all) does, and replaces those
    /// that exist; of several with the same key, the last one counts. Returns the number of new
    /// keys.
    ///
    /// # Errors
    /// As [`insert_all`](Self::insert_all).
    pub fn upsert_all<R: AsRef<[u8]>>(&self, records: impl IntoIterator<Item = R>) -> Result<u64> {
        self.put_all(records, IfThere::Replace).map(|written| written.new)
    }

    fn put_all<R: AsRef<[u8]>>(
        &self,
        records: impl IntoIterator<Item = R>,
        if_there: IfThere,
    ) -> Result<Written> {
        let mut loan = Loan::new(self.db.clone());
        let records = self.collect(records, &mut loan)?;
        let work = Work::start();
        let records = Records::of(self, &records)?;
        let bytes = records.records.iter().map(|(_, payload)| payload.len()).sum();
        let size = CommitSize { records: records.order.len(), bytes };
        self.core.watch().wait_for_room();
        let (written, end) = self.db.admitted_alone(size, &mut || {
            self.core.ensure_open()?;
            let secondaries = self.core.secondaries();
            let mut steps = Steps::new(&self.db, records.order.len());
            let written = if self.core.is_indexed() || self.core.has_expiry() {
                self.put_indexed(&records, if_there, &secondaries, &mut steps)
            } else {
                self.put_steps(&records, if_there, &mut steps)
            };
            match written {
                Ok(written @ Written { refused: Some(_), .. }) => {
                    steps.undo()?;
                    Ok((written, LogPosition::default()))
                }
                written => steps.end(written),
            }
        })?;
        self.db.acknowledge(end).map_err(Error::after_effect)?;
        self.db.observer().committed(work, || match if_there {
            IfThere::Replace => !records.order.is_empty(),
            IfThere::Skip | IfThere::Refuse => written.refused.is_none() && written.new > 0,
        });
        self.sweep_after(records.order.len() as u64);
        Ok(written)
    }

    /// Collects records that are written together, if they are no more than a transaction may hold.
    fn collect<R: AsRef<[u8]>>(
        &self,
        records: impl IntoIterator<Item = R>,
        loan: &mut Loan,
    ) -> Result<Vec<R>> {
        /// Bytes besides record and key: the place of both, its number in order, and the step.
        const BESIDE: usize = 2 * size_of::<(usize, &[u8])>() + Steps::BYTES_OF_ONE;
        // An entry of an index has at most all of the key and of the payload.
        let copies = 1 + self.core.secondaries().all.len();
        let mut payload_bytes = 0;
        let mut held_bytes = 0;
        let mut collected = Vec::new();
        for record in records {
            let (key, payload) = self.core.split(record.as_ref())?;
            payload_bytes += payload.len();
            let bytes = 2 * key.len() + payload.len() + BESIDE;
            held_bytes += copies * bytes + size_of::<R>();
            loan.grow_to(held_bytes)?;
            // As in a transaction: records that certainly have no room in pages are refused here.
            // In a database in memory, records may replace others.
            let most_bytes = match self.db.store() {
                Some(_) => self.db.pager().most_written_bytes() as usize,
                None => MOST_TRANSACTION_BYTES,
            };
            let limits = [(payload_bytes, most_bytes), (held_bytes, MOST_TRANSACTION_BYTES)];
            for (bytes, most_bytes) in limits {
                if bytes > most_bytes {
                    return Err(Error::TxnTooLarge { most_bytes });
                }
            }
            collected.push(record);
        }
        Ok(collected)
    }

    fn put_steps<'r>(
        &'r self,
        records: &'r Records<'_>,
        if_there: IfThere,
        steps: &mut Steps<'r>,
    ) -> Result<Written> {
        let core = &*self.core;
        let pager = self.db.pager();
        let mut written = Written { new: 0, refused: None };
        let done = match core.tree_of_records() {
            Some(tree) if if_there != IfThere::Replace => {
                self.put_runs(tree, records, if_there, steps, &mut written)?
            }
            _ => 0,
        };
        for group in records.order[done..].chunks(AHEAD) {
            // Of those that are refused the first counts. In a tree, it may come later.
            let refused = written.refused.unwrap_or(usize::MAX);
            let group = group.iter().filter(move |number| **number < refused);
            // Has the processor fetch what they need at the same time.
            let keys = group.clone().map(|number| records.key(*number));
            core.fetch(pager, keys, FetchFor::Insert);
            // The next one is taken for new, too, until one of the group is not.
            let mut all_new = true;
            for number in group {
                let record =
                    Record { key: records.key(*number), payload: records.payload(*number) };
                if if_there == IfThere::Replace {
                    let is_new = self.upsert_step(record, all_new, steps)?;
                    written.new += u64::from(is_new);
                    all_new &= is_new;
                    continue;
                }
                let is_taken = steps.take(self.insert_step(record))?;
                written.new += u64::from(is_taken);
                if !is_taken && if_there == IfThere::Refuse {
                    let first = written.refused.map_or(*number, |first| first.min(*number));
                    written.refused = Some(first);
                }
            }
        }
        Ok(written)
    }

    /// Writes records with their entries: first the records, then the entries that they have at the
    /// end. So the order of the records is no reason for a violation.
    fn put_indexed<'r>(
        &'r self,
        records: &'r Records<'_>,
        if_there: IfThere,
        secondaries: &'r Secondaries,
        steps: &mut Steps<'r>,
    ) -> Result<Written> {
        secondaries.expect_whole()?;
        let mut written = Written { new: 0, refused: None };
        // The entries to be added, by their indexes and keys.
        let mut added = BTreeMap::<_, Vec<Entry>>::new();
        for number in &records.order {
            // Of those that are refused the first counts, and no more is written then.
            if written.refused.is_some_and(|first| *number >= first) {
                continue;
            }
            let record = Record { key: records.key(*number), payload: records.payload(*number) };
            let seen = self.core.payload_of(self.db.pager(), record.key)?;
            let is_expired = |seen: &Vec<u8>| self.db.expired_us(&self.core, seen).is_some();
            let is_new = seen.as_ref().is_none_or(is_expired);
            if !is_new && if_there == IfThere::Refuse {
                let first = written.refused.map_or(*number, |first| first.min(*number));
                written.refused = Some(first);
            }
            if !is_new && if_there != IfThere::Replace {
                continue;
            }
            written.new += u64::from(is_new);
            let before = seen.as_deref();
            let after = Some(record.payload);
            for change in secondaries.changes(&self.core, record.key, before, after)? {
                let EntryChange { secondary, old, new } = change;
                let index = secondary.core().id();
                if let Some(entry) = old {
                    let waiting = added.get_mut(&(index, entry.key.clone()));
                    let is_it = |(_, waiting): &(usize, &Entry)| **waiting == entry;
                    let at = waiting.as_ref().and_then(|all| all.iter().enumerate().find(is_it));
                    match (at.map(|(at, _)| at), waiting) {
                        (Some(at), Some(waiting)) => drop(waiting.swap_remove(at)),
                        _ => steps.remove_entry(secondary, entry)?,
                    }
                }
                if let Some(entry) = new {
                    added.entry((index, entry.key.clone())).or_default().push(entry);
                }
            }
            let seen = seen.map(Cow::Owned);
            let taken = steps.take(Step { seen, ..self.insert_step(record) })?;
            debug_assert!(taken, "nobody has written in between");
        }
        if written.refused.is_some() {
            return Ok(written);
        }
        let own = OnceCell::new();
        for ((index, _), entries) in added {
            let mut all = secondaries.all.iter();
            let Some(secondary) = all.find(|other| other.core().id() == index) else { continue };
            for entry in entries {
                let of = Indexed { table: &self.core, secondaries };
                let may_go = |key: &[u8]| !own.get_or_init(|| records.all_keys()).contains(key);
                steps.add_entry(of, secondary, entry, &may_go)?;
            }
        }
        Ok(written)
    }

    /// Returns the step that inserts a record if its key is new.
    fn insert_step<'r>(&'r self, Record { key, payload }: Record<'r>) -> Step<'r> {
        let wanted = Some(Cow::Borrowed(payload));
        Step { core: &self.core, key: Cow::Borrowed(key), seen: None, wanted }
    }

    /// Writes a record, and replaces one with its key. Returns true if its key was new. A record
    /// that is probably new is looked up once, and others twice.
    fn upsert_step<'r>(
        &'r self,
        record: Record<'r>,
        is_probably_new: bool,
        steps: &mut Steps<'r>,
    ) -> Result<bool> {
        if is_probably_new && steps.take(self.insert_step(record))? {
            return Ok(true);
        }
        let seen = self.core.payload_of(self.db.pager(), record.key)?.map(Cow::Owned);
        let is_new = seen.is_none();
        steps.take(Step { seen, ..self.insert_step(record) })?;
        Ok(is_new)
    }

    /// Inserts records into a tree, those of one leaf in one step, until one is refused. Returns
    /// the number of records passed, in their order.
    fn put_runs<'r>(
        &'r self,
        tree: &Tree,
        records: &'r Records<'_>,
        if_there: IfThere,
        steps: &mut Steps<'r>,
        written: &mut Written,
    ) -> Result<usize> {
        /// Records that are inserted one by one after one that had no other next to it. To see that
        /// takes another look at the leaf.
        const MOST_ALONE: usize = 16;
        let record = |number: &usize| Record {
            key: records.key(*number),
            payload: records.payload(*number),
        };
        let all: Vec<_> = records.order.iter().map(record).collect();
        let mut done = 0;
        let mut alone = 0;
        // A second record with the same key starts a run of its own.
        for mut run in all.chunk_by(|record, next| record.key < next.key) {
            while !run.is_empty() {
                let count = if alone == 0 {
                    let count = steps.take_run(&self.core, tree, run)?;
                    alone = if count == 1 { MOST_ALONE } else { 0 };
                    count
                } else {
                    alone -= 1;
                    usize::from(steps.take(self.insert_step(run[0]))?)
                };
                written.new += count as u64;
                if count == 0 && if_there == IfThere::Refuse {
                    written.refused = Some(records.order[done]);
                    return Ok(done + 1);
                }
                // None if there is a record with the first key.
                let passed = count.max(1);
                (run, done) = (&run[passed..], done + passed);
            }
        }
        Ok(done)
    }
}

/// Records that are written together, numbered as they came.
struct Records<'r> {
    /// The keys in order, one after another.
    keys: Vec<u8>,
    /// The end of each key, and its payload.
    records: Vec<(usize, &'r [u8])>,
    /// The numbers of the records in the order of writing: that of the keys in a tree, in which
    /// neighbours are in the same pages.
    order: Vec<usize>,
}

impl<'r> Records<'r> {
    /// Returns the keys of all records, in order each.
    fn all_keys(&self) -> HashSet<&[u8]> {
        (0..self.records.len()).map(|number| self.key(number)).collect()
    }

    fn of(table: &Table, packed: &'r [impl AsRef<[u8]>]) -> Result<Self> {
        let mut records = Self { keys: Vec::new(), records: Vec::new(), order: Vec::new() };
        for record in packed {
            let (key, payload) = table.core.split(record.as_ref())?;
            table.core.in_order(key, |ordered| {
                expect_not_changing(&table.core, ordered)?;
                records.keys.extend_from_slice(ordered);
                Ok(())
            })?;
            records.records.push((records.keys.len(), payload));
        }
        records.order = match table.core.definition().kind {
            KeyKind::Hash => (0..packed.len()).collect(),
            KeyKind::Tree => records.in_order(),
        };
        Ok(records)
    }

    /// Returns the numbers of the records, in the order of their keys; those with the same key keep
    /// their order.
    fn in_order(&self) -> Vec<usize> {
        // Most keys differ in their first bytes.
        let first_of = |number: usize| {
            let mut first = [0; 8];
            let key = self.key(number);
            let size = key.len().min(first.len());
            first[..size].copy_from_slice(&key[..size]);
            u64::from_be_bytes(first)
        };
        let mut order: Vec<_> =
            (0..self.records.len()).map(|number| (first_of(number), number)).collect();
        order.sort_by(|(a_first, a), (b_first, b)| {
            a_first.cmp(b_first).then_with(|| self.key(*a).cmp(self.key(*b)))
        });
        order.into_iter().map(|(_, number)| number).collect()
    }

    fn key(&self, number: usize) -> &[u8] {
        let end = |number: usize| self.records[number].0;
        &self.keys[number.checked_sub(1).map_or(0, end)..end(number)]
    }

    fn payload(&self, number: usize) -> &'r [u8] {
        self.records[number].1
    }
}
