use super::*;

fn verdict(found: &Found) -> Verdict {
    let mut verdict = Verdict {
        engine: "lmdb".into(),
        engine_version: "1".into(),
        engine_options: BTreeMap::new(),
        settings: Vec::new(),
        durability: Durability::Commit,
        crash: Crash::Power,
        strict_directories: false,
        promise: Promise::Everything,
        threads: 1,
        crashes: 1,
        cut_openings: 0,
        commits: 10,
        rounds: 0,
        acknowledged: 0,
        lost_rounds: 0,
        lost_commits_most: 0,
        interval_ms: None,
        lost_age_most_ms: None,
        torn_rounds: 0,
        refused_rounds: 0,
        unusable_rounds: 0,
        copy_rule: None,
        faults: None,
        enumerated: None,
        failures: Vec::new(),
        tested: Timestamp::UNIX_EPOCH,
    };
    verdict.add(10, found, None);
    if !verdict.promise.is_kept(found) {
        let found = found.clone();
        let command = "again".into();
        verdict.failures.push(Failure {
            found,
            age: None,
            lasts: None,
            recoveries: Vec::new(),
            command,
            image: None,
        });
    }
    verdict
}

fn level<'l>(engine_version: &'l str, none: &'l BTreeMap<String, String>) -> Level<'l> {
    let durability = Durability::Commit;
    Level { engine: "lmdb", engine_version, engine_options: none, durability }
}

fn refutation(verdicts: &Verdicts, version: &str) -> Option<String> {
    verdicts.refutation(&level(version, &BTreeMap::new()))
}

#[test]
fn rounds_that_held_bound_what_they_do_not_prove() {
    let mut verdicts = Verdicts::default();
    let held = |rounds, crash| Verdict { rounds, crash, ..verdict(&Found::Everything) };
    verdicts.add(held(24, Crash::Power));
    verdicts.add(held(300, Crash::Process));
    let holding = |verdicts: &Verdicts| verdicts.holding(&level("1", &BTreeMap::new()));
    let found = holding(&verdicts).expect("two tests held");
    assert!((found.most - 0.117).abs() < 0.001, "the weaker of both: {found:?}");
    let words = ["none of 24 power cuts (at most 12 % do)", "300 killed processes"];
    assert!(words.iter().all(|words| found.words.contains(words)), "{found:?}");
    assert_eq!(verdicts.holding(&level("2", &BTreeMap::new())), None);
    let nothing = Verdict { promise: Promise::Nothing, ..held(24, Crash::Power) };
    verdicts.verdicts = vec![nothing];
    assert_eq!(holding(&verdicts), None, "what promises nothing cannot be broken");
    verdicts.verdicts = vec![held(24, Crash::Power), verdict(&Found::Lost { commits: 1 })];
    assert_eq!(holding(&verdicts), None, "it is refuted");
}

#[test]
fn a_refuted_level_is_marked_until_a_newer_verdict_clears_it() {
    let mut verdicts = Verdicts::default();
    verdicts.add(verdict(&Found::Lost { commits: 3 }));
    let line = refutation(&verdicts, "1").expect("it is refuted");
    assert!(line.contains("1 of 1 power cuts: 3 acknowledged commits were lost"), "{line}");
    assert_eq!(refutation(&verdicts, "2"), None, "another version is another engine");
    let shorter = Verdict { commits: 5, ..verdict(&Found::Everything) };
    assert!(!verdicts.add(shorter), "a shorter test clears nothing");
    assert!(refutation(&verdicts, "1").is_some());
    assert!(verdicts.add(verdict(&Found::Everything)));
    assert_eq!(refutation(&verdicts, "1"), None);
    assert_eq!(verdicts.verdicts.len(), 1);
}

#[test]
fn a_copy_that_went_wrong_is_named_and_no_fault() {
    let torn = Found::Torn("half".into());
    let copied = |found: &Found| {
        let mut copied = Verdict { crash: Crash::Copy, promise: Promise::Copy, ..verdict(found) };
        copied.failures.retain(|failure| !Promise::Copy.is_kept(&failure.found));
        copied.copy_rule = Some("never".into());
        copied
    };
    let wrong = copied(&torn);
    assert!(!wrong.is_refuted());
    let words = "1 of 1 copies were mixtures, or made the process that opened them die; its \
                 authors say: never";
    assert!(wrong.summary().contains(words), "{}", wrong.summary());
    let mut verdicts = Verdicts::default();
    verdicts.add(wrong);
    assert_eq!(refutation(&verdicts, "1"), None);
    assert_eq!(verdicts.holding(&level("1", &BTreeMap::new())), None);
    for found in [Found::Everything, Found::Lost { commits: 3 }] {
        assert!(copied(&found).summary().contains("each of 1 copies was whole"), "{found}");
    }
    let refused = copied(&Found::Refused(String::new())).summary();
    assert!(refused.contains("of 1 copies 0 were whole and 1 refused"), "{refused}");
    assert!(copied(&Found::Died(String::new())).summary().contains("CANNOT"));
}

#[test]
fn a_prefix_may_lose_its_end_and_nothing_else() {
    let torn = Found::Torn(String::new());
    assert!(Promise::Prefix.is_kept(&Found::Lost { commits: 9 }));
    assert!(!Promise::Prefix.is_kept(&torn));
    assert!(!Promise::Everything.is_kept(&Found::Lost { commits: 1 }));
    assert!(Promise::Nothing.is_kept(&torn));
}

