//! Random operations on tables, compared with `BTreeMap`s: in memory, and on a simulated disk with so
//! little memory that pages come and go all the time.
//!
//! On the disk there is a second table, larger than the memory: reading it pushes out whatever else
//! there is.

mod disk;
mod fixed;
mod keys;
mod names;
mod variable;

use proptest::prelude::ProptestConfig;

/// So many cases of each kind; `PROPTEST_CASES` asks for others.
fn cases(usual: u32) -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|count| count.parse().ok());
    ProptestConfig { cases: asked.unwrap_or(usual), ..ProptestConfig::default() }
}
