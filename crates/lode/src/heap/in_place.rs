//! Changes of short records that stay in place: most of all changes.
//!
//! Only the record's page is latched, and no page of the index. The entry that leads to a record
//! changes only while the record's page is latched too. So if the page is as it was when the index
//! led there, the index still leads there.

use super::free_space;
use super::long::Cut;
use super::page::{HeapPageMut, Slot, Stored};
use super::plan::HeapChange;
use super::write::Attempt;
use super::{Heap, Home};
use crate::error::Result;
use crate::index::WriteContext;
use crate::wal::Touched;

/// The change of a record that stays.
#[derive(Clone, Copy)]
enum Becomes<'c> {
    /// Replaces all bytes of the record.
    Replaced(&'c [u8]),
    /// Replaces the bytes from `at` on.
    Overwritten { at: usize, bytes: &'c [u8] },
}

impl<'c> Becomes<'c> {
    /// Returns the effect of a change on the record in this slot; `None` if it does not stay there.
    fn of(change: HeapChange<'c>, home: &Home<'_>, slot: Slot) -> Option<Self> {
        let (becomes, stays) = match change {
            HeapChange::Put { whole, .. } => {
                let is_short = Cut::of(whole.len()).is_none();
                (Self::Replaced(whole), is_short && home.page.fits_over(slot, whole.len()))
            }
            HeapChange::Patch { at, bytes, front } => {
                let at = at + front;
                (Self::Overwritten { at, bytes }, at + bytes.len() <= slot.size)
            }
            HeapChange::Delete | HeapChange::PutBack { .. } | HeapChange::Move { .. } => {
                return None;
            }
        };
        stays.then_some(becomes)
    }
}

impl Heap {
    /// Changes a record in its page, if it is still as it was found; `None` if it is not short, or
    /// does not stay there. To undo that, the record's old bytes are enough.
    #[inline]
    pub(super) fn attempt_in_place(
        &self,
        context: &WriteContext<'_>,
        key: &[u8],
        home: &Home<'_>,
        change: HeapChange<'_>,
    ) -> Result<Option<Attempt>> {
        let number = home.address.slot.into();
        let slot = home.page.slot(number).filter(|slot| !slot.is_long);
        let Some((slot, becomes)) =
            slot.and_then(|slot| Some((slot, Becomes::of(change, home, slot)?)))
        else {
            return Ok(None);
        };
        // An address outside the heap must not be written to, whatever looks like a record there.
        if !self.space.has(home.address.page) {
            return Ok(None);
        }
        let Some(mut latched) = context.pager.latch(home.seen) else {
            return Ok(Some(Attempt::Again));
        };
        let touch = || Touched::one(latched.last_frame());
        let Some(epoch) = change.log(context, key, touch)? else {
            drop(latched);
            context.make_log_room()?;
            return Ok(Some(Attempt::Again));
        };
        let mut page = HeapPageMut::new(latched.change(epoch));
        match becomes {
            Becomes::Overwritten { at, bytes } => page.write(slot, at, bytes),
            Becomes::Replaced(bytes) => {
                let before = page.room();
                page.replace(number, slot, Stored { bytes, is_long: false });
                let after = page.room();
                drop(latched);
                if free_space::is_worth_noting(before, after) {
                    self.forget_not(home.address.page, after);
                }
            }
        }
        Ok(Some(Attempt::Done))
    }
}
