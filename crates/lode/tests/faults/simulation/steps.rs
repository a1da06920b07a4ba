//! The steps of a run.

use std::collections::BTreeMap;

use crate::reading::{each_row, nth, payload_of};
use lode::simulation::{self, Checkpoint};
use lode::{Alteration, Durability, Error, IndexSchema, ReadTable, Snapshot, Type};

use super::run::{End, Run, State};
use super::tables::{
    MOST_CHANGED_BYTES, Model, REST, TABLES, VALUE, entry, packed, parts_of, read, record, rest,
    schema, value_of,
};

impl Run {
    /// Does one thing. Whatever lacks room asks for a checkpoint: of what was before it, or of what
    /// is after it.
    pub(super) fn step(&mut self) -> End {
        let before = self.states.len() - 1;
        let last = self.db.as_ref().map(simulation::last_checkpoint);
        let end = self.act();
        if end == End::Over || self.db.as_ref().map(simulation::last_checkpoint) != last {
            let from = before.min(self.states.len() - 1);
            self.states[from..].iter_mut().for_each(|state| state.checkpointed = true);
        }
        end
    }

    fn act(&mut self) -> End {
        let Some(at) = self.some_table() else { return self.create_or_drop() };
        let place = (at, self.key());
        let mut wanted = self.model.clone();
        let key = packed(at, place.1);
        match self.random.below(100) {
            0..35 => {
                let value = self.value();
                let new = !wanted.records.contains_key(&place);
                wanted.records.entry(place).or_insert(entry(value));
                let result = self.table(at).and_then(|t| t.insert(&record(at, place.1, value)));
                if let Ok(inserted) = result {
                    assert_eq!(inserted, new);
                }
                self.settle(result, wanted)
            }
            35..42 => {
                let value = self.value();
                wanted.records.insert(place, entry(value));
                let result = self.table(at).and_then(|t| t.upsert(&record(at, place.1, value)));
                self.settle(result, wanted)
            }
            42..47 => {
                let value = self.value();
                wanted.records.entry(place).and_modify(|old| old.0 = value);
                let bytes = value.to_le_bytes();
                let result = self.table(at).and_then(|t| t.update(&key, nth(VALUE), &bytes));
                self.settle(result, wanted)
            }
            47..52 => {
                let seed = self.value();
                wanted.records.entry(place).and_modify(|old| old.1 = seed);
                let bytes = rest(at, seed);
                let result = self.table(at).and_then(|t| t.update(&key, nth(REST), &bytes));
                self.settle(result, wanted)
            }
            52..55 => {
                let value = self.value();
                wanted.records.entry(place).and_modify(|old| old.0 = old.0.wrapping_add(value));
                let result = self.table(at).and_then(|t| {
                    t.change(&key, &mut |payload| {
                        let sum = value_of(payload).wrapping_add(value);
                        payload[..4].copy_from_slice(&sum.to_le_bytes());
                        true
                    })
                });
                self.settle(result, wanted)
            }
            55..70 => {
                wanted.records.remove(&place);
                let result = self.table(at).and_then(|t| t.delete(&key));
                self.settle(result, wanted)
            }
            70..78 => self.transaction(),
            78..80 => self.together(at),
            80..82 => self.read_one(at, place.1),
            82..84 => match simulation::clean_pages(self.db(), u64::from(place.1 % 50)) {
                Ok(()) => End::Well,
                Err(_) => End::Over,
            },
            84 => match simulation::give_back(self.db()) {
                Ok(()) => End::Well,
                Err(_) => End::Over,
            },
            85..88 => self.checkpoint(),
            88..91 => self.create_or_drop(),
            91..94 => {
                self.mark();
                match self.db().flush() {
                    Ok(()) => self.promise(),
                    Err(_) => return End::Over,
                }
                End::Well
            }
            94..97 => {
                self.mark();
                match simulation::look_after(self.db()) {
                    Ok(()) if self.level >= Durability::Process => self.promise(),
                    Ok(()) => {}
                    Err(_) => return End::Over,
                }
                End::Well
            }
            97..98 => self.reopen(),
            98..99 => {
                self.mark();
                let compacted = match place.1 % 3 {
                    0 => self.db().compact().map(drop),
                    1 => simulation::rest(self.db()),
                    _ => simulation::rest_beside_writers(self.db()),
                };
                match compacted {
                    Ok(()) => self.promise(),
                    Err(_) => return End::Over,
                }
                End::Well
            }
            _ => {
                // A range is deleted, so that pages are joined and freed.
                for key in place.1..place.1 + 40 {
                    let mut wanted = self.model.clone();
                    wanted.records.remove(&(at, key));
                    let result = self.table(at).and_then(|t| t.delete(packed(at, key)));
                    if self.settle(result, wanted) == End::Over {
                        return End::Over;
                    }
                }
                End::Well
            }
        }
    }

