//! The content of a small database, read in full.

use std::collections::{BTreeMap, BTreeSet};

use crate::reading::{each_row, payload_of};
use lode::{Database, Durability, Error, Options, ReadTable};

use super::tables::{TABLES, record, schema};

/// The content of a database: its tables, and values under their keys.
pub type Content = BTreeMap<usize, BTreeMap<u32, u32>>;

fn word(bytes: &[u8]) -> u32 {
    u32::from_le_bytes(*bytes.first_chunk().expect("four bytes"))
}

/// Returns the content of one table.
pub fn read_table(db: &Database, at: usize) -> Result<BTreeMap<u32, u32>, Error> {
    let table = db.table(TABLES[at].0)?;
    assert_eq!(table.key_kind(), TABLES[at].1);
    assert_eq!(table.schema(), &schema(at));
    let mut found = BTreeMap::new();
    each_row(table.iter(), &mut |bytes| {
        let (key, value) = (word(bytes), word(&bytes[4..]));
        assert!(bytes == record(at, key, value), "a record of {} has other bytes", TABLES[at].0);
        assert_eq!(found.insert(key, value), None, "a key is there once");
        Ok(true)
    })?;
    for (key, value) in &found {
        let payload = payload_of(&table, key.to_le_bytes())?.expect("what is there is found");
        assert_eq!(word(&payload), *value);
    }
    Ok(found)
}

pub fn tables_of(db: &Database) -> Vec<usize> {
    let names = db.table_names();
    let at = |name: &String| TABLES.iter().position(|(other, ..)| other == name);
    let mut tables: Vec<_> = names.iter().map(|name| at(name).expect("a known table")).collect();
    tables.sort_unstable();
    tables
}

pub fn read(db: &Database) -> Result<Content, Error> {
    tables_of(db).into_iter().map(|at| Ok((at, read_table(db, at)?))).collect()
}

pub fn options(level: Durability) -> Options {
    Options::new().memory_bytes(1 << 20).segment_bytes(1 << 13).durability(level)
}

/// The records that are not in both.
pub fn difference(found: &Content, wanted: &Content) -> String {
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
