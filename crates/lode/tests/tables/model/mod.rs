//! Random operations on tables, compared with `BTreeMap`s: in memory, and on a simulated disk with
//! so little memory that pages come and go all the time.
//!
//! On the disk there is a second table, larger than the memory: reading it pushes out whatever else
//! there is.

mod disk;
mod fixed;
mod keys;
mod names;
mod variable;

use proptest::prelude::ProptestConfig;

use crate::effort::effort;

/// `thorough` cases of a kind where all are asked for, and a fifth of them by default.
/// `PROPTEST_CASES` asks for another number.
fn cases(thorough: u64) -> ProptestConfig {
    let cases = effort("PROPTEST_CASES", thorough / 5, thorough);
    ProptestConfig { cases: cases as u32, ..ProptestConfig::default() }
}
