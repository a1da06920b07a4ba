//! False answers in workloads at random. They come in a phase itself and in its background, in one
//! that lasts a time, and after a kill; and while a process writes until it is killed.

use assay_suites::workload::spec::Kind::{self, *};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use super::any::{
    AnyBackground, AnyOperations, AnyPhase, AnyRecords, End, any_kill, any_operations, any_records,
};
use super::*;

/// The workloads for each false answer, kind of operation and place.
const DRAWS: usize = 2;

/// The lies that are told in phases of windows, which take seconds each.
const OF_WINDOWS: [Lie; 7] = [
    Lie::DropsAWrite,
    Lie::ReturnsAnOldVersion,
    Lie::CountsTwice,
    Lie::LosesARecordLater,
    Lie::KeepsWhatWasDeleted,
    Lie::SkipsARow,
    Lie::FindMissesARecord,
];

/// The fewest records, enough that few lost writes are written over.
const LEAST: u32 = 3_000;

/// The operations of a phase with false answers.
const OPERATIONS: u32 = 4_000;

/// False answers, the kinds of operation that each can be given in, and a kind that those need to
/// be done often and seen.
const TOLD: [(Lie, &[Kind], Kind); 18] = [
    (Lie::DropsAWrite, &[Update, Insert, Upsert, ReadModifyWrite, Increment], Read),
    (Lie::ReturnsAnOldVersion, &[Read, Scan, Find], Update),
    (Lie::ReturnsAnOldVersion, &[ReadModifyWrite, Increment], Missing),
    (Lie::CountsTwice, &[Update, ReadModifyWrite, Increment], Missing),
    (Lie::ChangesAColumn, &[Update, ReadModifyWrite, Increment], Missing),
    (Lie::LosesARecordLater, &[Update, Insert, Upsert, ReadModifyWrite, Increment], Missing),
    (Lie::FindsWhatIsAbsent, &[Missing], Update),
    (Lie::KeepsWhatWasDeleted, &[Delete], Insert),
    (Lie::SkipsARow, &[Scan], Insert),
    (Lie::RepeatsARow, &[Scan], Update),
    (Lie::ScanChangesAColumn, &[Scan], Update),
    (Lie::FindMissesARecord, &[Find], Insert),
    (Lie::FindRepeatsARecord, &[Find], Update),
    (Lie::FindsAnother, &[Find], Delete),
    (Lie::FindChangesAColumn, &[Find], Update),
    (Lie::IndexMissesARecord, &[Read, Update, Insert], Missing),
    (Lie::DropsACommit, &[Update, Insert, Upsert, Delete], Insert),
    (Lie::KeepsWhatWasRolledBack, &[Update, Insert, Upsert, Delete], Insert),
];

/// The place of false answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Phase,
    Background,
    /// A phase that lasts a time.
    Windows,
}

/// The last phase, which is not reached.
const LAST: &str = "[[phase]]\nname = \"last\"\noperations = 9\nmix = { read = 1 }\n";

const RECOVERS: &str = "do = \"recover\"\n";

fn is_of_transactions(lie: Lie) -> bool {
    matches!(lie, Lie::DropsACommit | Lie::KeepsWhatWasRolledBack)
}

/// Returns a phase of the drawn operations in which a kind is done at a place.
fn phase_with(drawn: AnyOperations, kind: Kind, beside: Kind, at: Place) -> AnyOperations {
    let shares = |kinds: &[(Kind, u32)]| {
        let share = |it: &Kind| kinds.iter().filter(|(kind, _)| kind == it).map(|(_, n)| n).sum();
        Kind::ALL.iter().map(share).collect()
    };
    // Others write few records again and again, and a lost write can be written over.
    let choose = ["uniform", "hotspot"];
    let is_wide = choose.iter().any(|word| drawn.choose.contains(word));
    let end = match at {
        Place::Windows => End::Clock("until = \"steady\"\nwindow = 1\nlimit = 5\n"),
        _ => End::Operations(OPERATIONS),
    };
    let is_behind = at == Place::Background;
    // Records that are inserted are there to be deleted.
    let often = if beside == Insert { 1 } else { 3 };
    let reads = drawn.reads.of_all_columns("{ uniform = [3, 30] }");
    let background = || AnyBackground {
        mix: shares(&[(kind, 1)]),
        choose: "",
        reads: reads.clone(),
        rate: 1_000_000,
    };
    AnyOperations {
        mix: if is_behind { shares(&[(beside, 1)]) } else { shares(&[(kind, often), (beside, 1)]) },
        end,
        choose: if is_wide { drawn.choose } else { "" },
        background: is_behind.then(|| Box::new(background())),
        reads,
        rate: if is_behind { "rate = 100000\n" } else { drawn.rate },
        ..drawn
    }
}

