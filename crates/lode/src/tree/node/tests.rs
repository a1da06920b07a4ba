//! Entries that move between nodes, compared with a sorted list.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use proptest::prelude::*;

use super::{Fences, Layout, Node, NodeMut, SearchKey};
use crate::index::Shape;
use crate::pager::Image;

type Records = BTreeMap<Vec<u8>, Vec<u8>>;

/// Generates keys that have a byte in common. None is a prefix of another, since each ends with a
/// byte that is nowhere else.
fn records(shape: Shape) -> impl Strategy<Value = Records> {
    let most = shape.key_size - 3;
    let between = if shape.is_variable { 0..=most } else { most..=most };
    let key = (0..3u8, prop::collection::vec(0..4u8, between))
        .prop_map(|(second, rest)| [vec![7, second], rest, vec![9]].concat());
    let payload = prop::collection::vec(any::<u8>(), shape.payload_size);
    prop::collection::btree_map(key, payload, 3..90)
}

/// Generates layouts of records of more than eight bytes, and of fewer.
fn layouts() -> impl Strategy<Value = Layout> {
    let sizes = prop_oneof![Just((12, 9)), Just((5, 0)), Just((5, 2))];
    (any::<bool>(), sizes).prop_map(|(is_variable, (key_size, payload_size))| {
        Layout::new(Shape { key_size, payload_size, is_variable })
    })
}

/// Returns the entries of a node, after checking it.
fn content(node: Node<'_>) -> Records {
    assert_eq!(node.check(), Ok(()));
    let payload = |at: usize| {
        let mut payload = vec![0; node.layout.shape.payload_size];
        node.read_payload(at, 0, &mut payload);
        payload
    };
    (0..node.count()).map(|at| (node.key(at), payload(at))).collect()
}

fn part(records: &Records, range: Range<usize>) -> Records {
    records
        .iter()
        .skip(range.start)
        .take(range.len())
        .map(|(k, v)| (k.clone(), v.clone()))
        .collect()
}

proptest! {
    /// The node before, or the one after, gets entries of the other; some were deleted before.
    #[test]
    fn entries_move_to_a_neighbour(
        (layout, all) in layouts().prop_flat_map(|of| (Just(of), records(of.shape))),
        boundaries in any::<[prop::sample::Index; 2]>(),
        order in any::<u64>(),
        deleted in prop::collection::vec(any::<prop::sample::Index>(), 0..4),
    ) {
        let shape = layout.shape;
        let keys: Vec<_> = all.keys().cloned().collect();
        let [before, after] = boundaries.map(|at| 1 + at.index(keys.len() - 1));
        let mut pages = [Image::empty(), Image::empty()];
        let [mut low, mut high] = pages.each_mut().map(|page| layout.node_mut(page.words_mut()));
        low.clear(0, &fences(shape, None, Some(&keys[before])));
        high.clear(0, &fences(shape, Some(&keys[before]), None));
        // In some order, so that the records are in another one than the entries.
        let mut shuffled: Vec<_> = (0..keys.len()).collect();
        shuffled.sort_by_key(|at| (*at as u64 + 1).wrapping_mul(order | 1).rotate_left(17));
        for at in shuffled {
            let node = if at < before { &mut low } else { &mut high };
            put(node, &keys[at], &all[&keys[at]]);
        }
        let mut all = all;
        for at in deleted {
            let key = &keys[at.index(keys.len())];
            let node = if *key < keys[before] { &mut low } else { &mut high };
            if let Ok(at) = node.place(key) {
                node.remove(at);
                all.remove(key);
            }
        }
        let in_low = all.range(..keys[before].clone()).count();
        let stay = all.range(..keys[after].clone()).count();
        let boundary = Some(&keys[after]);
        let new_low = fences(shape, None, boundary);
        let new_high = fences(shape, boundary, None);
        if after < before {
            high.set_fences(&new_high);
            high.insert_from(0, *low, stay..in_low);
            low.take_out(stay..in_low);
            low.set_fences(&new_low);
        } else {
            low.set_fences(&new_low);
            low.append(*high, 0..stay - in_low);
            high.take_out(0..stay - in_low);
            high.set_fences(&new_high);
        }
        prop_assert_eq!(content(*low), part(&all, 0..stay));
        prop_assert_eq!(content(*high), part(&all, stay..all.len()));
        prop_assert_eq!(low.garbage() * high.garbage(), 0);
    }
}

