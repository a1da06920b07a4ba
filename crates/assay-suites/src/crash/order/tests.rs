//! The check against one that tries every order, on small histories of three writers.

use assay_core::random::Words;
use proptest::prelude::*;

use super::*;

const WRITERS: usize = 3;
const REGISTERS: usize = 3;

/// A history: what was done, and what each commit makes of the writer's own rows.
#[derive(Clone, Debug)]
struct Small {
    left: Left,
    /// The state of each writer's own rows after each number of its commits, from 0 on.
    own: Vec<Vec<u8>>,
}

/// The state of a store: the own rows of each writer, and the last writer of each register.
#[derive(Clone, Debug, PartialEq, Eq)]
struct State {
    own: Vec<u8>,
    last: Vec<Option<Commit>>,
}

/// Draws a history of `count` commits, some of which are still in flight.
fn history(words: &mut Words, count: usize) -> Small {
    let mut left = Left { writers: vec![Writer::default(); WRITERS], last: vec![None; REGISTERS] };
    let mut own = vec![vec![0]; WRITERS];
    let mut open: Vec<usize> = Vec::new();
    let mut clock = 0;
    let mut begun = 0;
    while begun < count || !open.is_empty() {
        clock += 1;
        let starts = begun < count && (open.is_empty() || words.next().is_multiple_of(2));
        let writer = (words.next() % WRITERS as u64) as usize;
        if starts && !open.contains(&writer) {
            begun += 1;
            open.push(writer);
            left.writers[writer].spans.push(Span { began: clock, ended: None });
            let registers = (0..REGISTERS).filter(|_| words.next().is_multiple_of(2)).collect();
            left.writers[writer].registers.push(registers);
            // Few states, so that one can be that of several moments.
            let old = own[writer][own[writer].len() - 1];
            let new = if words.next().is_multiple_of(3) { old } else { (words.next() % 3) as u8 };
            own[writer].push(new);
        } else if let Some(at) = open.iter().position(|&other| other == writer) {
            open.remove(at);
            // One in flight is its writer's last.
            if begun == count && words.next().is_multiple_of(3) {
                continue;
            }
            let last = left.writers[writer].spans.last_mut().expect("it has begun");
            last.ended = Some(clock);
        }
    }
    Small { left, own }
}

impl Small {
    /// Calls `seen` with every state, and the counts that led to it, that some order leaves.
    fn each_state(&self, seen: &mut dyn FnMut(&State, &[u32])) {
        let start = State { own: vec![0; WRITERS], last: vec![None; REGISTERS] };
        self.go_on(&start, &[0; WRITERS], seen);
    }

    fn go_on(&self, state: &State, counts: &[u32], seen: &mut dyn FnMut(&State, &[u32])) {
        seen(state, counts);
        for writer in 0..WRITERS {
            let next = Commit { writer, number: counts[writer] + 1 };
            let made = &self.left.writers[writer];
            if made.spans.len() < next.number as usize || !self.may_follow(next, counts) {
                continue;
            }
            let mut after = state.clone();
            let mut counts = counts.to_vec();
            counts[writer] = next.number;
            after.own[writer] = self.own[writer][next.number as usize];
            for &register in &made.registers[next.number as usize - 1] {
                after.last[register] = Some(next);
            }
            self.go_on(&after, &counts, seen);
        }
    }

    /// Returns true if all commits that are before `next` by time are among these.
    fn may_follow(&self, next: Commit, counts: &[u32]) -> bool {
        self.left.writers.iter().enumerate().all(|(writer, made)| {
            (counts[writer] + 1..=made.spans.len() as u32)
                .all(|number| !self.left.is_before(Commit { writer, number }, next))
        })
    }

    /// Returns what the check looks at if the store is in this state.
    fn leaving(&self, state: &State) -> Left {
        let mut left = self.left.clone();
        left.last.clone_from(&state.last);
        for (writer, own) in left
            .writers
            .iter_mut()
            .zip(&self.own)
            .zip(&state.own)
            .map(|((writer, own), &seen)| (writer, (own, seen)))
        {
            let (own, seen) = own;
            writer.moments =
                (0..).zip(own).filter(|(_, at)| **at == seen).map(|(moment, _)| moment).collect();
        }
        left
    }

    /// Returns the least counts of at least `required` with which some order leaves the state.
    fn tried(&self, state: &State, required: &[u32]) -> Option<Vec<u32>> {
        let mut least: Option<Vec<u32>> = None;
        self.each_state(&mut |other, counts| {
            let has_all = counts.iter().zip(required).all(|(count, least)| count >= least);
            if other == state && has_all {
                let counts = counts.to_vec();
                least = Some(match least.take() {
                    None => counts,
                    Some(old) => old.iter().zip(&counts).map(|(a, b)| *a.min(b)).collect(),
                });
            }
        });
        least
    }

    /// Returns the commits that wrote a register.
    fn writers_of(&self, register: usize) -> impl Iterator<Item = Commit> {
        self.left.writers.iter().enumerate().flat_map(move |(writer, made)| {
            let numbered = (1..).zip(&made.registers);
            let wrote = numbered.filter(move |(_, wrote)| wrote.contains(&register));
            wrote.map(move |(number, _)| Commit { writer, number })
        })
    }

