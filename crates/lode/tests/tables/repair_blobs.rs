//! Checks the repair of damaged blob stores: each byte on a whole page comes out at its place in
//! its blob, and the others are named.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use lode::{Database, Durability, Loss, Options, ReadTable, Value};

use crate::reading::check;

/// Bytes of a slot of the data file.
const SLOT_BYTES: usize = 16_384;

/// Bytes of a full chunk.
const CHUNK: usize = 65_500;

/// Blobs by their keys.
type Content = BTreeMap<Vec<u8>, Vec<u8>>;

/// Returns a blob without a zero, which no other has parts of.
fn bytes(number: usize, length: usize) -> Vec<u8> {
    let byte = |at: usize| {
        let mixed = (at * 31 + number).wrapping_mul(0x9e37_79b9);
        1 + ((mixed >> 16) % 255) as u8
    };
    (0..length).map(byte).collect()
}

fn fill(directory: &Path) -> Content {
    let db = Options::new().durability(Durability::Process).open(directory).expect("a new one");
    let files = db.create_blobs("files").expect("room");
    let mut content = Content::new();
    for number in 0..24 {
        let length = [0, 1, 700, CHUNK, CHUNK + 1, 2 * CHUNK, 3 * CHUNK + 9_000][number % 7];
        // Long keys, so that there are several pages of them.
        let key = [format!("blob {number:02} ").into_bytes(), vec![b'.'; 900]].concat();
        let all = bytes(number, length);
        files.put(&key, &all[..]).expect("room");
        content.insert(key, all);
    }
    // What was replaced and removed is not there again.
    files.put("gone", &bytes(90, 2 * CHUNK)[..]).expect("room");
    assert_eq!(files.remove("gone"), Ok(true));
    drop(files);
    db.close().expect("room");
    content
}

/// Repairs a database. Returns the blobs of the new one, and what is lost.
fn repair(damaged: &Path) -> (Content, Vec<Loss>) {
    let target = damaged.with_extension("repaired");
    let mut losses = Vec::new();
    let options = Options::new().memory_bytes(16 << 20).durability(Durability::Process);
    options.repair(damaged, &target, |loss| losses.push(loss.clone())).expect("it is repaired");
    let db = Database::open(&target).expect("whole");
    check(&db).unwrap_or_else(|why| panic!("{why}: {losses:?}"));
    let files = db.blobs("files").expect("a store");
    let all = files.iter().map(|blob| {
        let key = blob.expect("it is read").key;
        let all = files.get(&key).expect("it is read").expect("it is there");
        (key, all)
    });
    let content = all.collect();
    drop(files);
    db.close().expect("room");
    fs::remove_dir_all(&target).expect("it is there");
    (content, losses)
}

/// Returns the number of bytes of a blob that are lost, which are zeros, or its last ones; each is
/// named.
fn lost_bytes(key: &[u8], whole: &[u8], found: &[u8], losses: &[Loss]) -> usize {
    assert!(found.len() <= whole.len());
    let is_other = |at: &usize| found.get(*at) != Some(&whole[*at]);
    let other: Vec<usize> = (0..whole.len()).filter(is_other).collect();
    for at in &other {
        let names = |loss: &Loss| match loss {
            Loss::Blob { key: named, why, .. } if named == key => {
                let numbers: Vec<usize> =
                    why.split(' ').filter_map(|word| word.parse().ok()).collect();
                match numbers[..] {
                    [count, from] => (from..from + count).contains(at),
                    [count] => *at >= whole.len() - count,
                    _ => false,
                }
            }
            _ => false,
        };
        assert!(found.get(*at).is_none_or(|byte| *byte == 0));
        if at % CHUNK == 0 {
            assert!(losses.iter().any(names), "byte {at} of {}: {losses:?}", key.escape_ascii());
        }
    }
    other.len()
}

