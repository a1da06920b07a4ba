//! A directory of few bits, so that it comes to all its levels, and to its end.

use super::*;
use crate::error::Error;
use crate::index::{Delete, Insert};
use crate::pager::{MemoryLimits, PAGE_BYTES, PageMut};
use crate::wal::TableId;

const SHAPE: Shape = Shape { key_size: 8, is_variable: false, payload_size: 1_000 };

struct Run {
    pager: Pager,
    space: Space,
    seed: u64,
}

impl Run {
    fn new(seed: u64) -> Self {
        let pager = Pager::new(MemoryLimits::of_budget(64 << 20), None).expect("memory");
        Self { pager, space: Space::default(), seed }
    }

    fn parameters(&self) -> Parameters {
        Parameters { shape: SHAPE, seed: self.seed }
    }

    fn create(&self) -> Hash {
        self.create_with(FirstBuckets::One)
    }

    fn create_with(&self, first: FirstBuckets) -> Hash {
        Hash::create(&self.pager, &self.space, self.parameters(), first).expect("room")
    }

    fn payload(id: u64) -> Vec<u8> {
        (0..1_000).map(|at| (id ^ id >> 8 ^ at) as u8).collect()
    }

    fn context(&self) -> WriteContext<'_> {
        WriteContext::new(&self.pager, &self.space, None, TableId(1))
    }

    fn insert(&self, hash: &Hash, id: u64) -> Result<bool> {
        let key = id.to_le_bytes();
        let payload = Self::payload(id);
        hash.write(&self.context(), &key, Insert(&payload))
    }

    fn delete(&self, hash: &Hash, id: u64) -> bool {
        hash.write(&self.context(), &id.to_le_bytes(), Delete).expect("it can be read")
    }

    /// Checks that these are all records, by lookups and at a moment.
    fn expect(&self, hash: &Hash, ids: &[u64]) {
        let mut payload = vec![0; 1_000];
        for id in ids {
            let there = hash.get(&self.pager, &id.to_le_bytes(), &mut payload);
            assert_eq!(there, Ok(true), "{id}");
            assert!(payload == Self::payload(*id), "{id}");
        }
        let moment = self.pager.moment();
        hash.check(&self.pager, moment, &mut |why| panic!("{why}"));
        self.expect_at(hash, moment, ids);
        self.pager.release(moment);
    }

    fn expect_at(&self, hash: &Hash, moment: ReadEpoch, ids: &[u64]) {
        let mut found = Vec::new();
        let mut buckets = Buckets::new();
        let mut batch = Batch::default();
        while hash.next_bucket(&self.pager, moment, &mut buckets, &mut batch) == Ok(true) {
            for at in 0..batch.len() {
                let (key, payload) = batch.record(at);
                let id = u64::from_le_bytes(*key.first_chunk().expect("eight bytes"));
                assert!(payload == Self::payload(id), "{id}");
                found.push(id);
            }
        }
        assert!(!buckets.is_lost);
        found.sort_unstable();
        assert!(found == ids, "{} of {} records at a moment", found.len(), ids.len());
    }
}

/// Latches the segment in the middle of a split, as another thread would.
#[test]
fn a_split_that_does_not_get_its_segment_changes_nothing() {
    let run = Run::new(1);
    let hash = run.create();
    let ids: Vec<_> = (0..8).collect();
    ids.iter().for_each(|id| assert_eq!(run.insert(&hash, *id), Ok(true)));
    let place = hash.place(&0u64.to_le_bytes()).directory;
    let split = |place_of: &dyn Fn(&[u8]) -> Place| {
        hash.directory.split(&run.pager, &run.space, hash.parts(), place, &|_| false, place_of)
    };
    // The segment gets more entries first: it needs several for the bucket.
    assert_eq!(split(&|key| hash.place(key)), Ok(()));
    let bucket = hash.directory.read_optimistic(&run.pager, place).expect("a bucket").0;
    let others =
        run.space.numbers().into_iter().filter(|page| ![hash.root(), bucket].contains(page));
    let segment = others.filter_map(|page| run.pager.try_read(page)).next().expect("a segment").0;
    let used_bytes = run.pager.used_bytes();
    let latched = std::cell::RefCell::new(None);
    let latching = |key: &[u8]| {
        latched.borrow_mut().get_or_insert_with(|| run.pager.latch(segment).expect("it is free"));
        hash.place(key)
    };
    assert_eq!(split(&latching), Ok(()));
    assert!(latched.take().is_some(), "the segment was latched during the split");
    assert_eq!((run.buckets(&hash), run.pager.used_bytes()), (1, used_bytes));
    run.expect(&hash, &ids);
    assert_eq!(split(&|key| hash.place(key)), Ok(()));
    assert_eq!(run.buckets(&hash), 4);
    run.expect(&hash, &ids);
}

