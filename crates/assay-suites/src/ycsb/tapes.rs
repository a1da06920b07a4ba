//! The operations of the six workloads, which never change.

use assay_core::crew::share;
use assay_core::tape::TapeHash;

use super::Options;
use super::choice::Chooser;
use super::core_workload::{CoreWorkload, Workload};
use super::workload::{Distribution, Kind, Operations, Seen};

const RECORDS: u64 = 3_000;
const OPERATIONS: u64 = 4_000;

/// Returns a hash of all operations of a round by a number of threads.
fn hash(workload: Workload, distribution: Option<Distribution>, threads: u32) -> u64 {
    let options = Options {
        workload: vec![workload],
        distribution,
        operations: Some(OPERATIONS),
        ..Options::default()
    };
    let core = CoreWorkload::of(&options).expect("a workload");
    let inserts = core.expected_inserts();
    let chooser = Chooser::new(core.distribution, &core.skew, RECORDS, inserts, 0);
    let operations = Operations::new(&core, &chooser, 9);
    let mut hash = TapeHash::default();
    for thread in 0..threads as usize {
        let mut chooser = operations.chooser;
        let mut inserted = 0;
        for position in share(OPERATIONS, threads, thread) {
            let mut seen =
                Seen { chooser: &mut chooser, loaded: RECORDS, inserted, threads, thread };
            let operation = operations.at(position, &mut seen);
            inserted += u64::from(operation.kind == Kind::Insert);
            hash.add(operation.row << 3 ^ operation.kind as u64);
            hash.add(u64::from(operation.field));
            if operation.kind == Kind::Scan {
                hash.add(operation.length);
            }
        }
    }
    hash.value()
}

#[test]
fn the_six_workloads_make_the_operations_that_they_always_made() {
    let distributions = [
        None,
        Some(Distribution::Zipfian),
        Some(Distribution::Uniform),
        Some(Distribution::Latest),
    ];
    let found = Workload::lettered().map(|workload| {
        let mut all = TapeHash::default();
        for distribution in distributions {
            [1, 4].iter().for_each(|&threads| all.add(hash(workload, distribution, threads)));
        }
        format!("{workload} {:016x}", all.value())
    });
    let found: Vec<_> = found.collect();
    assert_eq!(found, PINNED);
}

const PINNED: [&str; 6] = [
    "A 995b9a0aa05e4072",
    "B 2c55df09e8563a88",
    "C 75668020aa777333",
    "D fb6abce0e350af73",
    "E fa1fb8ae0a2762d1",
    "F 33d8e60a84b4dd8b",
];