/// Each slot of the data file is lost once.
#[test]
fn blobs_keep_all_bytes_on_whole_pages() {
    let place = tempfile::tempdir().expect("a directory");
    let original = place.path().join("original");
    let content = fill(&original);
    let (found, losses) = repair(&original);
    assert!(found == content && losses.is_empty(), "{losses:?}");
    let data = fs::read(original.join("data")).expect("a file");
    let (mut without_bytes, mut without_keys) = (0, 0);
    for slot in 0..data.len() / SLOT_BYTES {
        let damaged = place.path().join("damaged");
        fs::create_dir(&damaged).expect("room");
        for file in fs::read_dir(&original).expect("a directory") {
            let file = file.expect("a file");
            fs::copy(file.path(), damaged.join(file.file_name())).expect("room");
        }
        let mut bytes = data.clone();
        bytes[slot * SLOT_BYTES..(slot + 1) * SLOT_BYTES].fill(0xa5);
        fs::write(damaged.join("data"), bytes).expect("room");
        let (mut found, losses) = repair(&damaged);
        fs::remove_dir_all(&damaged).expect("it is there");
        let mut lost = 0;
        for (key, whole) in &content {
            if let Some(found) = found.remove(key) {
                lost += lost_bytes(key, whole, &found, &losses);
                continue;
            }
            without_keys += 1;
            if whole.is_empty() {
                continue;
            }
            // Its bytes are there under another key.
            let is_it = |found: &(&Vec<u8>, &Vec<u8>)| found.1 == whole;
            let (other, _) = found.iter().find(is_it).expect("it has all of its bytes");
            assert!(other.starts_with(b"lost+found/"), "{}", other.escape_ascii());
            let is_named = |loss: &Loss| matches!(loss, Loss::Blob { key, .. } if key == other);
            assert!(losses.iter().any(is_named), "slot {slot}: {losses:?}");
            let other = other.clone();
            found.remove(&other);
        }
        assert!(found.is_empty(), "slot {slot}: {:?}", found.keys());
        assert!(lost == 0 || !losses.is_empty(), "slot {slot}");
        without_bytes += usize::from(lost > 0);
    }
    let chunks = content.values().map(|all| all.len().div_ceil(CHUNK)).sum::<usize>();
    assert!(without_bytes >= chunks, "{without_bytes} slots had bytes of {chunks} chunks");
    assert!(without_keys >= content.len(), "{without_keys} keys were lost");
}

/// Records that no damage leaves: a repair takes them for damage, and what it writes is whole.
#[test]
fn heads_and_chunks_that_do_not_fit_are_named() {
    let place = tempfile::tempdir().expect("a directory");
    let original = place.path().join("original");
    let db = Options::new().durability(Durability::Process).open(&original).expect("a new one");
    let files = db.create_blobs("files").expect("room");
    for (key, length) in [("long", CHUNK), ("short", 3 * CHUNK), ("whole", 2 * CHUNK + 7)] {
        files.put(key, &bytes(key.len(), length)[..]).expect("room");
    }
    let blobs = db.table("files.blobs").expect("a table");
    let head = |key: &str, id: Value<'_>, length: u64| {
        let values = [Value::Bytes(key.as_bytes()), id, Value::Unsigned(length)];
        blobs.upsert(&blobs.schema().pack(&values).expect("it fits")).expect("room");
    };
    let id_of = |key: &str| {
        let row = blobs.get(Value::Bytes(key.as_bytes())).expect("it is read").expect("a blob");
        match row.get("id") {
            Some(Value::Unsigned(id)) => id,
            other => panic!("{other:?}"),
        }
    };
    let (long, short) = (id_of("long"), id_of("short"));
    head("long", Value::Unsigned(long), u64::MAX);
    head("short", Value::Unsigned(short), 10);
    head("no id", Value::Null, 9);
    head("no length", Value::Unsigned(1_000), 0);
    head("no chunks", Value::Unsigned(1_001), 9_000_000_000_000_000);
    let chunks = db.table("files.chunks").expect("a table");
    for (id, number) in [(2_000, 0), (2_001, u32::MAX), (2_002, 1)] {
        let values = [Value::Unsigned(id), Value::Unsigned(number.into()), Value::Bytes(&[7; 10])];
        chunks.upsert(&chunks.schema().pack(&values).expect("it fits")).expect("room");
    }
    drop((files, blobs, chunks));
    db.close().expect("room");
    let (found, losses) = repair(&original);
    let hole = [vec![0; CHUNK], vec![7; 10]].concat();
    let wanted = [
        ("long", bytes(4, CHUNK)),
        ("short", bytes(5, 3 * CHUNK)[..10].to_vec()),
        ("whole", bytes(5, 2 * CHUNK + 7)),
        ("no id", Vec::new()),
        ("no length", Vec::new()),
        ("no chunks", Vec::new()),
        ("lost+found/2000", vec![7; 10]),
        ("lost+found/2002", hole),
    ];
    let wanted: Content =
        wanted.into_iter().map(|(key, all)| (key.as_bytes().to_vec(), all)).collect();
    assert!(found == wanted, "{:?}", found.keys().map(|key| key.escape_ascii().to_string()));
    let named = losses.iter().map(ToString::to_string).collect::<BTreeSet<_>>();
    let wanted = [
        "blob long: its last 18446744073709486115 bytes are lost, and it ends before them",
        "blob lost+found/2000: its key is lost",
        "blob lost+found/2002: 65500 bytes from 0 on are lost, and are zeros now",
        "blob lost+found/2002: its key is lost",
        "blob no chunks: its last 9000000000000000 bytes are lost, and it ends before them",
        "blob no id: its last 9 bytes are lost, and it ends before them",
    ];
    let blobs = wanted.iter().map(|line| format!("blob store files: {line}"));
    let chunks = [format!("{short}, 1"), format!("{short}, 2"), "2001, 4294967295".into()];
    let chunks = chunks.iter().map(|key| {
        format!("table files.chunks: the record ({key}): it is after the end of its blob")
    });
    assert_eq!(named, blobs.chain(chunks).collect());
}
