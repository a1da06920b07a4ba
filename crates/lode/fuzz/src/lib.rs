//! Parts that the fuzz targets share: small databases, and reading one of a damaged disk.

use std::collections::BTreeMap;

use arbitrary::{Arbitrary, Unstructured};
use lode::simulation::{self, Simulated};
use lode::{
    Alteration, Database, Durability, Error, IndexSchema, KeyKind, Options, ReadTable, Schema,
    Type, Value,
};

/// Bytes of a page, and of its slot in the data file.
pub const SLOT_BYTES: usize = 16 * 1024;

/// Reads values until an input ends. (A list of its own accord ends after each value with a chance
/// of one half.)
pub fn to_the_end<'a, T: Arbitrary<'a>>(input: &mut Unstructured<'a>) -> arbitrary::Result<Vec<T>> {
    let mut values = Vec::new();
    while !input.is_empty() {
        values.push(input.arbitrary()?);
    }
    Ok(values)
}

/// Does what the thread of an open database does from time to time.
pub fn look_after(db: &Database) -> lode::Result<()> {
    simulation::clean_pages(db, 8)?;
    simulation::give_back(db)?;
    simulation::look_after(db)
}

/// The rest of a table's records after key and value: a fixed number of bytes, or any number of
/// them.
#[derive(Clone, Copy)]
pub enum Rest {
    Fixed(u32),
    Any,
}

/// The tables.
pub const TABLES: [(&str, KeyKind, Rest); 8] = [
    ("hash", KeyKind::Hash, Rest::Fixed(900)),
    ("tree", KeyKind::Tree, Rest::Fixed(1900)),
    ("short", KeyKind::Hash, Rest::Fixed(4)),
    ("shrub", KeyKind::Tree, Rest::Fixed(4)),
    ("letters", KeyKind::Hash, Rest::Any),
    ("books", KeyKind::Tree, Rest::Any),
    ("words", KeyKind::Hash, Rest::Any),
    ("names", KeyKind::Tree, Rest::Fixed(4)),
];

/// The number of the first table with keys of variable length.
const FIRST_OF_NAMES: usize = 6;

/// The most bytes of a rest: more than a page has.
const MOST_REST_BYTES: u32 = 40_000;

/// The schema of a table.
pub fn schema(at: usize) -> Schema {
    let (name, _, rest) = TABLES[at];
    let rest = match rest {
        Rest::Fixed(size) => Type::Bytes(size),
        Rest::Any => Type::VarBytes(MOST_REST_BYTES),
    };
    let key = if at < FIRST_OF_NAMES { Type::U32 } else { Type::VarBytes(300) };
    Schema::build(name)
        .key("key", key)
        .column("value", Type::U32)
        .column("rest", rest)
        .finish()
        .expect("a schema")
}

/// Returns the size of a rest of any length: mostly short, seldom longer than a page.
fn size_of_any(key: u32, value: u32) -> u32 {
    let random = (key ^ value).wrapping_mul(0x9e37_79b1) >> 8;
    let most = match random % 40 {
        0 => MOST_REST_BYTES,
        1..6 => 4_000,
        _ => 300,
    };
    random / 40 % most
}

/// Returns the bytes of the column of a key, which start with its number.
fn key_cell(at: usize, key: u32) -> Vec<u8> {
    let more = if key.is_multiple_of(11) { key % 290 } else { key % 20 };
    let more = if at < FIRST_OF_NAMES { 0 } else { more };
    key.to_le_bytes().into_iter().chain((0..more).map(|_| key as u8)).collect()
}

/// A packed key of a table.
pub fn packed(at: usize, key: u32) -> Vec<u8> {
    let cell = key_cell(at, key);
    if at < FIRST_OF_NAMES {
        cell
    } else {
        [&(cell.len() as u16).to_le_bytes()[..], &cell].concat()
    }
}

