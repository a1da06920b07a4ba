//! Checks of a table.

use super::TableCore;
use crate::error::{Error, Result};
use crate::heap::{Census, Entry, Heap, IndexEntry};
use crate::pager::{PageNumber, Pager, ReadEpoch};
use crate::tree::Direction;

impl TableCore {
    /// Returns the pages that its heap has now, in use or not.
    pub(crate) fn heap_pages(&self) -> Vec<PageNumber> {
        self.heap.as_ref().map_or_else(Vec::new, |heap| heap.pages())
    }

    /// Calls `report` with each fault of the table at a moment, when its heap had these pages.
    pub(crate) fn check_at(
        &self,
        pager: &Pager,
        moment: ReadEpoch,
        heap_pages: &[PageNumber],
        report: &mut dyn FnMut(String),
    ) {
        let mut is_whole = true;
        let mut wrong = |why: String| {
            is_whole = false;
            report(why);
        };
        self.index.check(pager, moment, &mut wrong);
        let mut census = Census::default();
        let mut whole = Vec::new();
        let mut packed = Vec::new();
        let has_keys_to_check = self.order.is_variable() && !self.order.is_packed();
        if self.heap.is_none() && !has_keys_to_check {
            return;
        }
        let mut faults = Vec::new();
        let looked = self.index.each_readable(
            pager,
            moment,
            self.walk_readable_in(pager, Direction::Forward),
            &mut |index_key, bytes| {
                if has_keys_to_check && let Err(error) = self.unpack_key(index_key, &mut packed) {
                    wrong(error.to_string());
                }
                let Some(heap) = &self.heap else { return };
                let entry = Entry::of(bytes.try_into().expect("an entry"));
                let counted = IndexEntry { key: index_key, entry };
                let key_of = |whole: &[u8]| self.schema().key_length(whole).ok();
                match heap.count(pager, moment, counted, key_of, &mut whole, &mut census) {
                    Ok(true) => {
                        if let Err(error) = self.expect_whole(heap, &whole) {
                            wrong(error.to_string());
                        }
                    }
                    Ok(false) => {}
                    Err(why) => wrong(why),
                }
            },
            // The index has been checked before.
            &mut |error| faults.push(error),
        );
        faults.into_iter().chain(looked.err()).for_each(|error| wrong(error.to_string()));
        let Some(heap) = &self.heap else { return };
        heap.check(pager, moment, heap_pages, is_whole.then_some(&census), report);
    }

    /// Refuses a payload in the heap that does not fit this table.
    pub(crate) fn expect_stored(&self, payload: &[u8]) -> Result<()> {
        self.schema().expect_payload(payload).map_err(|error| self.corrupt(error.to_string()))
    }

    /// Refuses bytes of the heap, a payload or a record with its key, if they do not fit this
    /// table.
    pub(crate) fn expect_whole(&self, heap: &Heap, whole: &[u8]) -> Result<()> {
        if heap.has_keys() {
            self.schema().expect_record(whole).map_err(|error| self.corrupt(error.to_string()))
        } else {
            self.expect_stored(whole)
        }
    }

    pub(crate) fn corrupt(&self, why: impl Into<String>) -> Error {
        Error::corrupt(format!("table {}", self.schema().name()), why.into())
    }
}
