//! A database on a simulated disk, and what it must have.

use std::collections::BTreeMap;

use lode::simulation::{self, Fault, Simulated};
use lode::{Database, Durability};

use super::content::{Content, options};
use super::tables::{TABLES, record, schema};

/// A database whose content is known after each operation.
pub struct Known {
    pub disk: Simulated,
    pub db: Option<Database>,
    pub content: Content,
    /// The contents before and after each operation since the last checkpoint.
    pub states: Vec<Content>,
}

impl Known {
    pub fn new(seed: u64) -> Self {
        Self::with_memory(seed, 1 << 20)
    }

    pub fn with_memory(seed: u64, bytes: u64) -> Self {
        let disk = Simulated::new(seed);
        let options = options(Durability::Commit).memory_bytes(bytes);
        let db = Some(simulation::open(&options, &disk, seed).expect("an empty disk"));
        let (content, states) = (Content::new(), vec![Content::new()]);
        Self { disk, db, content, states }
    }

    pub fn db(&self) -> &Database {
        self.db.as_ref().expect("it is open")
    }

    pub fn create(&mut self, at: usize) {
        self.db().create_table(&schema(at), TABLES[at].1).expect("a new table");
        self.content.insert(at, BTreeMap::new());
        self.states.push(self.content.clone());
    }

    pub fn put(&mut self, at: usize, key: u32, value: u32) {
        let table = self.db().table(TABLES[at].0).expect("a table");
        table.upsert(&record(at, key, value)).expect("room");
        self.content.get_mut(&at).expect("a table").insert(key, value);
        self.states.push(self.content.clone());
    }

    pub fn delete(&mut self, at: usize, key: u32) {
        let table = self.db().table(TABLES[at].0).expect("a table");
        table.delete(key.to_le_bytes()).expect("a key");
        self.content.get_mut(&at).expect("a table").remove(&key);
        self.states.push(self.content.clone());
    }

    /// Puts records of several tables at once.
    pub fn commit(&mut self, records: &[(usize, u32, u32)]) {
        let transaction = self.db().begin();
        for (at, key, value) in records {
            let table = self.db().table(TABLES[*at].0).expect("a table");
            transaction.upsert(&table, &record(*at, *key, *value)).expect("room");
            self.content.get_mut(at).expect("a table").insert(*key, *value);
        }
        transaction.commit().expect("no other transaction runs");
        self.states.push(self.content.clone());
    }

    pub fn checkpoint(&mut self) {
        self.db().checkpoint().expect("nothing is wrong with the disk");
        self.states = vec![self.content.clone()];
    }

    /// The process ends; what it had handed over is there.
    pub fn kill(&mut self) {
        self.disk.fail(Fault::Crash { at: self.disk.operations() });
        self.db = None;
        self.disk.crash(0);
    }

    /// Tables of all kinds, a checkpoint, and operations after it.
    pub fn small(seed: u64) -> Self {
        let mut known = Self::new(seed);
        (0..4).for_each(|at| known.create(at));
        for (at, key) in (0..4).flat_map(|at| (0..40).map(move |key| (at, key))) {
            known.put(at, key * 7, key + at as u32);
        }
        known.checkpoint();
        for key in 0..4 {
            known.put(2, key, 100 + key);
            known.put(3, key * 14, 200 + key);
        }
        known.delete(2, 21);
        known.create(4);
        known.commit(&[(2, 500, 1), (3, 501, 2), (4, 502, 3)]);
        known.delete(3, 28);
        known.put(4, 9, 9);
        known
    }
}
