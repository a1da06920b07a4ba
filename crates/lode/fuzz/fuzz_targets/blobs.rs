//! Blobs that are written in pieces, replaced, removed and read, with crashes and reopening,
//! compared with a `BTreeMap`.

#![no_main]

use std::collections::BTreeMap;
use std::io::{Read, Seek, SeekFrom, Write};

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use lode::simulation::{self, Fault, Mapping, Simulated};
use lode::{BlobReader, BlobWriter, Blobs, Database, Durability, Options, ReadTable};
use lode_fuzz::{look_after, options, to_the_end};

/// Bytes of a full chunk.
const CHUNK: usize = 65_500;

/// The most writers and readers at a time.
const MOST_OPEN: usize = 4;

const KEYS: u8 = 3;

/// Places in blobs, and behind them.
const PLACES: u32 = 300_000;

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Op {
    Put(u8, Piece),
    Write(u8, Piece),
    WriteOn(u8, Piece),
    Finish(u8),
    GiveUp(u8),
    Remove(u8),
    Open(u8),
    ReadOn(u8, u8, i32, Piece),
    Close(u8),
    ReadRange(u8, u32, u32),
    LookAfter(u8),
    Restart(u8, u64),
}

/// Bytes to write: how many, and what they follow from.
#[derive(Arbitrary, Clone, Copy, Debug)]
struct Piece {
    kind: u8,
    size: u16,
    seed: u8,
}

impl Piece {
    fn size(self) -> usize {
        let size = usize::from(self.size);
        match self.kind % 5 {
            0 => size % 300,
            1 => CHUNK,
            2 => CHUNK - 1 + size % 3,
            3 => size,
            _ => size * 3,
        }
    }

    fn bytes(self) -> Vec<u8> {
        (0..self.size()).map(|at| self.seed ^ (at ^ at >> 8) as u8).collect()
    }
}

#[derive(Arbitrary, Debug)]
struct Input {
    mapping: u8,
    #[arbitrary(with = to_the_end)]
    ops: Vec<Op>,
}

struct Reading {
    reader: BlobReader,
    /// The blob as it was when the reader was opened.
    blob: Vec<u8>,
    at: usize,
}

struct Run {
    disk: Simulated,
    options: Options,
    open: Option<(Database, Blobs)>,
    blobs: BTreeMap<u8, Vec<u8>>,
    writers: Vec<(u8, Vec<u8>, BlobWriter)>,
    readers: Vec<Reading>,
}

impl Run {
    fn store(&self) -> &Blobs {
        &self.open.as_ref().expect("it is open").1
    }

    fn db(&self) -> &Database {
        &self.open.as_ref().expect("it is open").0
    }

    /// Opens the store, which has all blobs and nothing besides.
    fn open(&mut self) {
        let db = simulation::open(&self.options, &self.disk, 3).expect("it is whole");
        let store = db.blobs_or_create("b").expect("it is whole");
        // A writer removes what others have left.
        assert_eq!(store.remove("no blob"), Ok(false));
        self.open = Some((db, store));
        self.expect_blobs();
    }

    /// Compares the store, of which nothing is open, with the model.
    fn expect_blobs(&self) {
        let report = self.db().check().expect("it is open");
        assert!(report.is_sound(), "{report}");
        let entries = self.store().iter().map(|blob| blob.expect("it is whole"));
        let entries = Vec::from_iter(entries.map(|blob| (blob.key, blob.length_bytes)));
        let wanted = self.blobs.iter().map(|(key, blob)| (vec![*key], blob.len() as u64));
        assert_eq!(entries, Vec::from_iter(wanted));
        for (key, blob) in &self.blobs {
            let found = self.store().get([*key]).expect("it is whole");
            assert!(found.as_deref() == Some(&blob[..]), "blob {key}");
        }
        let chunks: usize = self.blobs.values().map(|blob| blob.len().div_ceil(CHUNK)).sum();
        let left = ["b.chunks", "b.pending"].map(|name| {
            let table = self.db().table(name).expect("it is there");
            table.len().expect("it is counted")
        });
        assert_eq!(left, [chunks as u64, 0], "something is left of other blobs");
    }

    /// Reads from a place on, which is before, in or behind the blob.
    fn read_on(&mut self, which: u8, whence: u8, by: i32, most: usize) {
        let count = self.readers.len().max(1);
        let Some(reading) = self.readers.get_mut(usize::from(which) % count) else { return };
        let Reading { reader, blob, at } = reading;
        let by = by % PLACES as i32;
        let (from, place) = match whence % 4 {
            0 => (*at, None),
            1 => (0, Some(SeekFrom::Start(by.unsigned_abs().into()))),
            2 => (*at, Some(SeekFrom::Current(by.into()))),
            _ => (blob.len(), Some(SeekFrom::End(by.into()))),
        };
        if let Some(place) = place {
            let by = if whence % 4 == 1 { by.unsigned_abs().into() } else { i64::from(by) };
            let wanted = u64::try_from(from as i64 + by).ok();
            assert_eq!(reader.seek(place).ok(), wanted, "{place:?} from {from}");
            *at = wanted.map_or(*at, |wanted| wanted as usize);
        }
        let mut found = vec![0; most];
        let mut size = 0;
        while size < most {
            match reader.read(&mut found[size..]).expect("it is whole") {
                0 => break,
                more => size += more,
            }
        }
        let rest = &blob[(*at).min(blob.len())..];
        assert!(found[..size] == rest[..most.min(rest.len())], "{size} bytes from {at}");
        *at += size;
    }

