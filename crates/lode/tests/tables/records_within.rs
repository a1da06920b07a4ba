//! Structs as records within transactions, and at the moments of snapshots.

use crate::each_of::{collected, each_of};
use lode::{Database, Error, KeyKind, Record, Records, Result};

#[derive(Record, Clone, Debug, PartialEq)]
struct Account {
    #[record(key, text = 20)]
    owner: String,
    #[record(key)]
    number: i32,
    cents: i64,
    #[record(most = 100)]
    note: String,
}

fn account(owner: &str, number: i32, cents: i64) -> Account {
    Account { owner: owner.into(), number, cents, note: format!("{owner} has {cents}") }
}

/// Some accounts of two owners.
fn create(kind: KeyKind) -> (Database, Records<Account>, Vec<Account>) {
    let db = Database::in_memory().expect("memory");
    let accounts = db.create_records::<Account>(kind).expect("room");
    let all: Vec<_> = ["Ada", "Grace"]
        .into_iter()
        .flat_map(|owner| {
            (-2..3).map(move |number| account(owner, number, i64::from(number) * 100))
        })
        .collect();
    all.iter().for_each(|one| assert_eq!(accounts.insert(one), Ok(true)));
    (db, accounts, all)
}

#[test]
fn a_transaction_sees_what_it_wrote_and_others_when_it_is_committed() {
    for kind in [KeyKind::Hash, KeyKind::Tree] {
        let (db, accounts, _) = create(kind);
        let before = db.snapshot();
        let transaction = db.begin();
        let within = accounts.within(&transaction);
        let new = account("Edsger", 1, 7);
        assert_eq!(within.insert(&new), Ok(true));
        assert_eq!(within.insert(&account("Edsger", 1, 8)), Ok(false));
        assert_eq!(within.get(("Edsger", 1)), Ok(Some(new.clone())));
        assert_eq!(within.change(("Ada", 2), |account| account.cents += 5), Ok(true));
        assert_eq!(within.change(("Ada", 9), |account| account.cents += 5), Ok(false));
        assert_eq!(within.upsert(&account("Grace", 0, 9)), Ok(true));
        assert_eq!(within.delete(("Grace", 1)), Ok(true));
        assert_eq!((within.delete(("Grace", 1)), within.get(("Grace", 1))), (Ok(false), Ok(None)));
        assert_eq!(accounts.get(("Edsger", 1)), Ok(None));
        transaction.commit().expect("no other thread wrote");

        let after = db.snapshot();
        let then = accounts.at(&before);
        assert_eq!(accounts.get(("Edsger", 1)), Ok(Some(new.clone())));
        assert_eq!(
            (then.get(("Edsger", 1)), accounts.at(&after).get(("Edsger", 1))),
            (Ok(None), Ok(Some(new)))
        );
        let cents =
            |account: Result<Option<Account>>| account.expect("read").map(|account| account.cents);
        assert_eq!(cents(then.get(("Ada", 2))), Some(200));
        assert_eq!(cents(accounts.get(("Ada", 2))), Some(205));
        assert_eq!(
            (cents(then.get(("Grace", 1))), cents(accounts.get(("Grace", 1)))),
            (Some(100), None)
        );
        assert_eq!(cents(accounts.get(("Grace", 0))), Some(9));
        assert_eq!(collected(then.iter()).len(), 10);
        assert_eq!(collected(accounts.at(&after).iter()).len(), 10);
    }
}

#[test]
fn a_transaction_that_is_dropped_leaves_everything_as_it_was() {
    let (db, accounts, all) = create(KeyKind::Tree);
    let transaction = db.begin();
    assert_eq!(accounts.within(&transaction).delete(("Ada", 0)), Ok(true));
    drop(transaction);
    assert_eq!(collected(accounts.iter()), all);
}

#[test]
fn scans_have_what_the_transaction_wrote_in_the_order_of_keys() {
    let (db, accounts, all) = create(KeyKind::Tree);
    let before = db.snapshot();
    let transaction = db.begin();
    let within = accounts.within(&transaction);
    let mut model = all.clone();
    assert_eq!(within.delete(("Ada", 2)), Ok(true));
    model.remove(4);
    assert_eq!(within.insert(&account("Ada", -3, 1)), Ok(true));
    model.insert(0, account("Ada", -3, 1));
    assert_eq!(within.upsert(&account("Grace", -2, 2)), Ok(true));
    model[5] = account("Grace", -2, 2);
    for limit in [0, 1, 4, 100] {
        let some = |from: usize, to: usize| {
            let some = &model[from..to];
            some[..some.len().min(limit as usize)].to_vec()
        };
        assert_eq!(collected(within.range(..).limit(limit)), some(0, 10));
        let range = ("Ada", 0)..("Grace", -1);
        assert_eq!(collected(within.range(range).limit(limit)), some(3, 6));
        let mut backward = model.clone();
        backward.reverse();
        backward.truncate(limit as usize);
        assert_eq!(collected(within.range(..).rev().limit(limit)), backward);
        let mut then = all.clone();
        then.reverse();
        then.truncate(limit as usize);
        let at = accounts.at(&before);
        assert_eq!(collected(at.range(..).rev().limit(limit)), then);
    }
    let none = ("Ada", 0)..=("Ada", 1);
    assert_eq!(collected(accounts.at(&before).range(none).limit(9)), all[2..4]);
}

#[test]
fn what_does_not_fit_is_refused_and_changes_nothing() {
    let (db, accounts, all) = create(KeyKind::Tree);
    let transaction = db.begin();
    let within = accounts.within(&transaction);
    let refused = [
        within.change(("Ada", 0), |account| account.number = 77),
        within.change(("Ada", 0), |account| account.note = "x".repeat(101)),
        within.insert(&account(&"A".repeat(21), 0, 0)),
    ];
    for refused in refused {
        let is_right = matches!(&refused, Err(error) if error.is_bad_input());
        assert!(is_right, "{refused:?}");
    }
    assert!(matches!(within.get((&"A".repeat(21), 0)), Ok(None)), "no record can have it");
    transaction.commit().expect("it wrote nothing");
    assert_eq!(collected(accounts.iter()), all);

    let (other, ..) = create(KeyKind::Tree);
    let foreign = accounts.within(&other.begin()).delete(("Ada", 0));
    assert!(matches!(foreign, Err(Error::OtherDatabase { .. })), "{foreign:?}");
    let foreign = accounts.at(&other.snapshot()).get(("Ada", 0));
    assert!(matches!(foreign, Err(Error::OtherDatabase { .. })), "{foreign:?}");
    for limit in [0, 1] {
        let transaction = other.begin();
        let foreign = each_of(accounts.within(&transaction).range(..).limit(limit), |_| Ok(true));
        assert!(matches!(foreign, Err(Error::OtherDatabase { .. })), "{foreign:?}");
        let foreign =
            each_of(accounts.at(&other.snapshot()).range(..).rev().limit(limit), |_| Ok(true));
        assert!(matches!(foreign, Err(Error::OtherDatabase { .. })), "{foreign:?}");
    }
    let (db, accounts, _) = create(KeyKind::Hash);
    let no_order = each_of(accounts.within(&db.begin()).range(..).limit(1), |_| Ok(true));
    assert!(matches!(no_order, Err(Error::NoOrder { .. })), "{no_order:?}");
}
