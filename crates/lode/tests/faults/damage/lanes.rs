//! Logs of several lanes that have lost something in one of them.

use lode::simulation::{self, Fault, FaultKind, Simulated};
use lode::{Database, Durability, Error, KeyKind, Options, Schema, Table, Type};

use super::blocks::{expect_all_or_refused, log_files};
use super::open;
use crate::common::content::{Content, options, read};
use crate::common::tables::{TABLES, record, schema};
use crate::reading::check;

/// The table of short records in buckets.
const SHORT: usize = 2;

/// The offset of a segment's frames, and that of its lane in its header.
const FRAMES_AT: usize = 8192;
const LANE_AT: usize = 76;

/// A database whose log has three lanes.
pub struct Lanes {
    pub disk: Simulated,
    db: Option<Database>,
    pub content: Content,
}

impl Lanes {
    pub fn new(seed: u64) -> Self {
        let disk = Simulated::new(seed);
        let db = simulation::open(&options(Durability::Process), &disk, seed).expect("space");
        for at in [0, 1, SHORT] {
            db.create_table(&schema(at), TABLES[at].1).expect("a new table");
        }
        simulation::widen_log(&db, 3).expect("space");
        let content = [0, 1, SHORT].map(|at| (at, Default::default())).into();
        Self { disk, db: Some(db), content }
    }

    fn db(&self) -> &Database {
        self.db.as_ref().expect("it is open")
    }

    fn table(&self, at: usize) -> Table {
        self.db().table(TABLES[at].0).expect("a table")
    }

    /// Writes a record in a lane.
    pub fn put(&mut self, lane: usize, at: usize, key: u32, value: u32) {
        simulation::choose_lane(lane);
        self.table(at).upsert(&record(at, key, value)).expect("room");
        self.content.get_mut(&at).expect("a table").insert(key, value);
    }

    fn delete(&mut self, lane: usize, at: usize, key: u32) {
        simulation::choose_lane(lane);
        assert!(self.table(at).delete(key.to_le_bytes()).expect("a key"));
        self.content.get_mut(&at).expect("a table").remove(&key);
    }

    fn flush(&self) {
        self.db().flush().expect("nothing is wrong with the disk");
    }

    /// The process ends; what it had handed over is there.
    pub fn kill(&mut self) {
        self.disk.fail(Fault::Crash { at: self.disk.operations() });
        self.db = None;
        self.disk.heal();
    }

    /// The power goes.
    fn cut_power(&mut self, seed: u64) {
        self.disk.fail(Fault::Crash { at: self.disk.operations() });
        self.db = None;
        self.disk.crash(seed);
    }

    /// Opens it again; returns what is there.
    fn reopen(&mut self) -> Content {
        let db = simulation::open(&options(Durability::Process), &self.disk, 7).expect("it opens");
        check(&db).unwrap_or_else(|why| panic!("{why}"));
        let found = read(&db).expect("nothing is wrong with the disk");
        self.db = Some(db);
        found
    }
}

/// Returns the last segment of a lane.
fn segment_of(disk: &Simulated, lane: u8) -> String {
    let is_of_lane = |name: &String| {
        let bytes = disk.file_bytes(name).expect("it is there");
        bytes.len() > FRAMES_AT && bytes[0] != 0 && bytes[LANE_AT] == lane
    };
    log_files(disk).into_iter().rfind(is_of_lane).expect("the lane has a segment")
}

/// Has the last segment of a lane lose the block that has its last frame.
fn lose_last_frames(disk: &Simulated, lane: u8) {
    let name = segment_of(disk, lane);
    let mut bytes = disk.file_bytes(&name).expect("it is there");
    let last = bytes.iter().rposition(|byte| *byte != 0).expect("it has frames");
    assert!(last > FRAMES_AT, "the lane has frames");
    bytes[last / 4096 * 4096..].fill(0);
    disk.put_file(&name, bytes);
}

/// Has the last segment of a lane lose its first block of frames.
fn lose_frames(disk: &Simulated, lane: u8) {
    let name = segment_of(disk, lane);
    let mut bytes = disk.file_bytes(&name).expect("it is there");
    assert!(bytes[FRAMES_AT] != 0 || bytes[FRAMES_AT + 1] != 0, "the lane has frames");
    bytes[FRAMES_AT..FRAMES_AT + 4096].fill(0);
    disk.put_file(&name, bytes);
}

