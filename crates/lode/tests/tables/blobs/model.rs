//! Random operations on a blob store, compared with a `BTreeMap`: in memory, and in a directory
//! that is closed and opened.

use std::collections::BTreeMap;
use std::io::{Read, Seek, SeekFrom, Write};

use lode::{BlobReader, BlobWriter, Blobs, Database, Durability, Options};
use proptest::prelude::*;

use super::{CHUNK, bytes, rows, sound};
use crate::effort::effort;

#[derive(Clone, Debug)]
enum Operation {
    Put { key: u8, seed: u64, length: usize },
    Begin { key: u8 },
    Write { writer: usize, seed: u64, length: usize },
    Finish { writer: usize },
    Drop { writer: usize },
    Remove { key: u8 },
    Range { key: u8, from: usize, length: usize },
    Read { key: u8 },
    ReadOn { reader: usize, from: usize, length: usize },
    Reopen,
}

/// Lengths about those at which another chunk starts, and others.
fn length() -> impl Strategy<Value = usize> {
    prop_oneof![
        0..200_usize,
        (1..4_usize, 0..5_usize).prop_map(|(chunks, by)| chunks * CHUNK + by - 2),
        0..4 * CHUNK,
    ]
}

fn operation() -> impl Strategy<Value = Operation> {
    use Operation::*;
    let key = || 0..4_u8;
    let some = || 0..3_usize;
    prop_oneof![
        3 => (key(), any::<u64>(), length())
            .prop_map(|(key, seed, length)| Put { key, seed, length }),
        2 => key().prop_map(|key| Begin { key }),
        4 => (some(), any::<u64>(), length())
            .prop_map(|(writer, seed, length)| Write { writer, seed, length }),
        2 => some().prop_map(|writer| Finish { writer }),
        1 => some().prop_map(|writer| Drop { writer }),
        1 => key().prop_map(|key| Remove { key }),
        2 => (key(), 0..4 * CHUNK, length())
            .prop_map(|(key, from, length)| Range { key, from, length }),
        2 => key().prop_map(|key| Read { key }),
        3 => (some(), 0..4 * CHUNK, length())
            .prop_map(|(reader, from, length)| ReadOn { reader, from, length }),
        1 => Just(Reopen),
    ]
}

/// A store, and what has to be in it.
struct Run {
    folder: Option<tempfile::TempDir>,
    db: Option<Database>,
    files: Option<Blobs>,
    model: BTreeMap<u8, Vec<u8>>,
    writers: Vec<(u8, BlobWriter, Vec<u8>)>,
    readers: Vec<(BlobReader, Vec<u8>)>,
}

fn open(folder: Option<&tempfile::TempDir>) -> (Database, Blobs) {
    let options = Options::new().memory_bytes(4 << 20).durability(Durability::Process);
    let db = match folder {
        Some(folder) => options.open(folder.path()),
        None => options.memory_bytes(64 << 20).in_memory(),
    };
    let db = db.expect("a database");
    let files = db.blobs_or_create("files").expect("a store");
    (db, files)
}

impl Run {
    fn new(folder: Option<tempfile::TempDir>) -> Self {
        let (db, files) = open(folder.as_ref());
        let (model, writers, readers) = Default::default();
        Self { folder, db: Some(db), files: Some(files), model, writers, readers }
    }

    fn files(&self) -> &Blobs {
        self.files.as_ref().expect("it is open")
    }

