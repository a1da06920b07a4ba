//! The check that every record that the index leads to is there, once, and no others are.

use std::collections::{BTreeMap, BTreeSet};

use super::index_key::{Entry, MOST_PROBES};
use super::long::{self, Cut};
use super::page::{self, HeapPage};
use super::{Address, Heap};
use crate::error::Error;
use crate::pager::{PageNumber, Pager, ReadEpoch};

/// The records that an index leads to.
#[derive(Default)]
pub(crate) struct Census {
    records: BTreeMap<PageNumber, BTreeSet<u16>>,
    pieces: BTreeSet<PageNumber>,
}

/// An entry of the index, and its key there.
#[derive(Clone, Copy)]
pub(crate) struct IndexEntry<'k> {
    pub key: &'k [u8],
    pub entry: Entry,
}

fn said(error: Error) -> String {
    error.to_string()
}

impl Heap {
    /// Counts a record that the index has at a moment, and reads the heap's part of it into
    /// `whole`; returns true if it exists. `front_of` returns the bytes of the key before a
    /// payload.
    pub(crate) fn count(
        &self,
        pager: &Pager,
        moment: ReadEpoch,
        counted: IndexEntry<'_>,
        front_of: impl Fn(&[u8]) -> Option<usize>,
        whole: &mut Vec<u8>,
        census: &mut Census,
    ) -> Result<bool, String> {
        let Some(address) = counted.entry.address else { return Ok(false) };
        let Address { page, slot } = address;
        if !census.records.entry(page).or_default().insert(slot) {
            return Err(format!("page {page}: two keys lead to record {slot}"));
        }
        self.read_at(pager, moment, address, whole).map_err(said)?;
        if self.has_keys() {
            let key = &whole[..front_of(whole).unwrap_or(0)];
            if !(0..MOST_PROBES)
                .any(|probe| self.index_keys.index_key(key, probe).bytes() == counted.key)
            {
                return Err(format!("page {page}: the key of record {slot} leads elsewhere"));
            }
        }
        if Cut::of(whole.len()).is_none() {
            return Ok(true);
        }
        let (head, cut) = self.head_at(pager, moment, address).map_err(said)?;
        for piece in long::pages_of(&head, cut) {
            if !census.pieces.insert(piece) {
                return Err(format!("page {piece}: it is a piece of two records"));
            }
        }
        Ok(true)
    }

    /// Returns all pages that the heap has now, in use or not.
    pub(crate) fn pages(&self) -> Vec<PageNumber> {
        self.space.numbers()
    }

    /// Calls `wrong` with the faults of each of these pages, which the heap had at a moment. It may
    /// have others since, which were another table's then. Records are checked for keys only with a
    /// census in which all are counted.
    pub(crate) fn check(
        &self,
        pager: &Pager,
        moment: ReadEpoch,
        pages: &[PageNumber],
        census: Option<&Census>,
        wrong: &mut dyn FnMut(String),
    ) {
        for &number in pages {
            // Pages that are not in use at this moment cannot be looked at.
            let looked = pager.at(moment, number, |words| {
                let page = HeapPage::new(words);
                let is_there = |slot: &u16| page.slot((*slot).into()).is_some();
                let records: BTreeSet<u16> = (0..page.slots() as u16).filter(is_there).collect();
                (words.get(0) == page::PIECE, records, page.check())
            });
            if let Ok((false, _, Err(why))) = &looked {
                wrong(format!("page {number}: {why}"));
                continue;
            }
            let Some(census) = census else { continue };
            let expected = census.records.get(&number);
            let is_piece = census.pieces.contains(&number);
            match looked {
                Ok((true, ..)) if is_piece => {}
                Ok((true, ..)) => wrong(format!("page {number}: a piece of no record")),
                Ok((false, records, _)) if !is_piece => {
                    if records != *expected.unwrap_or(&BTreeSet::new()) {
                        wrong(format!("page {number}: it has a record without a key"));
                    }
                }
                Ok(_) => wrong(format!("page {number}: it should be a piece of a record")),
                Err(error) if is_piece || expected.is_some() => wrong(said(error)),
                Err(_) => {}
            }
        }
    }
}