/// Each record is written by several lanes in turn, and its page splits and joins in between.
#[test]
fn frames_of_all_lanes_come_back_in_their_order() {
    let mut lanes = Lanes::new(1);
    for round in 0..6u32 {
        for key in 0..600 {
            lanes.put((key + round) as usize % 3, SHORT, key, round * 1000 + key);
            lanes.put((key % 7) as usize % 3, 1, key % 90, round + key);
        }
        for key in (0..600).filter(|key| key % 10 != round) {
            lanes.delete((key + round) as usize % 2, SHORT, key);
        }
        for key in (0..90).filter(|key| key % 10 != round) {
            lanes.delete((key % 5) as usize % 3, 1, key);
        }
        if round == 3 {
            simulation::checkpoint(lanes.db()).expect("space");
        }
        let copy = lanes.disk.fork();
        let db = open(&copy, 5).expect("a copy");
        assert_eq!(read(&db).expect("it is whole"), lanes.content, "round {round}");
    }
}

impl Lanes {
    /// Has a lane without frames change all records of a table, and compares what a kill leaves.
    fn change_all_in(&mut self, lane: usize, at: usize, value: u32) {
        let keys: Vec<_> = self.content[&at].keys().copied().collect();
        keys.into_iter().for_each(|key| self.put(lane, at, key, key ^ value));
        let db = open(&self.disk.fork(), 5).expect("a copy");
        let case = format!("lane {lane} has changed all of {}", TABLES[at].0);
        assert_eq!(read(&db).expect("it is whole"), self.content, "{case}");
    }

    fn changed_bytes(&self) -> u64 {
        self.db().statistics().changed_bytes
    }
}

/// A page splits, and the next to change the records of both halves is a lane without frames.
#[test]
fn a_record_has_its_last_change_when_its_page_has_split() {
    for at in [0, 1, SHORT] {
        let mut lanes = Lanes::new(9);
        simulation::widen_log(lanes.db(), 16).expect("space");
        let mut idle = 2..16;
        for step in 0..12_000u32 {
            let before = lanes.changed_bytes();
            lanes.put(1, at, step.wrapping_mul(0x9e37_79b1) >> 8, step);
            if lanes.changed_bytes() > before && step > 0 {
                let Some(lane) = idle.next() else { break };
                lanes.change_all_in(lane, at, step);
            }
        }
        assert!(idle.len() < 12, "pages of {} split", TABLES[at].0);
    }
}

/// Two pages are joined, which different lanes have changed last, and the next to change their
/// records is a lane without frames.
#[test]
fn a_record_has_its_last_change_when_its_page_was_joined() {
    for (at, most) in [(1, 160), (0, 400)] {
        for round in 0..8u32 {
            let mut lanes = Lanes::new(u64::from(round));
            simulation::widen_log(lanes.db(), 16).expect("space");
            let mut idle = 2..8;
            (0..most).for_each(|key| lanes.put(1, at, key, key));
            for step in 0..most * 2 {
                let random = (step * 64 + round).wrapping_mul(0x9e37_79b1) >> 7;
                let from = |lanes: &Lanes, key: u32| {
                    lanes.content[&at].range(key % most..).next().map(|(key, _)| *key)
                };
                let Some(key) = from(&lanes, random) else { continue };
                let before = lanes.changed_bytes();
                lanes.delete(8 + step as usize % 8, at, key);
                if lanes.changed_bytes() < before {
                    let Some(lane) = idle.next() else { break };
                    lanes.change_all_in(lane, at, step);
                }
                // Lane 1 gets ahead of the others.
                if let Some(key) = from(&lanes, random / 3) {
                    lanes.put(1, at, key, step);
                }
            }
            assert!(idle.len() < 6, "pages of {} are joined", TABLES[at].0);
        }
    }
}

/// A commit changes a record, and then a lane without frames does. It does not come before it.
#[test]
fn a_change_after_a_commit_comes_after_it_in_every_lane() {
    let mut lanes = Lanes::new(10);
    lanes.put(1, SHORT, 5, 1);
    (0..60).for_each(|step| lanes.put(1, 1, step % 9, step));
    let transaction = lanes.db().begin();
    transaction.upsert(&lanes.table(SHORT), &record(SHORT, 5, 2)).expect("room");
    transaction.commit().expect("no other transaction runs");
    lanes.put(2, SHORT, 5, 3);
    lanes.kill();
    assert_eq!(lanes.reopen(), lanes.content);
}

