//! Files that are not as they were written, and disks that refuse to work: what comes of it is an
//! error that says so, or the right content; never another content, a panic or a hang.
//!
//! Each part of a test prints what it needs to be found again. `LODE_FLIPS=n` asks for so many bits
//! beyond those that are always turned over.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};

use lode::simulation::{self, Fault, FaultKind, Simulated};
use lode::{Database, Durability, Error, KeyKind, Options, Schema, Type};

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}

/// The tables that there may be, with the bytes of their records after key and value.
const TABLES: [(&str, KeyKind, u32); 5] = [
    ("hash", KeyKind::Hash, 900),
    ("tree", KeyKind::Tree, 1900),
    ("short", KeyKind::Hash, 4),
    ("shrub", KeyKind::Tree, 4),
    ("late", KeyKind::Tree, 4),
];

/// What is in a database: the tables that there are, and values under their keys.
type Content = BTreeMap<usize, BTreeMap<u32, u32>>;

fn schema(table: usize) -> Schema {
    let (name, _, rest) = TABLES[table];
    Schema::build(name)
        .key("key", Type::U32)
        .column("value", Type::U32)
        .column("rest", Type::Bytes(rest))
        .finish()
        .expect("a schema")
}

/// All bytes of a record follow from key and value, so that each of them is looked at.
fn record(table: usize, key: u32, value: u32) -> Vec<u8> {
    let rest = (0..TABLES[table].2).map(|at| (value ^ key ^ at) as u8);
    key.to_le_bytes().into_iter().chain(value.to_le_bytes()).chain(rest).collect()
}

fn word(bytes: &[u8]) -> u32 {
    u32::from_le_bytes(*bytes.first_chunk().expect("four bytes"))
}

/// What one table has.
fn read_table(db: &Database, at: usize) -> Result<BTreeMap<u32, u32>, Error> {
    let table = db.table(TABLES[at].0)?;
    assert_eq!(table.key_kind(), TABLES[at].1);
    assert_eq!(table.schema(), &schema(at));
    let mut found = BTreeMap::new();
    db.snapshot().each(&table, &mut |bytes| {
        let (key, value) = (word(bytes), word(&bytes[4..]));
        assert!(bytes == record(at, key, value), "a record of {} has other bytes", TABLES[at].0);
        assert_eq!(found.insert(key, value), None, "a key is there once");
        Ok(true)
    })?;
    for (key, value) in &found {
        let payload = table.payload(&key.to_le_bytes())?.expect("what is there is found");
        assert_eq!(word(&payload), *value);
    }
    Ok(found)
}

fn tables_of(db: &Database) -> Vec<usize> {
    let names = db.table_names();
    let at = |name: &String| TABLES.iter().position(|(other, ..)| other == name);
    let mut tables: Vec<_> = names.iter().map(|name| at(name).expect("a known table")).collect();
    tables.sort_unstable();
    tables
}

fn read(db: &Database) -> Result<Content, Error> {
    tables_of(db).into_iter().map(|at| Ok((at, read_table(db, at)?))).collect()
}

fn options(level: Durability) -> Options {
    Options::new().memory_bytes(1 << 20).segment_bytes(1 << 13).durability(level)
}

/// A database whose content is known after each operation.
struct Known {
    disk: Simulated,
    db: Option<Database>,
    content: Content,
    /// What there was before and after each operation since the last checkpoint.
    states: Vec<Content>,
    /// Where the log ended at the last checkpoint: the file and its length.
    log_from: (String, usize),
}

impl Known {
    fn new(seed: u64) -> Self {
        Self::with_memory(seed, 1 << 20)
    }

    fn with_memory(seed: u64, bytes: u64) -> Self {
        let disk = Simulated::new(seed);
        let options = options(Durability::Commit).memory_bytes(bytes);
        let db = Some(simulation::open(&options, &disk, seed).expect("an empty disk"));
        let (content, states) = (Content::new(), vec![Content::new()]);
        Self { disk, db, content, states, log_from: (String::new(), 0) }
    }

    fn db(&self) -> &Database {
        self.db.as_ref().expect("it is open")
    }

    fn create(&mut self, at: usize) {
        self.db().create_table(&schema(at), TABLES[at].1).expect("a new table");
        self.content.insert(at, BTreeMap::new());
        self.states.push(self.content.clone());
    }

    fn put(&mut self, at: usize, key: u32, value: u32) {
        let table = self.db().table(TABLES[at].0).expect("a table");
        table.upsert(&record(at, key, value)).expect("room");
        self.content.get_mut(&at).expect("a table").insert(key, value);
        self.states.push(self.content.clone());
    }

