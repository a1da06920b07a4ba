//! Keys with equal digests. In unit tests digests have few bits, so that this happens all the time.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::free_space::LANES;
use super::index_key::{DIGEST_BYTES, Hint};
use super::page::HeapPage;
use super::{Address, Entry, Heap, IndexKeys};
use crate::hash::{FirstBuckets, Hash, Parameters};
use crate::index::{Delete, Index, Insert, Keeps, Patch, Shape, WriteContext};
use crate::pager::{MemoryLimits, Pager, Space};
use crate::wal::TableId;
use crate::{Database, Key, KeyKind, ReadTable, Schema, Snapshot, Table, Type};

const KEY_BYTES: usize = 16;

/// Among this many, nearly each fourth has the digest of another one.
const KEYS: u16 = 1_000;

fn create(db: &Database) -> Table {
    let schema = Schema::build("t")
        .key("key", Type::Bytes(KEY_BYTES as u32))
        .column("number", Type::U32)
        .column("data", Type::VarBytes(40_000));
    db.create_table(&schema.finish().expect("a schema"), KeyKind::Hash).expect("room")
}

fn key(id: u16) -> [u8; KEY_BYTES] {
    let mut key = [7; KEY_BYTES];
    key[KEY_BYTES - 2..].copy_from_slice(&id.to_le_bytes());
    key
}

fn payload(id: u16, number: u32, size: usize) -> Vec<u8> {
    let mut payload = [number.to_le_bytes(), (size as u32).to_le_bytes()].concat();
    payload.resize(8 + size, id as u8);
    payload
}

type Model = BTreeMap<u16, Vec<u8>>;

#[derive(Clone, Debug)]
enum Op {
    Insert(u16, usize),
    Upsert(u16, usize),
    Update(u16),
    Delete(u16),
    /// Writes all at once, and commits them if the flag is true.
    Transaction(Vec<(u16, Option<usize>)>, bool),
    Snapshot,
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let size = || prop_oneof![20 => 0..50usize, 4 => 0..3_000usize, 1 => 16_000..40_000usize];
    let id = || 0..KEYS;
    let one = prop_oneof![
        8 => (id(), size()).prop_map(|(id, size)| Op::Insert(id, size)),
        4 => (id(), size()).prop_map(|(id, size)| Op::Upsert(id, size)),
        3 => id().prop_map(Op::Update),
        5 => id().prop_map(Op::Delete),
        1 => (
            proptest::collection::vec((id(), proptest::option::of(size())), 0..40),
            any::<bool>(),
        )
            .prop_map(|(writes, commits)| Op::Transaction(writes, commits)),
        1 => Just(Op::Snapshot),
    ];
    proptest::collection::vec(one, 0..900)
}

/// Returns the payload of a key's record.
fn found(table: &Table, key: impl Key) -> Option<Vec<u8>> {
    table.get(key).expect("a key").map(|row| row.payload().to_vec())
}