/// Without a sync, a lane may lose what another names. That and what comes after is gone for good.
#[test]
fn a_frame_that_names_one_which_is_lost_is_left_out_and_never_comes_back() {
    let mut lanes = Lanes::new(2);
    lanes.put(0, SHORT, 1, 10);
    lanes.flush();
    lanes.put(2, 1, 1, 10);
    let kept = lanes.content.clone();
    lanes.put(1, SHORT, 2, 20);
    lanes.put(0, SHORT, 2, 21);
    lanes.put(0, SHORT, 3, 30);
    lanes.kill();
    lose_frames(&lanes.disk, 1);
    for round in 0..3 {
        assert_eq!(lanes.reopen(), kept, "round {round}");
        lanes.content.clone_from(&kept);
        if round == 1 {
            simulation::widen_log(lanes.db(), 3).expect("space");
        }
        lanes.kill();
    }
    lanes.reopen();
    lanes.put(0, SHORT, 2, 22);
    lanes.kill();
    assert_eq!(lanes.reopen(), lanes.content);
}

/// A lane has had nothing to write since it was synced, and others have.
#[test]
fn the_last_frames_of_an_idle_lane_are_there_or_opening_is_refused() {
    for seed in 0..30 {
        let mut lanes = Lanes::new(seed);
        lanes.put(1, SHORT, 2, 20);
        lanes.flush();
        for key in 0..3 {
            lanes.put(0, 1, key, 30);
            lanes.flush();
        }
        lanes.cut_power(seed);
        let copy = lanes.disk.fork();
        lose_frames(&copy, 1);
        assert!(matches!(open(&copy, 1), Err(Error::Corrupt { .. })), "seed {seed}");
        assert_eq!(lanes.reopen(), lanes.content, "seed {seed}");
    }
}

/// The first lane too, whose blocks have no proof of its creation.
#[test]
fn the_last_frames_of_any_idle_lane_are_there_or_opening_is_refused() {
    for (lane, seed) in [0, 1].into_iter().flat_map(|lane| (0..20).map(move |seed| (lane, seed))) {
        let mut lanes = Lanes::new(seed);
        for key in 0..200 {
            lanes.put(lane, SHORT, key, 20);
        }
        lanes.flush();
        for key in 0..3 {
            lanes.put(1 - lane, 1, key, 30);
            lanes.flush();
        }
        lanes.cut_power(seed);
        let copy = lanes.disk.fork();
        lose_last_frames(&copy, lane as u8);
        let opened = open(&copy, 1).map(drop);
        assert!(
            matches!(opened, Err(Error::Corrupt { .. })),
            "lane {lane}, seed {seed}: {opened:?}"
        );
        assert_eq!(lanes.reopen(), lanes.content, "lane {lane}, seed {seed}");
    }
}

/// A lane is synced again for its proof between the two syncs that end in a block. With 128 frames
/// of 32 bytes, and a name in the first, the first of these syncs ends after eight zeros there.
#[test]
fn a_sync_for_a_proof_alone_is_not_the_second_one_of_a_block() {
    let plain = Schema::build("plain").key("key", Type::U32).column("value", Type::U32);
    let plain = plain.finish().expect("a schema");
    let record = |key: u32| [key.to_le_bytes(), [0; 4]].concat();
    for frames in 120..136 {
        let mut lanes = Lanes::new(frames.into());
        let table = lanes.db().create_table(&plain, KeyKind::Hash).expect("a new table");
        let insert = |key: u32| {
            simulation::choose_lane(1);
            table.insert(&record(key)).expect("room");
        };
        (0..frames).for_each(insert);
        lanes.flush();
        lanes.put(0, 1, 1, 1);
        lanes.flush();
        insert(frames);
        for key in 2..4 {
            lanes.flush();
            lanes.put(0, 1, key, 1);
        }
        drop(table);
        lanes.kill();
        lose_last_frames(&lanes.disk, 1);
        let opened = open(&lanes.disk, 1).map(drop);
        assert!(matches!(opened, Err(Error::Corrupt { .. })), "{frames} frames: {opened:?}");
    }
}