    fn acknowledged(&self) -> Vec<u32> {
        let done = |writer: &Writer| writer.spans.iter().filter(|s| s.ended.is_some()).count();
        self.left.writers.iter().map(|writer| done(writer) as u32).collect()
    }
}

/// Returns some state that an order leaves, or one that differs from it in some places.
fn state(words: &mut Words, small: &Small) -> State {
    let mut states = Vec::new();
    small.each_state(&mut |state, _| states.push(state.clone()));
    let mut state = states[(words.next() % states.len() as u64) as usize].clone();
    for _ in 0..words.next() % 4 {
        if words.next().is_multiple_of(4) {
            let writer = (words.next() % WRITERS as u64) as usize;
            state.own[writer] = (words.next() % 3) as u8;
            continue;
        }
        let register = (words.next() % REGISTERS as u64) as usize;
        let wrote: Vec<_> = small.writers_of(register).collect();
        let at = (words.next() % (wrote.len() as u64 + 1)) as usize;
        state.last[register] = wrote.get(at).copied();
    }
    state
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40_000))]

    #[test]
    fn the_check_says_what_trying_every_order_says(seed: u64, count in 1..7_usize) {
        let words = &mut Words::new(seed);
        let small = history(words, count);
        let state = state(words, &small);
        let left = small.leaving(&state);
        for required in [vec![0; WRITERS], small.acknowledged()] {
            let found = left.least(&required);
            let tried = small.tried(&state, &required);
            prop_assert_eq!(found.clone().ok(), tried, "{:?}: {:?} {:?}", found, small, state);
        }
    }
}

/// Returns a history of two writers, of one register, from the spans of their commits.
fn of(first: &[(u64, Option<u64>)], second: &[(u64, Option<u64>)]) -> Left {
    let writer = |spans: &[(u64, Option<u64>)]| Writer {
        spans: spans.iter().map(|&(began, ended)| Span { began, ended }).collect(),
        moments: (0..=spans.len() as u32).collect(),
        registers: vec![vec![0]; spans.len()],
    };
    Left { writers: vec![writer(first), writer(second)], last: vec![None] }
}

fn commit(writer: usize, number: u32) -> Commit {
    Commit { writer, number }
}

#[test]
fn a_lost_commit_that_a_later_one_saw_done_is_missing() {
    let mut left = of(&[(1, Some(2))], &[(3, Some(4))]);
    left.writers[0].moments = vec![0];
    left.last = vec![Some(commit(1, 1))];
    let later = Some(commit(1, 1));
    assert_eq!(left.least(&[0, 0]), Err(Wrong::Missing { commit: commit(0, 1), later }));
    // At once with the other, it may be lost.
    left.writers[1].spans[0].began = 1;
    assert_eq!(left.least(&[0, 0]), Ok(vec![0, 1]));
    let required = Wrong::Missing { commit: commit(0, 1), later: None };
    assert_eq!(left.least(&[1, 1]), Err(required), "unless it has to be there");
}

#[test]
fn an_older_value_is_one_that_was_replaced() {
    let mut left = of(&[(1, Some(2))], &[(3, Some(4))]);
    left.writers[1].moments = vec![1];
    left.last = vec![Some(commit(0, 1))];
    let replaced = Wrong::Replaced { register: 0, seen: left.last[0], later: commit(1, 1) };
    assert_eq!(left.least(&[0, 0]), Err(replaced));
    left.writers[1].spans[0].began = 1;
    assert_eq!(left.least(&[0, 0]), Ok(vec![1, 1]), "at once, either may be the last");
    left.last = vec![None];
    assert!(left.least(&[0, 0]).is_err(), "both wrote it");
}

#[test]
fn halves_of_two_transactions_cross() {
    let mut left = of(&[(1, Some(3))], &[(2, Some(4))]);
    for writer in &mut left.writers {
        writer.registers = vec![vec![0, 1]];
    }
    left.last = vec![Some(commit(0, 1)), Some(commit(1, 1))];
    let crossed = Wrong::Crossed { registers: [0, 1], seen: [commit(0, 1), commit(1, 1)] };
    assert_eq!(left.least(&[0, 0]), Err(crossed));
}

#[test]
fn a_hole_in_one_writers_commits_is_missing() {
    let mut left = of(&[(1, Some(2)), (3, Some(4))], &[]);
    left.writers[0].moments = vec![0];
    left.last = vec![Some(commit(0, 2))];
    assert_eq!(left.least(&[0, 0]), Err(Wrong::Missing { commit: commit(0, 2), later: None }));
}

/// Each of three comes before the next, and none of them twice: no two contradict each other.
#[test]
fn three_transactions_cross_in_a_circle() {
    let mut left = of(&[(1, Some(4))], &[(2, Some(5))]);
    left.writers.push(Writer {
        spans: vec![Span { began: 3, ended: Some(6) }],
        moments: vec![0, 1],
        registers: Vec::new(),
    });
    for (writer, registers) in left.writers.iter_mut().zip([[0, 1], [1, 2], [2, 0]]) {
        writer.registers = vec![registers.into()];
    }
    left.last = [0, 1, 2].map(|writer| Some(commit(writer, 1))).into();
    assert!(matches!(left.least(&[0; 3]), Err(Wrong::Crossed { .. })));
    left.last[0] = Some(commit(2, 1));
    assert_eq!(left.least(&[0; 3]), Ok(vec![0, 1, 1]), "without the first there is no circle");
}
