//! The page map: where each page is. A tree of three levels of *sheets*, pages of 1,024 entries,
//! that is changed by writing what changed elsewhere (a radix tree, copy-on-write). A sheet is read
//! when it is first needed, and kept.

use std::collections::BTreeMap;

use super::places::Places;
use super::{PLACE_BYTES, Ref, read_place, write_place};
use crate::error::{Error, Result};
use crate::io::File;

/// Levels: sheets of level 0 know pages, the one of the highest level is the root.
const LEVELS: usize = 3;
const ROOT: usize = LEVELS - 1;

/// Bits of a page's number that one level decides by.
const BITS: u32 = 10;

const ENTRIES: usize = 1 << BITS;
const ENTRY_BYTES: usize = PLACE_BYTES / ENTRIES;

struct Sheet {
    entries: Box<[Ref]>,
    /// Whether it has changed since it was written; and the place that was taken for writing it, or
    /// 0.
    changed: bool,
    place: u32,
}

impl Sheet {
    fn new() -> Self {
        Self { entries: vec![Ref::default(); ENTRIES].into(), changed: false, place: 0 }
    }

    fn from_bytes(bytes: &[u8]) -> Self {
        let entries = bytes.as_chunks::<ENTRY_BYTES>().0.iter().map(|entry| {
            let (place, checksum) = entry.split_at(8);
            let number = |bytes: &[u8]| u64::from_le_bytes(*bytes.first_chunk().expect("8 bytes"));
            Ref { place: number(place) as u32, note: place[7], checksum: number(checksum) }
        });
        Self { entries: entries.collect(), changed: false, place: 0 }
    }

    fn to_bytes(&self) -> Vec<u8> {
        let place = |at: &Ref| u64::from(at.place) | u64::from(at.note) << 56;
        let entry = |at: &Ref| [place(at).to_le_bytes(), at.checksum.to_le_bytes()];
        self.entries.iter().flat_map(entry).flatten().collect()
    }
}

/// What a sheet's checksum is made with.
fn owner(level: usize, number: u32) -> u64 {
    (level as u64 + 1) << 32 | u64::from(number)
}

/// The sheets that have been read or made.
#[derive(Default)]
pub(super) struct PageMap {
    sheets: [BTreeMap<u32, Sheet>; LEVELS],
    root: Ref,
}

impl PageMap {
    /// The one with a root.
    pub fn open(root: Ref) -> Self {
        Self { root, ..Self::default() }
    }

    /// Where a sheet is on the disk.
    fn sheet_ref(&mut self, file: &dyn File, level: usize, number: u32) -> Result<Ref> {
        if level == ROOT {
            return Ok(self.root);
        }
        let parent = self.sheet(file, level + 1, number >> BITS)?;
        Ok(parent.entries[number as usize % ENTRIES])
    }

    fn sheet(&mut self, file: &dyn File, level: usize, number: u32) -> Result<&mut Sheet> {
        if !self.sheets[level].contains_key(&number) {
            let at = self.sheet_ref(file, level, number)?;
            let mut sheet = Sheet::new();
            if at.is_some() {
                let mut bytes = vec![0; PLACE_BYTES];
                let what = || format!("sheet {number} of level {level} of the page map");
                read_place(file, at, owner(level, number), &mut bytes, what)?;
                sheet = Sheet::from_bytes(&bytes);
            }
            self.sheets[level].insert(number, sheet);
        }
        Ok(self.sheets[level].get_mut(&number).expect("it was just put there"))
    }

    /// Where a page is.
    pub fn get(&mut self, file: &dyn File, page: u32) -> Result<Ref> {
        if page >> (BITS * LEVELS as u32) != 0 {
            return Ok(Ref::default());
        }
        Ok(self.sheet(file, 0, page >> BITS)?.entries[page as usize % ENTRIES])
    }

    /// Says where a page is from now on; answers where it was.
    pub fn set(&mut self, file: &dyn File, page: u32, at: Ref) -> Result<Ref> {
        if page >> (BITS * LEVELS as u32) != 0 {
            return Err(Error::TableFull);
        }
        let sheet = self.sheet(file, 0, page >> BITS)?;
        sheet.changed = true;
        Ok(std::mem::replace(&mut sheet.entries[page as usize % ENTRIES], at))
    }

    /// The most sheets that change when so many more pages do.
    pub fn most_changed(&self, pages: u64) -> u64 {
        let highest = self.sheets[0].keys().next_back().map_or(0, |number| u64::from(*number));
        let leaves = pages.min(highest + 2 + pages / ENTRIES as u64);
        let changed = self.sheets[0].values().filter(|sheet| sheet.changed).count() as u64;
        let leaves = leaves + changed;
        let above = self.sheets[1].values().filter(|sheet| sheet.changed).count() as u64;
        leaves + leaves.min(leaves / ENTRIES as u64 + 2) + above + 1
    }

