//! A data file with some bytes written over: opening and reading it returns, with a result or an
//! error.

#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use lode::simulation::Simulated;
use lode_fuzz::{Damage, exercise, small};

fuzz_target!(|damage: Damage| {
    static SMALL: OnceLock<Simulated> = OnceLock::new();
    let disk = SMALL.get_or_init(small).fork();
    damage.apply(&disk);
    exercise(&disk);
});
