//! The heap of a table: long records, and those of any length, one after another in the order in
//! which they come. The index has their *addresses*; so records that come in no order change few pages.
//!
//! A record moves within its page as it likes; it moves to another, and the index is told so, only
//! when it has become too long. Room that removed records leave is used by those that come later.
//! Every page here is a [page of records](page) or a [piece](long) of a record longer than a page.
//!
//! An operation looks at all pages first, which may have to come from the disk, then latches the page
//! of the index and those of the heap, none of which it waits for, and begins again if one of them
//! has changed meanwhile.

mod buffer;
mod check;
mod long;
mod page;
mod plan;
mod rooms;
mod target;
mod write;

pub use buffer::Buffer;
pub use check::Census;
use long::Cut;
pub use long::pages_for;
use page::{Page, Slot};
use rooms::Rooms;
pub use write::{Left, Swapped};

use crate::error::{Error, Result};
use crate::index::Index;
use crate::pager::{Moment, PageNumber, Pager, Seen, Space};

/// Where a record is: its page, and the number of its slot there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    page: PageNumber,
    slot: u16,
}

impl Address {
    /// Bytes of an address in an index.
    pub const BYTES: usize = 8;

    pub fn of(bytes: [u8; Self::BYTES]) -> Self {
        let word = u64::from_le_bytes(bytes);
        Self { page: word as PageNumber, slot: (word >> 32) as u16 }
    }

    fn bytes(self) -> [u8; Self::BYTES] {
        (u64::from(self.page) | u64::from(self.slot) << 32).to_le_bytes()
    }

    /// What is wrong if it leads nowhere.
    fn wrong(self) -> Error {
        let Self { page, slot } = self;
        Error::corrupt(
            format!("page {page}"),
            format!("there is no record {slot}, to which a key leads"),
        )
    }
}

/// How often a record is looked up again that has changed meanwhile. If it has so many pieces that some
/// leave memory while others come, it always has; then it is read as it is at one moment.
const PATIENCE: usize = 4;

/// The long records of a table.
pub struct Heap {
    space: Space,
    rooms: Rooms,
}

/// A record where it was found.
struct Home<'p> {
    address: Address,
    seen: Seen<'p>,
    page: Page<'p>,
}

impl Heap {
    /// One that has these pages, if any.
    pub fn new(space: Space) -> Self {
        Self { space, rooms: Rooms::default() }
    }

    /// Its pages.
    pub fn space(&self) -> &Space {
        &self.space
    }