    fn take(&mut self, operation: Operation) {
        match operation {
            Operation::Put { key, seed, length } => {
                let all = bytes(seed, length);
                assert_eq!(self.files().put([key], &all[..]), Ok(length as u64));
                self.model.insert(key, all);
            }
            Operation::Begin { key } if self.writers.len() < 3 => {
                let writer = self.files().write([key]).expect("a writer");
                self.writers.push((key, writer, Vec::new()));
            }
            Operation::Write { writer, seed, length } => {
                if let Some((_, writer, all)) = self.writers.get_mut(writer) {
                    let more = bytes(seed, length);
                    writer.write_all(&more).expect("there is room");
                    all.extend(more);
                    assert_eq!(writer.length_bytes(), all.len() as u64);
                }
            }
            Operation::Finish { writer } if writer < self.writers.len() => {
                let (key, writer, all) = self.writers.remove(writer);
                writer.finish().expect("there is room");
                self.model.insert(key, all);
            }
            Operation::Drop { writer } if writer < self.writers.len() => {
                self.writers.remove(writer);
            }
            Operation::Remove { key } => {
                let was_there = self.model.remove(&key).is_some();
                assert_eq!(self.files().remove([key]), Ok(was_there));
            }
            Operation::Range { key, from, length } => {
                let range = from as u64..(from + length) as u64;
                let found = self.files().read_range([key], range).expect("it is read");
                let wanted = self.model.get(&key).map(|all| part(all, from, length));
                assert!(found.as_deref() == wanted, "{from}, {length}");
            }
            Operation::Read { key } if self.readers.len() < 3 => {
                let reader = self.files().read([key]).expect("it is read");
                assert_eq!(reader.is_some(), self.model.contains_key(&key));
                let wanted = self.model.get(&key).cloned();
                self.readers.extend(reader.zip(wanted));
            }
            Operation::ReadOn { reader, from, length } if reader < self.readers.len() => {
                let (mut reader, all) = self.readers.remove(reader);
                reader.seek(SeekFrom::Start(from as u64)).expect("it is known");
                let mut found = Vec::new();
                (&mut reader).take(length as u64).read_to_end(&mut found).expect("it is read");
                assert!(found == part(&all, from, length), "{from}, {length}");
                if from % 2 == 0 {
                    self.readers.push((reader, all));
                }
            }
            Operation::Reopen => self.reopen(),
            _ => {}
        }
    }

    /// Closes the database while blobs are being written and read, and opens it again.
    fn reopen(&mut self) {
        if self.folder.is_none() {
            return;
        }
        self.files = None;
        self.db.take().expect("it is open").close().expect("it closes");
        self.writers.clear();
        self.readers.clear();
        let (db, files) = open(self.folder.as_ref());
        (self.db, self.files) = (Some(db), Some(files));
        self.compare();
    }

    /// Compares all blobs, once writers and readers are gone: nothing else is there.
    fn compare(&mut self) {
        self.writers.clear();
        self.readers.clear();
        let files = self.files();
        // Removes what readers have kept.
        files.put("end", &b"end"[..]).expect("there is room");
        assert_eq!(files.remove("end"), Ok(true));
        let found: Vec<_> = files.iter().map(|blob| blob.expect("it is read")).collect();
        let found: Vec<_> = found.iter().map(|blob| (blob.key[0], blob.length_bytes)).collect();
        let wanted: Vec<_> = self.model.iter().map(|(key, all)| (*key, all.len() as u64)).collect();
        assert_eq!(found, wanted);
        for (key, all) in &self.model {
            assert!(files.get([*key]).expect("it is read").as_ref() == Some(all), "{key}");
        }
        let chunks: usize = self.model.values().map(|all| all.len().div_ceil(CHUNK)).sum();
        let db = self.db.as_ref().expect("it is open");
        assert_eq!(rows(db), [wanted.len() as u64, chunks as u64, 0]);
        sound(db);
    }
}

fn part(all: &[u8], from: usize, length: usize) -> &[u8] {
    &all[from.min(all.len())..(from + length).min(all.len())]
}

fn cases() -> ProptestConfig {
    let cases = effort("PROPTEST_CASES", 24, 300);
    ProptestConfig { cases: cases as u32, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn a_store_in_memory_is_as_its_model(
        operations in prop::collection::vec(operation(), 1..60),
    ) {
        let mut run = Run::new(None);
        operations.into_iter().for_each(|operation| run.take(operation));
        run.compare();
    }

    #[test]
    fn a_store_in_a_directory_is_as_its_model(
        operations in prop::collection::vec(operation(), 1..60),
    ) {
        let mut run = Run::new(Some(tempfile::tempdir().expect("a directory")));
        operations.into_iter().for_each(|operation| run.take(operation));
        run.compare();
    }
}
