//! Histories made by hand, one for each anomaly and some without any.

use assay_isolation::{Anomaly, Level, Malformed, Operation, Outcome, Transaction, Verdict, check};

fn append(key: u64, value: u64) -> Operation {
    Operation::Append { key, value }
}

fn write(key: u64, value: u64) -> Operation {
    Operation::Write { key, value }
}

fn read(key: u64, seen: &[u64]) -> Operation {
    Operation::read(key, seen)
}

/// Transactions that all ran at the same time.
fn together(all: &[&[Operation]]) -> Vec<Transaction> {
    let count = all.len() as u64;
    let at = |(number, operations): (usize, &&[Operation])| Transaction {
        start: number as u64,
        end: count + number as u64,
        outcome: Outcome::Committed,
        operations: operations.to_vec(),
    };
    all.iter().enumerate().map(at).collect()
}

/// Transactions that ran one after another.
fn in_turn(all: &[&[Operation]]) -> Vec<Transaction> {
    let mut history = together(all);
    for (number, transaction) in history.iter_mut().enumerate() {
        transaction.start = 2 * number as u64;
        transaction.end = transaction.start + 1;
    }
    history
}

/// Checks that a history shows one kind of anomaly, in at most six operations.
#[track_caller]
fn expect(history: &[Transaction], anomaly: Anomaly, level: Level) -> Verdict {
    let verdict = check(history).expect("a history");
    let kinds: Vec<_> = verdict.anomalies.iter().map(|found| found.anomaly).collect();
    assert_eq!(kinds, [anomaly], "{verdict}");
    assert_eq!(verdict.level, level, "{verdict}");
    assert_eq!(anomaly.allowed_at(), level);
    assert!(verdict.anomalies[0].operations() <= 6, "{verdict}");
    verdict
}

#[test]
fn a_history_without_anomalies_is_strictly_serializable() {
    let history = in_turn(&[
        &[append(1, 1), write(9, 1)],
        &[read(1, &[1]), append(1, 2), read(1, &[1, 2])],
        &[read(9, &[1]), write(9, 2), read(9, &[2]), Operation::Delete { key: 9 }, read(9, &[])],
        &[Operation::range(0, 10, &[(1, &[1, 2])])],
    ]);
    let verdict = check(&history).expect("a history");
    assert_eq!(verdict.level, Level::StrictlySerializable, "{verdict}");
    assert_eq!(verdict.to_string(), "keeps: strictly serializable\n");
    assert_eq!(check(&[]).expect("a history").level, Level::StrictlySerializable);
}

#[test]
fn dirty_writes_are_found() {
    let history = together(&[
        &[append(1, 1), append(2, 1)],
        &[append(1, 2), append(2, 2)],
        &[read(1, &[1, 2])],
        &[read(2, &[2, 1])],
    ]);
    expect(&history, Anomaly::DirtyWrite, Level::None);
}

#[test]
fn aborted_reads_are_found() {
    let mut history = together(&[&[append(1, 1)], &[read(1, &[1])]]);
    history[0].outcome = Outcome::Aborted;
    let verdict = expect(&history, Anomaly::AbortedRead, Level::ReadUncommitted);
    assert_eq!(
        verdict.to_string(),
        "keeps: read uncommitted\nG1a (aborted read), allowed at: read uncommitted\n  \
         T0 (aborted): append 1 to 1\n  T1: read 1 = [1]\n"
    );
    let mut history = together(&[&[write(1, 1)], &[read(1, &[1])]]);
    history[0].outcome = Outcome::Aborted;
    expect(&history, Anomaly::AbortedRead, Level::ReadUncommitted);
    // The value of an aborted transaction below one of a committed transaction.
    let mut history = together(&[&[append(1, 1)], &[append(1, 2)], &[read(1, &[1, 2])]]);
    history[0].outcome = Outcome::Aborted;
    expect(&history, Anomaly::AbortedRead, Level::ReadUncommitted);
}

