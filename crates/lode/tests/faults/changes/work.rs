//! Random work on a database with tables of all kinds.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use lode::simulation::{self, Fault, Simulated};
use lode::{
    Alteration, Builder, Database, Durability, Error, IndexSchema, KeyKind, Options, ReadTable,
    Schema, Table, Type, Value,
};

use super::copy::ADDED;
use crate::random::mix;

const NAMES: [&str; 5] = ["hash", "tree", "long", "texts", "living"];

/// The end of a database.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum End {
    Closed,
    Killed,
    PowerCut,
}

pub struct Work {
    pub disk: Simulated,
    pub db: Database,
    pub level: Durability,
    seconds: Arc<AtomicU64>,
    random: u64,
}

pub fn schema(name: &str) -> Schema {
    let key = Schema::build(name).key("id", Type::U32);
    let of = |build: Builder| build.finish().expect("a schema");
    match name {
        "hash" | "tree" => of(key.column("a", Type::U32).column("b", Type::U64)),
        "long" => of(key.column("a", Type::U32).column("text", Type::VarText(60_000))),
        "texts" => {
            let build = Schema::build(name).key("name", Type::VarText(300));
            of(build.column("a", Type::U32).column("text", Type::VarText(300)))
        }
        "living" => {
            let build = key.column("a", Type::U32).column("until", Type::Timestamp);
            of(build.expires("until"))
        }
        other => panic!("there is no table {other}"),
    }
}

pub fn kind(name: &str) -> KeyKind {
    if matches!(name, "hash" | "texts") { KeyKind::Hash } else { KeyKind::Tree }
}

pub fn options(level: Durability) -> Options {
    Options::new()
        .memory_bytes(2 << 20)
        .segment_bytes(1 << 15)
        .durability(level)
        .keep_changes(64 << 20)
}

impl Work {
    pub fn new(seed: u64, level: Durability) -> Self {
        let (disk, seconds) = (Simulated::new(seed), Arc::default());
        let db = open(&disk, level, &seconds, seed).expect("an empty disk");
        for name in NAMES {
            db.create_table(&schema(name), kind(name)).expect("a new table");
        }
        Self { disk, db, level, seconds, random: mix(seed) }
    }

    fn next(&mut self, below: u64) -> u64 {
        self.random = mix(self.random);
        self.random % below
    }

    /// Ends the database in a way, and opens it again.
    pub fn reopen(&mut self, end: End) {
        match end {
            End::Closed => self.db.clone().close().expect("nothing is wrong with the disk"),
            End::Killed | End::PowerCut => {
                self.disk.fail(Fault::Crash { at: self.disk.operations() });
            }
        }
        self.db = Database::in_memory().expect("memory");
        let seed = self.next(u64::MAX);
        match end {
            End::Closed => {}
            // Nothing is lost that the process had handed over.
            End::Killed => self.disk = self.disk.fork(),
            End::PowerCut => self.disk.crash(seed),
        }
        self.db = open(&self.disk, self.level, &self.seconds, seed).expect("it can be opened");
    }

    fn table(&mut self) -> Table {
        let name = NAMES[self.next(NAMES.len() as u64) as usize];
        self.db.table(name).expect("it is there")
    }

    fn record(&mut self, table: &Table) -> Vec<u8> {
        let (id, a, b) = (self.next(60), self.next(1 << 32), self.next(5));
        let until = 1_000_000 * (self.seconds.load(Ordering::Relaxed) as i64 + b as i64 + 1);
        let name = format!("{id}-{}", "n".repeat(id as usize * 4));
        let text = match self.next(20) {
            0 => "long ".repeat(a as usize % 10_000),
            _ => "short ".repeat(a as usize % 40),
        };
        let cut = |most: usize| &text[..text.len().min(most)];
        let columns = table.schema().columns();
        let mut values = match table.schema().name() {
            "hash" | "tree" => vec![Value::Unsigned(id), Value::Unsigned(a), Value::Unsigned(b)],
            "long" => vec![Value::Unsigned(id), Value::Unsigned(a), Value::Text(cut(60_000))],
            "texts" => vec![Value::Text(&name), Value::Unsigned(a), Value::Text(cut(300))],
            _ => vec![Value::Unsigned(id), Value::Unsigned(a), Value::Timestamp(until)],
        };
        values.resize(columns.len(), Value::Unsigned(b));
        table.schema().pack(&values).expect("it fits")
    }