    fn delete(&mut self, at: usize, key: u32) {
        let table = self.db().table(TABLES[at].0).expect("a table");
        table.delete(&key.to_le_bytes()).expect("a key");
        self.content.get_mut(&at).expect("a table").remove(&key);
        self.states.push(self.content.clone());
    }

    /// Puts records of several tables at once.
    fn commit(&mut self, records: &[(usize, u32, u32)]) {
        let mut transaction = self.db().begin();
        for (at, key, value) in records {
            let table = self.db().table(TABLES[*at].0).expect("a table");
            transaction.upsert(&table, &record(*at, *key, *value)).expect("room");
            self.content.get_mut(at).expect("a table").insert(*key, *value);
        }
        transaction.commit().expect("nobody else is there");
        self.states.push(self.content.clone());
    }

    fn checkpoint(&mut self) {
        self.db().checkpoint().expect("nothing is wrong with the disk");
        self.states = vec![self.content.clone()];
        let name = self.disk.file_names().pop().expect("there is a log");
        let bytes = self.disk.file_bytes(&name).expect("it is there");
        self.log_from = (name, end_of(&bytes));
    }

    fn close(&mut self) {
        self.db.take().expect("it is open").close().expect("nothing is wrong with the disk");
        self.states = vec![self.content.clone()];
    }

    /// The process ends; what it had handed over is there.
    fn kill(&mut self) {
        self.disk.fail(Fault::Crash { at: self.disk.operations() });
        self.db = None;
        self.disk.crash(0);
    }

    /// Tables of all kinds, a checkpoint, and operations after it.
    fn small(seed: u64) -> Self {
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

/// What is wrong with what a damaged disk gives, if it is not one of the contents.
fn judge(disk: &Simulated, allowed: &[&Content]) -> Result<Outcome, String> {
    let work = || -> Result<Outcome, String> {
        let db = match simulation::open(&options(Durability::Commit), disk, 99) {
            Ok(db) => db,
            Err(Error::Corrupt { .. } | Error::Version { .. }) => return Ok(Outcome::Refused),
            Err(error) => return Err(format!("opening answers {error:?}")),
        };
        let tables = tables_of(&db);
        let (mut read, mut unreadable) = (Content::new(), BTreeSet::new());
        for at in &tables {
            match read_table(&db, *at) {
                Ok(found) => drop(read.insert(*at, found)),
                Err(Error::Corrupt { .. }) => drop(unreadable.insert(*at)),
                Err(error) => return Err(format!("{} answers {error:?}", TABLES[*at].0)),
            }
        }
        let fits = |content: &&&Content| {
            content.keys().eq(&tables) && read.iter().all(|(at, found)| content[at] == *found)
        };
        let Some(place) = allowed.iter().position(|content| fits(&content)) else {
            return Err(format!("it has another content: {}", difference(&read, allowed[0])));
        };
        if let Err(why) = db.check()
            && unreadable.is_empty()
        {
            return Err(format!("all is readable, but {why}"));
        }
        // What can be read can be written, or there is an error that says why not.
        for at in read.keys() {
            let written =
                db.table(TABLES[*at].0).and_then(|table| table.upsert(&record(*at, 3, 3)));
            match written {
                Ok(_) | Err(Error::Corrupt { .. } | Error::Poisoned { .. }) => {}
                Err(error) => return Err(format!("writing answers {error:?}")),
            }
        }
        match db.close() {
            Ok(()) | Err(Error::Corrupt { .. } | Error::Poisoned { .. }) => {}
            Err(error) => return Err(format!("closing answers {error:?}")),
        }
        Ok(if unreadable.is_empty() { Outcome::Content(place) } else { Outcome::Part(unreadable) })
    };
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err("it panics".into()))
}

/// The records that are not in both.
fn difference(found: &Content, wanted: &Content) -> String {
    let all = |content: &Content| -> BTreeSet<(usize, u32, u32)> {
        let of = |(at, records): (&usize, &BTreeMap<u32, u32>)| {
            let at = *at;
            records.iter().map(move |(key, value)| (at, *key, *value)).collect::<Vec<_>>()
        };
        content.iter().flat_map(of).collect()
    };
    let (found, wanted) = (all(found), all(wanted));
    let some = |a: &BTreeSet<_>, b| a.difference(b).take(10).copied().collect::<Vec<_>>();
    format!("without {:?}, with {:?}", some(&wanted, &found), some(&found, &wanted))
}

/// What a damaged disk gives.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Outcome {
    /// It cannot be opened.
    Refused,
    /// One of the contents that are allowed.
    Content(usize),
    /// The right content, but some tables cannot be read.
    Part(BTreeSet<usize>),
}