#[test]
fn a_table_grows_through_all_levels_to_its_end_and_shrinks_again() {
    let firsts = [FirstBuckets::One, FirstBuckets::Few];
    let seeds = (0..8).flat_map(|seed| firsts.map(|first| (seed, first)));
    for (seed, first) in seeds {
        let run = Run::new(seed);
        let hash = run.create_with(first);
        assert_eq!(run.buckets(&hash), if first == FirstBuckets::One { 1 } else { 4 });
        run.expect(&hash, &[]);
        let mut ids = Vec::new();
        let mut moments = Vec::new();
        for id in 0.. {
            match run.insert(&hash, id) {
                Ok(is_new) => assert!(is_new),
                Err(Error::TableFull) => break,
                Err(error) => panic!("{error}"),
            }
            ids.push(id);
            if id % 40 == 39 {
                run.expect(&hash, &ids);
                moments.push((run.pager.moment(), ids.len()));
            }
        }
        // 64 buckets of 9 records and more; the first that is full ends it.
        assert!(ids.len() > 150, "{} records", ids.len());
        for (moment, count) in &moments {
            run.expect_at(&hash, *moment, &ids[..*count]);
        }
        // As a database that is opened finds it.
        let again = Hash::open(&run.pager, hash.root(), run.parameters()).expect("it is whole");
        run.expect(&again, &ids);
        drop(again);
        while let Some(id) = ids.pop() {
            assert!(run.delete(&hash, id));
            if id % 40 == 0 {
                run.expect(&hash, &ids);
            }
        }
        for (moment, count) in moments {
            run.expect_at(&hash, moment, &(0..count as u64).collect::<Vec<_>>());
            run.pager.release(moment);
        }
        let again = Hash::open(&run.pager, hash.root(), run.parameters()).expect("it is whole");
        run.expect(&again, &[]);
    }
}

/// A segment that names itself as a bucket is an error, and no endless wait for its latch.
#[test]
fn a_page_in_two_places_of_the_directory_is_an_error() {
    let run = Run::new(1);
    let hash = run.create();
    for id in 0..4 {
        assert_eq!(run.insert(&hash, id), Ok(true));
    }
    let root = root::Root::open(hash.root());
    let segment =
        root.read_optimistic(&run.pager, HashPlace::FIRST).expect("it is whole").entry.segment;
    let (seen, _) = run.pager.read_optimistic(segment).expect("it is there");
    let mut page = run.pager.latch(seen).expect("no other thread has it");
    page.change(run.pager.epoch()).set(0, segment.word());
    drop(page);
    let forged = Hash::open(&run.pager, hash.root(), run.parameters()).expect("it looks right");
    let wrong = run.insert(&forged, 5).expect_err("there is no bucket");
    assert!(matches!(wrong, Error::Corrupt { .. }), "{wrong}");
}

/// The byte at which slots of records of that shape start in a page.
const SLOTS_AT: usize = 8;
const STRIDE: usize = 1 + 8 + 1_000;

impl Run {
    /// Changes the tag of each slot of the only bucket.
    fn forge(&self, hash: &Hash, tag: impl Fn(u64) -> u64) {
        let (way, _) = hash.read_optimistic(&self.pager, hash.place(&[0; 8])).expect("it is whole");
        let mut page = self.pager.latch(way.bucket).expect("no other thread has it");
        let mut words = page.change(self.pager.epoch());
        for at in (0..hash.slots.count()).map(|slot| SLOTS_AT + slot * STRIDE) {
            let word = words.get_at(at);
            words.set_at(at, word & !0xff | tag(word & 0xff));
        }
    }