/// The number of a record's key.
pub fn number_of(at: usize, record: &[u8]) -> u32 {
    let schema = schema(at);
    let cell = schema.bytes_of(record, &schema.columns()[0]);
    u32::from_le_bytes(*cell.first_chunk().expect("four bytes"))
}

/// A record of a table.
pub fn record(at: usize, key: u32, value: u32) -> Vec<u8> {
    let size = match TABLES[at].2 {
        Rest::Fixed(size) => size,
        Rest::Any => size_of_any(key, value),
    };
    let rest: Vec<u8> = (0..size).map(|at| (value ^ at ^ at >> 8) as u8).collect();
    let cell = key_cell(at, key);
    let key = if at < FIRST_OF_NAMES { Value::Unsigned(key.into()) } else { Value::Bytes(&cell) };
    let value = Value::Unsigned(value.into());
    schema(at).pack(&[key, value, Value::Bytes(&rest)]).expect("they fit")
}

/// Returns the options that open every database.
pub fn options() -> Options {
    Options::new().memory_bytes(1 << 20).segment_bytes(1 << 13).durability(Durability::Commit)
}

/// A disk with a small database that has all tables, a checkpoint, and operations after it.
pub fn small() -> Simulated {
    let disk = Simulated::new(1);
    let db = simulation::open(&options(), &disk, 1).expect("an empty disk");
    let create = |at| db.create_table(&schema(at), TABLES[at].1).expect("a new table");
    let tables: Vec<_> = (0..TABLES.len()).map(create).collect();
    for (at, key) in (0..TABLES.len()).flat_map(|at| (0..30u32).map(move |key| (at, key))) {
        tables[at].insert(&record(at, key, key)).expect("room");
    }
    db.checkpoint().expect("nothing is wrong with the disk");
    for key in 0..6u32 {
        tables[2].upsert(&record(2, key * 2, 77)).expect("room");
        tables[3].delete(key.to_le_bytes()).expect("a key");
        tables[4].upsert(&record(4, key * 2, 77)).expect("room");
        let rest = tables[5].schema().columns()[2].id();
        tables[5].update(key.to_le_bytes(), rest, &[77; 20_000]).expect("a key");
        tables[6].upsert(&record(6, key * 2, 77)).expect("room");
        tables[7].delete(packed(7, key)).expect("a key");
    }
    let transaction = db.begin();
    transaction.upsert(&tables[2], &record(2, 100, 1)).expect("room");
    transaction.upsert(&tables[3], &record(3, 100, 1)).expect("room");
    transaction.commit().expect("no other transaction runs");
    db.drop_table("hash").expect("it is there");
    let other = Alteration::new().rename_column("rest", "other");
    db.alter_table("books", &other).expect("room");
    let copy = disk.fork();
    drop(db);
    copy
}

/// Returns the options of a database that keeps its changes.
pub fn keeping() -> Options {
    options().keep_changes(1 << 20)
}

/// A disk with a small database that keeps its changes, in segments that recovery needs or not.
pub fn kept() -> Simulated {
    let disk = Simulated::new(1);
    let db = simulation::open(&keeping(), &disk, 1).expect("an empty disk");
    for round in 0..3 {
        let create = |at| db.create_table(&schema(at), TABLES[at].1).expect("a new table");
        let tables: Vec<_> = (0..TABLES.len()).map(create).collect();
        for (at, key) in (0..TABLES.len()).flat_map(|at| (0..9u32).map(move |key| (at, key))) {
            tables[at].insert(&record(at, key, key + round)).expect("room");
            tables[at].upsert(&record(at, key, 77)).expect("room");
            tables[at].delete(packed(at, key / 2)).expect("a key");
        }
        let transaction = db.begin();
        transaction.upsert(&tables[2], &record(2, 100, 1)).expect("room");
        transaction.upsert(&tables[3], &record(3, 100, 1)).expect("room");
        transaction.commit().expect("no other transaction runs");
        tables[5].create_index(&IndexSchema::new("by_value", ["value"])).expect("a new index");
        let other = Alteration::new().rename_column("value", "amount");
        db.alter_table("books", &other).expect("room");
        db.checkpoint().expect("nothing is wrong with the disk");
        for (name, ..) in TABLES.iter().filter(|_| round < 2) {
            db.drop_table(name).expect("it is there");
        }
    }
    db.close().expect("nothing is wrong with the disk");
    disk.fork()
}