/// Works on several things at a time, and fails if one of them does.
fn on_all<T: Sync>(things: &[T], work: impl Fn(&T) -> Result<(), String> + Sync) {
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let half = things.len().div_ceil(2).max(1);
        let work = &work;
        let threads: Vec<_> = things
            .chunks(half)
            .map(|part| {
                scope.spawn(move || part.iter().filter_map(|thing| work(thing).err()).collect())
            })
            .collect();
        threads.into_iter().flat_map(|thread| -> Vec<_> { thread.join().expect("ends") }).collect()
    });
    let some = wrong.iter().take(5).map(String::as_str).collect::<Vec<_>>().join("\n");
    assert!(wrong.is_empty(), "{} of {} went wrong:\n{some}", wrong.len(), things.len());
}

/// The bits of some bytes.
fn bits(bytes: std::ops::Range<usize>) -> std::ops::Range<u64> {
    bytes.start as u64 * 8..bytes.end as u64 * 8
}

fn flips() -> u64 {
    std::env::var("LODE_FLIPS").ok().and_then(|text| text.parse().ok()).unwrap_or(2_000)
}

/// The last place of a file that is not zero.
fn end_of(bytes: &[u8]) -> usize {
    bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1)
}

/// Bits to be turned over: all of the superblocks, of the log's headers and its frames since the last
/// checkpoint, and some of all others.
fn places(known: &Known, more: u64) -> Vec<(String, u64)> {
    let Known { disk, log_from: (segment, from), .. } = known;
    let mut places = Vec::new();
    let mut random = Random(1);
    let names = disk.file_names();
    let files: Vec<_> = names
        .iter()
        .map(|name| (name.clone(), disk.file_bytes(name).expect("it is there")))
        .collect();
    for (name, bytes) in &files {
        let mut ranges = vec![];
        if name == "data" {
            ranges.extend([bits(0..112), bits(16_384..16_384 + 112)]);
        } else {
            ranges.extend([bits(0..84), bits(512..596)]);
            let from = if name == segment { *from } else { 1024 };
            if name >= segment {
                ranges.push(bits(from..(end_of(bytes).max(from) + 16).min(bytes.len())));
            }
        }
        places.extend(ranges.into_iter().flatten().map(|bit| (name.clone(), bit)));
    }
    for _ in 0..more {
        let (name, bytes) = &files[random.below(files.len() as u64) as usize];
        places.push((name.clone(), random.below(bytes.len() as u64 * 8)));
    }
    places
}

#[test]
fn no_bit_that_turns_over_makes_another_content() {
    let mut known = Known::small(1);
    known.kill();
    let disk = &known.disk;
    let [.., before, last] = &known.states[..] else { unreachable!("there were operations") };
    // A copy of the database as it is has the right content.
    assert_eq!(judge(&disk.fork(), &[last]), Ok(Outcome::Content(0)));
    let places = places(&known, flips());
    assert!(places.len() > 5_000, "{} bits", places.len());
    let lost = std::sync::atomic::AtomicU64::new(0);
    on_all(&places, |(name, bit)| {
        let fork = disk.fork();
        fork.flip_bit(name, *bit);
        // Each operation was synced by itself, and the next one says so. Nothing says so of the last.
        let allowed: &[&Content] = if name == "data" { &[last] } else { &[last, before] };
        let outcome = judge(&fork, allowed).map_err(|why| format!("bit {bit} of {name}: {why}"))?;
        if outcome == Outcome::Content(1) {
            lost.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }
        Ok(())
    });
    let lost = lost.into_inner();
    assert!((1..1_000).contains(&lost), "{lost} bits are of the last frame");
}

#[test]
fn no_bit_that_turns_over_in_a_closed_database_makes_another_content() {
    let mut known = Known::small(2);
    known.close();
    let mut places = places(&known, flips() / 2);
    // What is in the log now was there before, and is not looked at.
    places.retain(|(name, bit)| name == "data" || bit % 64 == 1);
    on_all(&places, |(name, bit)| {
        let fork = known.disk.fork();
        fork.flip_bit(name, *bit);
        let judged = judge(&fork, &[&known.content]);
        judged.map(drop).map_err(|why| format!("bit {bit} of {name}: {why}"))
    });
}