    fn expect_corrupt(&self, hash: &Hash, ids: std::ops::Range<u64>) {
        for id in ids {
            match self.insert(hash, id) {
                Ok(_) => {}
                Err(Error::Corrupt { .. }) => return,
                Err(error) => panic!("{error}"),
            }
        }
        panic!("there was room");
    }
}

/// A bucket claims to have few records, while no slot is free: each search for room ends.
#[test]
fn a_bucket_without_a_free_slot_is_an_error() {
    let run = Run::new(1);
    let hash = run.create();
    assert_eq!(run.insert(&hash, 0), Ok(true));
    run.forge(&hash, |_| 1);
    run.expect_corrupt(&hash, 1..100);
}

/// A bucket whose records say that they are a whole page further from home than they are.
#[test]
fn a_distance_beyond_the_page_is_an_error() {
    let run = Run::new(1);
    let hash = run.create();
    (0..5).for_each(|id| assert_eq!(run.insert(&hash, id), Ok(true)));
    let count = hash.slots.count() as u64;
    run.forge(&hash, |tag| if tag == 0 { 0 } else { tag + 2 * count });
    run.expect_corrupt(&hash, 5..100);
}

/// A record that is not at home, behind a free slot: no search would find it.
#[test]
fn a_gap_before_a_record_is_an_error() {
    let run = Run::new(1);
    let hash = run.create();
    (0..12).for_each(|id| assert_eq!(run.insert(&hash, id), Ok(true)));
    let (way, _) = hash.read_optimistic(&run.pager, hash.place(&[0; 8])).expect("it is whole");
    let mut page = run.pager.latch(way.bucket).expect("no other thread has it");
    let mut other = run.pager.allocate(&run.space).expect("room");
    let mut low = page.change(run.pager.epoch());
    let mut high = other.first_content();
    let tag = |words: &PageMut<'_>, slot: usize| words.get_at(SLOTS_AT + slot * STRIDE) & 0xff;
    let stays = |key: &[u8]| (false, hash.place(key).home);
    let slots = 1..hash.slots.count();
    let moved = slots.into_iter().find(|slot| tag(&low, *slot) > 1).expect("not all are at home");
    let before = SLOTS_AT + (moved - 1) * STRIDE;
    let records = low.get(0);
    let word = low.get_at(before);
    low.set_at(before, word & !0xff);
    low.set(0, records - 1);
    assert!(hash.slots.split(&mut low, &mut high, stays).is_err());
    low.set_at(before, word);
    low.set(0, records);
    assert_eq!(hash.slots.split(&mut low, &mut high, stays), Ok(()));
}

