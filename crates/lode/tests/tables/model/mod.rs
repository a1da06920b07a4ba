//! Random operations on tables, compared with `BTreeMap`s: in memory, and on a simulated disk with
//! so little memory that pages come and go all the time.
//!
//! On the disk there is a second table, larger than the memory: reading it pushes out whatever else
//! there is.
//!
//! `run` has the table and its model, and does the `operations` to both. What a record has after
//! its key is one of the `contents`: `fixed` or `variable`.

mod contents;
mod disk;
mod fixed;
mod keys;
mod names;
mod operations;
mod run;
mod variable;

use proptest::prelude::ProptestConfig;

use crate::effort::effort;

/// `thorough` cases of a kind where all are asked for, and a fifth of them by default.
/// `PROPTEST_CASES` asks for another number.
fn cases(thorough: u64) -> ProptestConfig {
    let cases = effort("PROPTEST_CASES", thorough / 5, thorough);
    ProptestConfig { cases: cases as u32, ..ProptestConfig::default() }
}