/// Bytes written over those of a data file.
#[derive(Arbitrary, Debug)]
pub struct Damage {
    /// Says which checksums are made right again: none, those of the superblocks, or all.
    mode: u8,
    patches: Vec<Patch>,
}

#[derive(Arbitrary, Debug)]
struct Patch {
    slot: u8,
    /// In words, or in the front of a page where most is.
    word: u16,
    front: bool,
    bytes: [u8; 8],
    size: u8,
}

impl Damage {
    /// Damages the data file of a disk.
    pub fn apply(&self, disk: &Simulated) {
        let mut data = disk.file_bytes("data").expect("it is there");
        let slots = data.len() / SLOT_BYTES;
        for Patch { slot, word, front, bytes, size } in self.patches.iter().take(16) {
            let words = if *front { 40 } else { SLOT_BYTES / 8 };
            let at = *slot as usize % slots * SLOT_BYTES + *word as usize % words * 8;
            let size = *size as usize % 8 + 1;
            data[at..at + size].copy_from_slice(&bytes[..size]);
        }
        match self.mode % 4 {
            0 => {}
            1 => fix_superblocks(&mut data),
            _ => fix_pages(&mut data),
        }
        disk.put_file("data", data);
    }
}

/// Opens what is on a disk, reads all of it, writes some and closes it, as far as that is possible.
pub fn exercise(disk: &Simulated) {
    let Ok(db) = simulation::open(&options(), disk, 2) else { return };
    let _ = read(&db);
    let _ = db.check();
    for name in db.table_names() {
        let Ok(table) = db.table(&name) else { continue };
        // Keys of variable length are empty, or have bytes of the payload.
        let mut record = vec![0; table.schema().record_size() + 40];
        for key in 0..40u8 {
            let size = table.schema().record_size() + usize::from(key);
            record[0] = key;
            for record in [&record[..size], &record[..table.schema().record_size()]] {
                let _ = table.upsert(record);
            }
        }
        let Ok((lowest, highest)) = table.schema().pack_prefix(&[]) else { continue };
        for key in [lowest, highest, vec![7; table.schema().key_size()]] {
            let _ = table.get(&key);
            let _ = table.delete(&key);
        }
    }
    let _ = db.checkpoint();
    let _ = db.compact();
    let names = db.table_names();
    if let Some(name) = names.first() {
        let _ = db.drop_table(name);
    }
    let _ = db.close();
    let _ = simulation::open(&options(), disk, 3).map(|db| read(&db).map(drop));
}