#[test]
fn a_loss_is_too_old_beyond_some_intervals_and_what_the_machine_took() {
    let mut verdict = verdict(&Found::Everything);
    (verdict.promise, verdict.interval_ms) = (Promise::Prefix, Some(100));
    let lost = Found::Lost { commits: 7 };
    let age = |lost_ms: u64, late_ms: u64| {
        Some(Age { lost_us: lost_ms * 1_000, late_us: late_ms * 1_000 })
    };
    for (lost_ms, late_ms, is_kept) in
        [(0, 0, true), (400, 0, true), (401, 0, false), (2_250, 900, false), (2_250, 925, true)]
    {
        assert_eq!(verdict.is_kept(&lost, age(lost_ms, late_ms)), is_kept, "{lost_ms}");
        verdict.add(10, &lost, age(lost_ms, late_ms));
    }
    assert!(verdict.is_kept(&lost, None), "it was not measured");
    assert_eq!(verdict.lost_age_most_ms, Some(2_250));
    verdict.interval_ms = None;
    assert!(verdict.is_kept(&lost, age(9_999, 0)), "no interval is stated");
    (verdict.promise, verdict.interval_ms) = (Promise::Nothing, Some(100));
    assert!(verdict.is_kept(&lost, age(9_999, 0)), "nothing is promised");
}

#[test]
fn a_foreign_file_is_refused_and_a_missing_one_is_empty() {
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().join("durability.json");
    assert!(Verdicts::load(&path).expect("none yet").verdicts.is_empty());
    std::fs::write(&path, "{\"format\": \"something\"}").expect("write");
    assert!(Verdicts::load(&path).expect_err("foreign").contains("not a file of verdicts"));
}

#[test]
fn verdicts_of_faults_stand_by_themselves_and_mark_no_level() {
    let of = |fault, lasts, found: &Found| Verdict {
        faults: Some(Tally { met_rounds: 1, ..Tally::new(fault, lasts) }),
        ..verdict(found)
    };
    let lost = of(Fault::EioSync, None, &Found::Lost { commits: 3 });
    assert!(lost.is_refuted());
    assert_eq!(lost.beyond(), " with eio-sync");
    let mut verdicts = Verdicts::default();
    verdicts.add(lost);
    assert_eq!(refutation(&verdicts, "1"), None, "the level is for disks that do not fail");
    verdicts.add(verdict(&Found::Everything));
    verdicts.add(of(Fault::Full, None, &Found::Everything));
    verdicts.add(of(Fault::Full, Some(Lasts::Once), &Found::Everything));
    assert_eq!(verdicts.verdicts.len(), 4, "each is another test");
    let holding = verdicts.holding(&level("1", &BTreeMap::new())).expect("one is of the level");
    assert!(holding.words.ends_with("none of 1 power cuts (at most 95 % do)"), "{holding:?}");
}

#[test]
fn wrong_answers_and_hangs_break_even_what_promises_nothing() {
    let why = String::new;
    for (found, is_kept) in
        [(Found::Wrong(why()), false), (Found::Hung(why()), false), (Found::Returned(why()), true)]
    {
        assert_eq!(Promise::Nothing.is_kept(&found), is_kept, "{found}");
        assert!(!Promise::Prefix.is_kept(&found) && !Promise::Everything.is_kept(&found));
        let faults = Some(Tally::new(Fault::Slow, None));
        let mut verdict = Verdict { faults, ..verdict(&Found::Everything) };
        verdict.add(1, &found, None);
        let tally = verdict.faults.expect("it has faults");
        assert_eq!(tally.wrong_rounds + tally.hung_rounds + tally.returned_rounds, 1, "{found}");
    }
    let hung = Verdict { promise: Promise::Nothing, ..verdict(&Found::Hung(why())) };
    assert_eq!(hung.summary(), "REFUTED in 1 of 1 rounds: at least 5.0 %");
    let lost = Verdict { failures: Vec::new(), ..hung };
    assert_eq!(lost.summary(), "promises nothing");
}

#[test]
fn only_rounds_that_met_a_fault_judge_a_promise() {
    let of = |rounds, met_rounds, found: &Found| {
        let faults = Some(Tally { met_rounds, ..Tally::new(Fault::EioSync, None) });
        Verdict { rounds, faults, ..verdict(found) }
    };
    let held = of(24, 2, &Found::Everything);
    assert_eq!(held.summary(), "broken in none of 2: at most 78 %");
    let mut verdicts = Verdicts::default();
    verdicts.add(of(3, 3, &Found::Lost { commits: 1 }));
    assert!(!verdicts.add(held), "2 rounds do not clear what 3 found");
    assert!(!verdicts.has_as_much(&of(0, 0, &Found::Everything), 4));
    assert!(verdicts.has_as_much(&of(0, 0, &Found::Everything), 3));
    assert!(verdicts.add(of(3, 3, &Found::Everything)));
    let broken = of(4, 0, &Found::Lost { commits: 1 });
    assert_eq!(broken.judged_rounds(), 1, "a round may break a promise without a fault");
}
