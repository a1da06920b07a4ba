//! Blobs on a disk that crashes and fails: each key has one of its blobs, whole, and nothing is
//! left of others.
//!
//! A seed decides everything. `LODE_BLOB_SEED=n` replays one, `LODE_BLOB_SEEDS=n` asks for `n`.

use std::collections::BTreeMap;
use std::io::Write;

use lode::simulation::{self, Fault, FaultKind, Mapping, Simulated};
use lode::{BlobWriter, Blobs, Database, Durability, Error, Options, ReadTable};

use crate::common::random::Random;
use crate::effort::{effort, number};
use crate::reading::check;

/// Bytes of a full chunk.
const CHUNK: usize = 65_500;

/// The blob that was written with a number: none, or bytes that follow from it.
type Content = BTreeMap<u8, u32>;

fn bytes(number: u32) -> Vec<u8> {
    let length = match number % 5 {
        0 => number as usize % 300,
        1 => CHUNK,
        _ => number.wrapping_mul(2_654_435_761) as usize % (4 * CHUNK),
    };
    (0..length).map(|at| number as u8 ^ (at ^ at >> 8) as u8).collect()
}

struct Run {
    random: Random,
    disk: Simulated,
    options: Options,
    level: Durability,
    lanes: u64,
    open: Option<(Database, Blobs)>,
    writer: Option<(u8, u32, BlobWriter)>,
    /// The contents since the last one that is promised, which is the first.
    states: Vec<Content>,
    next: u32,
}

fn is_expected(error: &Error) -> bool {
    use Error::*;
    matches!(error, Io { .. } | Poisoned { .. } | NotDurable { .. } | DiskFull { .. } | Full { .. })
}

impl Run {
    fn new(seed: u64) -> Self {
        let mut random = Random(seed);
        let level =
            [Durability::None, Durability::Process, Durability::Periodic, Durability::Commit]
                [random.below(4) as usize];
        let disk = Simulated::new(seed);
        disk.set_mapping(Mapping::ALL[random.below(3) as usize]);
        let options = Options::new()
            .memory_bytes([1 << 20, 8 << 20][random.below(2) as usize])
            .log_bytes([1 << 18, 1 << 24][random.below(2) as usize])
            .durability(level);
        let lanes = if level == Durability::Process { [1, 5][random.below(2) as usize] } else { 1 };
        let states = vec![Content::new()];
        Self { random, disk, options, level, lanes, open: None, writer: None, states, next: 0 }
    }

    fn files(&self) -> &Blobs {
        &self.open.as_ref().expect("it is open").1
    }

    fn choose_lane(&mut self) {
        if self.lanes > 1 {
            simulation::choose_lane(self.random.below(self.lanes) as usize);
        }
    }

    /// Does one thing; returns false if the database takes no more writes.
    fn step(&mut self) -> bool {
        self.choose_lane();
        let key = self.random.below(4) as u8;
        let mut wanted = self.states.last().expect("there is always one").clone();
        let done = match self.random.below(10) {
            0 => {
                wanted.remove(&key);
                self.files().remove([key]).map(drop)
            }
            1 => return self.look_after(),
            2..6 => {
                self.next += 1;
                wanted.insert(key, self.next);
                self.files().put([key], &bytes(self.next)[..]).map(drop)
            }
            _ => match self.writer.take() {
                None => {
                    self.next += 1;
                    let begun = self.files().write([key]);
                    return self.begin(key, begun);
                }
                Some((key, number, writer)) => {
                    if self.random.below(3) == 0 {
                        return true;
                    }
                    wanted.insert(key, number);
                    writer.finish()
                }
            },
        };
        self.settle(done, wanted)
    }

    /// Writes the bytes of a blob, and finishes it later or never.
    fn begin(&mut self, key: u8, begun: Result<BlobWriter, Error>) -> bool {
        let wanted = self.states.last().expect("there is always one").clone();
        let mut writer = match begun {
            Ok(writer) => writer,
            Err(error) => return self.settle(Err(error), wanted),
        };
        let all = bytes(self.next);
        // Each chunk may be in another lane than the ones before.
        let written = all.chunks(40_000).try_for_each(|part| {
            self.choose_lane();
            writer.write_all(part)
        });
        match written {
            Ok(()) => {
                self.writer = Some((key, self.next, writer));
                true
            }
            Err(error) => {
                let error = error.downcast::<Error>().expect("an error of the database");
                self.settle(Err(error), wanted)
            }
        }
    }