/// Buckets of few and of many slots, full and around the end of the page.
#[test]
fn each_record_of_a_bucket_that_is_split_is_found_in_its_half() {
    let sizes = [
        (1, 0),
        (2, 3),
        (3, 4),
        (5, 29),
        (6, 1),
        (7, 8),
        (8, 0),
        (8, 7),
        (8, 8),
        (9, 56),
        (12, 100),
        (15, 8),
        (16, 1_000),
    ];
    for (key_size, payload_size) in sizes {
        let shape = Shape { key_size, is_variable: false, payload_size };
        let slots = Slots::new(shape);
        for seed in 0..40 {
            let run = Run::new(seed);
            let hash_of = |key: &[u8]| xxh3_64_with_seed(key, seed);
            let home_of = |key: &[u8]| Place::of_hash(hash_of(key), slots.count()).home;
            // Another bit than those of the home. With some seeds, few go or few stay.
            let is_high = |key: &[u8]| hash_of(key) >> 40 & 15 < seed % 16;
            let mut pages = [(); 2].map(|()| run.pager.allocate(&run.space).expect("room"));
            let [low, high] = pages.each_mut().map(|page| page.first_content());
            let mut low = low;
            let mut high = high;
            let mut records = Vec::new();
            for id in 0..4_000u64 {
                let key = &xxh3_64_with_seed(&id.to_le_bytes(), seed).to_le_bytes().repeat(2);
                let (key, probe) = (&key[..key_size], Probe::new(&key[..key_size]));
                let found = slots.find_or_gap(low.page_ref(), home_of(key), &probe);
                if !found.is_there() && slots.has_room(low.page_ref(), found) {
                    let payload = vec![id as u8; payload_size];
                    slots.insert(&mut low, found, probe, &payload);
                    records.push([key, &payload].concat());
                }
            }
            let goes = |key: &[u8]| (is_high(key), home_of(key));
            assert_eq!(slots.split(&mut low, &mut high, goes), Ok(()));
            let mut all = Vec::new();
            for (page, is_high_page) in [(low.page_ref(), false), (high.page_ref(), true)] {
                let belongs = |key: &[u8]| (is_high(key) == is_high_page).then(|| home_of(key));
                assert_eq!(slots.check(page, &belongs), Ok(()), "{shape:?}, seed {seed}");
                let mut bytes = Vec::new();
                slots.copy_all(page, &mut bytes);
                all.extend(bytes.chunks_exact(key_size + payload_size).map(<[u8]>::to_vec));
            }
            all.sort_unstable();
            records.sort_unstable();
            assert!(all == records, "{shape:?}, seed {seed}: {} records", records.len());
        }
    }
}

impl Run {
    fn buckets(&self, hash: &Hash) -> usize {
        let moment = self.pager.moment();
        let mut buckets = Buckets::new();
        let mut batch = Batch::default();
        let mut count = 0;
        while hash.next_bucket(&self.pager, moment, &mut buckets, &mut batch) == Ok(true) {
            count += 1;
        }
        self.pager.release(moment);
        count
    }
}

#[test]
fn the_first_bucket_becomes_four_if_there_is_room_for_them() {
    // Two pages are of the directory.
    for (pages, buckets) in [(3, None), (4, Some(2)), (5, Some(2)), (6, Some(4)), (9, Some(4))] {
        let run = Run::new(1);
        let free_bytes = || run.pager.budget_bytes() - run.pager.used_bytes();
        let others = Space::default();
        let mut taken = Vec::new();
        while free_bytes() > pages * PAGE_BYTES as u64 {
            taken.push(run.pager.allocate(&others).expect("room"));
        }
        let hash = run.create();
        let mut ids = 0..;
        let full = loop {
            let id = ids.next().expect("a number");
            match run.insert(&hash, id) {
                Ok(_) if run.buckets(&hash) == 1 => {}
                Ok(_) => break None,
                Err(error) => break Some(error),
            }
        };
        assert_eq!(full.is_none(), buckets.is_some(), "{pages} pages: {full:?}");
        assert_eq!(run.buckets(&hash), buckets.unwrap_or(1), "{pages} pages");
        let count = if full.is_some() { ids.start - 1 } else { ids.start };
        run.expect(&hash, &(0..count).collect::<Vec<_>>());
    }
}

/// A table grows next to a thread that looks at moments: each has the first records, and no others.
#[test]
fn every_moment_of_a_table_that_grows_can_be_read() {
    const RECORDS: u64 = 40;
    /// Each takes pages that stay.
    const ROUNDS: u64 = 500;
    let run = Run::new(1);
    let newest = std::sync::Mutex::new(None::<std::sync::Arc<Hash>>);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for _ in 0..ROUNDS {
                let hash = std::sync::Arc::new(run.create());
                *newest.lock().expect("no thread panics") = Some(std::sync::Arc::clone(&hash));
                (0..RECORDS).for_each(|id| assert_eq!(run.insert(&hash, id), Ok(true)));
                (0..RECORDS).for_each(|id| assert!(run.delete(&hash, id)));
            }
        });
        while !writer.is_finished() {
            let hash = newest.lock().expect("no thread panics").clone();
            let Some(hash) = hash else { continue };
            let moment = run.pager.moment();
            let mut buckets = Buckets::new();
            let mut batch = Batch::default();
            let mut ids = Vec::new();
            loop {
                match hash.next_bucket(&run.pager, moment, &mut buckets, &mut batch) {
                    Ok(true) => {}
                    Ok(false) => break,
                    Err(error) => panic!("{error}"),
                }
                ids.extend((0..batch.len()).map(|at| {
                    u64::from_le_bytes(*batch.record(at).0.first_chunk().expect("eight bytes"))
                }));
            }
            run.pager.release(moment);
            ids.sort_unstable();
            // Inserted and deleted in order.
            let first = ids.first().copied().unwrap_or(0);
            assert!(ids.iter().copied().eq(first..first + ids.len() as u64), "{ids:?}");
        }
    });
}

