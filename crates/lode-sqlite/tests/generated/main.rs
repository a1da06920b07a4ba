//! Statements of any kind, whose answers over tables of Lode are those of SQLite's own tables.
//!
//! `LODE_SQL_STATEMENTS` says how many; `LODE_SQL_SEED` gives the first seed. What differs is
//! shown with its seed, and all that came before it.

mod expression;
mod random;
mod schema;
mod statement;
mod twins;

use random::Random;
use schema::Table;
use twins::Twins;

/// Statements of one seed, which share their tables.
const STATEMENTS_A_SEED: u64 = 200;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

/// Runs the statements of a seed. Returns how many brought rows, and how many failed.
fn run(seed: u64) -> Result<(u64, u64), String> {
    let mut random = Random::new(seed);
    let tables: Vec<_> = ["t", "u", "v"].iter().map(|name| Table::any(name, &mut random)).collect();
    let mut of_indexes = Random::new(!seed);
    let mut twins = Twins::new(&tables, seed.is_multiple_of(16), &mut of_indexes);
    let mut with_rows = 0;
    let mut failed = 0;
    for _ in 0..STATEMENTS_A_SEED {
        let statement = match random.below(20) {
            0 => twins.transaction(&mut random),
            1..10 => statement::write(&tables, &mut random),
            _ => statement::query(&tables, &mut random),
        };
        match twins.run(&statement)? {
            Ok(rows) => with_rows += u64::from(rows > 0),
            Err(()) => failed += 1,
        }
    }
    twins.finish(&tables)?;
    Ok((with_rows, failed))
}

#[test]
fn answers_are_those_of_sqlite() {
    let statements = number("LODE_SQL_STATEMENTS", 10_000);
    let first = number("LODE_SQL_SEED", 0);
    let mut with_rows = 0;
    let mut failed = 0;
    let mut differences = Vec::new();
    for seed in first..first + statements.div_ceil(STATEMENTS_A_SEED) {
        match run(seed) {
            Ok((rows, wrong)) => (with_rows, failed) = (with_rows + rows, failed + wrong),
            Err(why) => differences.push(format!("seed {seed}: {why}")),
        }
    }
    println!(
        "{statements} statements: {with_rows} with rows, {failed} refused by both, {} differ",
        differences.len()
    );
    assert!(differences.is_empty(), "{}", differences[..differences.len().min(5)].join("\n\n"));
    assert!(with_rows > statements / 5, "most statements should find something: {with_rows}");
}
