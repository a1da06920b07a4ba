//! Checks that a repair never mixes pages of two checkpoints, whatever metadata of them is lost.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;

use lode::simulation::{self, Simulated};
use lode::{
    Database, Durability, KeyKind, Loss, Options, ReadTable, Result, Schema, Table, Type, Value,
};

/// Bytes of a slot of the data file.
const SLOT_BYTES: usize = 16_384;

/// Records of each table: their heaps are in several nodes of the page map.
const RECORDS: u64 = 1_300;

/// Bytes of a text: two are in a page.
const TEXT_BYTES: usize = 7_000;

const TABLES: [(&str, KeyKind); 2] = [("hash", KeyKind::Hash), ("tree", KeyKind::Tree)];

/// Texts by table and key.
type Content = BTreeMap<(String, u64), Vec<u8>>;

/// Returns a record, whose text no other has, nor this one at another checkpoint.
fn record(table: &Table, id: u64, moment: u64) -> Result<Vec<u8>> {
    let text = format!("record {id} of {} at {moment} ", table.schema().name());
    let text: Vec<_> = text.into_bytes().into_iter().cycle().take(TEXT_BYTES).collect();
    table.schema().pack(&[Value::Unsigned(id), Value::Bytes(&text)])
}

/// Writes a checkpoint, changes each record, and writes another. Returns the disk then, and the
/// contents at both.
fn work() -> Result<(Simulated, [Content; 2])> {
    let options = Options::new().memory_bytes(128 << 20).durability(Durability::None);
    let disk = Simulated::new(1);
    let db = simulation::open(&options, &disk, 1)?;
    let tables = TABLES.map(|(name, kind)| {
        let schema = Schema::build(name).key("id", Type::U64);
        let schema = schema.column("text", Type::VarBytes(TEXT_BYTES as u32)).finish();
        db.create_table(&schema.expect("a schema"), kind).expect("room")
    });
    for id in 0..RECORDS {
        tables.iter().try_for_each(|table| table.insert(&record(table, id, 1)?).map(drop))?;
    }
    simulation::checkpoint(&db)?;
    let first = content_of(&db)?;
    // Some stay in their places, and others change them.
    let (stay, go): (Vec<u64>, Vec<u64>) = (0..RECORDS).partition(|id| id % 3 == 0);
    for table in &tables {
        go.iter().try_for_each(|id| table.delete(*id).map(drop))?;
        for id in stay.iter().copied().chain((20..RECORDS + 20).rev().filter(|id| id % 3 != 0)) {
            table.upsert(&record(table, id, 2)?)?;
        }
    }
    simulation::checkpoint(&db)?;
    // It closes with one more checkpoint.
    Ok((disk.fork(), [first, content_of(&db)?]))
}

fn content_of(db: &Database) -> Result<Content> {
    let mut content = Content::new();
    for (name, _) in TABLES {
        for row in db.table(name)?.iter() {
            let row = row?;
            let [Some(Value::Unsigned(id)), Some(Value::Bytes(text))] =
                [row.get("id"), row.get("text")]
            else {
                panic!("{row:?} is no record")
            };
            content.insert((name.into(), id), text.to_vec());
        }
    }
    Ok(content)
}

/// Returns the slots that have equal bytes: those of both copies of metadata.
fn twins(data: &[u8]) -> Vec<Vec<usize>> {
    let mut slots = HashMap::<&[u8], Vec<usize>>::new();
    for (slot, bytes) in data.chunks(SLOT_BYTES).enumerate() {
        if bytes.iter().any(|byte| *byte != 0) {
            slots.entry(bytes).or_default().push(slot);
        }
    }
    slots.into_values().filter(|slots| slots.len() == 2).collect()
}

/// Repairs a database, and returns what the new one has.
fn repair(damaged: &Path, target: &Path) -> Result<(Vec<Loss>, Content)> {
    let mut losses = Vec::new();
    let options = Options::new().memory_bytes(64 << 20).durability(Durability::None);
    options.repair(damaged, target, |loss| losses.push(loss.clone()))?;
    let db = Database::open_read_only(target)?;
    let report = db.check()?;
    assert!(report.is_sound(), "{report}");
    Ok((losses, content_of(&db)?))
}

fn names(loss: &Loss, name: &str) -> bool {
    match loss {
        Loss::Page { table, .. } | Loss::Keys { table, .. } | Loss::Record { table, .. } => {
            table == name
        }
        _ => false,
    }
}

/// Checks that what is left is a part of one of the contents, and that losses name the tables from
/// which records are missing. Returns the number of missing ones.
fn expect_part(left: &Content, of: &Content, losses: &[Loss]) -> usize {
    for (at, text) in left {
        assert!(of.get(at) == Some(text), "{at:?}: {losses:?}");
    }
    let missing: Vec<_> = of.keys().filter(|at| !left.contains_key(*at)).collect();
    for (name, id) in &missing {
        assert!(losses.iter().any(|loss| names(loss, name)), "{name}, {id}: {losses:?}");
    }
    missing.len()
}

/// Both copies of each piece of metadata are lost, one piece at a time.
#[test]
fn what_is_left_is_of_one_checkpoint() -> Result<()> {
    let (disk, contents) = work()?;
    let data = disk.file_bytes("data").expect("it is there");
    let place = tempfile::tempdir().expect("a directory");
    let (damaged, target) = (place.path().join("damaged"), place.path().join("repaired"));
    fs::create_dir(&damaged).expect("room");
    for name in disk.file_names() {
        let bytes = disk.file_bytes(&name).expect("it has that name");
        fs::write(damaged.join(name), bytes).expect("room");
    }
    let (mut older, mut newer_with_losses) = (0, 0);
    let pieces = twins(&data);
    for slots in &pieces {
        let mut bytes = data.clone();
        for slot in slots {
            bytes[slot * SLOT_BYTES..(slot + 1) * SLOT_BYTES].fill(0xa5);
        }
        fs::write(damaged.join("data"), bytes).expect("room");
        let (losses, left) = repair(&damaged, &target)?;
        fs::remove_dir_all(&target).expect("it is there");
        let is_older =
            left.iter().next().is_some_and(|(at, text)| contents[0].get(at) == Some(text));
        let missing = expect_part(&left, &contents[usize::from(!is_older)], &losses);
        older += usize::from(is_older);
        newer_with_losses += usize::from(!is_older && missing > 0);
    }
    assert!(older > 0, "none of {pieces:?} has the list of tables of the newer one");
    assert!(newer_with_losses > 1, "none of {pieces:?} has locations of pages of the newer one");
    Ok(())
}