    /// Where a record is, if there is one.
    fn find<'p>(
        &self,
        index: &impl Index,
        pager: &'p Pager,
        key: &[u8],
    ) -> Result<Option<Home<'p>>> {
        let found = index.lead(pager, key, |bytes| {
            let address = Address::of(bytes);
            pager.look(address.page).map(|(seen, words)| Home {
                address,
                seen,
                page: Page::new(words),
            })
        })?;
        found.transpose()
    }

    /// Copies the record's payload; false if there is none.
    #[inline]
    pub fn get(
        &self,
        index: &impl Index,
        pager: &Pager,
        key: &[u8],
        payload: &mut (impl Buffer + ?Sized),
    ) -> Result<bool> {
        for _ in 0..PATIENCE {
            let Some(home) = self.find(index, pager, key)? else { return Ok(false) };
            if self.read(pager, &home, payload)? {
                return Ok(true);
            }
        }
        let moment = pager.moment();
        let found = self.get_at(index, pager, moment, key, payload);
        pager.release(moment);
        Ok(found?.is_some())
    }

    /// Copies the payload of a record, and answers where it is; what was read is right as long as the
    /// page there is as it was seen. `None` if there is none.
    fn settled<'p>(
        &self,
        index: &impl Index,
        pager: &'p Pager,
        key: &[u8],
        payload: &mut Vec<u8>,
    ) -> Result<Option<Home<'p>>> {
        for _ in 0..PATIENCE {
            let Some(home) = self.find(index, pager, key)? else { return Ok(None) };
            if self.read(pager, &home, payload)? {
                return Ok(Some(home));
            }
        }
        loop {
            let moment = pager.moment();
            let found = self.get_at(index, pager, moment, key, payload);
            let home = self.find(index, pager, key);
            let is_same = |home: &Home<'_>, address: Option<Address>| {
                address == Some(home.address) && !pager.has_changed_since(moment, home.address.page)
            };
            let settled = match (found, home) {
                (Err(error), _) | (_, Err(error)) => Some(Err(error)),
                (Ok(_), Ok(None)) => Some(Ok(None)),
                (Ok(address), Ok(Some(home))) => is_same(&home, address).then_some(Ok(Some(home))),
            };
            pager.release(moment);
            if let Some(settled) = settled {
                return settled;
            }
        }
    }

    /// Copies the payload that a record had at a moment; answers where it was, if there was one.
    fn get_at(
        &self,
        index: &impl Index,
        pager: &Pager,
        moment: Moment,
        key: &[u8],
        payload: &mut (impl Buffer + ?Sized),
    ) -> Result<Option<Address>> {
        let mut address = [0; Address::BYTES];
        if !index.get_at(pager, moment, key, &mut address)? {
            return Ok(None);
        }
        let address = Address::of(address);
        self.read_at(pager, moment, address, payload)?;
        Ok(Some(address))
    }

    /// Has the processor fetch what a lookup of this key will look at; what the index has of it
    /// should have come already.
    pub fn fetch(&self, index: &impl Index, pager: &Pager, key: &[u8]) {
        // What goes wrong, the lookup itself says.
        if let Ok(Some(home)) = self.find(index, pager, key) {
            home.page.fetch(home.address.slot.into());
        }
    }

    /// Reads a record where it was found; false if it has changed since.
    fn read(
        &self,
        pager: &Pager,
        home: &Home<'_>,
        payload: &mut (impl Buffer + ?Sized),
    ) -> Result<bool> {
        let Home { address, seen, page } = home;
        let Some(slot) = page.slot(address.slot.into()) else {
            return if seen.still() { Err(address.wrong()) } else { Ok(false) };
        };
        if slot.is_long {
            return self.read_long(pager, home, slot, payload);
        }
        let fits = payload.of_size(slot.size).map(|bytes| page.read(slot, 0, bytes)).is_some();
        match seen.still() {
            true if !fits => Err(address.wrong()),
            still => Ok(still),
        }
    }

    #[cold]
    fn read_long(
        &self,
        pager: &Pager,
        home: &Home<'_>,
        slot: Slot,
        payload: &mut (impl Buffer + ?Sized),
    ) -> Result<bool> {
        let Some((head, cut)) = head_of(home, slot)? else { return Ok(false) };
        let Some(bytes) = payload.of_size(cut.size) else { return Err(home.address.wrong()) };
        bytes[cut.size - cut.rest..].copy_from_slice(long::rest_of(&head, cut));
        for (at, number) in long::pages_of(&head, cut).enumerate() {
            let piece = pager.look(number);
            // The piece was looked at while the head led there.
            if !home.seen.still() {
                return Ok(false);
            }
            let (seen, words) = piece?;
            let is_piece = long::read_piece(words, &mut bytes[cut.piece(at)]);
            match seen.still() {
                true if is_piece => {}
                true => return Err(long::wrong_head(home.address.page)),
                false => return Ok(false),
            }
        }
        // Whoever changes a piece changes its head too.
        Ok(home.seen.still())
    }

    /// Copies the payload of a record that was at an address at a moment.
    pub fn read_at(
        &self,
        pager: &Pager,
        moment: Moment,
        address: Address,
        payload: &mut (impl Buffer + ?Sized),
    ) -> Result<()> {
        let found = pager.at(moment, address.page, |words| {
            let page = Page::new(words);
            let slot = page.slot(address.slot.into())?;
            if !slot.is_long {
                page.read(slot, 0, payload.of_size(slot.size)?);
            }
            Some(slot)
        })?;
        let slot = found.ok_or_else(|| address.wrong())?;
        if !slot.is_long {
            return Ok(());
        }
        let (head, cut) = self.head_at(pager, moment, address)?;
        let bytes = payload.of_size(cut.size).ok_or_else(|| address.wrong())?;
        bytes[cut.size - cut.rest..].copy_from_slice(long::rest_of(&head, cut));
        for (at, number) in long::pages_of(&head, cut).enumerate() {
            let piece = &mut bytes[cut.piece(at)];
            if !pager.at(moment, number, |words| long::read_piece(words, piece))? {
                return Err(long::wrong_head(address.page));
            }
        }
        Ok(())
    }
}

impl Heap {
    /// The head of a long record that was at an address at a moment, and what it says.
    fn head_at(&self, pager: &Pager, moment: Moment, address: Address) -> Result<(Vec<u8>, Cut)> {
        let head = pager.at(moment, address.page, |words| {
            let page = Page::new(words);
            let slot = page.slot(address.slot.into())?;
            let mut head = vec![0; slot.size];
            page.read(slot, 0, &mut head);
            Some(head)
        })?;
        let head = head.ok_or_else(|| address.wrong())?;
        let cut = Cut::of_head(&head).ok_or_else(|| long::wrong_head(address.page))?;
        Ok((head, cut))
    }
}

/// The head of a long record where it was found, and what it says; `None` if it has changed since.
fn head_of(home: &Home<'_>, slot: Slot) -> Result<Option<(Vec<u8>, Cut)>> {
    let mut head = vec![0; slot.size];
    home.page.read(slot, 0, &mut head);
    if !home.seen.still() {
        return Ok(None);
    }
    let own = home.address.page;
    let cut = Cut::of_head(&head).ok_or_else(|| long::wrong_head(own))?;
    let mut pages: Vec<_> = long::pages_of(&head, cut).chain([own]).collect();
    pages.sort_unstable();
    match pages.windows(2).all(|pair| pair[0] < pair[1]) {
        true => Ok(Some((head, cut))),
        false => Err(long::wrong_head(own)),
    }
}
