//! A table and its model: each operation is done to both, and the table returns the result of the
//! model.

use std::collections::BTreeMap;
use std::ops::RangeBounds;

use lode::simulation::{self, Checkpoint, Simulated};
use lode::{
    Database, Durability, Error, KeyKind, Options, ReadTable, Snapshot, Table, Transaction,
};

use crate::reading::{Scan, check, cursor, each_row, payload_of};

use super::contents::Contents;
use super::disk::{self, BALLAST, Swept};
use super::keys::Place;
use super::operations::{DiskOperation, Operation, Range, Record, Write};

pub type Model<C> = BTreeMap<Place, <C as Contents>::Entry>;

/// A transaction that is under way.
struct Pending<C: Contents> {
    transaction: Transaction,
    model: Model<C>,
    /// True if something was written outside of it: it may fail then, and return anything.
    is_disturbed: bool,
}

pub struct Run<C: Contents> {
    /// The disk, unless the database is in memory.
    disk: Option<(Simulated, Options)>,
    swept: Swept,
    db: Database,
    table: Table,
    kind: KeyKind,
    contents: C,
    model: Model<C>,
    snapshots: Vec<(Snapshot, Model<C>)>,
    pending: Option<Pending<C>>,
}

fn places(from: i16, to: i16) -> impl Iterator<Item = Place> {
    (from..to).flat_map(|first| (0..6).map(move |second| (first, second)))
}

/// The rows that a scan returns.
fn rows(view: &impl ReadTable, scan: &Scan<'_>) -> Result<Vec<Vec<u8>>, Error> {
    let mut found = Vec::new();
    each_row(cursor(view, scan), &mut |row| {
        found.push(row.to_vec());
        Ok(true)
    })?;
    Ok(found)
}

impl<C: Contents> Run<C> {
    pub fn in_memory(kind: KeyKind, contents: C) -> Self {
        let db = Options::new().memory_bytes(256 << 20).in_memory().expect("memory");
        Self::with(db, kind, contents, None)
    }

    pub fn on_disk(kind: KeyKind, contents: C, level: Durability) -> Self {
        let (disk, options) = (disk::loaded(), disk::options(level));
        let db = simulation::open(&options, &disk, 1).expect("a database");
        Self::with(db, kind, contents, Some((disk, options)))
    }

    fn with(db: Database, kind: KeyKind, contents: C, disk: Option<(Simulated, Options)>) -> Self {
        let table = db.create_table(&contents.schema(), kind).expect("a table");
        let (swept, model, snapshots) = (Swept::default(), Model::<C>::new(), Vec::new());
        Self { disk, swept, db, table, kind, contents, model, snapshots, pending: None }
    }

    /// Does all operations, and compares everything at the end.
    pub fn all(mut self, operations: &[Operation<C>]) {
        for operation in operations {
            self.step(operation).unwrap_or_else(|error| panic!("{operation:?}: {error}"));
        }
        self.end().expect("it ends well");
    }

    fn key(&self, place: Place) -> Vec<u8> {
        self.contents.keys().key(place)
    }

    fn payload(&self, entry: Option<&C::Entry>) -> Option<Vec<u8>> {
        entry.map(|entry| self.contents.payload(*entry))
    }

    fn expect_sound(&self) {
        check(&self.db).unwrap_or_else(|why| panic!("{why}"));
    }

    /// Writes outside of a transaction make one that is under way fail, if they touch its records:
    /// at its next read, or at its commit.
    fn disturb(&mut self) {
        if let Some(pending) = &mut self.pending {
            pending.is_disturbed = true;
        }
    }

