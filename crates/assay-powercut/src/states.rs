//! The states in which a power cut can leave a disk, in order instead of by chance (the idea is
//! that of ALICE: Pillai et al., OSDI 2014). Of the journal a prefix survives, and of the writes to
//! each sector a prefix.

use std::collections::{HashMap, HashSet};

use assay_core::random::{draw, mix};

use crate::loss::{Sector, Sectors, Spared};
use crate::volume::{Change, Volume};

/// The sizes of sectors: whole pages, of which all ways to survive are tried if they are not too
/// many, and the sectors that tear them.
const PAGE_BYTES: u64 = 4096;
const TORN_BYTES: u64 = 512;

/// For as many states, this many ways are tried at most: several lead to one state.
const TRIES: usize = 8;

/// Different states.
pub(crate) struct States {
    /// Each state, with its digest.
    pub(crate) found: Vec<(u64, Volume)>,
    /// The ways in which whole pages can survive.
    pub(crate) ways: u64,
}

/// A way in which changes survive.
struct Way {
    journal: u64,
    left: HashMap<Sector, u64>,
}

/// The changes that can survive independently.
struct Pending<'c> {
    changes: &'c [Change],
    sector_bytes: u64,
    /// The number of changes in the journal.
    journal: u64,
    /// The sectors, with the number of writes to each.
    sectors: Vec<(Sector, u64)>,
}

impl States {
    /// Finds up to `most` states; `after` makes the one in which changes survived.
    pub(crate) fn of(
        changes: &[Change],
        most: usize,
        seed: u64,
        after: &dyn Fn(&[Change]) -> Volume,
    ) -> Self {
        let pages = Pending::new(changes, PAGE_BYTES, seed);
        let torn = Pending::new(changes, TORN_BYTES, seed);
        let mut states = Self { found: Vec::new(), ways: pages.ways() };
        let mut seen = HashSet::new();
        let mut tries = TRIES * most;
        let mut add = |pending: &Pending<'_>, way: Way| {
            let volume = after(&pending.survivors(way));
            let digest = volume.digest();
            if seen.insert(digest) {
                states.found.push((digest, volume));
            }
            tries -= 1;
            tries > 0 && states.found.len() < most
        };
        let has_room = if pages.ways() <= most as u64 {
            (0..pages.ways()).all(|number| add(&pages, pages.way(number)))
        } else {
            true
        };
        if !has_room {
            return states;
        }
        // What programs are most often wrong about, each kind in turn; then chance.
        let mut kinds: [Box<dyn Iterator<Item = (&Pending<'_>, Way)>>; 3] = [
            Box::new(pages.in_order().map(|way| (&pages, way))),
            Box::new(pages.alone().map(|way| (&pages, way))),
            Box::new(torn.alone().map(|way| (&torn, way))),
        ];
        for nth in 0.. {
            let drawn = (&pages, pages.drawn(mix(seed, nth)));
            let next = kinds.each_mut().map(Iterator::next).into_iter().flatten();
            if !next.chain([drawn]).all(|(pending, way)| add(pending, way)) {
                break;
            }
        }
        states
    }
}

impl<'c> Pending<'c> {
    fn new(changes: &'c [Change], sector_bytes: u64, seed: u64) -> Self {
        let mut sectors: Vec<_> = Sectors::all(sector_bytes, changes).left.into_iter().collect();
        // Any order is as good, and those of one file are not all that there is time for.
        sectors.sort_unstable_by_key(|((ino, at), _)| (mix(mix(seed, *ino), *at), *ino, *at));
        let journal = changes.iter().filter(|change| change.is_journaled()).count() as u64;
        Self { changes, sector_bytes, journal, sectors }
    }

    fn survivors(&self, way: Way) -> Vec<Change> {
        let sectors = Sectors { sector_bytes: self.sector_bytes, left: way.left };
        Spared { journal: way.journal, sectors }.survivors(self.changes)
    }