/// Recovery of a log that is longer than the memory writes checkpoints on its way. Losing the last
/// one of them must not mean going back to one of those.
#[test]
fn no_bit_of_a_superblock_takes_back_what_recovery_has_done() {
    let mut known = Known::with_memory(3, 16 << 20);
    (0..2).for_each(|at| known.create(at));
    for key in 0..300 {
        known.put(1, key * 31 % 300, key);
    }
    known.kill();
    let db = simulation::open(&options(Durability::Commit), &known.disk, 5).expect("it is whole");
    assert!(db.statistics().data_used_bytes > 1 << 20, "it does not fit into memory");
    assert_eq!(read(&db).as_ref(), Ok(&known.content));
    // The process ends here: nothing was done since, and the old log is gone.
    let disk = known.disk.fork();
    drop(db);
    let bits: Vec<u64> = bits(0..112).chain(bits(16_384..16_384 + 112)).collect();
    on_all(&bits, |bit| {
        let fork = disk.fork();
        fork.flip_bit("data", *bit);
        judge(&fork, &[&known.content]).map(drop).map_err(|why| format!("bit {bit} of data: {why}"))
    });
}

#[test]
fn a_damaged_page_of_a_table_leaves_the_others_readable() {
    let mut known = Known::small(4);
    known.close();
    let bytes = known.disk.file_bytes("data").expect("it is there");
    let (mut alone, mut together) = (BTreeSet::new(), 0);
    let mut random = Random(4);
    for place in 2..bytes.len() / 16_384 {
        let fork = known.disk.fork();
        let bit = (place as u64 * 16_384) * 8 + random.below(16_384 * 8);
        fork.flip_bit("data", bit);
        let judged = judge(&fork, &[&known.content]);
        match judged.unwrap_or_else(|why| panic!("bit {bit} of data: {why}")) {
            Outcome::Part(tables) if tables.len() == 1 => alone.extend(tables),
            Outcome::Part(_) => together += 1,
            Outcome::Refused | Outcome::Content(_) => {}
        }
    }
    // Each of them was the only one once.
    assert_eq!(alone, (0..5).collect());
    // What says where pages are is of several tables if they are small.
    assert!(together <= 1, "{together} pages are of several tables");
}

#[test]
fn a_damaged_table_says_so_and_the_others_can_be_written() {
    let mut known = Known::small(5);
    known.close();
    let bytes = known.disk.file_bytes("data").expect("it is there");
    let damaged = (2..bytes.len() as u64 / 16_384).filter_map(|place| {
        let fork = known.disk.fork();
        fork.flip_bit("data", place * 16_384 * 8 + 77);
        let db = simulation::open(&options(Durability::Commit), &fork, 1).ok()?;
        let wrong: Vec<usize> =
            (0..5).filter(|at| read_table(&db, *at).is_err()).collect::<Vec<_>>();
        let [at] = wrong[..] else { return None };
        drop(db);
        Some((fork, at))
    });
    let mut seen = BTreeSet::new();
    for (disk, damaged) in damaged {
        let db = simulation::open(&options(Durability::Commit), &disk, 1).expect("the others are");
        let why = read_table(&db, damaged).expect_err("it is damaged");
        let Error::Corrupt { what, .. } = &why else { panic!("{why}") };
        assert!(what.contains("page"), "{what}");
        assert!(db.check().is_err());
        let mut content = known.content.clone();
        content.remove(&damaged);
        for (at, records) in &mut content {
            let table = db.table(TABLES[*at].0).expect("it is not damaged");
            table.upsert(&record(*at, 77_777, 1)).expect("it can be written");
            records.insert(77_777, 1);
        }
        // The others are as they should be, now and after the database was closed and opened again.
        db.close().expect("a damaged table does not keep it from being closed");
        let db = simulation::open(&options(Durability::Commit), &disk, 1).expect("the others are");
        for (at, records) in &content {
            assert_eq!(read_table(&db, *at).as_ref(), Ok(records));
        }
        assert!(read_table(&db, damaged).is_err(), "it is still damaged");
        // It can be dropped, and that comes back after a crash.
        db.drop_table(TABLES[damaged].0).expect("nobody has to read it for that");
        disk.fail(Fault::Crash { at: disk.operations() });
        drop(db);
        disk.crash(1);
        let db = simulation::open(&options(Durability::Commit), &disk, 1).expect("the others are");
        assert_eq!(tables_of(&db), content.keys().copied().collect::<Vec<_>>());
        for (at, records) in &content {
            assert_eq!(read_table(&db, *at).as_ref(), Ok(records));
        }
        seen.insert(damaged);
    }
    assert_eq!(seen, (0..5).collect());
}

