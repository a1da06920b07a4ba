//! The benchmark at a tiny size, so that it never rots.

use assay_benches::{Setup, Times, assay, plain};

fn setup(engine: &'static str) -> Setup {
    Setup { engine, rows: 1_000, count: 2_000, rounds: 2 }
}

fn has_every_round(times: &Times) {
    assert_eq!([1, 2, 2, 1], std::array::from_fn(|at| times[at].len()));
    assert!(times.iter().flatten().all(|&ns| ns > 0.0));
}

#[test]
fn both_sides_measure_every_round() {
    for engine in ["stl-map", "stl-hashmap"] {
        has_every_round(&plain::run(&setup(engine)));
        has_every_round(&assay::run(&setup(engine)).expect("right answers"));
    }
}

#[test]
fn the_null_engine_measures_the_instrument() {
    has_every_round(&assay::run(&setup("null")).expect("no errors"));
}
