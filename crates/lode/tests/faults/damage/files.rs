//! Files that are missing, swapped, or older than the others.

use lode::simulation::Simulated;

use super::judge::{Outcome, judge};
use super::open;
use crate::common::content::Content;
use crate::common::known::Known;

/// A disk with the files of another that fit.
fn with_files(from: &Simulated, choose: impl Fn(&str) -> bool) -> Simulated {
    let disk = Simulated::new(0);
    for name in from.file_names().iter().filter(|name| choose(name)) {
        disk.put_file(name, from.file_bytes(name).expect("it is there"));
    }
    disk
}

#[test]
fn missing_and_empty_files_are_no_empty_database() {
    let mut known = Known::small(7);
    known.kill();
    let last = &known.content;
    let is_log = |name: &str| name.starts_with("log-");
    let without_data = with_files(&known.disk, is_log);
    assert_eq!(judge(&without_data, &[last]), Ok(Outcome::Refused));
    let without_log = with_files(&known.disk, |name| !is_log(name));
    assert_eq!(judge(&without_log, &[last]), Ok(Outcome::Refused));
    let empty = known.disk.fork();
    empty.put_file("data", Vec::new());
    assert_eq!(judge(&empty, &[last]), Ok(Outcome::Refused));
    let zeros = known.disk.fork();
    zeros.put_file(
        "data",
        vec![0; empty.file_bytes("data").expect("it is there").len().max(1 << 16)],
    );
    assert_eq!(judge(&zeros, &[last]), Ok(Outcome::Refused));
    for name in known.disk.file_names().iter().filter(|name| is_log(name)) {
        let fork = known.disk.fork();
        fork.put_file(name, Vec::new());
        let judged = judge(&fork, &[last]);
        judged.unwrap_or_else(|why| panic!("{name} is empty: {why}"));
    }
    // The files are still what they were: nothing was removed in vain.
    assert_eq!(judge(&known.disk.fork(), &[last]), Ok(Outcome::Content(0)));
    let closed = {
        let mut known = Known::small(7);
        known.close();
        known.disk
    };
    // What was closed has nothing in its log that could be missed.
    let without_log = with_files(&closed, |name| !is_log(name));
    assert_eq!(judge(&without_log, &[last]), Ok(Outcome::Content(0)));
}

/// Writes after an opening count, though the segment before them is not needed.
#[test]
fn a_closed_log_that_is_missing_hides_nothing_that_came_after_it() {
    let mut known = Known::small(7);
    known.close();
    let old = known.disk.file_names().into_iter().filter(|name| name.starts_with("log-"));
    let old: Vec<_> = old.collect();
    known.db = Some(open(&known.disk, 7).expect("it was closed"));
    known.states = vec![known.content.clone()];
    known.put(1, 3, 5_000);
    known.put(1, 4, 5_001);
    known.kill();
    let states: Vec<&Content> = known.states.iter().rev().collect();
    let without = with_files(&known.disk, |name| !old.iter().any(|old| old == name));
    assert_eq!(judge(&without, &states), Ok(Outcome::Content(0)));
}

#[test]
fn a_log_of_several_segments_misses_none() {
    let mut known = Known::small(8);
    for key in 0..40 {
        known.put(1, key, key + 5_000);
    }
    known.kill();
    let states: Vec<&Content> = known.states.iter().rev().collect();
    // Segments before the one in which recovery starts are kept for later ones.
    let data = known.disk.file_bytes("data").expect("it is there");
    let number_at = |at: usize| u64::from_le_bytes(*data[at..].first_chunk().expect("8 bytes"));
    let first = super::bits::SUPERBLOCKS_AT.map(|at| number_at(at + 64)).into_iter().max();
    let first = format!("log-{:012}", first.expect("there are some"));
    let names = known.disk.file_names().into_iter();
    let names: Vec<_> = names.filter(|name| name.starts_with("log-") && *name >= first).collect();
    assert!(names.len() > 3, "{names:?}");
    for name in &names {
        let fork = with_files(&known.disk, |other| other != name);
        assert_eq!(judge(&fork, &states), Ok(Outcome::Refused), "without {name}");
        for other in names.iter().filter(|other| *other != name) {
            let fork = known.disk.fork();
            fork.put_file(name, known.disk.file_bytes(other).expect("it is there"));
            assert_eq!(judge(&fork, &states), Ok(Outcome::Refused), "{other} as {name}");
        }
    }
}

#[test]
fn files_of_other_databases_are_none_of_this_one() {
    let mut known = Known::small(9);
    for key in 0..20 {
        known.put(1, key, key + 5_000);
    }
    let mut other = Known::small(10);
    for key in 0..20 {
        other.put(1, key, key + 6_000);
    }
    known.kill();
    other.kill();
    let states: Vec<&Content> = known.states.iter().rev().collect();
    for name in other.disk.file_names() {
        let fork = known.disk.fork();
        fork.put_file(&name, other.disk.file_bytes(&name).expect("it is there"));
        assert_eq!(judge(&fork, &states), Ok(Outcome::Refused), "with {name} of another");
    }
}

#[test]
fn an_older_copy_of_the_data_file_brings_the_log_or_an_error() {
    let mut known = Known::small(12);
    let mut copies = Vec::new();
    for round in 0..6 {
        copies.push(known.disk.file_bytes("data").expect("it is there"));
        for key in 0..10 {
            known.put(1, key, key + round * 100);
            known.put(2, key, key + round * 100);
        }
        known.checkpoint();
        if round % 2 == 1 {
            known.close();
            copies.push(known.disk.file_bytes("data").expect("it is there"));
            let db = open(&known.disk, u64::from(round));
            known.db = Some(db.expect("it is whole"));
        }
        known.put(3, round, round);
    }
    known.kill();
    for (number, copy) in copies.into_iter().enumerate() {
        let fork = known.disk.fork();
        fork.put_file("data", copy);
        let judged = judge(&fork, &[&known.content]);
        judged.unwrap_or_else(|why| panic!("copy {number}: {why}"));
    }
}