#[test]
fn files_that_are_cut_off_give_an_error_or_what_was_there_before() {
    let mut known = Known::small(6);
    known.kill();
    let states: Vec<&Content> = known.states.iter().rev().collect();
    let mut cuts = Vec::new();
    for name in known.disk.file_names() {
        let size = known.disk.file_bytes(&name).expect("it is there").len();
        let (step, end) = match name == "data" {
            true => (2_000, size),
            false => (24, end_of(&known.disk.file_bytes(&name).expect("it is there"))),
        };
        cuts.extend((0..end).step_by(step).map(|size| (name.clone(), size)));
    }
    on_all(&cuts, |(name, size)| {
        let fork = known.disk.fork();
        let mut bytes = fork.file_bytes(name).expect("it is there");
        bytes.truncate(*size);
        fork.put_file(name, bytes);
        // What was the end of the log nobody can know.
        let allowed = if name == "data" { &states[..1] } else { &states[..] };
        judge(&fork, allowed).map(drop).map_err(|why| format!("{name} with {size} bytes: {why}"))
    });
}

/// A disk with the files of another that fit.
fn with_files(from: &Simulated, choose: impl Fn(&str) -> bool) -> Simulated {
    let disk = Simulated::new(0);
    for name in from.file_names().iter().filter(|name| choose(name)) {
        disk.put_file(name, from.file_bytes(name).expect("it is there"));
    }
    disk
}

#[test]
fn missing_and_empty_files_are_no_empty_database() {
    let mut known = Known::small(7);
    known.kill();
    let last = &known.content;
    let is_log = |name: &str| name.starts_with("log-");
    let without_data = with_files(&known.disk, is_log);
    assert_eq!(judge(&without_data, &[last]), Ok(Outcome::Refused));
    let without_log = with_files(&known.disk, |name| !is_log(name));
    assert_eq!(judge(&without_log, &[last]), Ok(Outcome::Refused));
    let empty = known.disk.fork();
    empty.put_file("data", Vec::new());
    assert_eq!(judge(&empty, &[last]), Ok(Outcome::Refused));
    let zeros = known.disk.fork();
    zeros.put_file(
        "data",
        vec![0; empty.file_bytes("data").expect("it is there").len().max(1 << 16)],
    );
    assert_eq!(judge(&zeros, &[last]), Ok(Outcome::Refused));
    for name in known.disk.file_names().iter().filter(|name| is_log(name)) {
        let fork = known.disk.fork();
        fork.put_file(name, Vec::new());
        let judged = judge(&fork, &[last]);
        judged.unwrap_or_else(|why| panic!("{name} is empty: {why}"));
    }
    // The files are still what they were: nothing was removed in vain.
    assert_eq!(judge(&known.disk.fork(), &[last]), Ok(Outcome::Content(0)));
    let closed = {
        let mut known = Known::small(7);
        known.close();
        known.disk
    };
    let without_log = with_files(&closed, |name| !is_log(name));
    assert_eq!(judge(&without_log, &[last]), Ok(Outcome::Refused));
}

#[test]
fn a_log_of_several_segments_misses_none() {
    let mut known = Known::small(8);
    for key in 0..40 {
        known.put(1, key, key + 5_000);
    }
    known.kill();
    let states: Vec<&Content> = known.states.iter().rev().collect();
    let names: Vec<_> =
        known.disk.file_names().into_iter().filter(|name| name.starts_with("log-")).collect();
    assert!(names.len() > 3, "{names:?}");
    for (number, name) in names.iter().enumerate() {
        let fork = with_files(&known.disk, |other| other != name);
        let outcome = judge(&fork, &states).unwrap_or_else(|why| panic!("without {name}: {why}"));
        // Without the last one it is a shorter log; without another it is none.
        let is_last = number + 1 == names.len();
        assert_eq!(is_last, matches!(outcome, Outcome::Content(_)), "without {name}: {outcome:?}");
        for other in names.iter().filter(|other| *other != name) {
            let fork = known.disk.fork();
            fork.put_file(name, known.disk.file_bytes(other).expect("it is there"));
            let judged = judge(&fork, &states);
            let outcome = judged.unwrap_or_else(|why| panic!("{other} as {name}: {why}"));
            assert_eq!(is_last, matches!(outcome, Outcome::Content(_)), "{other} as {name}");
        }
    }
}