    /// Takes new places for all sheets that will be written, and gives their old ones up.
    pub fn take_places(&mut self, file: &dyn File, places: &mut Places) -> Result<()> {
        for level in 0..LEVELS {
            let changed = self.sheets[level].iter().filter(|(_, sheet)| sheet.changed);
            let changed: Vec<u32> = changed.map(|(number, _)| *number).collect();
            for number in changed {
                // It has one already if the checkpoint before this one failed.
                if self.sheet(file, level, number)?.place == 0 {
                    // A node of level 0 without pages is nowhere.
                    let sheet = self.sheet(file, level, number)?;
                    let is_empty = level == 0 && !sheet.entries.iter().any(|at| at.place != 0);
                    let before = self.sheet_ref(file, level, number)?;
                    let place = if is_empty { 0 } else { places.take()? };
                    places.release(before);
                    self.sheet(file, level, number)?.place = place;
                    if is_empty {
                        let parent = self.sheet(file, level + 1, number >> BITS)?;
                        parent.entries[number as usize % ENTRIES] = Ref::default();
                    }
                }
                if level < ROOT {
                    self.sheet(file, level + 1, number >> BITS)?.changed = true;
                }
            }
        }
        Ok(())
    }

    /// Writes the sheets that have changed to the places that they took; answers where the root is.
    pub fn write(&mut self, file: &dyn File) -> Result<Ref> {
        for level in 0..LEVELS {
            let changed = self.sheets[level].iter().filter(|(_, sheet)| sheet.changed);
            let changed: Vec<u32> = changed.map(|(number, _)| *number).collect();
            for number in changed {
                let sheet = self.sheet(file, level, number)?;
                let (bytes, place) = (sheet.to_bytes(), sheet.place);
                let at = match place {
                    0 => Ref::default(),
                    _ => {
                        write_place(file, place, &bytes)?;
                        let checksum = super::checksum(&bytes, owner(level, number));
                        Ref { place, note: 0, checksum }
                    }
                };
                (sheet.changed, sheet.place) = (false, 0);
                match level == ROOT {
                    true => self.root = at,
                    false => {
                        let parent = self.sheet(file, level + 1, number >> BITS)?;
                        parent.entries[number as usize % ENTRIES] = at;
                    }
                }
            }
        }
        Ok(self.root)
    }

    /// Pages with their places, in the order of their numbers.
    pub fn pages(&mut self, file: &dyn File) -> Result<Vec<(u32, u32)>> {
        let mut pages = Vec::new();
        self.walk(file, &mut |level, number, at| {
            if level == 0 {
                pages.push((number, at.place));
            }
        })?;
        Ok(pages)
    }

    /// The nodes below the root, by level and number, that lie in the slot `enough` or after it.
    /// (The root is written with every checkpoint.)
    pub fn nodes_beyond(&mut self, file: &dyn File, enough: u64) -> Result<Vec<(usize, u32)>> {
        let mut nodes = Vec::new();
        self.walk(file, &mut |level, number, at| {
            if level > 0 && u64::from(at.place) >= enough {
                nodes.push((level - 1, number));
            }
        })?;
        Ok(nodes)
    }

    /// Has a node written by the next checkpoint, even if it does not change.
    pub fn rewrite(&mut self, file: &dyn File, level: usize, number: u32) -> Result<()> {
        self.sheet(file, level, number)?.changed = true;
        Ok(())
    }

    /// The places of all pages and sheets.
    pub fn all_places(&mut self, file: &dyn File) -> Result<Vec<u32>> {
        let root = self.root.is_some().then_some((LEVELS, 0, self.root.place));
        let mut found = Vec::from_iter(root);
        self.walk(file, &mut |level, number, at| found.push((level, number, at.place)))?;
        // A checkpoint that failed has taken places for sheets, and given up those that they had.
        let taken = |level: usize, number: u32| {
            let sheet = level.checked_sub(1).and_then(|level| self.sheets[level].get(&number));
            sheet.is_some_and(|sheet| sheet.place != 0)
        };
        found.retain(|(level, number, _)| !taken(*level, *number));
        let taken = self.sheets.iter().flat_map(|sheets| sheets.values().map(|sheet| sheet.place));
        let found = found.into_iter().map(|(.., place)| place);
        Ok(found.chain(taken.filter(|place| *place != 0)).collect())
    }

    /// Calls `visit` with the level of every sheet and the entries of it that are somewhere.
    fn walk(&mut self, file: &dyn File, visit: &mut dyn FnMut(usize, u32, Ref)) -> Result<()> {
        let mut numbers = vec![0];
        for level in (0..LEVELS).rev() {
            let mut below = Vec::new();
            for number in numbers {
                let sheet = self.sheet(file, level, number)?;
                let first = number << BITS;
                let entries = sheet.entries.iter().zip(first..);
                let somewhere: Vec<_> = entries
                    .filter(|(at, _)| at.is_some())
                    .map(|(at, number)| (*at, number))
                    .collect();
                somewhere.iter().for_each(|(at, number)| visit(level, *number, *at));
                if level == 0 {
                    continue;
                }
                below.extend(somewhere.iter().map(|(_, number)| *number));
                // A sheet that was never written is nowhere yet, but pages that it knows may be.
                let new = self.sheets[level - 1].range(first..first + ENTRIES as u32);
                below.extend(new.map(|(number, _)| *number));
                below.sort_unstable();
                below.dedup();
            }
            numbers = below;
        }
        Ok(())
    }
}