#[test]
fn intermediate_reads_are_found() {
    let history = together(&[&[append(1, 1), append(1, 2)], &[read(1, &[1])]]);
    expect(&history, Anomaly::IntermediateRead, Level::ReadUncommitted);
    let history = together(&[&[write(1, 1), write(1, 2)], &[read(1, &[1])]]);
    expect(&history, Anomaly::IntermediateRead, Level::ReadUncommitted);
}

#[test]
fn circular_information_flow_is_found() {
    let history = together(&[&[append(1, 1), read(2, &[2])], &[append(2, 2), read(1, &[1])]]);
    expect(&history, Anomaly::CircularFlow, Level::ReadUncommitted);
    let history = together(&[&[write(1, 1), read(2, &[2])], &[write(2, 2), read(1, &[1])]]);
    expect(&history, Anomaly::CircularFlow, Level::ReadUncommitted);
}

#[test]
fn read_skew_is_found() {
    let history = together(&[&[append(1, 1), append(2, 1)], &[read(1, &[]), read(2, &[1])]]);
    let verdict = expect(&history, Anomaly::ReadSkew, Level::ReadCommitted);
    assert_eq!(
        verdict.anomalies[0].to_string(),
        "G-single (read skew), allowed at: read committed\n  \
         T0: append 1 to 1\n  T0: append 1 to 2\n  T1: read 1 = nothing\n  T1: read 2 = [1]\n  \
         T1 before T0, whose write of 1 it did not see\n  T0 before T1, which read its 2\n"
    );
    // By a range, and by a read that is not repeated.
    let range = Operation::range(1, 5, &[]);
    let history = together(&[&[write(3, 1), write(8, 1)], &[range, read(8, &[1])]]);
    expect(&history, Anomaly::ReadSkew, Level::ReadCommitted);
    let history = together(&[&[write(3, 1)], &[read(3, &[]), read(3, &[1])]]);
    expect(&history, Anomaly::ReadSkew, Level::ReadCommitted);
}

#[test]
fn lost_updates_are_found() {
    let add = |value: u64| [read(1, &[]), write(1, value)];
    let history = together(&[&add(1), &add(2)]);
    expect(&history, Anomaly::LostUpdate, Level::ReadCommitted);
    // One of the lists that were written is never seen again; or both are, in turn.
    let add = |value: u64| [read(1, &[]), append(1, value)];
    let history = together(&[&add(1), &add(2), &[read(1, &[2])]]);
    expect(&history, Anomaly::LostUpdate, Level::ReadCommitted);
    let history = together(&[&add(1), &add(2), &[read(1, &[2])], &[read(1, &[1])]]);
    expect(&history, Anomaly::LostUpdate, Level::ReadCommitted);
    // Both appended without reading first, and each saw its own value only.
    let history = together(&[&[append(1, 1), read(1, &[1])], &[append(1, 2), read(1, &[2])]]);
    expect(&history, Anomaly::LostUpdate, Level::ReadCommitted);
}

#[test]
fn long_forks_are_found() {
    let history = together(&[
        &[write(1, 1)],
        &[write(2, 2)],
        &[read(1, &[1]), read(2, &[])],
        &[read(1, &[]), read(2, &[2])],
    ]);
    expect(&history, Anomaly::LongFork, Level::ReadCommitted);
}

#[test]
fn write_skew_is_found() {
    let history = together(&[&[read(1, &[]), write(2, 1)], &[read(2, &[]), write(1, 2)]]);
    expect(&history, Anomaly::WriteSkew, Level::SnapshotIsolation);
    let history = together(&[&[read(1, &[]), append(2, 1)], &[read(2, &[]), append(1, 2)]]);
    expect(&history, Anomaly::WriteSkew, Level::SnapshotIsolation);
    // The anomaly that only a reader sees (Fekete, O'Neil, O'Neil, SIGMOD Record 33(3), 2004).
    let history = together(&[
        &[read(1, &[]), read(2, &[]), write(1, 10)],
        &[read(2, &[]), write(2, 20)],
        &[read(1, &[]), read(2, &[20])],
    ]);
    expect(&history, Anomaly::WriteSkew, Level::SnapshotIsolation);
}

