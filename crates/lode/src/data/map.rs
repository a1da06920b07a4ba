//! The page map: where each page is. A tree of three levels of *nodes*, pages of 1,024 entries,
//! that is changed by writing what changed elsewhere (a radix tree, copy-on-write). A node is read
//! when it is first needed, and kept.

use std::collections::BTreeMap;

use super::slots::{Slots, has_superblock};
use super::{PageNumber, Ref, SLOT_BYTES, SlotNumber, read_slot, read_twice, write_twice};
use crate::error::{Error, Result};
use crate::io::File;

/// Levels: nodes of level 0 know pages, the one of the highest level is the root.
const LEVELS: usize = 3;
const ROOT: usize = LEVELS - 1;

/// Bits of a page's number that one level decides by.
const BITS: u32 = 10;

const ENTRIES: usize = 1 << BITS;

const ENTRY_BYTES: usize = SLOT_BYTES / ENTRIES;

/// The node of level 0 that has the first page of a table.
const FIRST_TABLE_NODE: u32 = PageNumber::FIRST_OF_TABLES.get() >> BITS;

const _: () = assert!(ENTRIES * ENTRY_BYTES == SLOT_BYTES, "a node fills a slot");
const _: () = assert!(
    PageNumber::FIRST_OF_TABLES.index().is_multiple_of(ENTRIES),
    "no node has pages of the catalogue and of tables"
);

struct Node {
    entries: Box<[Ref]>,
    /// True if it has changed since it was written, or one of its copies is damaged; and the slots
    /// taken for writing it, if some were.
    changed: bool,
    slots: [SlotNumber; 2],
}

impl Node {
    fn new() -> Self {
        Self {
            entries: vec![Ref::default(); ENTRIES].into(),
            changed: false,
            slots: Default::default(),
        }
    }

    fn from_bytes(bytes: &[u8]) -> Self {
        let entries = bytes.as_chunks::<ENTRY_BYTES>().0.iter().map(|entry| {
            let (location, checksum) = entry.split_at(8);
            let number = |bytes: &[u8]| u64::from_le_bytes(*bytes.first_chunk().expect("8 bytes"));
            Ref::from_words(number(location), number(checksum))
        });
        Self { entries: entries.collect(), ..Self::new() }
    }

    fn to_bytes(&self) -> Vec<u8> {
        debug_assert_eq!(self.entries.len(), ENTRIES, "a node has all of its entries");
        let entry = |at: &Ref| at.to_words().map(u64::to_le_bytes);
        self.entries.iter().flat_map(entry).flatten().collect()
    }
}

/// Returns the number that a node's checksum is made with.
fn owner(level: usize, number: u32) -> u64 {
    (level as u64 + 1) << 32 | u64::from(number)
}

/// Returns true if an entry of a level leads to metadata: a node, or a page of the catalogue.
fn is_twice(level: usize, number: u32) -> bool {
    level > 0 || number < PageNumber::FIRST_OF_TABLES.get()
}

fn name(level: usize, number: u32) -> String {
    format!("node {number} of level {level} of the page map")
}

/// The nodes that were read or made.
#[derive(Default)]
pub(super) struct PageMap {
    nodes: [BTreeMap<u32, Node>; LEVELS],
    root: Ref,
}

impl PageMap {
    /// Opens the map with this root.
    pub(super) fn open(root: Ref) -> Self {
        Self { root, ..Self::default() }
    }

    /// Returns the location of a node on the disk.
    fn node_ref(&mut self, file: &dyn File, level: usize, number: u32) -> Result<Ref> {
        if level == ROOT {
            return Ok(self.root);
        }
        let parent = self.node(file, level + 1, number >> BITS)?;
        Ok(parent.entries[number as usize % ENTRIES])
    }

