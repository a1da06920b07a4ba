//! Salvage: reading what is left of the pages of a damaged table.

use crate::data::DataFile;
use crate::error::{Error, Result};
use crate::pager::{PageNumber, PageRef, Pager};

/// A part of an index, or the lack of one.
pub(crate) enum Salvaged<'s> {
    /// A record of the index: its key in order, and its payload.
    Entry { key: &'s [u8], payload: &'s [u8] },
    /// A page that is damaged.
    Page { why: Error },
    /// Keys in order of which it is not known whether there were any: from the first one on, and
    /// before the other; `None` for no bound.
    Keys { from: Option<Vec<u8>>, before: Option<Vec<u8>> },
}

/// The fault of a page, if it has one.
type Finding = Result<(), String>;

/// A function that is called with each part; its errors end the salvage.
pub(crate) type Visit<'v> = dyn FnMut(Salvaged<'_>) -> Result<()> + 'v;

/// The pages of a damaged index or heap, which no thread changes.
pub(crate) struct Remains<'r> {
    pub pager: &'r Pager,
    pub data: &'r DataFile,
    /// The page numbers that it has, in use or not.
    pub pages: Vec<PageNumber>,
}

impl Remains<'_> {
    /// Calls `work` with a page; returns the fault of the page, or that of `work`, if it has one.
    ///
    /// # Errors
    /// Those that are no fault of the page.
    pub(crate) fn read<T>(
        &self,
        page: PageNumber,
        work: impl FnOnce(PageRef<'_>) -> Result<T, String>,
    ) -> Result<Result<T, Error>> {
        let read = self.pager.read_optimistic(page);
        let read = read.and_then(|(_, words)| {
            work(words).map_err(|why| Error::corrupt(format!("page {page}"), why))
        });
        loss(read)
    }

    /// Calls `work` with each page in use that it wants, in the order of their numbers. Returns the
    /// faults of those that are damaged.
    ///
    /// # Errors
    /// Those of `work`, and of reading that are no fault of a page.
    pub(crate) fn each(
        &self,
        wants: impl Fn(PageNumber) -> bool,
        work: &mut dyn FnMut(PageNumber, PageRef<'_>) -> Result<Finding>,
    ) -> Result<Vec<Error>> {
        let mut damaged = Vec::new();
        for &page in self.pages.iter().filter(|page| wants(**page)) {
            let look = |is_used| {
                if is_used { self.pager.read_optimistic(page).map(Some) } else { Ok(None) }
            };
            let looked = match loss(self.data.has(page).and_then(look))? {
                Ok(None) => continue,
                Ok(Some((_, words))) => work(page, words)?,
                Err(why) => {
                    damaged.push(why);
                    continue;
                }
            };
            if let Err(why) = looked {
                damaged.push(Error::corrupt(format!("page {page}"), why));
            }
        }
        Ok(damaged)
    }
}

/// Separates faults of the data that is read from other errors.
pub(crate) fn loss<T>(read: Result<T>) -> Result<Result<T, Error>> {
    match read {
        Ok(read) => Ok(Ok(read)),
        Err(error @ (Error::Corrupt { .. } | Error::Io { .. })) => Ok(Err(error)),
        Err(error) => Err(error),
    }
}