    fn write_on(&mut self, which: usize, piece: Piece) {
        let (_, blob, writer) = &mut self.writers[which];
        let bytes = piece.bytes();
        writer.write_all(&bytes).expect("room");
        blob.extend(bytes);
        assert_eq!(writer.length_bytes(), blob.len() as u64);
    }

    fn look_after(&self, how: u8) -> lode::Result<()> {
        let db = self.db();
        match how % 3 {
            0 => db.checkpoint(),
            1 => db.compact().map(drop),
            _ => look_after(db),
        }
    }

    /// Closes the database, or has it killed, or cuts the power; opens it again.
    fn restart(&mut self, how: u8, seed: u64) {
        let is_closed = how.is_multiple_of(3);
        if !is_closed {
            self.disk.fail(Fault::Crash { at: self.disk.operations() });
        }
        self.writers.clear();
        self.readers.clear();
        if is_closed {
            self.expect_blobs();
        }
        let (db, store) = self.open.take().expect("it is open");
        drop(store);
        match how % 3 {
            0 => db.close().expect("nothing is wrong with the disk"),
            1 => {
                drop(db);
                self.disk.heal();
            }
            _ => {
                drop(db);
                self.disk.crash(seed);
            }
        }
        self.open();
    }

    fn step(&mut self, op: Op) {
        match op {
            Op::Put(key, piece) => {
                let key = key % KEYS;
                let blob = piece.bytes();
                let size = self.store().put([key], &blob[..]).expect("room");
                assert_eq!(size, blob.len() as u64);
                self.blobs.insert(key, blob);
            }
            Op::Write(key, piece) => {
                let writer = self.store().write([key % KEYS]).expect("a key");
                if self.writers.len() < MOST_OPEN {
                    self.writers.push((key % KEYS, Vec::new(), writer));
                    self.write_on(self.writers.len() - 1, piece);
                }
            }
            Op::WriteOn(which, piece) if !self.writers.is_empty() => {
                self.write_on(usize::from(which) % self.writers.len(), piece);
            }
            Op::Finish(which) if !self.writers.is_empty() => {
                let which = usize::from(which) % self.writers.len();
                let (key, blob, writer) = self.writers.remove(which);
                writer.finish().expect("room");
                self.blobs.insert(key, blob);
            }
            Op::GiveUp(which) if !self.writers.is_empty() => {
                let which = usize::from(which) % self.writers.len();
                self.writers.remove(which);
            }
            Op::WriteOn(..) | Op::Finish(_) | Op::GiveUp(_) => {}
            Op::Remove(key) => {
                let key = key % KEYS;
                let was_there = self.store().remove([key]).expect("a key");
                assert_eq!(was_there, self.blobs.remove(&key).is_some());
            }
            Op::Open(key) => {
                let key = key % KEYS;
                let reader = self.store().read([key]).expect("it is whole");
                assert_eq!(reader.is_some(), self.blobs.contains_key(&key));
                if let Some((reader, blob)) = reader.zip(self.blobs.get(&key))
                    && self.readers.len() < MOST_OPEN
                {
                    assert_eq!(reader.length_bytes(), blob.len() as u64);
                    self.readers.push(Reading { reader, blob: blob.clone(), at: 0 });
                }
            }
            Op::ReadOn(which, whence, by, most) => self.read_on(which, whence, by, most.size()),
            Op::Close(which) if !self.readers.is_empty() => {
                let which = usize::from(which) % self.readers.len();
                self.readers.remove(which);
            }
            Op::Close(_) => {}
            Op::ReadRange(key, from, to) => {
                let key = key % KEYS;
                let range = u64::from(from % PLACES)..u64::from(to % PLACES);
                let found = self.store().read_range([key], range.clone()).expect("it is whole");
                let wanted = self.blobs.get(&key).map(|blob| {
                    let size = blob.len() as u64;
                    let (from, to) = (range.start.min(size), range.end.min(size));
                    blob.get(from as usize..to as usize).unwrap_or_default().to_vec()
                });
                assert!(found == wanted, "{range:?} of {key}");
            }
            Op::LookAfter(how) => self.look_after(how).expect("nothing is wrong with the disk"),
            Op::Restart(how, seed) => self.restart(how, seed),
        }
    }
}

fuzz_target!(|input: Input| {
    let disk = Simulated::new(0);
    disk.set_mapping(Mapping::ALL[usize::from(input.mapping) % Mapping::ALL.len()]);
    let options = options().log_bytes(1 << 18).durability(Durability::Commit);
    let blobs = BTreeMap::new();
    let (writers, readers) = (Vec::new(), Vec::new());
    let mut run = Run { disk, options, open: None, blobs, writers, readers };
    run.open();
    for op in input.ops.iter().take(60) {
        run.step(*op);
    }
    run.restart(0, 0);
});