#[test]
fn phantoms_are_found() {
    let range = || Operation::range(1, 9, &[]);
    let history = together(&[&[range(), write(1, 1)], &[range(), write(2, 2)]]);
    let verdict = expect(&history, Anomaly::Phantom, Level::SnapshotIsolation);
    let text = verdict.to_string();
    assert!(text.contains("  T1: range 1 to 9 = nothing\n"), "{text}");
    assert!(text.contains("  T0 before T1, whose 2 its range did not show\n"), "{text}");
}

#[test]
fn contradictions_to_real_time_are_found() {
    let history = in_turn(&[&[write(1, 1)], &[read(1, &[])]]);
    let verdict = expect(&history, Anomaly::RealTime, Level::Serializable);
    assert_eq!(verdict.anomalies[0].steps.len(), 2);
    // By way of a third transaction.
    let mut history = in_turn(&[&[write(1, 1)], &[read(1, &[]), read(2, &[2])], &[write(2, 2)]]);
    history[1].start = 0;
    expect(&history, Anomaly::RealTime, Level::Serializable);
}

#[test]
fn transactions_that_miss_their_own_writes_are_found() {
    for operations in [
        [append(1, 1), read(1, &[])],
        [write(1, 1), read(1, &[])],
        [write(1, 1), Operation::range(0, 4, &[])],
        [Operation::Delete { key: 1 }, read(1, &[2])],
    ] {
        let is_list = matches!(operations[0], Operation::Append { .. });
        let other = if is_list { append(1, 2) } else { write(1, 2) };
        let history = together(&[&operations, &[other]]);
        let verdict = check(&history).expect("a history");
        assert!(verdict.shows(Anomaly::Internal), "{verdict}");
        assert_eq!(verdict.level, Level::None);
    }
}

#[test]
fn garbage_and_duplicates_are_found() {
    expect(&together(&[&[read(1, &[7])]]), Anomaly::Garbage, Level::None);
    expect(&together(&[&[write(1, 1)], &[read(1, &[7])]]), Anomaly::Garbage, Level::None);
    expect(&together(&[&[append(1, 1)], &[read(1, &[1, 7])]]), Anomaly::Garbage, Level::None);
    let history = together(&[&[append(1, 1)], &[read(1, &[1, 1])]]);
    expect(&history, Anomaly::Duplicate, Level::None);
}

#[test]
fn incompatible_orders_are_found() {
    let writes: [&[Operation]; 2] = [&[append(1, 1)], &[append(1, 2)]];
    let history = together(&[writes[0], writes[1], &[read(1, &[1, 2])], &[read(1, &[2])]]);
    expect(&history, Anomaly::IncompatibleOrder, Level::None);
    // The order within a transaction counts too.
    let history = together(&[&[append(1, 1), append(1, 2)], &[read(1, &[2])]]);
    expect(&history, Anomaly::IncompatibleOrder, Level::None);
}

#[test]
fn a_lost_update_is_found_behind_thousands_of_other_cycles() {
    let mut all = Vec::new();
    for pair in 0..1_100 {
        let (one, other) = (10 + 2 * pair, 11 + 2 * pair);
        all.push(vec![read(one, &[]), write(other, 1)]);
        all.push(vec![read(other, &[]), write(one, 2)]);
    }
    all.push(vec![append(1, 1), read(1, &[1])]);
    all.push(vec![append(1, 2), read(1, &[2])]);
    let all: Vec<&[Operation]> = all.iter().map(Vec::as_slice).collect();
    let verdict = check(&together(&all)).expect("a history");
    let kinds: Vec<_> = verdict.anomalies.iter().map(|found| found.anomaly).collect();
    assert_eq!(kinds, [Anomaly::LostUpdate, Anomaly::WriteSkew], "{verdict}");
}

#[test]
fn a_transaction_of_unknown_outcome_counts_if_it_was_read() {
    let skew = [&[append(1, 1), append(2, 1)][..], &[read(1, &[]), read(2, &[1])]];
    let mut history = together(&skew);
    history[0].outcome = Outcome::Unknown;
    assert!(check(&history).expect("a history").shows(Anomaly::ReadSkew));
    let mut history = together(&[skew[0], &[read(1, &[]), read(2, &[])]]);
    history[0].outcome = Outcome::Unknown;
    history[0].end = 0;
    let verdict = check(&history).expect("a history");
    assert_eq!(verdict.level, Level::StrictlySerializable, "{verdict}");
}