/// Returns records with what an operation and a false answer need.
fn records_for(records: AnyRecords, kind: Kind, lie: Lie) -> AnyRecords {
    let records = if kind == Increment { records.of_numbers() } else { records };
    let by_index = kind == Find || lie == Lie::IndexMissesARecord || lie == Lie::ChangesAColumn;
    match (by_index, kind) {
        (true, _) => records.with_an_index(),
        // Those may not be inserted often.
        (false, Insert) => records.without_an_index(),
        (false, _) => records,
    }
}

/// Expects that an engine is found out before the last phase.
fn is_found_out(lie: Lie, text: &str, engine: &Liar, kill: Kill, threads: u32) {
    let text = format!("{text}{LAST}");
    let cell = cell(&text, threads);
    let (status, measurement) = killed(&cell, engine, kill);
    assert!(matches!(status, Status::Wrong(_)), "{lie:?}: {status:?} {kill:?}\n{text}");
    assert!(measurement.phase("last").is_none(), "{lie:?}: {status:?}\n{text}");
}

/// Draws workloads, and expects that engines which are false from a phase's start on are found out.
fn tell(lie: Lie, kind: Kind, beside: Kind, at: Place, runner: &mut TestRunner) {
    let drawn = (any_records(LEAST), any_operations(), any_kill(), 1..4_u32);
    let draws = if at == Place::Windows { 1 } else { DRAWS };
    for _ in 0..draws {
        let (records, operations, kill, threads) =
            drawn.new_tree(runner).expect("a workload").current();
        let kill = Kill { lost: 0, ..kill };
        let records = records_for(records, kind, lie);
        let mut operations = phase_with(operations, kind, beside, at);
        if is_of_transactions(lie) || operations.together > 7 {
            operations.together = 7;
        }
        if at == Place::Windows {
            // Several threads wait for each other's arrivals, and take the processor for it.
            operations.threads = "";
        }
        let phase = AnyPhase::Operations(operations);
        let engine = |lie| match (lie, at) {
            (Lie::KeepsWhatWasRolledBack, _) => Liar::with(lie).refusing(),
            // How much is done depends on the machine, and may be little.
            (lie, Place::Background | Place::Windows) => Liar::with(lie).often(),
            (lie, _) => Liar::with(lie),
        };
        let text = records.workload("", std::slice::from_ref(&phase));
        let loaded = file::parse(&text).expect("a workload").records.count;
        is_found_out(lie, &text, &engine(lie).honest_for(loaded), kill, threads);
        let text = records.workload("", &[AnyPhase::Task(RECOVERS.into()), phase]);
        is_found_out(lie, &text, &engine(lie).honest_until_killed(), kill, threads);
    }
}

#[test]
fn a_lie_in_a_phase_is_found_out_in_any_workload_also_after_a_kill() {
    let mut runner = TestRunner::deterministic();
    for (lie, kinds, beside) in TOLD {
        for kind in kinds {
            tell(lie, *kind, beside, Place::Phase, &mut runner);
        }
    }
}

#[test]
fn a_lie_in_the_background_is_found_out_in_any_workload_also_after_a_kill() {
    let mut runner = TestRunner::deterministic();
    for (lie, kinds, beside) in TOLD.into_iter().filter(|(lie, ..)| !is_of_transactions(*lie)) {
        for kind in kinds {
            tell(lie, *kind, beside, Place::Background, &mut runner);
        }
    }
}

