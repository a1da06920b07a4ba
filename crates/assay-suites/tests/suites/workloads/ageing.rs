//! Phases that age a store, and what becomes of it: closed, killed, emptied by half.

use super::*;

#[test]
fn a_phase_says_what_it_costs_in_space_and_what_its_store_was_like() {
    let text = phase("{ update = 9, delete = 1 }", "") + REOPEN + HALF;
    for threads in [1, 3] {
        let (status, measurement) = ended(&cell(&text, threads), &Liar::with(Lie::None));
        assert_eq!(status, Status::Measured);
        let only = |name: &str| {
            let phase = measurement.phase(name).expect("the phase");
            assert_eq!(phase.windows.len(), 1, "{name}");
            phase.windows[0]
        };
        let (load, serve, again, half) = (only("load"), only("serve"), only("again"), only("half"));
        // Keys of 8 bytes, values of 8 to 90.
        assert_eq!((load.operations, load.changed_bytes), (2_000, load.live_bytes));
        assert!((90_000..130_000).contains(&load.live_bytes), "{load:?}");
        assert!(serve.live_bytes < load.live_bytes && serve.operations == 6_000, "{serve:?}");
        assert!((250_000..450_000).contains(&serve.changed_bytes), "{serve:?}");
        assert_eq!((again.live_bytes, again.changed_bytes), (serve.live_bytes, 0));
        let there = measurement.phase("half").expect("the phase").rounds[0].operations;
        assert_eq!(half.changed_bytes, 8 * there, "a delete changes its key");
        let rest = half.live_bytes as f64 / again.live_bytes as f64;
        assert!((0.4..0.6).contains(&rest), "{rest}");
        for window in [load, serve, again, half] {
            assert_eq!(window.store_bytes, Some(4_096), "the liar's file");
            assert!(window.memory_bytes > 0);
        }
        let steps = &measurement.phase("again").expect("the phase").latencies;
        let steps: Vec<_> = steps.iter().map(|step| (&*step.operation, step.count)).collect();
        assert_eq!(steps, [("again close", 1), ("again open", 1), ("again first answer", 1)]);
    }
}

#[test]
fn a_phase_that_does_not_become_steady_says_so_and_is_checked() {
    let text = phase("{ update = 2, insert = 1, delete = 1, read = 1 }", STEADY);
    let text = text.replace("operations = 6000\n", "") + REOPEN;
    for threads in [1, 3] {
        let growing = Liar::with(Lie::None).growing();
        let (status, measurement) = ended(&cell(&text, threads), &growing);
        assert_eq!(status, Status::Measured, "the store is what all windows made of it");
        let phase = measurement.phase("serve").expect("the phase");
        let windows = phase.windows.len();
        assert_eq!(phase.steady, Some(false));
        assert!((2..=5).contains(&windows), "{windows} windows of a second or more");
        assert_eq!((phase.rounds.len(), phase.published_top), (windows, windows));
        let sum: u64 = phase.windows.iter().map(|window| window.operations).sum();
        let timed: u64 = phase.latencies.iter().map(|latency| latency.count).sum();
        assert_eq!(sum, timed, "latencies are those of all windows");
        let note = "serve: not steady after 0.1 minutes";
        assert!(measurement.notes.iter().any(|said| said == note), "{:?}", measurement.notes);
    }
}

#[test]
fn a_lie_is_found_out_in_phases_that_age_a_store() {
    let steady = phase("{ update = 1, insert = 1 }", STEADY).replace("operations = 6000\n", "");
    let with = |more: &str| phase("{ read = 1 }", "") + more;
    for (lie, text) in [
        (Lie::DropsAWrite, steady.clone()),
        (Lie::LosesARecordLater, steady),
        (Lie::ForgetsOnClose, with(REOPEN)),
        (Lie::KeepsWhatWasDeleted, with(HALF)),
    ] {
        for threads in [1, 3] {
            let engine = Liar::with(lie).honest_for(LOADED);
            let (status, measurement) = ended(&cell(&text, threads), &engine);
            assert!(matches!(status, Status::Wrong(_)), "{lie:?}, {threads} threads: {status:?}");
            assert_eq!(measurement.reopened, 0, "{lie:?}: before the last look");
        }
    }
}