    fn look_after(&mut self) -> bool {
        let db = &self.open.as_ref().expect("it is open").0;
        let done = match self.random.below(3) {
            0 => simulation::look_after(db),
            1 => simulation::checkpoint(db),
            _ if self.lanes > 1 => simulation::widen_log(db, self.lanes as usize),
            _ => db.flush(),
        };
        let wanted = self.states.last().expect("there is always one").clone();
        self.settle(done, wanted)
    }

    fn settle(&mut self, done: Result<(), Error>, wanted: Content) -> bool {
        match done {
            Ok(()) if self.level == Durability::Commit => self.states = vec![wanted],
            Ok(()) => self.states.push(wanted),
            Err(error) => {
                assert!(is_expected(&error), "{error}");
                // It may be there after the crash.
                self.states.push(wanted);
                return false;
            }
        }
        true
    }

    fn crash(&mut self) {
        self.disk.fail(Fault::Crash { at: self.disk.operations() });
        self.writer = None;
        self.open = None;
        let seed = self.random.next();
        self.disk.crash(seed);
    }

    /// Opens the store, and compares it with what may be in it.
    fn open(&mut self) {
        let db = simulation::open(&self.options, &self.disk, self.random.next());
        let db = db.expect("nothing is wrong with the disk");
        let files = db.blobs_or_create("files").expect("nothing is wrong with the disk");
        check(&db).unwrap_or_else(|why| panic!("{why}"));
        // A writer comes, and removes what others have left.
        assert_eq!(files.remove([9]), Ok(false), "no blob has this key");
        let mut found = Content::new();
        let mut chunks = 0;
        for blob in files.iter() {
            let blob = blob.expect("it is read");
            let all = files.get(&blob.key).expect("it is read").expect("it is there");
            assert_eq!(all.len() as u64, blob.length_bytes);
            chunks += all.len().div_ceil(CHUNK);
            let key = blob.key[0];
            let of_key = self.states.iter().rev().filter_map(|state| state.get(&key));
            let mut whole = of_key.filter(|number| bytes(**number) == all);
            let number = whole.next().unwrap_or_else(|| panic!("blob {key} is torn"));
            found.insert(key, *number);
        }
        let is_state = self.states.contains(&found);
        assert!(is_state, "{:?}: {found:?} is none of {:?}", self.level, self.states);
        let left = ["files.chunks", "files.pending"].map(|name| {
            let table = db.table(name).expect("it is there");
            table.len().expect("it is counted")
        });
        assert_eq!(left, [chunks as u64, 0], "something is left of other blobs");
        db.flush().expect("nothing is wrong with the disk");
        self.states = vec![found];
        self.open = Some((db, files));
    }

    fn run(mut self) {
        self.open();
        for _ in 0..4 {
            let at = self.disk.operations() + self.random.below(400);
            let kinds = [FaultKind::SyncFails, FaultKind::WriteFails, FaultKind::NoSpace];
            match kinds.get(self.random.below(9) as usize) {
                Some(kind) => self.disk.fail(Fault::Error { at, kind: *kind }),
                None => self.disk.fail(Fault::Crash { at }),
            }
            for _ in 0..60 {
                if !self.step() {
                    break;
                }
            }
            self.crash();
            self.open();
        }
    }
}

#[test]
fn after_every_crash_blobs_are_whole_and_nothing_is_left_of_others() {
    if let Some(seed) = number("LODE_BLOB_SEED") {
        return Run::new(seed).run();
    }
    for seed in 0..effort("LODE_BLOB_SEEDS", 60, 1_000) {
        let run = std::panic::catch_unwind(|| Run::new(seed).run());
        if let Err(panic) = run {
            eprintln!("replay with LODE_BLOB_SEED={seed}");
            std::panic::resume_unwind(panic);
        }
    }
}