#[test]
fn published_histories_have_their_published_anomalies() {
    // The example of Elle's README.
    let history = together(&[
        &[append(1, 1), read(2, &[1])],
        &[append(1, 2), append(2, 1)],
        &[read(1, &[1, 2])],
    ]);
    expect(&history, Anomaly::CircularFlow, Level::ReadUncommitted);
    // H1 of Berenson et al. (A Critique of ANSI SQL Isolation Levels, SIGMOD 1995): a transfer of
    // 40 between accounts of 50 each, and an audit that finds 60. Here values are numbered.
    let deposits = &[write(1, 50), write(2, 51)][..];
    let transfer = &[read(1, &[50]), write(1, 10), read(2, &[51]), write(2, 90)][..];
    let history = together(&[deposits, transfer, &[read(1, &[10]), read(2, &[51])]]);
    expect(&history, Anomaly::ReadSkew, Level::ReadCommitted);
    // H4 there: two deposits to one account, of which one is lost.
    let history = together(&[
        &[write(1, 100)],
        &[read(1, &[100]), write(1, 130)],
        &[read(1, &[100]), write(1, 120)],
    ]);
    expect(&history, Anomaly::LostUpdate, Level::ReadCommitted);
    // H5 there: each of two withdrawals leaves the sum positive, both together do not.
    let both = || [read(1, &[50]), read(2, &[51])];
    let (first, second) = ([&both()[..], &[write(2, 40)]], [&both()[..], &[write(1, 41)]]);
    let history = together(&[deposits, &first.concat(), &second.concat()]);
    expect(&history, Anomaly::WriteSkew, Level::SnapshotIsolation);
    // H3 there: a list of employees, and their number, which an insert changes in between.
    let hire = [write(11, 1), read(20, &[]), write(20, 1)];
    let history = together(&[&[Operation::range(10, 19, &[]), read(20, &[1])], &hire]);
    expect(&history, Anomaly::ReadSkew, Level::ReadCommitted);
}

#[test]
fn an_example_is_cut_out_of_a_long_history() {
    let mut history = Vec::new();
    let mut seen = vec![Vec::new(); 4];
    for number in 0..400 {
        let (key, other) = (number % 4, (number + 1) % 4);
        let mut operations = vec![read(key, &seen[key as usize]), append(key, number)];
        operations.push(read(other, &seen[other as usize]));
        seen[key as usize].push(number);
        history.push(Transaction {
            start: 2 * number,
            end: 2 * number + 1,
            outcome: Outcome::Committed,
            operations,
        });
    }
    assert_eq!(check(&history).expect("a history").level, Level::StrictlySerializable);
    // One of them reads the list that it appends to as it was one append ago.
    let Operation::Read { seen, .. } = &mut history[200].operations[0] else { panic!("a read") };
    *seen = seen[..seen.len() - 1].into();
    let verdict = check(&history).expect("a history");
    assert!(verdict.shows(Anomaly::LostUpdate), "{verdict}");
    let text = verdict.anomalies[0].to_string();
    let lines = "  T196: read 0 = nothing\n  T196: append 196 to 0\n  T200: read 0 = nothing\n  \
                 T200: append 200 to 0\n";
    assert!(text.contains(lines), "{text}");
}

#[test]
fn histories_that_cannot_be_checked_are_refused() {
    let history = together(&[&[append(1, 1)], &[write(1, 2)]]);
    assert_eq!(check(&history), Err(Malformed::MixedKey { key: 1 }));
    let history = together(&[&[append(1, 1)], &[append(1, 1)]]);
    assert_eq!(check(&history), Err(Malformed::WrittenTwice { key: 1, value: 1 }));
    let mut history = together(&[&[append(1, 1)]]);
    history[0].start = 7;
    assert_eq!(check(&history), Err(Malformed::BackInTime { number: 0 }));
}
