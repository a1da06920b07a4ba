//! False answers of engines, each in phases of the kinds of operations that show it.

use super::*;

#[test]
fn a_lie_is_found_out_in_each_kind_of_phase() {
    let counts = sized("{ increment = 1 }", "", "{ constant = 8 }");
    for (lie, text) in [
        (Lie::DropsAWrite, phase("{ update = 1 }", "")),
        (Lie::DropsAWrite, phase("{ insert = 1 }", "")),
        (Lie::DropsAWrite, phase("{ upsert = 1 }", "choose = \"latest\"")),
        (Lie::DropsAWrite, phase("{ read_modify_write = 1 }", "choose = { zipfian = 0.9 }")),
        (Lie::DropsAWrite, counts.clone()),
        (Lie::ReturnsAnOldVersion, phase("{ read = 1, update = 1 }", "")),
        (Lie::ReturnsAnOldVersion, phase("{ read_modify_write = 1 }", "")),
        (Lie::ReturnsAnOldVersion, counts.clone()),
        (Lie::SkipsARow, phase("{ scan = 1, insert = 1 }", SCAN)),
        (Lie::RepeatsARow, phase("{ scan = 1, update = 1 }", SCAN)),
        (Lie::SkipsARow, indexed("{ scan = 1, insert = 1 }", KEYS_ONLY)),
        (Lie::RepeatsARow, indexed("{ scan = 1, update = 1 }", OWNERS)),
        (Lie::ScanChangesAColumn, indexed("{ scan = 1, update = 1 }", OWNERS)),
        (Lie::KeepsWhatWasDeleted, indexed("{ scan = 1, delete = 1 }", KEYS_ONLY)),
        (Lie::SkipsARow, by_device("{ scan = 1, insert = 1 }", SCAN)),
        (Lie::RepeatsARow, by_device("{ scan = 1, update = 1 }", SCAN)),
        (Lie::DropsAWrite, by_device("{ insert = 1 }", "")),
        (Lie::FindMissesARecord, finding("{ find = 1, insert = 1 }", "")),
        (Lie::FindRepeatsARecord, finding("{ find = 1, update = 1 }", "")),
        (Lie::FindChangesAColumn, finding("{ find = 1, update = 1 }", "")),
        (Lie::FindsAnother, finding("{ find = 1, delete = 1 }", "")),
        (Lie::ReturnsAnOldVersion, finding("{ find = 1, update = 1 }", "")),
        (Lie::DropsAWrite, finding("{ find = 1, insert = 1 }", "")),
        (Lie::IndexMissesARecord, indexed("{ update = 1 }", "")),
        (Lie::ChangesAColumn, finding("{ find = 1, update = 9 }", "")),
        (Lie::CountsTwice, counts),
        (Lie::FindsWhatIsAbsent, phase("{ missing = 1 }", "")),
        (Lie::FindsWhatIsAbsent, phase("{ read = 1, delete = 3 }", "")),
        (Lie::KeepsWhatWasDeleted, phase("{ delete = 1, insert = 1 }", "choose = \"oldest\"")),
        (Lie::LosesARecordLater, phase("{ update = 1 }", "")),
        (Lie::ForgetsOnClose, phase("{ read = 1 }", "")),
    ] {
        for threads in [1, 3] {
            for key_kind in [KeyKind::Tree, KeyKind::Hash] {
                if key_kind == KeyKind::Hash && text.contains("scan") {
                    continue;
                }
                let cell = Cell { key_kind, ..cell(&text, threads) };
                let (status, _) = ended(&cell, &Liar::with(lie).honest_for(LOADED));
                // A find that lies once does so during the phase.
                let is_once = matches!(
                    lie,
                    Lie::FindMissesARecord
                        | Lie::FindRepeatsARecord
                        | Lie::FindChangesAColumn
                        | Lie::FindsAnother
                );
                let is_in_time = |why: &str| !(is_once && why.contains("opened again"));
                assert!(
                    matches!(&status, Status::Wrong(why) if is_in_time(why)),
                    "{lie:?}, {threads} threads, {key_kind}: {status:?} {text}"
                );
            }
        }
    }
}

#[test]
fn a_record_that_is_gone_is_noticed_in_scans_of_keys_alone() {
    let text = indexed("{ scan = 1, delete = 1 }", KEYS_ONLY);
    let engine = Liar::with(Lie::KeepsWhatWasDeleted).honest_for(LOADED).often();
    let (status, _) = ended(&cell(&text, 1), &engine);
    let is_scan = |why: &str| why.contains("a scan found it; expected absent");
    assert!(matches!(&status, Status::Wrong(why) if is_scan(why)), "{status:?}");
}

#[test]
fn a_lie_about_a_transaction_is_found_out() {
    let mix = "{ read = 1, update = 1, insert = 1, delete = 1 }";
    for threads in [1, 3] {
        let cell = cell(&phase(mix, "transaction = 10"), threads);
        for lie in [Lie::DropsACommit, Lie::KeepsWhatWasRolledBack] {
            let (status, _) = ended(&cell, &Liar::with(lie).honest_for(LOADED).refusing());
            assert!(matches!(status, Status::Wrong(_)), "{lie:?}, {threads} threads: {status:?}");
        }
    }
}