/// Frames synced in one lane depend on frames synced in another.
#[test]
fn a_frame_that_was_synced_proves_those_that_it_names() {
    for seed in 0..30 {
        let mut lanes = Lanes::new(seed);
        lanes.put(1, SHORT, 2, 20);
        lanes.put(0, SHORT, 2, 21);
        lanes.flush();
        // Has lane 0 note that it was synced; lane 1 has nothing that says so of it.
        lanes.put(0, 1, 1, 1);
        lanes.kill();
        let name = segment_of(&lanes.disk, 1);
        let mut bytes = lanes.disk.file_bytes(&name).expect("it is there");
        bytes[512..1024].fill(0);
        lanes.disk.put_file(&name, bytes);
        assert_eq!(
            open(&lanes.disk.fork(), 1).and_then(|db| read(&db)).ok(),
            Some(lanes.content.clone())
        );
        lose_frames(&lanes.disk, 1);
        let opened = open(&lanes.disk, 1).map(drop);
        let Err(Error::Corrupt { .. }) = opened else { panic!("seed {seed}: {opened:?}") };
    }
}

/// All lanes are synced after each step.
#[test]
fn what_was_synced_in_all_lanes_is_there_or_opening_is_refused() {
    let mut lanes = Lanes::new(3);
    for step in 0..40u32 {
        let at = if step % 8 == 3 { 1 } else { SHORT };
        lanes.put((step % 5) as usize % 3, at, step, step + 5_000);
        lanes.put((step % 3) as usize, SHORT, step / 2, step);
        lanes.flush();
        if step % 17 == 16 {
            simulation::checkpoint(lanes.db()).expect("space");
        }
        if step % 4 == 0 {
            let copy = lanes.disk.fork();
            let names = log_files(&copy);
            expect_all_or_refused(&copy, &names, &[&lanes.content], &format!("step {step}"));
        }
    }
    let copy = lanes.disk.fork();
    expect_all_or_refused(&copy, &copy.file_names(), &[&lanes.content], "all files");
}

/// A file of another program has the name of the next segment.
#[test]
fn a_foreign_file_in_the_place_of_a_segment_stops_no_writer_and_stays() {
    let disk = Simulated::new(4);
    let db = simulation::open(&options(Durability::Process), &disk, 4).expect("an empty disk");
    let table = db.create_table(&schema(SHORT), TABLES[SHORT].1).expect("a new table");
    let last = log_files(&disk).pop().expect("there is a segment");
    let number: u64 = last["log-".len()..].parse().expect("a number");
    let name = |number: u64| format!("log-{number:012}");
    disk.put_file(&name(number + 1), b"a note".to_vec());
    disk.put_file(&name(number + 3), b"a note".to_vec());
    let mut refused = 0;
    while let Err(error) = simulation::widen_log(&db, 4) {
        assert!(matches!(error, Error::Io { .. }), "{error}");
        refused += 1;
        table.upsert(&record(SHORT, refused, 1)).expect("the log goes on in its lanes");
    }
    assert_eq!(refused, 2);
    for lane in 0..4 {
        simulation::choose_lane(lane);
        table.upsert(&record(SHORT, 10 + lane as u32, 1)).expect("room");
    }
    for at in [1, 3] {
        assert_eq!(disk.file_bytes(&name(number + at)), Some(b"a note".to_vec()));
    }
    db.close().expect("space");
    assert_eq!(disk.file_bytes(&name(number + 1)), Some(b"a note".to_vec()));
}

/// More threads than lanes share them.
#[test]
fn a_log_has_sixteen_lanes_at_most() {
    let mut lanes = Lanes::new(8);
    simulation::widen_log(lanes.db(), 17).expect("nothing to do");
    simulation::widen_log(lanes.db(), 16).expect("space");
    for thread in 0..40 {
        lanes.put(thread, SHORT, thread as u32 % 25, thread as u32);
    }
    assert_eq!(log_files(&lanes.disk).len(), 16);
    lanes.kill();
    assert_eq!(lanes.reopen(), lanes.content);
}

