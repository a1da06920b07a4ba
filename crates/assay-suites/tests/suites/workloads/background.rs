//! Work in the background of a phase.

use super::*;

/// Returns a workload with something in the background, which does much at once.
fn with_background(mix: &str, behind: &str, more: &str) -> String {
    phase(mix, &format!("background = {{ mix = {behind}, rate = 1000000 }}\n{more}"))
}

/// Returns what is done in the background, with what its scans and finds need.
fn reading(mix: &str) -> String {
    let scan = if mix.contains("scan") { SCAN } else { "" };
    let find = if mix.contains("find") { "find = { by = \"owner\" }" } else { "" };
    let rate = format!("mix = {mix}, rate = 1000000");
    let parts = [&rate[..], scan, find].into_iter().filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join(", ")
}

#[test]
fn what_is_done_in_the_background_is_shown_apart_and_checked() {
    let behind = "{ update = 2, insert = 1, upsert = 1, delete = 1, read = 1, missing = 1, \
                  scan = 1, find = 1 }";
    let mix = "{ read = 3, update = 3, insert = 1, delete = 1, scan = 1 }";
    let counted = indexed(mix, &format!("background = {{ {} }}\n{SCAN}", reading(behind)));
    let counted = counted.replace("\"sparse\"", "\"dense\"");
    let steady = counted.replace("operations = 6000", STEADY);
    for (text, is_counted, most) in [(counted, true, 3), (steady, false, 1)] {
        for threads in (1..=most).step_by(2) {
            let (status, measurement) = ended(&cell(&text, threads), &Liar::with(Lie::None));
            assert_eq!(status, Status::Measured);
            let phase = measurement.phase("serve").expect("the phase");
            let latencies = phase.latencies.iter();
            let (apart, own): (Vec<_>, Vec<_>) =
                latencies.partition(|latency| latency.operation.starts_with("background "));
            let sum: u64 = own.iter().map(|latency| latency.count).sum();
            let windows: u64 = phase.windows.iter().map(|window| window.operations).sum();
            assert_eq!(sum, windows, "operations of the phase itself");
            assert!(!is_counted || sum == 6_000, "{sum}");
            assert_eq!(apart.len(), 8, "a latency for each kind");
            assert_eq!(phase.threads, threads);
            let note = |said: &String| said.starts_with("serve: in the background, ");
            // A phase that is counted takes less than a second, of which nothing is said.
            let is_said = measurement.notes.iter().any(note);
            assert!(is_counted || is_said, "{:?}", measurement.notes);
            assert!(measurement.reopened > 0);
        }
    }
}

#[test]
fn a_lie_in_the_background_is_found_out() {
    for (lie, mix, behind) in [
        (Lie::DropsAWrite, "{ read = 1 }", "{ update = 1 }"),
        (Lie::DropsAWrite, "{ read = 1 }", "{ insert = 1 }"),
        (Lie::LosesARecordLater, "{ read = 1 }", "{ upsert = 1 }"),
        (Lie::KeepsWhatWasDeleted, "{ read = 1 }", "{ delete = 1, insert = 1 }"),
        (Lie::FindsWhatIsAbsent, "{ update = 1 }", "{ missing = 1 }"),
        (Lie::ReturnsAnOldVersion, "{ update = 1 }", "{ read = 1 }"),
        (Lie::SkipsARow, "{ update = 1 }", "{ scan = 1 }"),
        (Lie::FindMissesARecord, "{ update = 1 }", "{ find = 1 }"),
    ] {
        for threads in [1, 3] {
            let text = indexed(mix, &format!("background = {{ {} }}", reading(behind)));
            let engine = Liar::with(lie).honest_for(LOADED).often();
            let (status, _) = ended(&cell(&text, threads), &engine);
            assert!(matches!(status, Status::Wrong(_)), "{lie:?}, {threads} threads: {status:?}");
        }
    }
}

#[test]
fn a_background_takes_a_connection_of_its_own() {
    let text = with_background("{ read = 1 }", "{ update = 1 }", "");
    let why = "no phase of the workload: it has one connection at a time".to_string();
    let alone = Faulty::with(Fault::None);
    assert_eq!(ended(&cell(&text, 1), &alone).0, Status::Unsupported(why));
}

/// Records of the thread in the background have numbers too, which others leave out.
#[test]
fn hashed_keys_are_scanned_beside_a_background_whatever_its_share_of_the_numbers() {
    let inserts = "{ insert = 30, scan = 1 }";
    for behind in ["{ update = 1 }", "{ read = 1, delete = 1 }"] {
        for threads in [1, 3] {
            let text = with_background(inserts, behind, SCAN).replace("\"sparse\"", "\"hashed\"");
            let (status, _) = ended(&cell(&text, threads), &Liar::with(Lie::None));
            assert_eq!(status, Status::Measured, "{threads} threads, {behind}");
        }
    }
}