/// Generates keys of twelve bytes that share many of their first ones: numbers at even distances,
/// such that grow ever faster, clusters of both, or with random letters.
fn alike_keys() -> impl Strategy<Value = BTreeSet<Vec<u8>>> {
    let wide = |number: u128| number.to_be_bytes()[4..].to_vec();
    let even = (any::<u64>(), 1..1u64 << 40, 1..400u64).prop_map(move |(from, distance, count)| {
        (0..count).map(|at| wide(u128::from(from) + u128::from(at * distance))).collect()
    });
    let faster = (1..5u32, 1..400u128)
        .prop_map(move |(power, count)| (0..count).map(|at| wide(at.pow(power))).collect());
    let clusters = prop::collection::btree_set((0..6u8, 0..100u128), 1..300).prop_map(move |set| {
        set.iter().map(|(cluster, at)| wide((1u128 << (cluster * 16)) + at)).collect()
    });
    let letters = prop::collection::btree_set(prop::collection::vec(0..3u8, 12), 1..300);
    prop_oneof![even, faster, clusters, letters]
}

proptest! {
    /// Keys that share their heads are found where they are, and others where they would be.
    #[test]
    fn keys_alike_are_found_at_their_places(
        keys in alike_keys(),
        others in prop::collection::vec(any::<(prop::sample::Index, usize, u8)>(), 40),
        cut in 1..=12usize,
        is_variable in any::<bool>(),
    ) {
        let layout = Layout::new(Shape { key_size: 12, payload_size: 2, is_variable });
        // Of variable length, some are the beginnings of others.
        let keys: BTreeSet<Vec<u8>> = if is_variable {
            let halves = keys.iter().step_by(3).map(|key| key[..cut].to_vec());
            halves.collect::<BTreeSet<_>>().union(&keys).cloned().collect()
        } else {
            keys
        };
        let keys: Vec<Vec<u8>> = keys.into_iter().collect();
        let mut image = Image::empty();
        let mut node = layout.node_mut(image.words_mut());
        node.clear(0, &Fences::default());
        for (at, key) in keys.iter().enumerate() {
            prop_assert!(node.has_room(key.len()), "all of them have room");
            node.insert(at, key, &[1, 2]);
        }
        for (at, key) in keys.iter().enumerate() {
            prop_assert_eq!(node.search(SearchKey::new(key)), Ok(at));
        }
        for (which, byte, value) in others {
            let mut key = keys[which.index(keys.len())].clone();
            let byte = byte % key.len();
            key[byte] = value;
            // A key in order is the beginning of no other.
            if keys.iter().any(|other| other.len() > key.len() && other.starts_with(&key)) {
                continue;
            }
            prop_assert_eq!(node.search(SearchKey::new(&key)), keys.binary_search(&key));
        }
    }
}

/// Returns a node's fences; without a neighbour, bounds that share a byte with all keys.
fn fences(shape: Shape, lower: Option<&Vec<u8>>, upper: Option<&Vec<u8>>) -> Fences {
    let bound = |key: Option<&Vec<u8>>, byte| {
        let mut bound = vec![7, byte];
        bound.resize(if shape.is_variable { 2 } else { shape.key_size }, 0);
        Some(key.cloned().unwrap_or(bound))
    };
    Fences { lower: bound(lower, 0), upper: bound(upper, 3) }
}

fn put(node: &mut NodeMut<'_>, key: &[u8], payload: &[u8]) {
    let at = node.place(key).expect_err("it is new");
    node.insert(at, key, payload);
}

/// The answer if a node has room depends on a byte. With keys of 4 bytes, those of 5 and of 19
/// leave one byte less than a record needs.
#[test]
fn a_node_takes_entries_up_to_its_last_byte() {
    for payload_size in 0..24 {
        for is_variable in [false, true] {
            let layout = Layout::new(Shape { key_size: 4, payload_size, is_variable });
            let mut image = Image::empty();
            let mut node = layout.node_mut(image.words_mut());
            node.clear(0, &Fences::default());
            let key = |at: u32| (at * 7).to_be_bytes();
            let payload = |at: u32| vec![at as u8; payload_size];
            let keys: Vec<_> = (0..3_000).map(key).collect();
            let fits = node.room_for(keys.iter().map(|key| &key[..]));
            let mut count = 0;
            while node.has_room(4) {
                node.insert(count, &keys[count], &payload(count as u32));
                count += 1;
            }
            assert_eq!(count, fits, "{layout:?}");
            let each = 8 + layout.record_size(0, 4);
            assert_eq!(node.used(), count * each, "{layout:?}");
            assert!((0..each).contains(&(node.capacity() - node.used())), "{layout:?}");
            let all = (0..count as u32).map(|at| (key(at).to_vec(), payload(at))).collect();
            assert!(content(*node) == all, "{layout:?}");
            // The place of a deleted entry is room for another.
            node.remove(count / 2);
            assert!(node.has_room(4), "{layout:?}");
            node.insert(count / 2, &keys[count / 2], &payload((count / 2) as u32));
            assert!(content(*node) == all && !node.has_room(4), "{layout:?}");
        }
    }
}
