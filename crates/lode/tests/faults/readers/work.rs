//! Work whose states can be told from all others: each step writes one record of a ring, and some
//! write all records of another table too, in one transaction.

use crate::reading::each_row;
use lode::{Database, Durability, Error, KeyKind, Options, ReadTable, Schema, Table, Type};

/// Records of the ring: more than memory has room for.
pub const RING: u64 = 1_500;

/// Records that are written together.
pub const ALL: u64 = 40;

/// After this many steps all of them are written.
const TURN: u64 = 25;

/// Bytes of a record after its key and its step.
const REST_BYTES: u32 = 800;

/// Little memory and a short log, so that pages leave memory and checkpoints are many.
pub fn options(level: Durability) -> Options {
    Options::new().memory_bytes(1 << 20).log_bytes(1 << 18).segment_bytes(1 << 15).durability(level)
}

fn record(key: u64, step: u64) -> Vec<u8> {
    let rest = (0..REST_BYTES).map(|at| (step.wrapping_mul(0x9e37_79b9) ^ u64::from(at)) as u8);
    key.to_le_bytes().into_iter().chain(step.to_le_bytes()).chain(rest).collect()
}

/// A database at work.
pub struct Work {
    pub db: Database,
    ring: Table,
    all: Table,
    /// The last step that was done.
    pub step: u64,
}

impl Work {
    /// Continues the work that a database was left with, or starts it.
    pub fn with(db: Database) -> Self {
        let step = state_of(&db).expect("it can be read").unwrap_or(0);
        let schema = |name| {
            let build = Schema::build(name).key("key", Type::U64).column("step", Type::U64);
            build.column("rest", Type::Bytes(REST_BYTES)).finish().expect("a schema")
        };
        let table = |name, kind| {
            db.table(name).unwrap_or_else(|_| db.create_table(&schema(name), kind).expect("space"))
        };
        let (ring, all) = (table("ring", KeyKind::Hash), table("all", KeyKind::Tree));
        Self { db, ring, all, step }
    }

    /// Does the next step.
    pub fn step(&mut self) -> Result<(), Error> {
        let step = self.step + 1;
        if step.is_multiple_of(TURN) {
            let transaction = self.db.begin();
            transaction.upsert(&self.ring, &record(step % RING, step))?;
            for key in 0..ALL {
                transaction.upsert(&self.all, &record(key, step))?;
            }
            transaction.commit()?;
        } else {
            self.ring.upsert(&record(step % RING, step))?;
        }
        self.step = step;
        Ok(())
    }

    /// Does some steps.
    pub fn steps(&mut self, count: u64) {
        (0..count).for_each(|_| self.step().expect("there is room"));
    }
}

/// Returns the steps of all records of a table, in the order of their keys.
fn steps_of(db: &Database, name: &str) -> Result<Vec<u64>, Error> {
    let table = match db.table(name) {
        Err(Error::NoTable { .. }) => return Ok(Vec::new()),
        table => table?,
    };
    let mut found = Vec::new();
    each_row(table.iter(), &mut |bytes| {
        let word = |at: usize| u64::from_le_bytes(*bytes[at..].first_chunk().expect("8 bytes"));
        assert!(bytes == record(word(0), word(8)), "record {} is whole", word(0));
        found.push((word(0), word(8)));
        Ok(true)
    })?;
    found.sort_unstable();
    Ok(found.into_iter().map(|(_, step)| step).collect())
}

/// Returns the last step that a database shows; `None` before the first.
///
/// # Panics
/// If no number of steps leads to what it shows.
pub fn state_of(db: &Database) -> Result<Option<u64>, Error> {
    let (ring, all) = (steps_of(db, "ring")?, steps_of(db, "all")?);
    let Some(last) = ring.iter().copied().max() else {
        assert!(all.is_empty(), "all records come after the first of the ring");
        return Ok(None);
    };
    let mut wanted: Vec<_> = (last.saturating_sub(RING - 1).max(1)..=last).collect();
    wanted.sort_unstable_by_key(|step| step % RING);
    assert_eq!(ring, wanted, "the ring is as after step {last}");
    let turn = last / TURN * TURN;
    let count = if turn == 0 { 0 } else { ALL };
    assert_eq!(all, vec![turn; count as usize], "all records are as after step {last}");
    Ok(Some(last))
}