/// A bucket of many slots in which a record would be too far from its home takes it in order.
#[test]
fn a_bucket_takes_as_many_records_as_it_may_have() {
    let shape = Shape { key_size: 4, is_variable: false, payload_size: 3 };
    let slots = Slots::new(shape);
    let mut in_order = 0;
    for seed in 0..150 {
        let run = Run::new(seed);
        let home_of = |key: &[u8]| Place::of_hash(xxh3_64_with_seed(key, seed), slots.count()).home;
        let mut page = run.pager.allocate(&run.space).expect("room");
        let mut words = page.first_content();
        let payload = |id: u32| [id as u8, (id >> 8) as u8, 7];
        for id in 0..slots.most() as u32 {
            let key = id.to_le_bytes();
            let probe = id.to_le_bytes();
            let probe = Probe::new(&probe);
            let found = slots.find_or_gap(words.page_ref(), home_of(&key), &probe);
            if slots.is_too_far(found) {
                in_order += 1;
                let home = home_of(&key);
                assert!(slots.has_room_in_order(words.page_ref(), home, &home_of));
                slots.insert_in_order(&mut words, home, probe, &payload(id), &home_of);
            } else {
                slots.insert(&mut words, found, probe, &payload(id))
            }
        }
        assert_eq!(slots.check(words.page_ref(), &|key| Some(home_of(key))), Ok(()));
        for id in 0..slots.most() as u32 {
            let key = id.to_le_bytes();
            let slot = slots.find(words.page_ref(), home_of(&key), &Probe::new(&key));
            let mut found = [0; 3];
            slots.read_payload(words.page_ref(), slot.expect("it is there"), &mut found);
            assert_eq!(found, payload(id));
        }
        assert!(!slots.has_room_in_order(words.page_ref(), 0, &home_of), "it is full");
    }
    assert!(in_order > 0, "none was too far from its home");
}

/// Of many slots, few stay free in a full bucket, and a record may be too far from its home.
#[test]
fn buckets_that_cannot_be_joined_are_not_changed() {
    let shape = Shape { key_size: 4, is_variable: false, payload_size: 0 };
    let most = Slots::new(shape).most() as u32;
    let mut without_room = 0;
    for seed in 0..1_000 {
        let run = Run::new(seed);
        let parameters = Parameters { shape, ..run.parameters() };
        let hash = Hash::create(&run.pager, &run.space, parameters, FirstBuckets::One);
        let hash = hash.expect("room");
        let put = |id: u32| hash.write(&run.context(), &id.to_le_bytes(), Insert(&[]));
        (0..=most).for_each(|id| assert_eq!(put(id), Ok(true)));
        assert!(run.buckets(&hash) > 1);
        assert_eq!(hash.write(&run.context(), &most.to_le_bytes(), Delete), Ok(true));
        let fill = || {
            let mut place = Some(HashPlace::FIRST);
            while let Some(at) = place {
                place = hash.fill(&run.pager, &run.space, at).expect("they are whole");
            }
        };
        fill();
        if run.buckets(&hash) == 1 {
            continue;
        }
        without_room += 1;
        let seen = |id: u32| {
            let (way, _) = hash.read_optimistic(&run.pager, hash.place(&id.to_le_bytes()))?;
            Ok::<_, Error>(way.bucket)
        };
        let before: Vec<_> = (0..most).map(|id| seen(id).expect("it is there")).collect();
        fill();
        assert!(before.iter().all(Seen::validate), "seed {seed}: a page has changed");
    }
    assert!(without_room > 0, "all could be joined");
}