    fn node(&mut self, file: &dyn File, level: usize, number: u32) -> Result<&mut Node> {
        let bits = BITS * (ROOT - level) as u32;
        debug_assert!(number >> bits == 0, "level {level} has no node {number}");
        if !self.nodes[level].contains_key(&number) {
            let at = self.node_ref(file, level, number)?;
            let mut node = Node::new();
            if at.is_some() {
                let mut bytes = vec![0; SLOT_BYTES];
                let what = || name(level, number);
                let is_damaged = read_twice(file, at, owner(level, number), &mut bytes, what)?;
                node = Node::from_bytes(&bytes);
                // The next checkpoint writes it whole again.
                node.changed = is_damaged;
            }
            self.nodes[level].insert(number, node);
        }
        Ok(self.nodes[level].get_mut(&number).expect("it was just put there"))
    }

    /// Returns the location of a page.
    pub(super) fn get(&mut self, file: &dyn File, page: PageNumber) -> Result<Ref> {
        if page.get() >> (BITS * LEVELS as u32) != 0 {
            return Ok(Ref::default());
        }
        Ok(self.node(file, 0, page.get() >> BITS)?.entries[page.index() % ENTRIES])
    }

    /// Sets the location of a page; returns the location before.
    pub(super) fn set(&mut self, file: &dyn File, page: PageNumber, at: Ref) -> Result<Ref> {
        if page.get() >> (BITS * LEVELS as u32) != 0 {
            let most_bytes = (SLOT_BYTES as u64) << (BITS * LEVELS as u32);
            return Err(Error::DatabaseFull { most_bytes });
        }
        assert!(!at.is_some() || !has_superblock(at.slot), "page {page} is in no superblock");
        let node = self.node(file, 0, page.get() >> BITS)?;
        node.changed = true;
        Ok(std::mem::replace(&mut node.entries[page.index() % ENTRIES], at))
    }

    /// Returns the number of slots of the nodes of level 0 with these pages, which are in the order
    /// of numbers, the last one first.
    pub(super) fn slots_of(pages: &[PageNumber]) -> u64 {
        debug_assert!(pages.is_sorted_by(|a, b| a > b), "each page comes once, in order");
        2 * pages.chunk_by(|a, b| a.get() >> BITS == b.get() >> BITS).count() as u64
    }

    /// Returns the most slots that nodes take when `pages` more pages change.
    pub(super) fn most_slots(&self, pages: u64) -> u64 {
        // Nodes of the catalogue have the lowest numbers, and after them come those of tables.
        let of_catalogue = self.nodes[0].range(..FIRST_TABLE_NODE).count() as u64;
        let highest = self.nodes[0].keys().next_back().map_or(0, |number| *number);
        let of_tables = u64::from((highest + 1).saturating_sub(FIRST_TABLE_NODE));
        let leaves = pages.min(of_catalogue + of_tables + 2 + pages / ENTRIES as u64);
        let changed = self.nodes[0].values().filter(|node| node.changed).count() as u64;
        let leaves = leaves + changed;
        let above = self.nodes[1].values().filter(|node| node.changed).count() as u64;
        2 * (leaves + leaves.min(leaves / ENTRIES as u64 + 2) + above + 1)
    }

    /// Takes new slots for all nodes that will be written, and gives their old ones up.
    pub(super) fn take_slots(&mut self, file: &dyn File, slots: &mut Slots) -> Result<()> {
        for level in 0..LEVELS {
            let changed = self.nodes[level].iter().filter(|(_, node)| node.changed);
            let changed: Vec<u32> = changed.map(|(number, _)| *number).collect();
            for number in changed {
                // The node has one already if the checkpoint before this one failed.
                if !self.node(file, level, number)?.slots[0].is_some() {
                    // A node of level 0 without pages has no location.
                    let node = self.node(file, level, number)?;
                    let is_empty = level == 0 && !node.entries.iter().any(|at| at.is_some());
                    let before = self.node_ref(file, level, number)?;
                    let taken = if is_empty { Default::default() } else { slots.take_two()? };
                    let is_elsewhere = before.slots().iter().all(|slot| !taken.contains(slot));
                    debug_assert!(is_empty || is_elsewhere, "a node is written elsewhere");
                    before.slots().into_iter().for_each(|slot| slots.release(slot));
                    self.node(file, level, number)?.slots = taken;
                    if is_empty {
                        let parent = self.node(file, level + 1, number >> BITS)?;
                        parent.entries[number as usize % ENTRIES] = Ref::default();
                    }
                }
                if level < ROOT {
                    self.node(file, level + 1, number >> BITS)?.changed = true;
                }
            }
        }
        Ok(())
    }

