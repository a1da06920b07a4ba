//! A fixed list of things to do, which must continue or end well whatever fails.

use std::collections::BTreeMap;

use crate::reading::check;
use lode::simulation::{self, Fault, Mapping, Simulated};
use lode::{Database, Durability, Error};

use crate::common::content::{Content, difference, options, read};
use crate::common::tables::{TABLES, record, schema};

/// A fixed list of things to do, on a disk of which something fails at some time.
pub struct Work {
    pub disk: Simulated,
    db: Option<Database>,
    /// The acknowledged content.
    content: Content,
    /// The content that may come back, too: with the change that was under way at the poisoning.
    perhaps: Option<Content>,
}

impl Work {
    pub fn new(mapping: Mapping) -> Self {
        let disk = Simulated::new(1);
        disk.set_mapping(mapping);
        Self { disk, db: None, content: Content::new(), perhaps: None }
    }

    fn open(&mut self) {
        for _ in 0..3 {
            match simulation::open(&options(Durability::Commit), &self.disk, 5) {
                Ok(db) => {
                    self.db = Some(db);
                    let found = self.look();
                    self.expect_content(&found);
                    (self.content, self.perhaps) = (found, None);
                    return;
                }
                Err(Error::Io { .. } | Error::DiskFull { .. } | Error::Poisoned { .. }) => {}
                Err(error) => panic!("opening returns {error:?}"),
            }
        }
        panic!("it cannot be opened, though only one thing failed");
    }

    /// Returns the content. If reading fails, it does so once.
    fn look(&self) -> Content {
        let found = read(self.db());
        found.or_else(|_| read(self.db())).expect("only one thing fails")
    }

    fn expect_content(&self, found: &Content) {
        let fits = *found == self.content || Some(found) == self.perhaps.as_ref();
        assert!(fits, "{}", difference(found, &self.content));
    }

    fn db(&self) -> &Database {
        self.db.as_ref().expect("it is open")
    }

    /// Something came of an attempt to make the content `wanted`.
    fn settle<T>(&mut self, result: Result<T, Error>, wanted: Content) {
        let failed = result.is_err();
        match result {
            Ok(_) => {
                assert_eq!(self.perhaps, None, "a poisoned database takes no writes");
                self.content = wanted;
            }
            Err(Error::Poisoned { .. }) => {
                self.perhaps.get_or_insert(wanted);
            }
            // It did not happen.
            Err(Error::Io { .. } | Error::DiskFull { .. }) => {}
            Err(error) => panic!("{error:?}"),
        }
        if failed {
            let found = self.look();
            self.expect_content(&found);
        }
    }

    fn put(&mut self, at: usize, key: u32, value: u32) {
        let mut wanted = self.content.clone();
        let Some(records) = wanted.get_mut(&at) else { return };
        records.insert(key, value);
        let table = self.db().table(TABLES[at].0);
        let result = table.and_then(|table| table.upsert(&record(at, key, value)));
        self.settle(result, wanted);
    }

    fn put_all(&mut self, at: usize, keys: std::ops::Range<u32>, value: u32) {
        let mut wanted = self.content.clone();
        let Some(records) = wanted.get_mut(&at) else { return };
        records.extend(keys.clone().map(|key| (key, value)));
        let table = self.db().table(TABLES[at].0);
        let packed = keys.map(|key| record(at, key, value));
        let result = table.and_then(|table| table.upsert_all(packed));
        self.settle(result, wanted);
    }

    fn delete(&mut self, at: usize, key: u32) {
        let mut wanted = self.content.clone();
        let Some(records) = wanted.get_mut(&at) else { return };
        records.remove(&key);
        let result = self.db().table(TABLES[at].0).and_then(|t| t.delete(key.to_le_bytes()));
        self.settle(result, wanted);
    }

    fn commit(&mut self, key: u32) {
        let mut wanted = self.content.clone();
        let transaction = self.db().begin();
        let mut result = Ok(());
        for at in self.content.keys() {
            let table = self.db().table(TABLES[*at].0);
            let put = table.and_then(|t| transaction.upsert(&t, &record(*at, key, 1)));
            result = result.and(put.map(drop));
            wanted.get_mut(at).expect("a table").insert(key, 1);
        }
        let result = result.and_then(|()| transaction.commit());
        self.settle(result, wanted);
    }

    fn create(&mut self, at: usize) {
        let mut wanted = self.content.clone();
        if wanted.insert(at, BTreeMap::new()).is_none() {
            let result = self.db().create_table(&schema(at), TABLES[at].1);
            self.settle(result, wanted);
        }
    }

    fn drop_table(&mut self, at: usize) {
        let mut wanted = self.content.clone();
        if wanted.remove(&at).is_some() {
            let result = self.db().drop_table(TABLES[at].0);
            self.settle(result, wanted);
        }
    }

    /// Something that does not change what there is.
    fn same(&mut self, work: impl Fn(&Database) -> Result<(), Error>) {
        let result = work(self.db());
        self.settle(result, self.content.clone());
    }

    fn close(&mut self) {
        let closed = self.db.take().expect("it is open").close();
        let typed = matches!(
            closed,
            Ok(()) | Err(Error::Io { .. } | Error::DiskFull { .. } | Error::Poisoned { .. })
        );
        assert!(typed, "{closed:?}");
    }

    /// All that there is to do.
    pub fn run(&mut self) {
        self.open();
        (0..4).for_each(|at| self.create(at));
        (0..16).for_each(|key| self.put(key as usize % 4, key, key));
        self.same(Database::checkpoint);
        (0..12).for_each(|key| self.put(key as usize % 4, key / 2, key + 100));
        (0..4).for_each(|at| self.put_all(at, 4..20, 200));
        self.delete(1, 1);
        self.delete(2, 2);
        self.commit(50);
        self.same(|db| simulation::clean_pages(db, 5));
        (0..4).for_each(|key| self.put(key as usize % 4, key, key + 200));
        self.same(simulation::give_back);
        self.same(simulation::look_after);
        self.create(4);
        self.put(4, 1, 1);
        self.same(Database::flush);
        self.same(Database::checkpoint);
        self.drop_table(4);
        self.same(simulation::give_back);
        self.same(simulation::rest_beside_writers);
        self.drop_table(0);
        self.same(|db| simulation::clean_pages(db, 100));
        self.same(|db| db.compact().map(drop));
        (0..8).for_each(|key| self.put(1, key + 30, key));
        self.close();
        self.open();
        (0..6).for_each(|key| self.put(key as usize % 4, key + 60, key));
        (0..10).for_each(|key| self.put(1, key + 80, key));
        self.commit(70);
        self.create(0);
        self.put(0, 1, 1);
    }

    /// The process ends, or the power goes off if there is a seed; and the database comes back with
    /// all of it.
    pub fn end(mut self, seed: Option<u64>) {
        let found = self.look();
        self.expect_content(&found);
        self.disk.fail(Fault::Crash { at: self.disk.operations() });
        self.db = None;
        match seed {
            Some(seed) => self.disk.crash(seed),
            None => self.disk.heal(),
        }
        self.open();
        check(self.db()).unwrap_or_else(|why| panic!("{why}"));
        self.create(4);
        self.put(4, 99, 99);
        self.db.take().expect("it is open").close().expect("nothing fails any more");
        let db = simulation::open(&options(Durability::Commit), &self.disk, 6).expect("whole");
        assert_eq!(read(&db).as_ref(), Ok(&self.content));
    }
}
