use super::*;
use crate::{Database, ReadTable, Schema, Type};

#[test]
fn readers_pass_a_commit_that_looks_at_scans() {
    let db = Database::in_memory().expect("memory");
    let schema = Schema::build("t").key("id", Type::U8).finish().expect("a schema");
    let table = db.create_table(&schema, KeyKind::Hash).expect("room");
    for (scans, size) in [(0, CommitSize { records: 1, bytes: 0 }), (1, CommitSize::WITH_SCANS)] {
        let transaction = db.begin();
        transaction.insert(&table, &[7]).expect("room");
        (0..scans).for_each(|_| assert_eq!(table.within(&transaction).iter().count(), 1));
        let commit = Commit::of(transaction);
        assert_eq!(commit.size(commit.order().len()), size);
    }
    let is_passed = || Ok(db.engine().pager().shown().is_some());
    let passed = db.engine().admitted_alone(CommitSize::WITH_SCANS, &mut { is_passed });
    assert_eq!(passed, Ok(true));
}