/// All records of all tables, by their bytes.
pub fn read(db: &Database) -> Result<BTreeMap<String, Vec<Vec<u8>>>, Error> {
    let mut content = BTreeMap::new();
    for name in db.table_names() {
        let table = db.table(&name)?;
        let rows = table.iter().limit(100_000).map(|row| Ok(row?.into_bytes()));
        let records = rows.collect::<Result<_, Error>>()?;
        content.insert(name, records);
    }
    Ok(content)
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// The place of the last part of a superblock: the checksum of the bytes before it.
const SUPERBLOCK_BYTES: usize = 480;

/// Gives the superblocks of a data file the checksums that they should have.
pub fn fix_superblocks(data: &mut [u8]) {
    for from in [0, SLOT_BYTES] {
        let Some(bytes) = data.get_mut(from..from + SUPERBLOCK_BYTES + 8) else { continue };
        let (front, sum) = bytes.split_at_mut(SUPERBLOCK_BYTES);
        sum.copy_from_slice(&xxhash_rust::xxh3::xxh3_64_with_seed(front, 0).to_le_bytes());
    }
}

/// Gives the pages of a data file the checksums that they should have: those of tables and of the
/// catalogue in the page map, its nodes in those above them, the root in the superblocks.
pub fn fix_pages(data: &mut [u8]) {
    for from in [SLOT_BYTES, 0] {
        let Some(root) = word(data, from + 32) else { continue };
        let sum = fix_node(data, root as usize, 2, 0, 0);
        if let (Some(sum), Some(to)) = (sum, data.get_mut(from + 40..from + 48)) {
            to.copy_from_slice(&sum.to_le_bytes());
        }
    }
    fix_superblocks(data);
}

fn fix_node(data: &mut [u8], slot: usize, level: u64, number: u64, depth: u32) -> Option<u64> {
    let at = slot.checked_mul(SLOT_BYTES)?;
    data.get(at..at + SLOT_BYTES)?;
    let mut entries = 0;
    for entry in 0..1024 {
        let from = at + entry * 16;
        let below = word(data, from)? as usize;
        if below == 0 || below == slot || entries > 300 || depth > 3 {
            continue;
        }
        entries += 1;
        let below_number = number << 10 | entry as u64;
        let sum = match level {
            0 => {
                let page =
                    data.get(below.checked_mul(SLOT_BYTES)?..).and_then(|b| b.get(..SLOT_BYTES));
                page.map(|page| xxhash_rust::xxh3::xxh3_64_with_seed(page, below_number))
            }
            _ => fix_node(data, below, level - 1, below_number, depth + 1),
        };
        if let Some(sum) = sum {
            data[from + 8..from + 16].copy_from_slice(&sum.to_le_bytes());
        }
    }
    let owner = (level + 1) << 32 | number;
    Some(xxhash_rust::xxh3::xxh3_64_with_seed(&data[at..at + SLOT_BYTES], owner))
}

/// Bytes of a log segment's header, and where its copies and the frames are.
const HEADER_BYTES: usize = 84;
const HEADERS_AT: [usize; 2] = [0, 4096];
pub const FRAMES_AT: usize = 8192;

/// Gives the frames of a log segment, from a place on, the checksums that they should have, as far
/// as they follow each other. `chain` is what the first of them follows.
pub fn fix_frames(log: &mut [u8], from: usize, mut chain: u32) {
    for at in HEADERS_AT {
        let Some(bytes) = log.get_mut(at..at + HEADER_BYTES) else { return };
        let (front, sum) = bytes.split_at_mut(HEADER_BYTES - 4);
        sum.copy_from_slice(&crc32c::crc32c(front).to_le_bytes());
    }
    let Some(salt) = word(log, 28) else { return };
    let mut at = from;
    while let (Some(size), Some(flags)) = (word(log, at + 8), word(log, at + 12)) {
        let (noted, names) = (flags >> 8 & 1, flags >> 16 & 15);
        let head = 16 + noted as usize * 16 + names as usize * 8;
        let whole = (head + size as usize).next_multiple_of(8);
        let Some(frame) = log.get_mut(at..).and_then(|rest| rest.get_mut(..whole)) else { return };
        if flags == 0 {
            return;
        }
        frame[4..8].copy_from_slice(&chain.to_le_bytes());
        chain = crc32c::crc32c_append(salt, &frame[4..]);
        frame[..4].copy_from_slice(&chain.to_le_bytes());
        at += whole;
    }
}

/// Gives all frames of a segment, and its headers, the checksums that they should have.
pub fn fix_segment(log: &mut [u8]) {
    // The first frame follows the header's checksum, which may be another one then.
    fix_frames(log, FRAMES_AT, 0);
    if let Some(sum) = word(log, HEADER_BYTES - 4) {
        fix_frames(log, FRAMES_AT, sum);
    }
}
