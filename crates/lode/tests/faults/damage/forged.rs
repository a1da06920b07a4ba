//! Files that were forged.

use crate::reading::check;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::open;
use crate::common::content::read;
use crate::common::known::Known;
use crate::common::on_all::on_all;

/// Numbers of a forged file.
const ODD: [u64; 9] = [0, 1, 2, 3, 1 << 16, 1 << 31, u32::MAX as u64, u64::MAX / 2, u64::MAX];

/// Superblocks whose checksums are right, but which say something odd.
#[test]
fn what_a_forged_superblock_says_is_not_believed() {
    let mut known = Known::small(15);
    known.kill();
    let fields = (16..84)
        .step_by(8)
        .map(|at| (at, 8))
        .chain([(56, 4), (60, 4), (80, 4), (84, 4), (104, 8), (112, 8)])
        // The places of two more lanes of the log, of which there are none.
        .chain([(120, 6), (126, 6), (132, 6), (138, 4), (456, 6), (462, 6)]);
    let cases: Vec<_> = fields.flat_map(|field| ODD.map(|number| (field, number))).collect();
    on_all(&cases, |((at, size), number)| {
        let fork = known.disk.fork();
        let mut data = fork.file_bytes("data").expect("it is there");
        for from in super::bits::SUPERBLOCKS_AT {
            let (front, sum) = data[from..from + 488].split_at_mut(480);
            front[*at..at + size].copy_from_slice(&number.to_le_bytes()[..*size]);
            sum.copy_from_slice(&xxhash_rust::xxh3::xxh3_64_with_seed(front, 0).to_le_bytes());
        }
        fork.put_file("data", data);
        let opened = catch_unwind(AssertUnwindSafe(|| {
            let db = open(&fork, 1)?;
            let content = read(&db);
            let _ = (check(&db), db.checkpoint());
            db.close().and(content)
        }));
        let why = format!("number {number} in {size} bytes at {at}");
        opened.map(drop).map_err(|_| format!("{why}: it panics"))
    });
}