    fn step(&mut self, operation: &Operation<C>) -> Result<(), Error> {
        match operation {
            Operation::Write(place, write) => match &mut self.pending {
                Some(pending) => {
                    let record =
                        Record { table: &self.table, contents: self.contents, place: *place };
                    match write.in_transaction(&pending.transaction, record) {
                        // The commit would have no room: nothing of it has happened.
                        Err(Error::TxnTooLarge { .. }) if self.disk.is_some() => {
                            self.pending = None;
                        }
                        Err(Error::Conflict { .. }) if pending.is_disturbed => {
                            self.pending = None;
                        }
                        returned => {
                            let returned = returned?;
                            let expected = write.on_model(&mut pending.model, *place);
                            assert!(pending.is_disturbed || returned == expected);
                        }
                    }
                }
                None => self.write(*place, write)?,
            },
            Operation::Change(place, entry) => {
                self.disturb();
                let after = self.contents.payload(*entry);
                self.change(*place, |payload| {
                    payload.clone_from(&after);
                    true
                })?;
                self.model.entry(*place).and_modify(|old| *old = *entry);
            }
            Operation::Keep(place) => self.change(*place, |payload| {
                payload.clear();
                false
            })?,
            Operation::Spoil(place) => {
                let spoilt = self.change(*place, |payload| {
                    payload.push(0);
                    true
                });
                match self.model.contains_key(place) {
                    true => {
                        let is_refused = spoilt.as_ref().is_err_and(Error::is_bad_input);
                        assert!(is_refused, "{spoilt:?}");
                    }
                    false => spoilt?,
                }
            }
            Operation::DeleteRange(from, to) => {
                self.disturb();
                places(*from, *to).try_for_each(|place| self.write(place, &Write::Delete))?;
            }
            Operation::Get(place) => self.get(*place)?,
            Operation::GetMany(places) => self.get_many(places)?,
            Operation::Scan { range, backward, limit } => self.scan(range, *backward, *limit)?,
            Operation::TakeSnapshot => {
                self.snapshots.push((self.db.snapshot(), self.model.clone()));
            }
            Operation::DropSnapshot => {
                if !self.snapshots.is_empty() {
                    self.snapshots.remove(0);
                }
            }
            Operation::Begin => {
                if self.pending.is_none() {
                    let (transaction, model) = (self.db.begin(), self.model.clone());
                    self.pending = Some(Pending { transaction, model, is_disturbed: false });
                }
            }
            Operation::Commit => self.commit()?,
            Operation::Rollback => self.pending = None,
            Operation::Check => self.expect_sound(),
            Operation::Disk(operation) => self.disk_step(operation)?,
        }
        Ok(())
    }

    fn write(&mut self, place: Place, write: &Write<C>) -> Result<(), Error> {
        let record = Record { table: &self.table, contents: self.contents, place };
        let returned = write.on_table(record)?;
        assert_eq!(returned, write.on_model(&mut self.model, place), "{place:?}");
        Ok(())
    }

    /// Changes a record, which is what the model says before that.
    fn change(&self, place: Place, work: impl Fn(&mut Vec<u8>) -> bool) -> Result<(), Error> {
        let before = self.payload(self.model.get(&place));
        let there = self.table.change(self.key(place), &mut |payload| {
            assert!(Some(&*payload) == before.as_ref(), "{place:?}");
            work(payload)
        })?;
        assert_eq!(there, before.is_some());
        Ok(())
    }

    fn get(&self, place: Place) -> Result<(), Error> {
        let (key, entry) = (self.key(place), self.model.get(&place));
        assert!(payload_of(&self.table, &key)? == self.payload(entry), "{place:?}");
        self.contents.look_up(&self.table, &key, entry.copied())?;
        if let Some(Pending { transaction, model, is_disturbed }) = &self.pending {
            match payload_of(&self.table.within(transaction), &key) {
                Err(Error::Conflict { .. }) if *is_disturbed => {}
                found => {
                    let expected = self.payload(model.get(&place));
                    assert!(*is_disturbed || found? == expected, "{place:?}");
                }
            }
        }
        for (snapshot, model) in &self.snapshots {
            let mut payload = vec![7; 10];
            let is_found = self.table.at(snapshot).get_into(&key, &mut payload)?;
            let expected = self.payload(model.get(&place));
            assert!(is_found.then_some(payload) == expected, "{place:?} in a snapshot");
        }
        Ok(())
    }