    /// Writes the nodes that have changed to the slots that they took; returns the root's location.
    pub(super) fn write(&mut self, file: &dyn File) -> Result<Ref> {
        for level in 0..LEVELS {
            let changed = self.nodes[level].iter().filter(|(_, node)| node.changed);
            let changed: Vec<u32> = changed.map(|(number, _)| *number).collect();
            for number in changed {
                let node = self.node(file, level, number)?;
                let bytes = node.to_bytes();
                let slots = node.slots;
                let is_empty = || !node.entries.iter().any(|at| at.is_some());
                debug_assert!(slots[0].is_some() || level == 0 && is_empty(), "no entry is lost");
                let at = if slots[0].is_some() {
                    write_twice(file, slots, &bytes, owner(level, number))?
                } else {
                    Ref::default()
                };
                (node.changed, node.slots) = (false, Default::default());
                if level == ROOT {
                    self.root = at
                } else {
                    let parent = self.node(file, level + 1, number >> BITS)?;
                    parent.entries[number as usize % ENTRIES] = at;
                }
            }
        }
        let mut nodes = self.nodes.iter().flat_map(BTreeMap::values);
        debug_assert!(nodes.all(|node| !node.changed), "the page map is written whole");
        Ok(self.root)
    }

    /// Returns the pages with their slots, in the order of their numbers.
    pub(super) fn pages(&mut self, file: &dyn File) -> Result<Vec<(PageNumber, SlotNumber)>> {
        let mut pages = Vec::new();
        self.walk(file, &mut |level, number, at| {
            if level == 0 {
                pages.push((PageNumber::new(number), at.slot));
            }
        })?;
        Ok(pages)
    }

    /// Returns the numbers of the nodes of level 0 that have pages of tables, in their order.
    pub(super) fn table_nodes(&mut self, file: &dyn File) -> Result<Vec<u32>> {
        let mut numbers = Vec::new();
        for (number, _) in self.entries(file, ROOT, 0)? {
            numbers.extend(self.entries(file, ROOT - 1, number)?.into_iter().map(|(of, _)| of));
        }
        numbers.retain(|number| *number >= FIRST_TABLE_NODE);
        Ok(numbers)
    }

    /// Returns the pages that a node of level 0 has, with their locations, in their order. An
    /// unchanged node is forgotten then.
    pub(super) fn take_pages(
        &mut self,
        file: &dyn File,
        number: u32,
    ) -> Result<Vec<(PageNumber, Ref)>> {
        let entries = self.entries(file, 0, number)?;
        if self.nodes[0].get(&number).is_some_and(|node| !node.changed) {
            self.nodes[0].remove(&number);
        }
        Ok(entries.into_iter().map(|(page, at)| (PageNumber::new(page), at)).collect())
    }

    /// Returns the entries of a node that have a location, each with its number.
    fn entries(&mut self, file: &dyn File, level: usize, number: u32) -> Result<Vec<(u32, Ref)>> {
        let entries = &self.node(file, level, number)?.entries;
        let numbered = (number << BITS..).zip(entries.iter().copied());
        Ok(numbered.filter(|(_, at)| at.is_some()).collect())
    }

    /// Returns the nodes below the root, by level and number, of which a copy is in the slot
    /// `enough` or after it. (The root is written with every checkpoint.)
    pub(super) fn nodes_beyond(
        &mut self,
        file: &dyn File,
        enough: u64,
    ) -> Result<Vec<(usize, u32)>> {
        let mut nodes = Vec::new();
        self.walk(file, &mut |level, number, at| {
            let is_beyond = |slot: &SlotNumber| u64::from(slot.0) >= enough;
            if level > 0 && at.slots().iter().any(is_beyond) {
                nodes.push((level - 1, number));
            }
        })?;
        Ok(nodes)
    }