fn content(snapshot: &Snapshot, table: &Table) -> Model {
    let mut content = Model::new();
    for row in table.at(snapshot).iter() {
        let row = row.expect("a table");
        let record = row.bytes();
        let id = u16::from_le_bytes([record[KEY_BYTES - 2], record[KEY_BYTES - 1]]);
        assert_eq!(record[..KEY_BYTES], key(id));
        assert!(content.insert(id, record[KEY_BYTES..].to_vec()).is_none());
    }
    content
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn records_whose_keys_have_the_same_digest_are_told_apart(ops in ops()) {
        let db = Database::in_memory().expect("memory");
        let table = create(&db);
        let mut model = Model::new();
        let mut snapshots = Vec::new();
        for (number, op) in (0u32..).zip(ops) {
            match op {
                Op::Insert(id, size) | Op::Upsert(id, size) => {
                    let wanted = payload(id, number, size);
                    let record = [&key(id)[..], &wanted].concat();
                    let there = model.contains_key(&id);
                    if let Op::Upsert(..) = op {
                        prop_assert_eq!(table.upsert(&record), Ok(there));
                        model.insert(id, wanted);
                    } else {
                        prop_assert_eq!(table.insert(&record), Ok(!there));
                        model.entry(id).or_insert(wanted);
                    }
                }
                Op::Update(id) => {
                    let value = table.schema().column("number").expect("a column");
                    let bytes = number.to_le_bytes();
                    let mut payload = model.get_mut(&id);
                    let there = payload.as_mut().map(|all| all[..4].copy_from_slice(&bytes));
                    prop_assert_eq!(table.update(key(id), value, &bytes), Ok(there.is_some()));
                }
                Op::Delete(id) => {
                    prop_assert_eq!(table.delete(key(id)), Ok(model.remove(&id).is_some()));
                }
                Op::Transaction(writes, commits) => {
                    let mut changed = model.clone();
                    let transaction = db.begin();
                    for (id, size) in writes {
                        match size {
                            None => {
                                let there = changed.remove(&id).is_some();
                                prop_assert_eq!(transaction.delete(&table, key(id)), Ok(there));
                            }
                            Some(size) => {
                                let wanted = payload(id, number, size);
                                let record = [&key(id)[..], &wanted].concat();
                                let there = changed.insert(id, wanted).is_some();
                                prop_assert_eq!(transaction.upsert(&table, &record), Ok(there));
                            }
                        }
                    }
                    if commits {
                        prop_assert_eq!(transaction.commit(), Ok(()));
                        model = changed;
                    }
                }
                Op::Snapshot => snapshots.push((db.snapshot(), model.clone())),
            }
        }
        snapshots.push((db.snapshot(), model));
        let mut found = Vec::new();
        for (snapshot, model) in &snapshots {
            prop_assert_eq!(&content(snapshot, &table), model);
            for id in (0..KEYS).step_by(7) {
                let there = table.at(snapshot).get_into(&key(id), &mut found);
                prop_assert_eq!(there.map(|there| there.then_some(&found)), Ok(model.get(&id)));
            }
        }
        let (_, model) = snapshots.last().expect("the last one");
        let keys: Vec<_> = (0..KEYS).flat_map(key).collect();
        let mut wrong = None;
        table.get_many_with(&keys, &mut |at, payload| {
            if payload != model.get(&(at as u16)).map(Vec::as_slice) {
                wrong = Some(at);
            }
        }).expect("keys");
        prop_assert_eq!(wrong, None);
        let report = db.check().expect("it is open");
        prop_assert!(report.is_sound(), "{report}");
    }
}

/// Each thread has its own keys, but their digests are those of others.
#[test]
fn threads_pass_each_other() {
    let db = Database::in_memory().expect("memory");
    let table = create(&db);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let table = &table;
            scope.spawn(move || {
                for round in 0..30u32 {
                    for id in (0..KEYS).filter(|id| id % 4 == thread) {
                        let size = usize::from(id) * round as usize % 300;
                        let wanted = payload(id, round, size);
                        let record = [&key(id)[..], &wanted].concat();
                        assert_eq!(table.insert(&record), Ok(true));
                        assert_eq!(found(table, key(id)), Some(wanted));
                        if round < 29 || id % 3 == 0 {
                            assert_eq!(table.delete(key(id)), Ok(true));
                            assert_eq!(found(table, key(id)), None);
                        }
                    }
                }
            });
        }
    });
    let left = content(&db.snapshot(), &table);
    assert!(left.keys().copied().eq((0..KEYS).filter(|id| id % 3 != 0)));
    let report = db.check().expect("it is open");
    assert!(report.is_sound(), "{report}");
}

/// Creates an index of hashed keys.
fn hashed(pager: &Pager, space: &Space, shape: Shape) -> Hash {
    let parameters = Parameters { shape, seed: 1 };
    Hash::create(pager, space, parameters, FirstBuckets::One).expect("room")
}

