//! Crashes on a simulated disk: whatever happens, the database comes back with all that was
//! promised and nothing half done.
//!
//! A seed decides everything: what is done, when the power goes, what of the unsynced writes is on
//! the disk then. `LODE_SEED=n` replays one, `LODE_SEEDS=n` asks for `n` of them, from
//! `LODE_FIRST_SEED` on.

mod readers;
mod run;
mod steps;
mod tables;

use run::Run;

use crate::effort::{effort, number};

#[test]
fn what_was_promised_comes_back_after_every_crash() {
    if let Some(seed) = number("LODE_SEED") {
        return Run::new(seed).run();
    }
    let first = number("LODE_FIRST_SEED").unwrap_or(0);
    let seeds = effort("LODE_SEEDS", 250, 2_000);
    let failed = std::sync::Mutex::new(None);
    std::thread::scope(|scope| {
        for thread in 0..2 {
            let failed = &failed;
            scope.spawn(move || {
                for seed in (first + thread..first + seeds).step_by(2) {
                    let run = std::panic::catch_unwind(|| Run::new(seed).run());
                    if let Err(panic) = run {
                        *failed.lock().expect("no panic while it is held") = Some(seed);
                        let replay = format!("LODE_SEED={seed} cargo test --release -p lodedb");
                        eprintln!("replay with {replay} --test faults");
                        std::panic::resume_unwind(panic);
                    }
                }
            });
        }
    });
    assert_eq!(failed.into_inner().ok().flatten(), None);
}