    /// Has a node written by the next checkpoint, even if it does not change.
    pub(super) fn rewrite(&mut self, file: &dyn File, level: usize, number: u32) -> Result<()> {
        debug_assert!(level < ROOT, "the root is written with every checkpoint");
        self.node(file, level, number)?.changed = true;
        Ok(())
    }

    /// Returns the first copy of a node or of a page of the catalogue that is damaged, if one is.
    pub(super) fn damaged_copy(&mut self, file: &dyn File) -> Result<Option<String>> {
        let root = self.root.is_some().then_some((LEVELS, 0, self.root));
        let mut metadata = Vec::from_iter(root);
        self.walk(file, &mut |level, number, at| {
            if is_twice(level, number) {
                metadata.push((level, number, at));
            }
        })?;
        let mut bytes = vec![0; SLOT_BYTES];
        for (level, number, at) in metadata {
            let (owner, what) = match level.checked_sub(1) {
                None => (number.into(), format!("page {number} of the catalogue")),
                Some(level) => (owner(level, number), name(level, number)),
            };
            if read_twice(file, at, owner, &mut bytes, || what.clone())? {
                return Ok(Some(format!("{what} at slot {}", at.slot)));
            }
            let copy = Ref { slot: at.slots()[1], ..at };
            if read_slot(file, copy, owner, &mut bytes, || what.clone()).is_err() {
                return Ok(Some(format!("{what} at slot {}", copy.slot)));
            }
        }
        Ok(None)
    }

    /// Returns the slots of all pages and nodes.
    pub(super) fn all_slots(&mut self, file: &dyn File) -> Result<Vec<SlotNumber>> {
        let root = self.root.is_some().then_some((LEVELS, 0, self.root));
        let mut found = Vec::from_iter(root);
        self.walk(file, &mut |level, number, at| found.push((level, number, at)))?;
        // A checkpoint that failed has taken slots for nodes, and given up those that they had.
        let taken = |level: usize, number: u32| {
            let node = level.checked_sub(1).and_then(|level| self.nodes[level].get(&number));
            node.is_some_and(|node| node.slots[0].is_some())
        };
        found.retain(|(level, number, _)| !taken(*level, *number));
        let taken = self.nodes.iter().flat_map(|nodes| nodes.values().flat_map(|node| node.slots));
        let found = found.into_iter().flat_map(|(level, number, at)| {
            let copies = if is_twice(level, number) { 2 } else { 1 };
            at.slots().into_iter().take(copies)
        });
        Ok(found.chain(taken.filter(|slot| slot.is_some())).collect())
    }

    /// Calls `visit` with the level of every node and those of its entries that have a location.
    fn walk(&mut self, file: &dyn File, visit: &mut dyn FnMut(usize, u32, Ref)) -> Result<()> {
        let mut numbers = vec![0];
        for level in (0..LEVELS).rev() {
            let mut below = Vec::new();
            for number in numbers {
                let node = self.node(file, level, number)?;
                let first = number << BITS;
                let entries = node.entries.iter().zip(first..);
                let somewhere: Vec<_> = entries
                    .filter(|(at, _)| at.is_some())
                    .map(|(at, number)| (*at, number))
                    .collect();
                somewhere.iter().for_each(|(at, number)| visit(level, *number, *at));
                if level == 0 {
                    continue;
                }
                below.extend(somewhere.iter().map(|(_, number)| *number));
                // A node that was never written has no location yet, but its pages may have one.
                let new = self.nodes[level - 1].range(first..first + ENTRIES as u32);
                below.extend(new.map(|(number, _)| *number));
                below.sort_unstable();
                below.dedup();
            }
            numbers = below;
        }
        Ok(())
    }
}