const AFTER_40: Kill = Kill { updates: 40, last_counts: false, lost: 0 };

/// Phases before and after one in which the process is killed, and another such one.
fn with_kills() -> String {
    let again = RECOVER.replace("killed", "again");
    let after = "[[phase]]\nname = \"after\"\noperations = 900\nthreads = [1, 3]\n\
                 mix = { read = 3, update = 2, insert = 1 }\n";
    phase("{ update = 4, insert = 1, delete = 1 }", "") + RECOVER + after + &again
}

#[test]
fn phases_continue_after_a_kill_with_what_is_there() {
    for threads in [1, 3] {
        for key_kind in [KeyKind::Tree, KeyKind::Hash] {
            for (updates, last_counts) in [(0, false), (0, true), (40, false), (40, true)] {
                let cell = Cell { key_kind, ..cell(&with_kills(), threads) };
                let engine = Liar::with(Lie::None);
                let (status, measurement) =
                    killed(&cell, &engine, Kill { updates, last_counts, lost: 0 });
                assert_eq!(status, Status::Measured);
                let names = measurement.phases.iter().map(|phase| phase.name.as_str());
                let names: Vec<_> = names.collect();
                assert_eq!(names, ["load", "serve", "killed", "after", "again"]);
                let phase = measurement.phase("killed").expect("the phase");
                let steps = phase.latencies.iter().map(|step| step.operation.as_str());
                let steps: Vec<_> = steps.collect();
                assert_eq!(steps, ["killed open", "killed first answer"]);
                assert!(phase.checked > 1_500 && phase.windows.len() == 1, "{phase:?}");
                let writes = updates + 1;
                let note = format!("killed: killed after {writes} writes, of which 0 are lost");
                assert!(measurement.notes.contains(&note), "{:?}", measurement.notes);
                assert!(measurement.reopened > 1_500);
            }
        }
    }
}

#[test]
fn what_a_kill_must_not_lose_is_missed() {
    for (lie, said) in [
        (Lie::ForgetsWhenKilled, "was acknowledged at level commit, and lost"),
        (Lie::TearsWhenKilled, "and a write before it is lost"),
        (Lie::LosesARecordWhenKilled, "of an earlier phase, is lost"),
    ] {
        for threads in [1, 3] {
            let cell = cell(&with_kills(), threads);
            let (status, measurement) = killed(&cell, &Liar::with(lie), AFTER_40);
            let Status::Wrong(why) = status else { panic!("{lie:?}: {status:?}") };
            assert!(
                why.starts_with("after its process was killed: ") && why.contains(said),
                "{why}"
            );
            assert!(measurement.phase("serve").is_some() && measurement.phase("after").is_none());
        }
    }
}

#[test]
fn a_level_decides_what_a_kill_may_lose() {
    let at = |durability| Cell { durability, ..cell(&with_kills(), 3) };
    let forgets = || Liar::with(Lie::ForgetsWhenKilled).forgetful();
    let (status, measurement) = killed(&at(Durability::Periodic), &forgets(), AFTER_40);
    assert_eq!(status, Status::Measured, "the last write may be lost, and later ones are right");
    let note = "killed: killed after 41 writes, of which 1 are lost";
    assert!(measurement.notes.iter().any(|said| said == note), "{:?}", measurement.notes);
    let tears = Liar::with(Lie::TearsWhenKilled).forgetful();
    let (status, _) = killed(&at(Durability::Periodic), &tears, AFTER_40);
    assert!(matches!(status, Status::Wrong(_)), "but not one before it: {status:?}");
    let (status, measurement) = killed(&at(Durability::None), &forgets(), AFTER_40);
    assert_eq!(status, Status::Measured);
    let why = "its level none need not survive a killed process";
    assert_eq!(measurement.not_offered("killed"), Some(why));
    assert!(measurement.phase("after").is_some());
}
