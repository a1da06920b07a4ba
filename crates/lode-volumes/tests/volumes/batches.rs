use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lode_volumes::{Durability, Error, Options, Value, Volume};

use super::support::{Draw, Wound, exported};

#[test]
fn an_error_leaves_everything_as_it_was() {
    let volume = Volume::in_memory().expect("a volume");
    let a = volume.create_entry("/a").expect("a path");
    let b = volume.create_entry("/b").expect("a path");
    a.set("x", 1u8).expect("it is set");
    let before = exported(&volume);
    let stopped: Result<(), String> = volume
        .update(|batch| {
            batch.set(&a, "x", 2u8).map_err(Stopped::from)?;
            batch.set(&b, "y", 3u8).map_err(Stopped::from)?;
            Err(Stopped("enough".into()))
        })
        .map_err(|stopped| stopped.0);
    assert_eq!(stopped, Err("enough".into()));
    volume.root().unlink("b").expect("it has no children");
    let gone = volume.update(|batch| {
        batch.set(&a, "x", 2u8)?;
        batch.set(&b, "y", 3u8)
    });
    assert!(matches!(gone, Err(Error::Gone { .. })));
    volume.create_entry("/b").expect("a path");
    assert_eq!(exported(&volume), before);
    let other = Volume::in_memory().expect("a volume");
    let refused = volume.update(|batch| batch.set(&other.root(), "x", 1u8));
    assert!(matches!(refused, Err(Error::OtherVolume { .. })));
}

struct Stopped(String);

impl From<Error> for Stopped {
    fn from(error: Error) -> Self {
        Self(error.to_string())
    }
}

#[test]
fn a_batch_reads_what_it_has_set() {
    let clock = Wound::at(1_000);
    let root = Options::new().clock(clock.clone()).in_memory().expect("a volume").root();
    root.set("a", 1u8).expect("it is set");
    root.update(|entry| {
        assert_eq!(entry.property("a")?, Some(Value::U8(1)));
        entry.set("a", 2u8)?;
        assert_eq!(entry.property("a")?, Some(Value::U8(2)));
        assert!(entry.remove_property("a")? && !entry.remove_property("a")?);
        assert_eq!(entry.property("a")?, None);
        entry.set("b", 3u8)?;
        assert!(entry.expire_property("b", Duration::from_secs(10))?);
        assert!(!entry.expire_property("none", Duration::from_secs(10))?);
        entry.set("c", 4u8)
    })
    .expect("a batch");
    assert_eq!(root.property_names().expect("names"), ["b", "c"]);
    clock.set(1_010);
    assert_eq!(root.property_names().expect("names"), ["c"]);
    root.update(|entry| {
        assert_eq!(entry.property("b")?, None);
        entry.set("b", 5u8)
    })
    .expect("a batch");
    clock.set(2_000);
    assert_eq!(root.property("b").expect("a name"), Some(Value::U8(5)));
}

/// Money goes from account to account; no snapshot sees more or less of it.
#[test]
fn batches_happen_as_a_whole() {
    const ACCOUNTS: usize = 5;
    for level in [Durability::None, Durability::Process] {
        let folder = tempfile::tempdir().expect("a folder");
        let volume = Options::new().durability(level).open(folder.path()).expect("a volume");
        let accounts: Vec<_> = (0..ACCOUNTS)
            .map(|at| volume.create_entry(&format!("/account/{at}")).expect("a path"))
            .collect();
        for account in &accounts {
            account.set("cents", 100i64).expect("it is set");
        }
        let ended = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let movers: Vec<_> = (0..4)
                .map(|seed| {
                    let volume = &volume;
                    let accounts = &accounts;
                    scope.spawn(move || {
                        let mut draw = Draw(seed);
                        for _ in 0..300 {
                            let from = draw.of(accounts);
                            let to = draw.of(accounts);
                            let cents = draw.below(50) as i64;
                            volume
                                .update(|batch| {
                                    let has: i64 = batch
                                        .property(from, "cents")?
                                        .expect("it has")
                                        .try_into()?;
                                    batch.set(from, "cents", has - cents)?;
                                    let has: i64 =
                                        batch.property(to, "cents")?.expect("it has").try_into()?;
                                    batch.set(to, "cents", has + cents)
                                })
                                .expect("it is moved");
                        }
                    })
                })
                .collect();
            scope.spawn(|| {
                while !ended.load(Ordering::SeqCst) {
                    let snapshot = volume.snapshot().expect("a snapshot");
                    let mut sum = 0;
                    for account in &accounts {
                        let path = account.path().expect("a path");
                        let account = snapshot.entry(&path).expect("a path").expect("an entry");
                        let cents: i64 = account
                            .property("cents")
                            .expect("a name")
                            .expect("it has")
                            .try_into()
                            .expect("i64");
                        sum += cents;
                    }
                    assert_eq!(sum, 100 * ACCOUNTS as i64);
                }
            });
            movers.into_iter().for_each(|mover| mover.join().expect("no mover fails"));
            ended.store(true, Ordering::SeqCst);
        });
    }
}

#[test]
fn no_change_of_a_property_is_lost() {
    for level in [Durability::None, Durability::Process] {
        let folder = tempfile::tempdir().expect("a folder");
        let volume = Options::new().durability(level).open(folder.path()).expect("a volume");
        let root = volume.root();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..250 {
                        root.change_property("count", |count| {
                            let before = count.map_or(0, |count| count.try_into().expect("u64"));
                            Some(Value::U64(before + 1))
                        })
                        .expect("it is changed");
                    }
                });
            }
        });
        assert_eq!(root.property("count").expect("a name"), Some(Value::U64(1_000)));
        let removed = root.change_property("count", |_| None).expect("it is removed");
        assert_eq!((removed, root.property("count").expect("a name")), (None, None));
    }
}

/// A thread sets one property after another, again and again.
#[test]
fn a_snapshot_never_has_the_later_change_without_the_earlier() {
    let names: Vec<_> = (0..40).map(|at| format!("p{at}")).collect();
    for level in [Durability::None, Durability::Process] {
        let folder = tempfile::tempdir().expect("a folder");
        let volume = Options::new().durability(level).open(folder.path()).expect("a volume");
        let root = volume.root();
        let ended = AtomicBool::new(false);
        let set = |number: u64| {
            names.iter().for_each(|name| root.set(name, number).expect("it is set"));
        };
        set(0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                (1..).take_while(|_| !ended.load(Ordering::SeqCst)).for_each(set);
            });
            for _ in 0..500 {
                let seen = volume.snapshot().expect("a snapshot").root();
                let number = |name: &String| -> u64 {
                    let value = seen.property(name).expect("a name").expect("it is set");
                    value.try_into().expect("u64")
                };
                let numbers: Vec<_> = names.iter().map(number).collect();
                let is_one = numbers.is_sorted_by(|before, after| before >= after)
                    && numbers[0] <= numbers[names.len() - 1] + 1;
                ended.store(!is_one, Ordering::SeqCst);
                assert!(is_one, "{numbers:?}");
            }
            ended.store(true, Ordering::SeqCst);
        });
    }
}