    /// Returns the number of ways; the greatest number if there are more.
    fn ways(&self) -> u64 {
        let writes = self.sectors.iter().map(|(_, writes)| *writes);
        writes.fold(self.journal + 1, |ways, writes| ways.saturating_mul(writes + 1))
    }

    /// Returns a way by its number: a digit for the journal, then one for each sector.
    fn way(&self, mut number: u64) -> Way {
        let mut digit = |base: u64| {
            let digit = number % base;
            number /= base;
            digit
        };
        let journal = digit(self.journal + 1);
        let left = self.sectors.iter().map(|(sector, writes)| (*sector, digit(writes + 1)));
        Way { journal, left: left.collect() }
    }

    /// Returns a way that a seed draws.
    fn drawn(&self, seed: u64) -> Way {
        let left = (1..).zip(&self.sectors);
        let left = left.map(|(at, (sector, writes))| (*sector, draw(seed, at, writes + 1)));
        Way { journal: draw(seed, 0, self.journal + 1), left: left.collect() }
    }

    /// Returns the ways of a device that writes in order, the newest first, and each prefix of the
    /// journal with all data and with none.
    fn in_order(&self) -> impl Iterator<Item = Way> {
        let in_order = (0..=self.changes.len()).rev().map(|count| {
            let first = &self.changes[..count];
            let journal = first.iter().filter(|change| change.is_journaled()).count() as u64;
            Way { journal, left: Sectors::all(self.sector_bytes, first).left }
        });
        let journals = (0..=self.journal)
            .rev()
            .flat_map(|journal| [true, false].map(|kept| Way { journal, left: self.every(kept) }));
        in_order.chain(journals)
    }

    /// Returns the ways in which a sector is unlike all others: they are there and it is not, or
    /// not in its newest form; or it alone is there.
    fn alone(&self) -> impl Iterator<Item = Way> {
        self.sectors.iter().flat_map(|(sector, writes)| {
            let lost = (0..*writes).rev().map(|left| (true, left));
            let kept = (1..=*writes).rev().map(|left| (false, left));
            lost.chain(kept).flat_map(|(others, left)| {
                [self.journal, 0].map(|journal| {
                    let mut of = self.every(others);
                    of.insert(*sector, left);
                    Way { journal, left: of }
                })
            })
        })
    }