/// A reader replays the lanes in memory, and changes nothing.
#[test]
fn a_reader_sees_what_all_lanes_have() {
    let directory = tempfile::tempdir().expect("a directory");
    let (own, copy) = (directory.path().join("own"), directory.path().join("copy"));
    let db = options(Durability::Process).create_new(&own).expect("an empty directory");
    let table = db.create_table(&schema(SHORT), TABLES[SHORT].1).expect("a new table");
    simulation::widen_log(&db, 3).expect("space");
    let mut wanted = Content::from([(SHORT, Default::default())]);
    for key in 0..300 {
        simulation::choose_lane(key as usize % 3);
        table.upsert(&record(SHORT, key % 100, key)).expect("room");
        wanted.get_mut(&SHORT).expect("a table").insert(key % 100, key);
    }
    std::fs::create_dir(&copy).expect("space");
    let files = || std::fs::read_dir(&own).expect("it is there").map(|file| file.expect("a file"));
    for file in files() {
        std::fs::copy(file.path(), copy.join(file.file_name())).expect("space");
    }
    for _ in 0..2 {
        let reader = Options::new().open_read_only(&copy).expect("it is whole");
        assert_eq!(read(&reader).expect("it is whole"), wanted);
    }
    let db = options(Durability::Commit).open(&copy).expect("it is whole");
    assert_eq!(read(&db).expect("it is whole"), wanted);
}

/// After closing, there are the files of a log with one lane.
#[test]
fn a_database_that_is_closed_has_one_lane() {
    let mut lanes = Lanes::new(5);
    for key in 0..200 {
        lanes.put(key as usize % 3, 1, key, key);
    }
    lanes.db.take().expect("it is open").close().expect("space");
    assert_eq!(log_files(&lanes.disk).len(), 1, "{:?}", log_files(&lanes.disk));
    assert_eq!(segment_of(&lanes.disk, 0), log_files(&lanes.disk)[0]);
    let without = lanes.disk.fork();
    without.put_file(&log_files(&without)[0], Vec::new());
    assert_eq!(lanes.reopen(), lanes.content);
    let db = open(&without, 1).expect("nothing that is needed is missing");
    assert_eq!(read(&db).expect("it is whole"), lanes.content);
}

/// Whichever sync of several lanes fails: nothing more is promised, in no lane.
#[test]
fn a_sync_that_fails_in_one_lane_fails_for_all() {
    for after in 0..4 {
        let mut lanes = Lanes::new(6);
        lanes.put(0, SHORT, 1, 1);
        lanes.flush();
        let promised = lanes.content.clone();
        (0..3).for_each(|lane| lanes.put(lane, SHORT, 2 + lane as u32, 2));
        // Writes and checks of files are operations too: the fault waits for a sync.
        let kind = FaultKind::SyncFails;
        lanes.disk.fail(Fault::Error { at: lanes.disk.operations() + after, kind });
        let flushed = lanes.db().flush();
        let Err(Error::Poisoned { .. }) = flushed else { continue };
        lanes.disk.heal();
        let refused = lanes.db().flush();
        assert!(matches!(refused, Err(Error::Poisoned { .. })), "{refused:?}");
        for lane in 0..3 {
            simulation::choose_lane(lane);
            let refused = lanes.table(SHORT).upsert(&record(SHORT, 9, 9));
            assert!(matches!(refused, Err(Error::Poisoned { .. })), "{refused:?}");
        }
        lanes.cut_power(after);
        let found = lanes.reopen();
        assert!(promised[&SHORT].iter().all(|(key, value)| found[&SHORT].get(key) == Some(value)));
        return;
    }
    panic!("no sync has failed");
}

/// On a full disk, a lane continues in files that were kept for others.
#[test]
fn a_lane_goes_on_in_the_files_of_others_when_the_disk_is_full() {
    let mut lanes = Lanes::new(7);
    for key in 0..200 {
        lanes.put(0, 1, key % 40, key);
    }
    simulation::checkpoint(lanes.db()).expect("space");
    let before = log_files(&lanes.disk);
    lanes.disk.set_capacity(Some(lanes.disk.used_bytes()));
    let first = segment_of(&lanes.disk, 1);
    let mut key = 0;
    while segment_of(&lanes.disk, 1) == first {
        lanes.put(1, 1, key % 40, key);
        key += 1;
    }
    assert_eq!(log_files(&lanes.disk).len(), before.len(), "no file is new");
    let refused = loop {
        simulation::choose_lane(key as usize % 3);
        match lanes.table(1).upsert(&record(1, key % 40, key)) {
            Ok(_) => drop(lanes.content.get_mut(&1).expect("a table").insert(key % 40, key)),
            Err(error) => break error,
        }
        key += 1;
    };
    assert!(matches!(refused, Error::DiskFull { .. }), "{refused}");
    lanes.kill();
    lanes.disk.set_capacity(None);
    assert_eq!(lanes.reopen(), lanes.content);
}
