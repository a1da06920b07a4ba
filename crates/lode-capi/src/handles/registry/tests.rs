//! Tests of handles: each is of one object, whatever else happens.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use super::*;

/// Counts the objects that exist.
#[derive(Debug)]
struct Counted(u64, Arc<AtomicUsize>);

impl Counted {
    fn new(number: u64, count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(number, Arc::clone(count))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.1.fetch_sub(1, Ordering::Relaxed);
    }
}

#[test]
fn a_handle_is_of_one_object_only() {
    let count = Arc::default();
    let registry = SharedRegistry::new(3);
    // More than the first chunks have.
    let ids: Vec<_> = (0..1_000)
        .map(|number| registry.insert(Counted::new(number, &count)).expect("room"))
        .collect();
    for (number, id) in ids.iter().enumerate() {
        assert_eq!(registry.share(*id).expect("it is there").0, number as u64);
    }
    ids.iter().step_by(2).for_each(|id| registry.free(*id).expect("it is there"));
    let later: Vec<_> = (0..1_000)
        .map(|number| registry.insert(Counted::new(5_000 + number, &count)).expect("room"))
        .collect();
    for (at, id) in ids.iter().enumerate() {
        let found = registry.share(*id).map(|object| object.0);
        let wanted = if at % 2 == 0 { Err(Unusable::Gone) } else { Ok(at as u64) };
        assert_eq!(found, wanted);
        assert!(!later.contains(id));
    }
    assert_eq!(registry.free(ids[0]), Err(Unusable::Gone));
    assert_eq!(count.load(Ordering::Relaxed), 1_500);
    drop(registry);
    assert_eq!(count.load(Ordering::Relaxed), 0);
}

#[test]
fn what_never_was_a_handle_is_refused() {
    let registry = SharedRegistry::new(3);
    let id = registry.insert(7u64).expect("room");
    for wrong in [0, 1, u64::MAX, id ^ 1, id ^ 1 << 4, id ^ 1 << 32, id ^ 1 << 33, id ^ 1 << 31] {
        assert_eq!(registry.share(wrong).err(), Some(Unusable::Gone), "{wrong:x}");
        assert_eq!(registry.free(wrong), Err(Unusable::Gone), "{wrong:x}");
    }
    assert_eq!(registry.share(id).map(|object| *object).ok(), Some(7));
}

#[test]
fn an_object_that_a_call_uses_is_dropped_later() {
    let count = Arc::default();
    let registry = SharedRegistry::new(3);
    let id = registry.insert(Counted::new(7, &count)).expect("room");
    let used = registry.share(id).expect("it is there");
    registry.free(id).expect("it is there");
    assert!(registry.share(id).is_err());
    assert_eq!((used.0, count.load(Ordering::Relaxed)), (7, 1));
    let other = registry.insert(Counted::new(8, &count)).expect("room");
    assert_eq!((used.0, count.load(Ordering::Relaxed)), (7, 2));
    drop(used);
    registry.free(other).expect("it is there");
    assert_eq!(count.load(Ordering::Relaxed), 0);
}

#[test]
fn a_locked_object_can_be_neither_used_nor_freed() {
    let registry = ExclusiveRegistry::new(3);
    let id = registry.insert(7u64).expect("room");
    let mut locked = registry.lock(id).expect("it is there");
    *locked += 1;
    assert_eq!(registry.lock(id).err(), Some(Unusable::Busy));
    assert_eq!(registry.take(id), Err(Unusable::Busy));
    drop(locked);
    assert_eq!(registry.take(id), Ok(8));
    assert_eq!(registry.lock(id).err(), Some(Unusable::Gone));
    assert_eq!(registry.take(id), Err(Unusable::Gone));
}

#[test]
fn an_object_in_which_a_call_panicked_can_only_be_freed() {
    let registry = ExclusiveRegistry::new(3);
    let id = registry.insert(7u64).expect("room");
    let panicked = std::thread::scope(|scope| {
        let panics = || {
            let _locked = registry.lock(id).expect("it is there");
            panic!("on purpose");
        };
        scope.spawn(panics).join()
    });
    assert!(panicked.is_err());
    assert_eq!(registry.lock(id).err(), Some(Unusable::Broken));
    assert_eq!(registry.take(id), Ok(7));
    assert_eq!(registry.take(id), Err(Unusable::Gone));
}

#[test]
fn threads_that_use_and_free_a_handle_see_its_object_or_none() {
    let count = Arc::default();
    let registry = SharedRegistry::new(3);
    let current = AtomicU64::new(registry.insert(Counted::new(0, &count)).expect("room"));
    let seen = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while current.load(Ordering::Acquire) != 0 {
                    let id = current.load(Ordering::Acquire);
                    if let Ok(object) = registry.share(id) {
                        // A dropped object would have a count that is gone.
                        assert!(object.1.load(Ordering::Relaxed) > 0);
                        seen.fetch_max(object.0, Ordering::Relaxed);
                    }
                }
            });
        }
        for number in 1..20_000 {
            let next = registry.insert(Counted::new(number, &count)).expect("room");
            let before = current.swap(next, Ordering::AcqRel);
            registry.free(before).expect("only this thread frees");
        }
        registry.free(current.swap(0, Ordering::AcqRel)).expect("only this thread frees");
    });
    registry.0.drop_retired();
    assert_eq!(count.load(Ordering::Relaxed), 0);
}
