//! Measures what a secondary index costs: each operation on a table with one, and on one without:
//! `cargo bench -p lodedb --bench indexes`. In memory, or in a directory (of `LODE_DIRECTORY`, at
//! the level `process`). `LODE_OPERATION` says which (`grow`, `update`, `rewrite`, `shift`, `find`,
//! `cover`); `LODE_KEYS` of what keys (`hash`, `tree`); `LODE_INDEX` of which index (`unique`,
//! `plain`); `LODE_ROWS` and `LODE_ROUNDS` how often. The rounds of both tables take turns; the
//! figures are medians, with the lowest and the highest ratio.
//!
//! For a profiler, `LODE_ONLY` measures one of them: `with` the index, or `without`. A run with no
//! rounds has what is not the operation's.

use std::time::Instant;

use lode::{
    ColumnId, Database, Durability, IndexSchema, KeyKind, Options, ReadTable, Result, Schema,
    Table, Type,
};

/// Bytes of a record besides its key and the indexed column.
const REST_BYTES: usize = 40;

/// An operation with each record of a table, in no order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    /// An insert of each record into a table that is new in each round.
    Grow,
    /// Of a column that is not indexed.
    Update,
    /// An upsert that leaves the indexed column as it is.
    Rewrite,
    /// An upsert with another value of the indexed column.
    Shift,
    /// A lookup by the index, compared with one by the key.
    Find,
    /// A lookup of the key by the index, compared with one of the record by the key.
    Cover,
}

impl Operation {
    const ALL: [Self; 6] =
        [Self::Grow, Self::Update, Self::Rewrite, Self::Shift, Self::Find, Self::Cover];

    fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }
}