    pub(super) fn read_one(&mut self, at: usize, key: u32) -> End {
        let found = self.table(at).and_then(|table| payload_of(&table, packed(at, key)));
        match found {
            Ok(payload) => {
                let wanted = self.model.records.get(&(at, key)).copied();
                let record = |payload: Vec<u8>| [packed(at, key), payload].concat();
                assert_eq!(payload.map(|payload| parts_of(at, &record(payload)).1), wanted);
                End::Well
            }
            Err(Error::Io { .. }) => End::Over,
            Err(error) => panic!("{error}"),
        }
    }

    pub(super) fn transaction(&mut self) -> End {
        let mut wanted = self.model.clone();
        let transaction = self.db().begin();
        for _ in 0..self.random.below(12) {
            let Some(at) = self.some_table() else { break };
            let (key, value) = (self.key(), self.value());
            let result = self.table(at).and_then(|table| match self.random.one_in(3) {
                true => {
                    wanted.records.remove(&(at, key));
                    transaction.delete(&table, packed(at, key)).map(drop)
                }
                false => {
                    wanted.records.insert((at, key), entry(value));
                    transaction.upsert(&table, &record(at, key, value)).map(drop)
                }
            });
            match result {
                Ok(()) => {}
                Err(Error::Io { .. }) => return End::Over,
                // Nothing of it has happened.
                Err(Error::TxnTooLarge { .. }) => return End::Well,
                Err(error) => panic!("{error}"),
            }
        }
        match self.random.below(6) {
            0 => End::Well,
            1 => {
                // More durable than others.
                self.mark();
                let is_read_only = wanted == self.model;
                match transaction.commit_with(Durability::Commit) {
                    Ok(()) => {
                        self.model = wanted;
                        if is_read_only {
                            self.done()
                        } else {
                            self.promise()
                        }
                        End::Well
                    }
                    Err(error) => {
                        // In a database without a log it is done before it is durable.
                        self.states.push(State::of(&wanted, true));
                        assert!(!matches!(error, Error::Conflict { .. } | Error::Corrupt { .. }));
                        End::Over
                    }
                }
            }
            _ => {
                let result = transaction.commit();
                self.settle_alone(result, wanted)
            }
        }
    }

    /// Several records of a table, some of them perhaps with the same key.
    fn together(&mut self, at: usize) -> End {
        let mut wanted = self.model.clone();
        let inserts = self.random.one_in(2);
        let all_new = inserts && self.random.one_in(2);
        let (mut records, mut is_any_there) = (Vec::new(), false);
        for _ in 0..self.random.below(40) {
            let (key, value) = (self.key(), self.value());
            records.push(record(at, key, value));
            is_any_there |= wanted.records.contains_key(&(at, key));
            let entry_of = wanted.records.entry((at, key));
            match inserts {
                true => *entry_of.or_insert(entry(value)),
                false => *entry_of.insert_entry(entry(value)).get(),
            };
        }
        if all_new && is_any_there {
            wanted = self.model.clone();
        }
        let result = self.table(at).and_then(|table| match inserts {
            true if all_new => table.insert_all_new(&records).map(drop),
            true => table.insert_all(&records).map(drop),
            false => table.upsert_all(&records).map(drop),
        });
        self.settle_alone(result, wanted)
    }

    /// A checkpoint, with operations between its steps.
    pub(super) fn checkpoint(&mut self) -> End {
        self.mark();
        let db = self.db().clone();
        let before = self.states.len() - 1;
        let promised = self.promises;
        let Ok(mut checkpoint) = Checkpoint::begin(&db) else { return End::Over };
        let mut kept: Option<(Snapshot, Model)> = None;
        loop {
            for _ in 0..self.random.below(8) {
                if self.between() == End::Over {
                    return End::Over;
                }
                if self.random.one_in(10) {
                    self.use_readers();
                }
                if self.random.one_in(10) {
                    kept = Some((db.snapshot(), self.model.clone()));
                }
            }
            match checkpoint.step() {
                Ok(true) => {}
                Ok(false) => break,
                Err(_) => return End::Over,
            }
        }
        for _ in 0..self.random.below(8) {
            if self.between() == End::Over {
                return End::Over;
            }
        }
        if let Some((snapshot, model)) = kept
            && let Err(error) = self.compare_snapshot(&snapshot, &model)
        {
            assert!(matches!(error, Error::Io { .. }), "{error}");
            return End::Over;
        }
        match checkpoint.finish() {
            Ok(()) => {
                // What was there at its start comes back at least.
                if self.promises == promised {
                    self.states.drain(..before);
                }
                End::Well
            }
            Err(_) => End::Over,
        }
    }

