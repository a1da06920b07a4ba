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

/// For as many states, this many ways are drawn at most: several lead to one state.
const DRAWS: u64 = 8;

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
        let pages = Pending::new(changes, PAGE_BYTES);
        let torn = Pending::new(changes, TORN_BYTES);
        let mut states = Self { found: Vec::new(), ways: pages.ways() };
        let mut seen = HashSet::new();
        let mut add = |pending: &Pending<'_>, way: Way| {
            if states.found.len() < most {
                let volume = after(&pending.survivors(way));
                let digest = volume.digest();
                if seen.insert(digest) {
                    states.found.push((digest, volume));
                }
            }
            states.found.len() < most
        };
        if pages.ways() <= most as u64 {
            let _ = (0..pages.ways()).all(|number| add(&pages, pages.way(number)));
        } else {
            pages.named(&mut |way| add(&pages, way));
            let draws = DRAWS * most as u64;
            let _ = (0..draws).all(|nth| add(&pages, pages.drawn(mix(seed, nth))));
        }
        torn.named(&mut |way| add(&torn, way));
        states
    }
}

impl<'c> Pending<'c> {
    fn new(changes: &'c [Change], sector_bytes: u64) -> Self {
        let mut sectors: Vec<_> = Sectors::all(sector_bytes, changes).left.into_iter().collect();
        sectors.sort_unstable();
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

    /// Calls `add` until it returns false with the ways that programs are most often wrong about:
    /// those of a device that writes in order; each prefix of the journal with all data and with
    /// none; and of each sector all or nothing, unlike of all others.
    fn named(&self, add: &mut dyn FnMut(Way) -> bool) {
        let every = |kept: bool| -> HashMap<Sector, u64> {
            self.sectors.iter().map(|(s, writes)| (*s, if kept { *writes } else { 0 })).collect()
        };
        let in_order = (0..=self.changes.len()).map(|count| {
            let first = &self.changes[..count];
            let journal = first.iter().filter(|change| change.is_journaled()).count() as u64;
            Way { journal, left: Sectors::all(self.sector_bytes, first).left }
        });
        let journals = (0..=self.journal)
            .flat_map(|journal| [true, false].map(|kept| Way { journal, left: every(kept) }));
        let alone = self.sectors.iter().flat_map(|(sector, writes)| {
            let lost = (0..*writes).map(|left| (true, left));
            let kept = (1..=*writes).map(|left| (false, left));
            lost.chain(kept).flat_map(|(others, left)| {
                [self.journal, 0].map(|journal| {
                    let mut of = every(others);
                    of.insert(*sector, left);
                    Way { journal, left: of }
                })
            })
        });
        let _ = in_order.chain(journals).chain(alone).all(add);
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

    #[test]
    fn of_too_many_the_named_ones_come_first() {
        let (mut disk, inos) = disk_with(&["a"]);
        (0..40).for_each(|page| write(&mut disk, inos[0], page * 4096, 1 + page as u8));
        let States { found, ways } = disk.states(200, 1);
        assert_eq!((found.len(), ways), (200, 1 << 40));
        let pages = |volume: &Volume| -> Vec<bool> {
            let bytes = volume.files()["/a"].clone();
            (0..40).map(|page| bytes.get(page * 4096).is_some_and(|byte| *byte != 0)).collect()
        };
        let seen: HashSet<_> = found.iter().map(|(_, volume)| pages(volume)).collect();
        for page in 0..40 {
            let all_but = (0..40).map(|other| other != page).collect::<Vec<_>>();
            let only = (0..40).map(|other| other == page).collect::<Vec<_>>();
            let first = (0..40).map(|other| other < page).collect::<Vec<_>>();
            assert!([all_but, only, first].iter().all(|way| seen.contains(way)), "{page}");
        }
        let again = disk.states(200, 1).found;
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