#[test]
fn files_of_other_databases_are_none_of_this_one() {
    let mut known = Known::small(9);
    for key in 0..20 {
        known.put(1, key, key + 5_000);
    }
    let mut other = Known::small(10);
    for key in 0..20 {
        other.put(1, key, key + 6_000);
    }
    known.kill();
    other.kill();
    let states: Vec<&Content> = known.states.iter().rev().collect();
    for name in other.disk.file_names() {
        let fork = known.disk.fork();
        fork.put_file(&name, other.disk.file_bytes(&name).expect("it is there"));
        judge(&fork, &states).unwrap_or_else(|why| panic!("with {name} of another: {why}"));
    }
    // A segment more than there was.
    let fork = known.disk.fork();
    let name = other.disk.file_names().pop().expect("there are some");
    fork.put_file("log-000000000050", other.disk.file_bytes(&name).expect("it is there"));
    assert_eq!(judge(&fork, &states), Ok(Outcome::Content(0)));
}

#[test]
fn a_file_with_the_last_number_of_a_segment_does_no_harm() {
    let mut known = Known::small(11);
    known.kill();
    known.disk.put_file("log-999999999999", b"nothing of use".to_vec());
    let open = || simulation::open(&options(Durability::Commit), &known.disk, 5);
    let db = open().expect("it is whole");
    db.table("shrub").and_then(|table| table.upsert(&record(3, 1, 1))).expect("room");
    known.content.get_mut(&3).expect("a table").insert(1, 1);
    known.disk.fail(Fault::Crash { at: known.disk.operations() });
    drop(db);
    known.disk.crash(0);
    let db = open().expect("it is whole");
    assert_eq!(read(&db).as_ref(), Ok(&known.content));
}

#[test]
fn an_older_copy_of_the_data_file_brings_the_log_or_an_error() {
    let mut known = Known::small(12);
    let mut copies = Vec::new();
    for round in 0..6 {
        copies.push(known.disk.file_bytes("data").expect("it is there"));
        for key in 0..10 {
            known.put(1, key, key + round * 100);
            known.put(2, key, key + round * 100);
        }
        known.checkpoint();
        if round % 2 == 1 {
            known.close();
            copies.push(known.disk.file_bytes("data").expect("it is there"));
            let db = simulation::open(&options(Durability::Commit), &known.disk, u64::from(round));
            known.db = Some(db.expect("it is whole"));
        }
        known.put(3, round, round);
    }
    known.kill();
    for (number, copy) in copies.into_iter().enumerate() {
        let fork = known.disk.fork();
        fork.put_file("data", copy);
        let judged = judge(&fork, &[&known.content]);
        judged.unwrap_or_else(|why| panic!("copy {number}: {why}"));
    }
}

/// A fixed list of things to do, on a disk of which something fails at some time.
struct Work {
    disk: Simulated,
    db: Option<Database>,
    /// What was acknowledged.
    content: Content,
    /// What else may come back: what was under way when the database was poisoned.
    perhaps: Option<Content>,
}