#[test]
fn an_entry_that_leads_to_a_page_of_the_index_is_an_error_and_no_endless_search() {
    let pager = Pager::new(MemoryLimits::of_budget(1 << 20), None).expect("memory");
    let space = Space::default();
    let heap = Heap::new(Space::default(), IndexKeys::Keys);
    let shape = Shape { key_size: 4, is_variable: false, payload_size: Entry::BYTES };
    let index = hashed(&pager, &space, shape);
    let context = WriteContext::new(&pager, &space, None, TableId(1));
    let key = [1; 4];
    let long = [1; 1_000];
    heap.write(&index, &context, &key, Insert(&long)).expect("room");
    // The bucket was the first page. The bytes at the place of a slot there make one.
    let address = Some(Address { page: space.extents()[0], slot: 0 });
    let forged = Entry { address, hint: Hint::default(), is_passed: false }.bytes();
    assert_eq!(index.write(&context, &key, Patch { at: 0, bytes: &forged }), Ok(true));
    let (seen, _) = pager.read_optimistic(space.extents()[0]).expect("it is there");
    let mut page = pager.latch(seen).expect("no other thread has it");
    let mut words = page.change(pager.epoch());
    words.set(0, 1);
    words.set(1, 1 << 32);
    drop(page);
    let outcome = heap.write(&index, &context, &key, Delete);
    let wrong = outcome.map(|_| ()).expect_err("there is no record");
    assert!(matches!(wrong, crate::Error::Corrupt { .. }), "{wrong}");
}

#[test]
fn entries_hint_at_where_their_records_were_put() {
    let pager = Pager::new(MemoryLimits::of_budget(4 << 20), None).expect("memory");
    let (space, heap) =
        (Space::default(), Heap::new(Space::default(), IndexKeys::Digests { seed: 1 }));
    let shape = Shape { key_size: DIGEST_BYTES, is_variable: false, payload_size: Entry::BYTES };
    let index = hashed(&pager, &space, shape);
    let context = WriteContext::new(&pager, &space, None, TableId(1));
    for id in 0..KEYS {
        let insert = Insert(&payload(id, 0, id.into()));
        heap.write(&index, &context, &key(id), insert).expect("room");
    }
    let mut passed = 0;
    for id in 0..KEYS {
        let key = key(id);
        let entry_at = |probe| {
            let index_key = heap.index_keys.index_key(&key, probe);
            index.locate(&pager, index_key.bytes(), Entry::of).expect("a table")
        };
        // The entries that this key has passed, its own, and perhaps one that has passed it.
        for entry in (0..).map_while(entry_at) {
            let address = entry.address.expect("nothing was deleted");
            let (_, words) = pager.read_optimistic(address.page).expect("it is there");
            let now = HeapPage::new(words).hint(address.slot.into());
            assert!(now.lines().1 > 0 && entry.hint == now, "{entry:?} {now:?}");
            passed += u32::from(entry.is_passed);
        }
    }
    assert!(passed > 0, "digests in unit tests are short");
}

/// Pages whose records were removed by steps of a commit, which keep pages.
#[test]
fn a_compaction_frees_pages_without_records_and_lets_the_others_take_some_again() {
    const COUNT: u32 = 400;
    let pager = Pager::new(MemoryLimits::of_budget(8 << 20), None).expect("memory");
    let space = Space::default();
    let heap = Heap::new(Space::default(), IndexKeys::Keys);
    let shape = Shape { key_size: 4, is_variable: false, payload_size: Entry::BYTES };
    let index = hashed(&pager, &space, shape);
    let context = WriteContext::new(&pager, &space, None, TableId(1));
    let put = |id: u32| {
        heap.write(&index, &context, &id.to_le_bytes(), Insert(&[1; 1_000])).expect("room");
    };
    (0..COUNT).for_each(put);
    let full_bytes = pager.used_bytes();
    let step = WriteContext::new(&pager, &space, None, TableId(1)).of_step(Keeps::PagesAndRoom);
    // The first pages have half of their records, the others none.
    for id in (0..COUNT).filter(|id| *id >= 100 || id % 2 == 0) {
        let outcome = heap.write(&index, &step, &id.to_le_bytes(), Delete);
        assert!(outcome.expect("room").answer);
    }
    assert_eq!(pager.used_bytes(), full_bytes);
    for round in 0..3 {
        let mut evacuation = heap.evacuation(&pager).expect("pages with room");
        while evacuation.look_at_rest(&pager) {}
        drop(evacuation);
        let used_bytes = pager.used_bytes();
        assert!(used_bytes < full_bytes / 2, "{used_bytes} of {full_bytes} bytes, {round}");
    }
    // Pages with half of their records take as many again, and no other page does.
    let used_bytes = pager.used_bytes();
    (0..100).filter(|id| id % 2 == 0).for_each(put);
    let more_bytes = pager.used_bytes() - used_bytes;
    assert!(more_bytes <= 1 << 14, "{more_bytes} bytes more");
}

