//! What a secondary index costs: a lookup by an index beside one by a key, and an insert into a
//! table with one index beside one without: `cargo bench -p lodedb --bench indexes`. In memory and
//! in a directory (of `LODE_DIRECTORY`, at the level `process`), hashed and in order. `LODE_ROWS`
//! says how many records there are. The figures are medians of rounds that take turns.

use std::time::Instant;

use lode::{
    Database, Durability, IndexSchema, KeyKind, Options, ReadTable, Result, Schema, Table, Type,
};

/// Bytes of a record besides its key and the indexed column.
const REST_BYTES: usize = 40;

const ROUNDS: usize = 7;

/// Scatters a number: neighbours become far from each other, and none becomes another's.
fn scattered(number: u64) -> u64 {
    number.wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

fn record(id: u64) -> Vec<u8> {
    [&id.to_le_bytes()[..], &scattered(id).to_le_bytes(), &[7; REST_BYTES]].concat()
}

fn create(db: &Database, name: &str, kind: KeyKind, indexes: &[IndexSchema]) -> Result<Table> {
    let schema = Schema::build(name).key("id", Type::U64).column("other", Type::U64);
    let schema = schema.column("rest", Type::Bytes(REST_BYTES as u32)).finish()?;
    db.create_indexed_table(&schema, kind, indexes)
}

/// Returns the nanoseconds that `work` takes for each of the numbers, in an order of no order.
fn each_ns(rows: u64, mut work: impl FnMut(u64) -> Result<()>) -> Result<f64> {
    let start = Instant::now();
    for number in 0..rows {
        work(scattered(number) % rows)?;
    }
    Ok(start.elapsed().as_nanos() as f64 / rows as f64)
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_unstable_by(f64::total_cmp);
    figures[figures.len() / 2]
}

fn show(what: &str, figures: [Vec<f64>; 2]) {
    let [with, without] = figures.map(median);
    println!("  {what:<34} {with:7.0} ns, beside {without:7.0} ns: {:5.2}", with / without);
}

fn measure(db: &Database, kind: KeyKind, rows: u64) -> Result<()> {
    let unique = IndexSchema::new("by_other", ["other"]).unique();
    let plain = IndexSchema::new("by_other", ["other"]);
    for (name, index) in [("unique", unique), ("plain", plain)] {
        let mut inserts = [Vec::new(), Vec::new()];
        for _ in 0..ROUNDS {
            for (figures, indexes) in inserts.iter_mut().zip([&[index.clone()][..], &[]]) {
                let table = create(db, "inserted", kind, indexes)?;
                let start = Instant::now();
                for number in 0..rows {
                    assert!(table.insert(&record(number))?);
                }
                figures.push(start.elapsed().as_nanos() as f64 / rows as f64);
                db.drop_table("inserted")?;
            }
        }
        show(&format!("insert, one {name} index or none"), inserts);
        let table = create(db, "read", kind, &[index])?;
        table.insert_all((0..rows).map(record))?;
        let (by, id) = (table.by("by_other")?, table.schema().column("id")?);
        let mut lookups = [Vec::new(), Vec::new(), Vec::new()];
        for _ in 0..ROUNDS {
            lookups[0]
                .push(each_ns(rows, |id| by.get(scattered(id)).map(|row| assert!(row.is_some())))?);
            lookups[1].push(each_ns(rows, |id| table.get(id).map(|row| assert!(row.is_some())))?);
            lookups[2].push(each_ns(rows, |number| {
                let other = scattered(number);
                let mut rows = by.range(other..=other).columns([id]).limit(1);
                rows.next_row().map(|row| assert!(row.is_some()))
            })?);
        }
        let [by_index, by_key, covered] = lookups;
        show(&format!("get by the {name} index or by key"), [by_index, by_key.clone()]);
        show(&format!("key by the {name} index, or get"), [covered, by_key]);
        drop(by);
        db.drop_table("read")?;
    }
    Ok(())
}

fn main() -> Result<()> {
    let rows = std::env::var("LODE_ROWS").map_or(2_000, |rows| rows.parse().expect("a number"));
    for kind in [KeyKind::Hash, KeyKind::Tree] {
        println!("{kind:?} in memory, {rows} rows:");
        measure(&Database::in_memory()?, kind, rows)?;
        if let Some(parent) = std::env::var_os("LODE_DIRECTORY") {
            println!("{kind:?} in a directory, {rows} rows:");
            let directory = tempfile::tempdir_in(parent).expect("a directory");
            let db = Options::new().durability(Durability::Process).open(directory.path())?;
            measure(&db, kind, rows)?;
        }
    }
    Ok(())
}
