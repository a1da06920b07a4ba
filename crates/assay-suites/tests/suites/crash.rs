//! The checker of crash tests, on states of a store made by hand: those that a writer went
//! through, and others.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, mpsc};

use assay_core::durability::Found;
use assay_driver::{Durability, KeyKind};
use assay_suites::crash::{Acknowledged, Job, Log, Said, check, write};

use crate::engine::{Content, Fault, Faulty, Files};

const COMMITS: u32 = 60;

fn job() -> Job {
    Job {
        engine: "faulty".into(),
        durability: Durability::Commit,
        key_kind: KeyKind::Tree,
        dir: PathBuf::from("somewhere"),
        options: BTreeMap::new(),
        seed: 7,
        commits: COMMITS,
        threads: 1,
        pace_us: 0,
        namespace: None,
    }
}

/// The states after each write of a history, and how many writes led to each of its commits.
fn written() -> (Vec<Content>, Vec<usize>) {
    written_by(Faulty::remembering())
}

fn written_by(engine: Faulty) -> (Vec<Content>, Vec<usize>) {
    let engine = Arc::new(engine.with_files(Files::None));
    let writer = Arc::clone(&engine);
    let (sender, said) = mpsc::channel();
    // It waits for its end, which here is that of the tests.
    std::thread::spawn(move || {
        write(&job(), writer.as_ref(), &mut |said| {
            if let Said::Committed { .. } = said {
                let _ = sender.send(writer.states().len());
            }
        })
    });
    let ends: Vec<_> = said.iter().take(COMMITS as usize).collect();
    (engine.states(), ends)
}

/// The log of one writer's commits.
fn log(acknowledged: u32) -> Log {
    let mut log = Log::default();
    for number in 0..u64::from(acknowledged) {
        let (began, ended) = (1 + 2 * number, 2 + 2 * number);
        log.add(Acknowledged { writer: 0, began, ended });
    }
    log
}

/// An engine that has this in its memory, and writes no file.
fn finding(fault: Fault, job: &Job, content: &Content) -> Faulty {
    Faulty::finding(fault, job.dir.clone(), content.clone()).with_files(Files::None)
}

fn found(fault: Fault, content: &Content, acknowledged: u32) -> Found {
    let job = job();
    check(&job, &finding(fault, &job, content), &log(acknowledged)).found
}

#[test]
fn every_commit_is_told_from_every_other() {
    let (states, ends) = written();
    for (number, end) in (1..).zip(&ends) {
        let state = &states[end - 1];
        let lost = COMMITS - number;
        let expected = if lost == 0 { Found::Everything } else { Found::Lost { commits: lost } };
        assert_eq!(found(Fault::None, state, COMMITS), expected, "commit {number}");
        assert_eq!(found(Fault::None, state, number - 1), Found::Everything, "it was in flight");
    }
    assert_eq!(found(Fault::None, &Content::new(), 5), Found::Lost { commits: 5 });
}

#[test]
fn commits_of_an_engine_that_only_inserts_are_told_apart() {
    let (states, ends) = written_by(Faulty::remembering().inserting_only());
    let sizes: Vec<_> = states.iter().map(Content::len).collect();
    assert_eq!(sizes, (1..=states.len()).collect::<Vec<_>>(), "each write is a record of its own");
    let found = |content: &Content, acknowledged| {
        let job = job();
        let engine = finding(Fault::None, &job, content);
        check(&job, &engine.inserting_only(), &log(acknowledged)).found
    };
    for (number, end) in (1..).zip(&ends) {
        let lost = COMMITS - number;
        let expected = if lost == 0 { Found::Everything } else { Found::Lost { commits: lost } };
        assert_eq!(found(&states[end - 1], COMMITS), expected, "commit {number}");
    }
    let mut hole = states[ends[40] - 1].clone();
    let (first, _) = states[0].first_key_value().expect("the first insert");
    hole.remove(first);
    assert!(matches!(found(&hole, COMMITS), Found::Torn(_)), "the first insert is missing");
}

#[test]
fn half_a_transaction_is_torn() {
    let (states, ends) = written();
    let mut halves = 0;
    for at in (1..=states.len()).filter(|at| !ends.contains(at)) {
        let torn = found(Fault::None, &states[at - 1], COMMITS);
        assert!(matches!(torn, Found::Torn(_)), "after write {at}: {torn:?}");
        halves += 1;
    }
    assert!(halves > 50, "there are transactions: {halves}");
}

#[test]
fn a_commit_without_the_one_before_it_is_torn() {
    let (states, ends) = written();
    let [early, late] = [30, 31].map(|commit: usize| &states[ends[commit - 1] - 1]);
    let (before, after) = (&states[ends[28] - 1], late);
    // Commit 31 on the state before commit 30.
    let mut skipped = before.clone();
    for (key, payload) in after {
        if early.get(key) != Some(payload) {
            skipped.insert(key.clone(), payload.clone());
        }
    }
    skipped.retain(|key, _| after.contains_key(key) || !early.contains_key(key));
    let torn = found(Fault::None, &skipped, COMMITS);
    assert!(matches!(&torn, Found::Torn(why) if why.contains("no moment")), "{torn:?}");
}

#[test]
fn what_was_never_written_is_found() {
    let (states, _) = written();
    let mut state = states[states.len() - 1].clone();
    let payload = state.values_mut().next().expect("a record");
    let text = payload.len() - 100;
    payload[text] ^= 1;
    let torn = found(Fault::None, &state, COMMITS);
    assert!(matches!(&torn, Found::Torn(why) if why.contains("none that was written")), "{torn:?}");
}

#[test]
fn commits_from_the_future_are_torn() {
    let (states, ends) = written();
    let torn = found(Fault::None, &states[ends[20] - 1], 10);
    assert!(matches!(torn, Found::Torn(_)), "{torn:?}");
}

#[test]
fn a_store_that_cannot_go_on_is_unusable() {
    let (states, _) = written();
    let last = &states[states.len() - 1];
    let unusable = found(Fault::ForgetsOnClose, last, COMMITS);
    assert!(matches!(unusable, Found::Unusable(_)), "{unusable:?}");
}