/// If keys have all lengths, a key with the digest of another may be longer than that record.
#[test]
fn keys_of_any_length_have_the_digests_of_shorter_ones() {
    let db = Database::in_memory().expect("memory");
    let schema = Schema::build("t").key("key", Type::VarBytes(200)).column("n", Type::U8);
    let schema = schema.finish().expect("a schema");
    let table = db.create_table(&schema, KeyKind::Hash).expect("room");
    let key = |id: u16, size: usize| {
        let mut key = id.to_le_bytes().to_vec();
        key.resize(size, 3);
        schema.pack_key(&[crate::Value::Bytes(&key)]).expect("it fits")
    };
    for id in 0..KEYS {
        assert_eq!(table.insert(&[key(id, 4), vec![1]].concat()), Ok(true));
    }
    let before = db.snapshot();
    for id in 0..KEYS {
        let mut payload = Vec::new();
        assert_eq!(found(&table, key(id, 200)), None);
        assert_eq!(table.at(&before).get_into(&key(id, 200), &mut payload), Ok(false));
        assert_eq!(table.insert(&[key(id, 200), vec![2]].concat()), Ok(true));
    }
    for id in 0..KEYS {
        assert_eq!(found(&table, key(id, 4)), Some(vec![1]));
        assert_eq!(found(&table, key(id, 200)), Some(vec![2]));
    }
    let report = db.check().expect("it is open");
    assert!(report.is_sound(), "{report}");
}

/// Threads that delete and insert records of 1,000 bytes: the room of deleted ones is used again,
/// whichever thread deleted them.
#[test]
fn threads_use_the_room_of_records_that_others_deleted() {
    const THREADS: u32 = 4;
    const COUNT: u32 = 4_000;
    const ROUNDS: u32 = 10;
    let pager = Pager::new(MemoryLimits::of_budget(16 << 20), None).expect("memory");
    let space = Space::default();
    let heap = Heap::new(Space::default(), IndexKeys::Keys);
    let shape = Shape { key_size: 4, is_variable: false, payload_size: Entry::BYTES };
    let index = hashed(&pager, &space, shape);
    let each = |ids: &mut dyn Iterator<Item = u32>, write: &dyn Fn(&WriteContext<'_>, [u8; 4])| {
        let context = WriteContext::new(&pager, &space, None, TableId(1));
        ids.for_each(|id| write(&context, id.to_le_bytes()));
    };
    let insert = |context: &WriteContext<'_>, key: [u8; 4]| {
        let outcome = heap.write(&index, context, &key, Insert(&[1; 1_000]));
        assert!(outcome.expect("room").answer);
    };
    let delete = |context: &WriteContext<'_>, key: [u8; 4]| {
        assert!(heap.write(&index, context, &key, Delete).expect("a record").answer);
    };
    each(&mut (0..COUNT), &insert);
    let full_bytes = pager.used_bytes();
    for round in 0..ROUNDS {
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let each = &each;
                let insert = &insert;
                let delete = &delete;
                // About a third of its share, so that pages keep records.
                let is_chosen = move |id: &u32| {
                    let mixed = (id ^ round << 20).wrapping_mul(0x9E37_79B1);
                    (mixed >> 16).is_multiple_of(3)
                };
                let ids = move || (thread..COUNT).step_by(THREADS as usize).filter(is_chosen);
                scope.spawn(move || {
                    each(&mut ids(), delete);
                    each(&mut ids(), insert);
                });
            }
        });
        // The page that each lane fills, and pages with less than a quarter of room, which are left
        // alone.
        let most_bytes = full_bytes / 3 * 4 + ((LANES as u64) << 14);
        let used_bytes = pager.used_bytes();
        assert!(used_bytes <= most_bytes, "{used_bytes} of {full_bytes} bytes, {round}");
    }
}
