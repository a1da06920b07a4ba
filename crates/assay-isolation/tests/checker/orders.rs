//! Searches all orders of a small history, to compare the checker with.

use std::collections::{BTreeMap, BTreeSet};

use assay_isolation::{Operation, Outcome, Transaction};

type State = BTreeMap<u64, Vec<u64>>;

/// Applies a transaction to a state; returns false if its reads do not agree with it.
fn apply(transaction: &Transaction, state: &mut State) -> bool {
    transaction.operations.iter().all(|operation| {
        match operation {
            Operation::Append { key, value } => state.entry(*key).or_default().push(*value),
            Operation::Write { key, value } => _ = state.insert(*key, vec![*value]),
            Operation::Delete { key } => _ = state.remove(key),
            Operation::Read { key, seen } => {
                return state.get(key).map_or(&[][..], Vec::as_slice) == &seen[..];
            }
            Operation::Range { low, high, rows } => {
                let seen: BTreeMap<u64, &[u64]> =
                    rows.iter().map(|row| (row.key, &row.seen[..])).collect();
                return state.range(low..=high).map(|(key, values)| (*key, &values[..])).eq(seen);
            }
        }
        true
    })
}

/// Calls `holds` with the transactions that count, for each choice of those of unknown outcome.
fn any_choice(history: &[Transaction], holds: impl Fn(&[&Transaction]) -> bool) -> bool {
    let has = |outcome| history.iter().filter(move |transaction| transaction.outcome == outcome);
    let unknown: Vec<_> = has(Outcome::Unknown).collect();
    (0..1 << unknown.len()).any(|choice: u32| {
        let chosen = unknown.iter().enumerate().filter(|(at, _)| choice >> at & 1 == 1);
        let all: Vec<_> = has(Outcome::Committed).chain(chosen.map(|(_, one)| *one)).collect();
        holds(&all)
    })
}

/// Returns true if some order of the transactions explains all reads.
pub fn is_serializable(history: &[Transaction], in_real_time: bool) -> bool {
    any_choice(history, |all| next_in_order(all, &State::new(), in_real_time))
}

fn next_in_order(left: &[&Transaction], state: &State, in_real_time: bool) -> bool {
    left.is_empty()
        || (0..left.len()).any(|at| {
            let mut rest = left.to_vec();
            let next = rest.remove(at);
            let is_late = |other: &&Transaction| {
                other.outcome == Outcome::Committed && other.end < next.start
            };
            if in_real_time && rest.iter().any(is_late) {
                return false;
            }
            let mut state = state.clone();
            apply(next, &mut state) && next_in_order(&rest, &state, in_real_time)
        })
}

/// Returns true if some order of commits, with a moment for each transaction's reads, explains all
/// of them. No two transactions at the same time may have written one key.
pub fn is_snapshot_isolated(history: &[Transaction]) -> bool {
    any_choice(history, |all| next_commit(all, &[State::new()], &[]))
}

fn next_commit(left: &[&Transaction], states: &[State], written: &[BTreeSet<u64>]) -> bool {
    left.is_empty()
        || (0..left.len()).any(|at| {
            let mut rest = left.to_vec();
            let next = rest.remove(at);
            let keys: BTreeSet<u64> =
                next.operations.iter().filter_map(Operation::changed_key).collect();
            (0..states.len()).any(|moment| {
                if written[moment..].iter().any(|other| !other.is_disjoint(&keys)) {
                    return false;
                }
                let mut own = states[moment].clone();
                if !apply(next, &mut own) {
                    return false;
                }
                let mut newest = states[states.len() - 1].clone();
                for key in &keys {
                    match own.remove(key) {
                        Some(values) => _ = newest.insert(*key, values),
                        None => _ = newest.remove(key),
                    }
                }
                let states = [states, &[newest]].concat();
                let written = [written, std::slice::from_ref(&keys)].concat();
                next_commit(&rest, &states, &written)
            })
        })
}
