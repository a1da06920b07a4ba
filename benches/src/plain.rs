//! The hand-written C++ loops.

#![allow(unsafe_code)]

use assay_core::tape::Records;
use assay_suites::crossbench::Keys;
use assay_suites::crossbench::route::Routes;

use crate::{SEED, Setup, Times, per_operation, tape};

/// Times the loops of `plain_loops.cpp`.
pub fn run(setup: &Setup) -> Times {
    let routes = Routes::new(Keys::Dense, SEED);
    let key = |row: u64| {
        let mut key = [0; 8];
        routes.key(row, &mut key);
        u64::from_le_bytes(key)
    };
    let keys = |operation: &str, round: u64, count: u64| -> Vec<u64> {
        let tape = tape(setup, operation, round);
        (0..count).map(|at| key(tape.row(at))).collect()
    };
    let insert = tape(setup, "insert", 0);
    let records: Vec<Route> = (0..setup.rows)
        .map(|at| {
            let row = insert.row(at);
            let mut payload = [0; 32];
            routes.payload(row, 0, &mut payload);
            Route { key: key(row), payload }
        })
        .collect();
    let rounds = 0..setup.rounds as u64;
    let queries: Vec<_> = rounds.clone().map(|round| keys("query", round, setup.count)).collect();
    let updates: Vec<_> = rounds.map(|round| keys("update", round, setup.count)).collect();
    let births: Vec<u32> = (0..setup.count as u32).collect();
    let deletes = keys("delete", 0, setup.rows);
    let mut times_ns = vec![0; 2 + 2 * setup.rounds];
    let pointers = |lists: &[Vec<u64>]| lists.iter().map(Vec::as_ptr).collect::<Vec<_>>();
    let (query_lists, update_lists) = (pointers(&queries), pointers(&updates));
    // SAFETY: every list has the length that is passed with it, and `times_ns` has room for
    // one insert, the rounds twice, and one delete.
    unsafe {
        plain_loops(
            u32::from(setup.engine == "stl-hashmap"),
            records.as_ptr(),
            records.len(),
            query_lists.as_ptr(),
            update_lists.as_ptr(),
            births.as_ptr(),
            births.len(),
            setup.rounds,
            deletes.as_ptr(),
            times_ns.as_mut_ptr(),
        );
    }
    let each = |range: std::ops::Range<usize>, operations: u64| {
        times_ns[range].iter().map(|&ns| per_operation(ns, operations)).collect()
    };
    let (r, last) = (setup.rounds, times_ns.len() - 1);
    [
        each(0..1, setup.rows),
        each(1..1 + r, setup.count),
        each(1 + r..last, setup.count),
        each(last..last + 1, setup.rows),
    ]
}

/// A record as the loops insert it.
#[repr(C)]
struct Route {
    key: u64,
    payload: [u8; 32],
}

unsafe extern "C" {
    fn plain_loops(
        hash_map: u32,
        routes: *const Route,
        rows: usize,
        queries: *const *const u64,
        updates: *const *const u64,
        births: *const u32,
        count: usize,
        rounds: usize,
        deletes: *const u64,
        times_ns: *mut u64,
    );
}
