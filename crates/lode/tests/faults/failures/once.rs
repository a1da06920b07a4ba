//! Each operation of the disk fails once. By default one case in five is tried; `LODE_STRIDE=1`,
//! and `LODE_THOROUGH`, try all.

use std::panic::{AssertUnwindSafe, catch_unwind};

use lode::simulation::{Fault, FaultKind, Mapping};

use super::work::Work;
use crate::common::on_all::on_all;
use crate::effort::effort;

#[test]
fn each_operation_of_the_disk_may_fail_once() {
    let kinds =
        [FaultKind::ReadFails, FaultKind::WriteFails, FaultKind::SyncFails, FaultKind::NoSpace];
    let mut cases = Vec::new();
    for mapping in Mapping::ALL {
        let mut work = Work::new(mapping);
        work.run();
        let count = work.disk.operations();
        work.end(None);
        assert!(count > 200, "{count} operations");
        let all = (0..count).flat_map(|at| kinds.map(|kind| (mapping, at, kind)));
        cases.extend(all.map(|case| (case, (case.1 % 2 == 0).then_some(case.1))));
        // A segment whose header was written in part is there after the end of a process.
        let all = (0..count).map(|at| (mapping, at, FaultKind::WriteFails));
        cases.extend(all.map(|case| (case, None)));
    }
    let stride = effort("LODE_STRIDE", 5, 1).max(1) as usize;
    let cases: Vec<_> = cases.into_iter().step_by(stride).collect();
    on_all(&cases, |((mapping, at, kind), seed)| {
        let work = || {
            let mut work = Work::new(*mapping);
            work.disk.fail(Fault::Error { at: *at, kind: *kind });
            work.run();
            work.end(*seed);
        };
        catch_unwind(AssertUnwindSafe(work)).map_err(|why| {
            let text = why.downcast_ref::<String>().cloned().unwrap_or_default();
            format!("mapping {mapping:?}, {kind:?} at operation {at}, {seed:?}: {text}")
        })
    });
}