/// Scatters a number: neighbours become far from each other, and none becomes another's.
fn scattered(number: u64) -> u64 {
    number.wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// Returns the value of the indexed column of a record in a round: another one in the next.
fn indexed(id: u64, round: u64) -> u64 {
    scattered((id << 8) | (round % 256))
}

fn record(id: u64, round: u64, rest: u8) -> Vec<u8> {
    let (id, other) = (id.to_le_bytes(), indexed(id, round).to_le_bytes());
    [&id[..], &other, &[rest; REST_BYTES]].concat()
}

/// A table, with an index or without.
struct Subject {
    db: Database,
    kind: KeyKind,
    index: Option<IndexSchema>,
    rows: u64,
    table: Table,
    columns: [ColumnId; 2],
}

impl Subject {
    fn new(db: &Database, kind: KeyKind, index: Option<IndexSchema>, rows: u64) -> Result<Self> {
        let name = if index.is_some() { "with" } else { "without" };
        let table = Self::create(db, name, kind, &index)?;
        table.insert_all((0..rows).map(|id| record(id, 0, 7)))?;
        let columns = [table.schema().column("id")?, table.schema().column("rest")?];
        Ok(Self { db: db.clone(), kind, index, rows, table, columns })
    }

    fn create(
        db: &Database,
        name: &str,
        kind: KeyKind,
        index: &Option<IndexSchema>,
    ) -> Result<Table> {
        let schema = Schema::build(name).key("id", Type::U64).column("other", Type::U64);
        let schema = schema.column("rest", Type::Bytes(REST_BYTES as u32)).finish()?;
        db.create_indexed_table(&schema, kind, index.as_slice())
    }

    /// Returns the nanoseconds of each operation in a round.
    fn measure(&self, operation: Operation, round: u64) -> Result<f64> {
        match operation {
            Operation::Grow => {
                let new = Self::create(&self.db, "new", self.kind, &self.index)?;
                let took = self.each_ns(|id| new.insert(&record(id, 0, 7)).map(|new| assert!(new)));
                self.db.drop_table("new")?;
                took
            }
            Operation::Update => {
                let [_, rest] = self.columns;
                let bytes = [round as u8; REST_BYTES];
                self.each_ns(|id| self.table.update(id, rest, &bytes).map(|there| assert!(there)))
            }
            Operation::Rewrite => self.each_ns(|id| self.upsert(&record(id, 0, round as u8))),
            Operation::Shift => self.each_ns(|id| self.upsert(&record(id, round + 1, 7))),
            Operation::Find | Operation::Cover if self.index.is_none() => {
                self.each_ns(|id| self.table.get(id).map(|row| assert!(row.is_some())))
            }
            Operation::Find => {
                let by = self.table.by("by_other")?;
                self.each_ns(|id| by.get(indexed(id, 0)).map(|row| assert!(row.is_some())))
            }
            Operation::Cover => {
                let by = self.table.by("by_other")?;
                self.each_ns(|id| {
                    let other = indexed(id, 0);
                    let mut rows = by.range(other..=other).columns([self.columns[0]]).limit(1);
                    rows.next_row().map(|row| assert!(row.is_some()))
                })
            }
        }
    }

    fn upsert(&self, record: &[u8]) -> Result<()> {
        self.table.upsert(record).map(|was_there| assert!(was_there))
    }

    fn each_ns(&self, mut work: impl FnMut(u64) -> Result<()>) -> Result<f64> {
        let size = self.rows.next_power_of_two();
        let shuffled = (0..size).map(|at| scattered(at) & (size - 1));
        let ids = shuffled.filter(|id| *id < self.rows);
        let start = Instant::now();
        for id in ids {
            work(id)?;
        }
        Ok(start.elapsed().as_nanos() as f64 / self.rows as f64)
    }
}

fn median(figures: &mut [f64]) -> f64 {
    figures.sort_unstable_by(f64::total_cmp);
    figures[figures.len() / 2]
}

fn show(what: &str, [mut with, mut without]: [Vec<f64>; 2]) {
    let mut ratios: Vec<_> =
        with.iter().zip(&without).map(|(with, without)| with / without).collect();
    if ratios.is_empty() {
        return println!("  {what}");
    }
    let ratio = median(&mut ratios);
    let (low, high) = (ratios[0], ratios[ratios.len() - 1]);
    let [with, without] = [&mut with, &mut without].map(|figures| median(figures));
    println!("  {what:<18} {with:7.0} ns / {without:7.0} ns: {ratio:5.2} ({low:.2} to {high:.2})");
}

fn measure(db: &Database, kind: KeyKind, chosen: &dyn Fn(&str, &str) -> bool) -> Result<()> {
    let (rows, rounds) = (number("LODE_ROWS", 1_000), number("LODE_ROUNDS", 3));
    let plain = IndexSchema::new("by_other", ["other"]);
    for (name, index) in [("unique", plain.clone().unique()), ("plain", plain)] {
        for operation in Operation::ALL {
            if !chosen("LODE_INDEX", name) || !chosen("LODE_OPERATION", &operation.name()) {
                continue;
            }
            let with = Subject::new(db, kind, Some(index.clone()), rows)?;
            let without = Subject::new(db, kind, None, rows)?;
            let mut figures = [Vec::new(), Vec::new()];
            for round in 0..rounds {
                for (figures, subject) in figures.iter_mut().zip([&with, &without]) {
                    if chosen("LODE_ONLY", subject.table.schema().name()) {
                        figures.push(subject.measure(operation, round)?);
                    }
                }
            }
            show(&format!("{} by {name}", operation.name()), figures);
            db.drop_table("with")?;
            db.drop_table("without")?;
        }
    }
    Ok(())
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

fn main() -> Result<()> {
    let chosen = |name: &str, own: &str| std::env::var(name).map_or(true, |text| text == own);
    for (kind, name) in [(KeyKind::Hash, "hash"), (KeyKind::Tree, "tree")] {
        if !chosen("LODE_KEYS", name) {
            continue;
        }
        match std::env::var_os("LODE_DIRECTORY") {
            None => {
                println!("{name} in memory:");
                measure(&Database::in_memory()?, kind, &chosen)?;
            }
            Some(parent) => {
                println!("{name} in a directory:");
                let directory = tempfile::tempdir_in(parent).expect("a directory");
                let db = Options::new().durability(Durability::Process).open(directory.path())?;
                measure(&db, kind, &chosen)?;
            }
        }
    }
    Ok(())
}