impl Work {
    fn new(mapping: bool) -> Self {
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
                Err(error) => panic!("opening answers {error:?}"),
            }
        }
        panic!("it cannot be opened, though only one thing failed");
    }

    /// What there is. If reading fails, it does so once.
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

    fn delete(&mut self, at: usize, key: u32) {
        let mut wanted = self.content.clone();
        let Some(records) = wanted.get_mut(&at) else { return };
        records.remove(&key);
        let result = self.db().table(TABLES[at].0).and_then(|t| t.delete(&key.to_le_bytes()));
        self.settle(result, wanted);
    }

    fn commit(&mut self, key: u32) {
        let mut wanted = self.content.clone();
        let mut transaction = self.db().begin();
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
    fn run(&mut self) {
        self.open();
        (0..4).for_each(|at| self.create(at));
        (0..16).for_each(|key| self.put(key as usize % 4, key, key));
        self.same(Database::checkpoint);
        (0..12).for_each(|key| self.put(key as usize % 4, key / 2, key + 100));
        self.delete(1, 1);
        self.delete(2, 2);
        self.commit(50);
        self.same(simulation::look_after);
        self.create(4);
        self.put(4, 1, 1);
        self.same(Database::flush);
        self.same(Database::checkpoint);
        self.drop_table(4);
        self.drop_table(0);
        self.same(Database::compact);
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
    fn end(mut self, seed: Option<u64>) {
        let found = self.look();
        self.expect_content(&found);
        self.disk.fail(Fault::Crash { at: self.disk.operations() });
        self.db = None;
        match seed {
            Some(seed) => self.disk.crash(seed),
            None => self.disk.heal(),
        }
        self.open();
        self.db().check().unwrap_or_else(|why| panic!("{why}"));
        self.create(4);
        self.put(4, 99, 99);
        self.db.take().expect("it is open").close().expect("nothing fails any more");
        let db = simulation::open(&options(Durability::Commit), &self.disk, 6).expect("whole");
        assert_eq!(read(&db).as_ref(), Ok(&self.content));
    }
}

#[test]
fn each_operation_of_the_disk_may_fail_once() {
    let kinds =
        [FaultKind::ReadFails, FaultKind::WriteFails, FaultKind::SyncFails, FaultKind::NoSpace];
    let mut cases = Vec::new();
    for mapping in [false, true] {
        let mut work = Work::new(mapping);
        work.run();
        let count = work.disk.operations();
        work.end(None);
        assert!(count > 200, "{count} operations");
        let all = (0..count).flat_map(|at| kinds.map(|kind| (mapping, at, kind)));
        cases.extend(all.map(|case| (case, (case.1 % 2 == 0).then_some(case.1))));
        // A segment whose header was written in part is there after the end of a process.
        let all = (0..count).map(|at| (mapping, at, FaultKind::WriteFails));
        cases.extend(all.map(|case| (case, None)));
    }
    on_all(&cases, |((mapping, at, kind), seed)| {
        let work = || {
            let mut work = Work::new(*mapping);
            work.disk.fail(Fault::Error { at: *at, kind: *kind });
            work.run();
            work.end(*seed);
        };
        catch_unwind(AssertUnwindSafe(work)).map_err(|why| {
            let text = why.downcast_ref::<String>().cloned().unwrap_or_default();
            format!("mapping {mapping}, {kind:?} at operation {at}, {seed:?}: {text}")
        })
    });
}

#[test]
fn a_failed_sync_ends_writing_but_not_reading() {
    for mapping in [false, true] {
        let mut known = Known::small(13);
        known.disk.set_mapping(mapping);
        let table = known.db().table("shrub").expect("a table");
        known.disk.fail(Fault::Error { at: known.disk.operations(), kind: FaultKind::SyncFails });
        let poisoned = |result: Result<(), Error>| {
            assert!(matches!(result, Err(Error::Poisoned { .. })), "{result:?}");
        };
        poisoned(table.upsert(&record(3, 1, 1)).map(drop));
        let mut also = known.content.clone();
        also.get_mut(&3).expect("a table").insert(1, 1);
        for _ in 0..2 {
            poisoned(table.insert(&record(3, 2, 2)).map(drop));
            poisoned(table.upsert(&record(3, 2, 2)).map(drop));
            poisoned(table.update(&0u32.to_le_bytes(), 1, &[0; 4]).map(drop));
            poisoned(table.delete(&0u32.to_le_bytes()).map(drop));
            let mut transaction = known.db().begin();
            transaction.upsert(&table, &record(3, 2, 2)).expect("it is not written yet");
            poisoned(transaction.commit());
            poisoned(known.db().drop_table("late"));
            poisoned(known.db().flush());
            poisoned(known.db().checkpoint());
            poisoned(known.db().compact());
            poisoned(simulation::look_after(known.db()));
        }
        let found = read(known.db()).expect("reading goes on");
        assert!(found == known.content || found == also, "{}", difference(&found, &also));
        known.db().check().expect("nothing is wrong with it");
        poisoned(known.db.take().expect("it is open").close());
        for seed in 0..20 {
            let fork = known.disk.clone();
            fork.crash(seed);
            let db = simulation::open(&options(Durability::Commit), &fork, seed);
            let db = db.expect("what is durable is there");
            let found = read(&db).expect("nothing is wrong with the disk");
            assert!(found == known.content || found == also, "{}", difference(&found, &also));
            also.clone_from(&found);
            known.content = found;
            db.table("shrub").and_then(|t| t.upsert(&record(3, 5, 5))).expect("it takes writes");
            also.get_mut(&3).expect("a table").insert(5, 5);
            known.content.get_mut(&3).expect("a table").insert(5, 5);
        }
    }
}

#[test]
fn a_full_disk_loses_nothing() {
    for (capacity, mapping) in (20..60).flat_map(|at| [(at << 15, false), (at << 15, true)]) {
        let case = format!("{capacity} bytes, mapping {mapping}");
        let options = options(Durability::Commit).log_bytes(1 << 16);
        let mut known = Known::new(14);
        known.disk.set_mapping(mapping);
        (0..4).for_each(|at| known.create(at));
        known.disk.set_capacity(Some(capacity));
        let put = |db: &Database, at: usize, key: u32| {
            db.table(TABLES[at].0).and_then(|table| table.upsert(&record(at, key, key)))
        };
        let mut key = 0;
        loop {
            key += 1;
            match put(known.db(), key as usize % 4, key * 37 % 5_000) {
                Ok(_) => {
                    let records = known.content.get_mut(&(key as usize % 4)).expect("a table");
                    records.insert(key * 37 % 5_000, key * 37 % 5_000);
                }
                Err(Error::DiskFull { .. }) => break,
                Err(error) => panic!("{case}: {error:?}"),
            }
        }
        assert_eq!(read(known.db()).as_ref(), Ok(&known.content), "{case}");
        for (at, key) in (0..4).flat_map(|at| (0..3_000u32).step_by(50).map(move |key| (at, key))) {
            let deleted = known.db().table(TABLES[at].0).and_then(|t| t.delete(&key.to_le_bytes()));
            match deleted {
                Ok(there) => {
                    let before = known.content.get_mut(&at).expect("a table").remove(&key);
                    assert_eq!(there, before.is_some(), "{case}");
                }
                Err(Error::DiskFull { .. }) => {}
                Err(error) => panic!("{case}: {error:?}"),
            }
        }
        known.db().checkpoint().unwrap_or_else(|why| panic!("{case}: a checkpoint: {why}"));
        known.db().check().unwrap_or_else(|why| panic!("{case}: {why}"));
        match capacity >> 15 & 1 {
            0 => known.kill(),
            _ => {
                let closed = known.db.take().expect("it is open").close();
                closed.unwrap_or_else(|why| panic!("{case}: closing: {why}"));
            }
        }
        match simulation::open(&options, &known.disk, 1) {
            Ok(db) => assert_eq!(read(&db).as_ref(), Ok(&known.content), "{case}"),
            // There has to be space for a segment of the log.
            Err(Error::DiskFull { .. }) => {}
            Err(error) => panic!("{case}: opening: {error:?}"),
        }
        known.disk.set_capacity(None);
        let db = simulation::open(&options, &known.disk, 1).expect("there is space");
        assert_eq!(read(&db).as_ref(), Ok(&known.content), "{case}");
        for key in 0..200 {
            put(&db, key as usize % 4, key + 10_000).expect("there is space");
            known
                .content
                .get_mut(&(key as usize % 4))
                .expect("a table")
                .insert(key + 10_000, key + 10_000);
        }
        assert_eq!(read(&db).as_ref(), Ok(&known.content), "{case}");
        db.check().unwrap_or_else(|why| panic!("{case}: {why}"));
    }
}

/// Numbers that somebody may have written into a file on purpose.
const ODD: [u64; 9] = [0, 1, 2, 3, 1 << 16, 1 << 31, u32::MAX as u64, u64::MAX / 2, u64::MAX];

/// Superblocks whose checksums are right, but which say something odd.
#[test]
fn what_a_forged_superblock_says_is_not_believed() {
    let mut known = Known::small(15);
    known.kill();
    let fields = (16..84).step_by(8).map(|at| (at, 8)).chain([(56, 4), (60, 4), (80, 4), (84, 4)]);
    let cases: Vec<_> = fields.flat_map(|field| ODD.map(|number| (field, number))).collect();
    on_all(&cases, |((at, size), number)| {
        let fork = known.disk.fork();
        let mut data = fork.file_bytes("data").expect("it is there");
        for from in [0, 16_384] {
            let (front, sum) = data[from..from + 112].split_at_mut(104);
            front[*at..at + size].copy_from_slice(&number.to_le_bytes()[..*size]);
            sum.copy_from_slice(&xxhash_rust::xxh3::xxh3_64_with_seed(front, 0).to_le_bytes());
        }
        fork.put_file("data", data);
        let opened = catch_unwind(AssertUnwindSafe(|| {
            let db = simulation::open(&options(Durability::Commit), &fork, 1)?;
            let content = read(&db);
            let _ = (db.check(), db.checkpoint());
            db.close().and(content)
        }));
        let why = format!("number {number} in {size} bytes at {at}");
        opened.map(drop).map_err(|_| format!("{why}: it panics"))
    });
}
