//! Operations through Assay: driver, adapter, timed loop, checked results.

use std::collections::BTreeMap;

use assay_core::crew::{Pace, Spans};
use assay_core::tape::{Population, Records};
use assay_core::timing::{Clock, Round, Timed};
use assay_driver::error::Result;
use assay_driver::{Durability, Endpoint, OpenSpec, Storage};
use assay_suites::crossbench::Keys;
use assay_suites::crossbench::route::Routes;

use crate::{SEED, Setup, Times, per_operation, tape};

/// Times the phases of CrossBench on an engine in memory.
///
/// # Errors
/// What the engine reports, a wrong answer among it.
pub fn run(setup: &Setup) -> Result<Times> {
    let driver = assay_drivers::find(setup.engine).expect("a known engine");
    let routes = Routes::new(Keys::Dense, SEED);
    let profile = driver.profile();
    let store = driver.open(&OpenSpec {
        endpoint: Endpoint::Memory,
        create: true,
        storage: Storage::Memory,
        durability: Durability::None,
        key_kind: profile.key_kinds[0],
        schema: routes.schema().clone(),
        expected_rows: setup.rows,
        threads: 1,
        volumes: None,
        cache_bytes: None,
        parameters: BTreeMap::new(),
    })?;
    let rows = Population::all(setup.rows).rows();
    let birth = routes.schema().position("birth").expect("routes have a birth");
    let mut times = Times::default();
    store.connect(&mut |connection| {
        let mut round = |operation: usize, number: u64, count: u64| -> Result<()> {
            let name = crate::OPERATIONS[operation];
            let round = Round {
                connection: &mut *connection,
                pace: &mut Pace::alone(),
                records: &routes,
                rows: &rows,
                tape: &tape(setup, name, number),
                positions: 0..count,
                clock: Clock::Stops,
                check: profile.keeps_data,
                progress: &mut |_| (),
            };
            let timed: Timed = match name {
                "insert" => round.inserts(false),
                "query" => round.queries(None),
                "update" => round.updates(birth, number as u32 + 1),
                _ => round.deletes(),
            }?;
            let time_ns = Spans::total(&[timed.spans]).as_nanos() as u64;
            times[operation].push(per_operation(time_ns, timed.operations));
            Ok(())
        };
        round(0, 0, setup.rows)?;
        (0..setup.rounds as u64).try_for_each(|number| round(1, number, setup.count))?;
        (0..setup.rounds as u64).try_for_each(|number| round(2, number, setup.count))?;
        round(3, 0, setup.rows)
    })?;
    store.close()?;
    Ok(times)
}