    fn get_many(&self, places: &[Place]) -> Result<(), Error> {
        let keys: Vec<u8> = places.iter().flat_map(|place| self.key(*place)).collect();
        let mut found = vec![None; places.len()];
        self.table.get_many_with(&keys, &mut |at, payload| {
            found[at] = payload.map(<[u8]>::to_vec);
        })?;
        for (place, found) in places.iter().zip(found) {
            assert!(found == self.payload(self.model.get(place)), "{place:?}");
        }
        Ok(())
    }

    fn commit(&mut self) -> Result<(), Error> {
        let Some(pending) = self.pending.take() else { return Ok(()) };
        match pending.transaction.commit() {
            Ok(()) if !pending.is_disturbed => self.model = pending.model,
            // It may not have met what was written outside; its model is of no use.
            Ok(()) => self.read_all()?,
            Err(Error::Conflict { .. }) if pending.is_disturbed => {}
            // It changes more pages than there are.
            Err(Error::Full { .. }) if self.disk.is_some() => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn disk_step(&mut self, operation: &DiskOperation<C>) -> Result<(), Error> {
        match operation {
            DiskOperation::InsertRange(from, to, entry) => {
                self.disturb();
                let insert = Write::Insert(*entry);
                places(*from, *to).try_for_each(|place| self.write(place, &insert))?;
            }
            DiskOperation::Checkpoint => self.db.checkpoint()?,
            DiskOperation::CheckpointAmid(writes) => {
                self.disturb();
                self.checkpoint_amid(writes)?;
            }
            DiskOperation::Flush => self.db.flush()?,
            DiskOperation::LookAfter => simulation::look_after(&self.db)?,
            DiskOperation::CleanPages(count) => simulation::clean_pages(&self.db, *count)?,
            DiskOperation::GiveBack => simulation::give_back(&self.db)?,
            DiskOperation::Compact => drop(self.db.compact()?),
            DiskOperation::Rest => simulation::rest(&self.db)?,
            DiskOperation::Reopen => self.reopen()?,
            DiskOperation::Sweep(count) => self.swept.sweep(&self.db, *count)?,
        }
        Ok(())
    }

    fn checkpoint_amid(&mut self, writes: &[(Place, Write<C>)]) -> Result<(), Error> {
        let db = self.db.clone();
        // Until its end no other checkpoint makes room for writes.
        let statistics = db.statistics();
        if statistics.changed_bytes > 12 << 14 || statistics.log_bytes > 1 << 16 {
            db.checkpoint()?;
        }
        let mut checkpoint = Checkpoint::begin(&db)?;
        let mut writes = writes.iter();
        loop {
            for (place, write) in writes.by_ref().take(5) {
                if db.statistics().changed_bytes < 20 << 14 {
                    self.write(*place, write)?;
                }
            }
            self.snapshots.push((db.snapshot(), self.model.clone()));
            if !checkpoint.step()? {
                break;
            }
        }
        checkpoint.finish()
    }

    /// Closes the database and opens it again. Old handles know that they are of no use.
    fn reopen(&mut self) -> Result<(), Error> {
        self.pending = None;
        let (disk, options) = self.disk.as_ref().expect("it is on a disk");
        self.db.clone().close()?;
        let key = self.key((0, 0));
        assert_eq!(payload_of(&self.table, &key), Err(Error::Closed));
        assert_eq!(self.table.delete(&key), Err(Error::Closed));
        for (snapshot, _) in self.snapshots.drain(..) {
            let looked = each_row(self.table.at(&snapshot).iter(), &mut |_| Ok(true));
            assert_eq!(looked, Err(Error::Closed));
        }
        self.db = simulation::open(options, disk, 1)?;
        self.table = self.db.table("t")?;
        Ok(())
    }

    /// The place and the entry of a packed record, which is what they make.
    fn taken_apart(&self, record: &[u8]) -> (Place, C::Entry) {
        let place = self.contents.keys().of(self.table.schema(), record);
        let entry = self.contents.entry(record);
        assert!(record == self.contents.record(place, entry), "{place:?}");
        (place, entry)
    }

    fn read_all(&mut self) -> Result<(), Error> {
        let mut model = Model::<C>::new();
        each_row(self.table.iter(), &mut |record| {
            model.extend([self.taken_apart(record)]);
            Ok(true)
        })?;
        self.model = model;
        Ok(())
    }

    /// Checks that all records are in a snapshot, and no others.
    fn expect_all(&self, snapshot: &Snapshot, model: &Model<C>) -> Result<(), Error> {
        let mut left = model.clone();
        each_row(self.table.at(snapshot).iter(), &mut |record| {
            let place = self.contents.keys().of(self.table.schema(), record);
            let entry = left.remove(&place).unwrap_or_else(|| panic!("{place:?} should not be"));
            assert!(record == self.contents.record(place, entry), "{place:?}");
            Ok(true)
        })?;
        assert!(left.is_empty(), "{:?} are not there", left.keys());
        Ok(())
    }

    fn scan(&mut self, range: &Range, backward: bool, limit: u64) -> Result<(), Error> {
        let (low, high) = (range.0.map(|at| self.key(at)), range.1.map(|at| self.key(at)));
        let scan = |columns| Scan {
            lower: low.as_ref().map(|key| &key[..]),
            upper: high.as_ref().map(|key| &key[..]),
            backward,
            columns,
            limit,
        };
        if self.kind == KeyKind::Hash {
            let refused = rows(&self.table, &scan(&[0]));
            assert!(matches!(refused, Err(Error::NoOrder { .. })));
            return Ok(());
        }
        let expected = |model: &Model<C>, columns: &[usize]| {
            let inside = model.iter().filter(|(place, _)| range.contains(*place));
            let mut inside: Vec<_> = inside.collect();
            if backward {
                inside.reverse();
            }
            inside.truncate(limit as usize);
            let row =
                |(place, entry): (&Place, &C::Entry)| self.contents.row(*place, *entry, columns);
            inside.into_iter().map(row).collect::<Vec<_>>()
        };
        let mut is_full = false;
        for columns in C::SCANNED {
            let scan = scan(columns);
            let found = rows(&self.table, &scan)?;
            assert!(found == expected(&self.model, columns), "{columns:?}");
            for (snapshot, model) in &self.snapshots {
                let found = rows(&self.table.at(snapshot), &scan)?;
                assert!(found == expected(model, columns), "{columns:?} of a snapshot");
            }
            if let Some(Pending { transaction, model, is_disturbed: false }) = &self.pending {
                match rows(&self.table.within(transaction), &scan) {
                    // What it has written takes all the room that it may have.
                    Err(Error::TxnTooLarge { .. }) if self.disk.is_some() => is_full = true,
                    found => {
                        let found = found?;
                        assert!(found == expected(model, columns), "{columns:?} of a transaction");
                    }
                }
            }
        }
        if is_full {
            self.pending = None;
        }
        Ok(())
    }

    fn end(mut self) -> Result<(), Error> {
        self.expect_sound();
        self.expect_all(&self.db.snapshot(), &self.model)?;
        for (snapshot, model) in &self.snapshots {
            self.expect_all(snapshot, model)?;
        }
        self.snapshots.clear();
        self.pending = None;
        assert_eq!(self.db.statistics().snapshot_bytes, 0);
        if self.disk.is_some() {
            self.reopen()?;
            self.expect_sound();
            self.expect_all(&self.db.snapshot(), &self.model)?;
            self.swept.sweep(&self.db, BALLAST)?;
            self.db.drop_table("ballast")?;
        }
        self.db.drop_table("t")?;
        assert_eq!(self.db.statistics().page_bytes, 0, "all pages came back");
        self.db.checkpoint()?;
        self.expect_sound();
        // Superblocks, and twice the catalogue and what says where that is.
        assert!(self.db.statistics().data_used_bytes <= 12 << 14, "all slots came back");
        let gone = payload_of(&self.table, self.key((0, 0)));
        assert!(matches!(gone, Err(Error::NoTable { .. })), "{gone:?}");
        Ok(())
    }
}