    /// Returns all writes to each sector, or none.
    fn every(&self, kept: bool) -> HashMap<Sector, u64> {
        self.sectors.iter().map(|(s, writes)| (*s, if kept { *writes } else { 0 })).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::volume::{Ino, Kind, ROOT};
    use crate::{Directories, Disk};

    fn disk_with(files: &[&str]) -> (Disk, Vec<Ino>) {
        let mut disk = Disk::new(Directories::Journal);
        let attributes = crate::volume::Attributes { mode: 0o644, uid: 0, gid: 0 };
        let inos = files.iter().map(|name| {
            let file = Kind::File(crate::image::Image::default());
            disk.create(ROOT, name.as_ref(), file, attributes).expect("a file")
        });
        let inos: Vec<_> = inos.collect();
        inos.iter().for_each(|ino| disk.synchronise(*ino));
        (disk, inos)
    }

    fn write(disk: &mut Disk, ino: Ino, offset: u64, byte: u8) {
        let bytes = vec![byte; 4096].into();
        disk.change(Change::Write { ino, offset, bytes }).expect("a write");
    }

    #[test]
    fn a_disk_at_rest_has_one_state() {
        let (disk, _) = disk_with(&["a"]);
        let States { found, ways } = disk.states(100, 1);
        assert_eq!((found.len(), ways), (1, 1));
    }

    #[test]
    fn each_page_is_there_or_not_and_pages_tear() {
        let (mut disk, inos) = disk_with(&["a", "b"]);
        write(&mut disk, inos[0], 0, 1);
        write(&mut disk, inos[1], 0, 2);
        write(&mut disk, inos[0], 0, 3);
        let States { found, ways } = disk.states(6, 1);
        assert_eq!((found.len(), ways), (6, 6), "0, 1 or 2 writes to a, 0 or 1 to b");
        let whole = |volume: &Volume, name: &str| {
            let bytes = &volume.files()[&format!("/{name}")];
            bytes.windows(2).all(|two| two[0] == two[1])
        };
        assert!(found.iter().all(|(_, volume)| whole(volume, "a") && whole(volume, "b")));
        let seen: HashSet<_> = found
            .iter()
            .map(|(_, volume)| {
                let files = volume.files();
                (files["/a"].first().copied(), files["/b"].first().copied())
            })
            .collect();
        assert_eq!(seen.len(), 6);
        let States { found, .. } = disk.states(1_000, 1);
        assert!(found.iter().any(|(_, volume)| !whole(volume, "a")), "a page can be torn");
        assert!(found.len() > 30, "{}", found.len());
    }

    /// A kind of pages, each there or not, and torn or not.
    type Is<'i> = dyn Fn(&[(bool, bool)]) -> bool + 'i;

    #[test]
    fn of_too_many_some_of_each_kind_are_tried() {
        let (mut disk, inos) = disk_with(&["a"]);
        (0..40).for_each(|page| write(&mut disk, inos[0], page * 4096, 1 + page as u8));
        let States { found, ways } = disk.states(64, 1);
        assert_eq!((found.len(), ways), (64, 1 << 40));
        // Of each page if it is there, torn or not.
        let pages = |volume: &Volume| -> Vec<(bool, bool)> {
            let bytes = volume.files()["/a"].clone();
            let page = |page: usize| {
                let end = bytes.len().min((page + 1) * 4096);
                let bytes = bytes.get(page * 4096..end).unwrap_or_default();
                let kept = bytes.iter().filter(|byte| **byte != 0).count();
                (kept > 0, kept > 0 && kept < 4096)
            };
            (0..40).map(page).collect()
        };
        let seen: Vec<_> = found.iter().map(|(_, volume)| pages(volume)).collect();
        let of = |is: &Is<'_>| seen.iter().filter(|way| is(way)).count();
        let there = |way: &[(bool, bool)]| way.iter().filter(|page| page.0).count();
        let is_torn = |way: &[(bool, bool)]| way.iter().any(|page| page.1);
        let in_order =
            |way: &[(bool, bool)]| !is_torn(way) && way.iter().take(there(way)).all(|page| page.0);
        let kinds = [
            of(&is_torn),
            of(&in_order),
            of(&|way| !is_torn(way) && !in_order(way) && [1, 39].contains(&there(way))),
            of(&|way| !is_torn(way) && !in_order(way) && (2..39).contains(&there(way))),
        ];
        assert!(kinds.iter().all(|count| *count >= 10), "{kinds:?}");
        let lone = |page: usize| {
            seen.iter()
                .any(|way| there(way) == 1 && way[page].0 || there(way) == 39 && !way[page].0)
        };
        assert!((20..40).any(lone) && (0..20).any(lone), "pages anywhere are alone");
        let again = disk.states(64, 1).found;
        let digests = |found: &[(u64, Volume)]| -> Vec<u64> {
            found.iter().map(|(digest, _)| *digest).collect()
        };
        assert_eq!(digests(&found), digests(&again), "equal seeds find equal states");
    }

    #[test]
    fn a_name_is_there_only_with_those_before_it() {
        let (mut disk, _) = disk_with(&[]);
        let attributes = crate::volume::Attributes { mode: 0o644, uid: 0, gid: 0 };
        for name in ["a", "b"] {
            let file = Kind::File(crate::image::Image::default());
            disk.create(ROOT, name.as_ref(), file, attributes).expect("a file");
        }
        let States { found, ways } = disk.states(100, 1);
        let names: HashSet<_> = found
            .iter()
            .map(|(_, volume)| volume.files().into_keys().collect::<Vec<_>>())
            .collect();
        let expected = [vec![], vec!["/a"], vec!["/a", "/b"]];
        let expected: HashSet<Vec<String>> =
            expected.into_iter().map(|names| names.into_iter().map(Into::into).collect()).collect();
        assert_eq!((names, ways), (expected, 3));
    }
}
