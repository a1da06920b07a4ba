//! A simulated disk, with a table that is larger than the memory.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use crate::reading::payload_of;
use lode::simulation::{self, Simulated};
use lode::{Database, Durability, Error, KeyKind, Options, Schema, Type};

/// Records of the other table on a disk: more than fit into memory.
pub const BALLAST: u32 = 400;

/// A disk with a table larger than the memory. It is made once for all cases.
pub fn loaded() -> Simulated {
    static LOADED: OnceLock<Simulated> = OnceLock::new();
    let make = || {
        let disk = Simulated::new(0);
        let options = options(Durability::None).memory_bytes(16 << 20);
        let db = simulation::open(&options, &disk, 0).expect("an empty disk");
        let schema =
            Schema::build("ballast").key("at", Type::U32).column("rest", Type::Bytes(4000));
        let schema = schema.finish().expect("a schema");
        let table = db.create_table(&schema, KeyKind::Tree).expect("a table");
        for at in 0..BALLAST {
            assert!(table.insert(&ballast(at, 0)).expect("room"));
        }
        db.close().expect("nothing is wrong with the disk");
        disk
    };
    LOADED.get_or_init(make).fork()
}

fn ballast(at: u32, value: u32) -> Vec<u8> {
    let rest = (0..1_000).flat_map(|word| (at ^ value ^ word).to_le_bytes());
    at.to_le_bytes().into_iter().chain(rest).collect()
}

pub fn options(level: Durability) -> Options {
    Options::new().memory_bytes(1 << 20).log_bytes(1 << 18).segment_bytes(1 << 16).durability(level)
}

/// The last values of the other table's records.
#[derive(Default)]
pub struct Swept(BTreeMap<u32, u32>);

impl Swept {
    /// Reads `count` records of the other table, and writes one of them.
    pub fn sweep(&mut self, db: &Database, count: u32) -> Result<(), Error> {
        let table = db.table("ballast")?;
        for at in 0..count {
            let at = at * 7 % BALLAST;
            let value = self.0.get(&at).copied().unwrap_or(0);
            let found = payload_of(&table, at.to_le_bytes())?.expect("it is there");
            assert!(found == ballast(at, value)[4..], "record {at} of the other table");
        }
        let at = count % BALLAST;
        table.upsert(&ballast(at, count))?;
        self.0.insert(at, count);
        Ok(())
    }
}