    /// Does something. `Full` and `Conflict` do nothing.
    pub fn step(&mut self) {
        match self.try_step() {
            Ok(()) | Err(Error::Conflict { .. } | Error::UniqueViolation { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }

    fn try_step(&mut self) -> Result<(), Error> {
        simulation::choose_lane(self.next(4) as usize);
        let table = self.table();
        let record = self.record(&table);
        let key = table.schema().row(&record)?.key().to_vec();
        let a = table.schema().column("a")?;
        match self.next(40) {
            0..5 => drop(table.insert(&record)?),
            5..12 => drop(table.upsert(&record)?),
            12..16 => drop(table.delete(&key[..])?),
            16..19 => drop(table.update(&key[..], a, &(self.next(99) as u32).to_le_bytes())?),
            19..21 => drop(table.increment(&key[..], a, 1).or_else(|error| match error {
                Error::NoRoomInColumn { .. } => Ok(None),
                other => Err(other),
            })?),
            21..23 => drop(table.change(&key[..], &mut |payload| {
                payload[0] ^= 1;
                true
            })?),
            23..28 => self.transact()?,
            28..30 => {
                let records: Vec<_> = (0..self.next(20)).map(|_| self.record(&table)).collect();
                table.upsert_all(&records)?;
            }
            30..31 => {
                let records: Vec<_> = (0..self.next(20)).map(|_| self.record(&table)).collect();
                table.insert_all(&records)?;
            }
            31 => drop(self.seconds.fetch_add(1, Ordering::Relaxed)),
            32 if self.next(8) == 0 => drop(self.db.clear_table(table.schema().name())?),
            33 if self.next(8) == 0 => {
                let name = table.schema().name();
                self.db.drop_table(name)?;
                self.db.create_table(&schema(name), kind(name))?;
            }
            34 if table.schema().columns().len() < 9 => {
                // Expired records are not copied.
                table.remove_expired()?;
                let name = format!("added{}", table.schema().columns().len());
                let changes = Alteration::new().add_column(&name, Type::U8, Value::Unsigned(ADDED));
                self.db.alter_table(table.schema().name(), &changes)?;
            }
            35 if table.schema().columns().len() > 3 && self.next(2) == 0 => {
                let last = table.schema().columns().last().expect("it has columns");
                let other = match last.name.strip_suffix('_') {
                    Some(short) => short.to_string(),
                    None => format!("{}_", last.name),
                };
                let changes = Alteration::new().rename_column(&last.name, &other);
                self.db.alter_table(table.schema().name(), &changes)?;
            }
            35 => match table.create_index(&IndexSchema::new("by_a", ["a"])) {
                Ok(()) => {}
                Err(Error::IndexExists { .. }) => table.drop_index("by_a")?,
                Err(error) => return Err(error),
            },
            36 => simulation::look_after(&self.db)?,
            37 => self.db.checkpoint()?,
            38 if self.next(4) == 0 => drop(self.db.compact()?),
            _ => drop(table.get(&key[..])?),
        }
        Ok(())
    }

    fn transact(&mut self) -> Result<(), Error> {
        let transaction = self.db.begin();
        for _ in 0..1 + self.next(8) {
            let table = self.table();
            let record = self.record(&table);
            if self.next(3) == 0 {
                let key = table.schema().row(&record)?.key().to_vec();
                transaction.delete(&table, &key[..])?;
            } else {
                transaction.upsert(&table, &record)?;
            }
        }
        if self.next(6) == 0 { Ok(()) } else { transaction.commit() }
    }

    /// Removes the records that have expired, so that all which are there can be read.
    pub fn sweep(&self) {
        self.db.table("living").and_then(|table| table.remove_expired()).expect("space");
    }
}

fn open(
    disk: &Simulated,
    level: Durability,
    seconds: &Arc<AtomicU64>,
    random: u64,
) -> Result<Database, Error> {
    let now = Arc::clone(seconds);
    let clock = move || UNIX_EPOCH + Duration::from_secs(now.load(Ordering::Relaxed));
    let db = simulation::open(&options(level).clock(clock), disk, random)?;
    // Where changes are kept, the log has one lane.
    simulation::widen_log(&db, 4)?;
    Ok(db)
}