    pub(super) fn compare_snapshot(&self, snapshot: &Snapshot, model: &Model) -> Result<(), Error> {
        for at in &model.tables {
            let Ok(table) = self.table(*at) else { continue };
            let mut found = BTreeMap::new();
            each_row(table.at(snapshot).iter(), &mut |record| {
                let (key, entry) = parts_of(*at, record);
                found.insert((*at, key), entry);
                Ok(true)
            })?;
            let mut wanted = model.records.clone();
            wanted.retain(|(table, _), _| table == at);
            assert_eq!(found, wanted, "a snapshot of {}", TABLES[*at].0);
        }
        Ok(())
    }

    /// An operation that asks for no checkpoint itself.
    pub(super) fn between(&mut self) -> End {
        let Some(at) = self.some_table() else { return End::Well };
        // A write in a table with indexes is a commit, which may ask for a checkpoint.
        if self.table(at).is_ok_and(|table| table.has_indexes()) {
            return End::Well;
        }
        // Few enough pages that it has not to wait for the checkpoint.
        if self.db().statistics().changed_bytes > MOST_CHANGED_BYTES {
            return End::Well;
        }
        if self.random.one_in(8) {
            simulation::choose_lane(self.random.below(self.lanes) as usize);
        }
        let (key, value) = (self.key(), self.value());
        let mut wanted = self.model.clone();
        match self.random.below(3) {
            0 => {
                wanted.records.remove(&(at, key));
                let result = self.table(at).and_then(|t| t.delete(packed(at, key)));
                self.settle(result, wanted)
            }
            1 => self.read_one(at, key),
            _ => {
                wanted.records.insert((at, key), entry(value));
                let result = self.table(at).and_then(|t| t.upsert(&record(at, key, value)));
                self.settle(result, wanted)
            }
        }
    }

    pub(super) fn create_or_drop(&mut self) -> End {
        let at = self.random.below(TABLES.len() as u64) as usize;
        let mut wanted = self.model.clone();
        if wanted.tables.insert(at) {
            self.mark();
            let result = self.db().create_table(schema(at), TABLES[at].1);
            return self.settle_tables(result, wanted);
        }
        if self.random.one_in(2) {
            wanted.tables.remove(&at);
            wanted.records.retain(|(table, _), _| *table != at);
            self.mark();
            let result = self.db().drop_table(TABLES[at].0);
            return self.settle_tables(result, wanted);
        }
        if self.random.one_in(3) {
            return self.alter(at);
        }
        self.create_or_drop_index(at)
    }

    /// Renames a column, or replaces a table by one that is made from it. No content changes: small
    /// numbers have the same bytes with a sign and without.
    fn alter(&mut self, at: usize) -> End {
        self.mark();
        let is_renamed = self.random.one_in(2);
        let result = self.table(at).and_then(|table| {
            let [_, value, rest] = table.schema().columns() else { panic!("three columns") };
            let changes = match (is_renamed, &rest.name[..], value.kind) {
                (true, "rest", _) => Alteration::new().rename_column("rest", "other"),
                (true, ..) => Alteration::new().rename_column("other", "rest"),
                (false, _, Type::U32) => Alteration::new().change_type("value", Type::I32),
                (false, ..) => Alteration::new().change_type("value", Type::U32),
            };
            self.db().alter_table(TABLES[at].0, &changes)
        });
        let wanted = self.model.clone();
        self.settle(result, wanted)
    }

    /// Creates the index of a table, or drops it. No content changes; each write keeps the index,
    /// and the check after a crash compares both.
    fn create_or_drop_index(&mut self, at: usize) -> End {
        self.mark();
        let result = self.table(at).and_then(|table| {
            if table.has_indexes() {
                table.drop_index("by_value")
            } else {
                table.create_index(&IndexSchema::new("by_value", ["value"]))
            }
        });
        let wanted = self.model.clone();
        self.settle(result, wanted)
    }

    /// Closes the database and opens it again.
    pub(super) fn reopen(&mut self) -> End {
        self.mark();
        let db = self.db.take().expect("it is open");
        match db.close() {
            Ok(()) => {
                self.promise();
                self.open();
                End::Well
            }
            Err(_) => End::Over,
        }
    }

    /// Lives and crashes several times.
    pub(super) fn run(mut self) {
        self.open();
        for _ in 0..3 {
            let at = self.disk.operations() + self.random.below(600);
            self.fail(at);
            for _ in 0..300 {
                if self.db.is_none() {
                    break;
                }
                self.choose_lane();
                if self.random.one_in(6) {
                    self.use_readers();
                }
                if self.step() == End::Over {
                    break;
                }
            }
            self.crash();
            self.open();
        }
        let found = read(self.db()).expect("nothing is wrong with the disk");
        assert_eq!(found, self.model);
    }
}