#[test]
fn a_lie_in_a_phase_that_lasts_a_time_is_found_out_in_any_workload() {
    std::thread::scope(|scope| {
        for (lie, kinds, beside) in TOLD.into_iter().filter(|(lie, ..)| OF_WINDOWS.contains(lie)) {
            scope.spawn(move || {
                let mut runner = TestRunner::deterministic();
                tell(lie, kinds[0], beside, Place::Windows, &mut runner);
            });
        }
    });
}

/// The process writes long enough to be false before the kill.
#[test]
fn a_lie_while_a_process_is_killed_is_found_out_in_any_workload() {
    let mut runner = TestRunner::deterministic();
    let drawn = (any_records(LEAST), any_kill());
    for lie in [
        Lie::DropsAWrite,
        Lie::CountsTwice,
        Lie::ChangesAColumn,
        Lie::LosesARecordLater,
        Lie::IndexMissesARecord,
        Lie::ForgetsWhenKilled,
        Lie::TearsWhenKilled,
        Lie::LosesARecordWhenKilled,
    ] {
        for _ in 0..4 * DRAWS {
            let (records, kill) = drawn.new_tree(&mut runner).expect("a workload").current();
            let records = records_for(records, Update, lie);
            let kill = Kill { lost: 0, updates: 400 + kill.updates, ..kill };
            let text = records.workload("", &[AnyPhase::Task(RECOVERS.into())]);
            let loaded = file::parse(&text).expect("a workload").records.count;
            let engine = Liar::with(lie).honest_for(loaded);
            is_found_out(lie, &text, &engine, kill, 1);
        }
    }
}

#[test]
fn a_lie_about_a_closed_or_halved_store_is_found_out_in_any_workload() {
    let mut runner = TestRunner::deterministic();
    let drawn = (any_records(LEAST), 1..4_u32);
    for (lie, task) in [
        (Lie::ForgetsOnClose, "do = \"reopen\"\n"),
        (Lie::KeepsWhatWasDeleted, "do = \"delete-half\"\nlimit = 0\nthreads = [1, 2, 3]\n"),
    ] {
        for is_killed in [false, true] {
            for _ in 0..4 * DRAWS {
                let (records, threads) = drawn.new_tree(&mut runner).expect("a workload").current();
                let task = AnyPhase::Task(task.into());
                let kill = Kill { updates: 9, ..Kill::default() };
                if is_killed {
                    let text = records.workload("", &[AnyPhase::Task(RECOVERS.into()), task]);
                    let engine = Liar::with(lie).honest_until_killed();
                    is_found_out(lie, &text, &engine, kill, threads);
                } else {
                    let text = records.workload("", &[task]);
                    is_found_out(lie, &text, &Liar::with(lie), kill, threads);
                }
            }
        }
    }
}

/// Each kill loses all of its own updates, and one more record.
#[test]
fn a_hole_in_what_a_kill_may_lose_is_found_out_in_any_workload() {
    let mut runner = TestRunner::deterministic();
    let drawn = (any_records(300), any_operations(), 0..60_u64, any::<bool>(), 1..4_u32);
    let mut draw = || drawn.new_tree(&mut runner).expect("a workload").current();
    for _ in 0..8 * DRAWS {
        let (records, operations, updates, last_counts, threads) = draw();
        let operations = phase_with(operations, Update, Read, Place::Phase);
        let phases = [AnyPhase::Operations(operations), AnyPhase::Task(RECOVERS.into())];
        let text = records.workload("survives = \"power cut but for the last moment\"\n", &phases);
        let kill =
            Kill { updates, last_counts, lost: updates as usize + 1 + usize::from(last_counts) };
        let cell = Cell { durability: Durability::Periodic, ..cell(&text, threads) };
        let engine = Liar::with(Lie::None).forgetful();
        assert_eq!(killed(&cell, &engine, kill).0, Status::Measured, "{text}");
        let engine = Liar::with(Lie::LosesARecordWhenKilled).forgetful();
        let (status, _) = killed(&cell, &engine, kill);
        let is_it = |why: &str| why.contains("is there, and a write before it, of record");
        assert!(matches!(&status, Status::Wrong(why) if is_it(why)), "{status:?} {kill:?}\n{text}");
    }
}
