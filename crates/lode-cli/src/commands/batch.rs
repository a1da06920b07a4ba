//! Records that are written together: all of a batch, or none.

use std::mem::take;

use lode::{Error, Table};
use program_support::exit::{Failure, Outcome};

use super::records;
use crate::database::Opened;

/// The most records of a batch; syncing them is cheap compared with writing them.
const MOST_RECORDS: usize = 4096;

/// The bytes that records wait for together at the most, and one record more.
const MOST_BYTES: usize = 64 << 20;

/// A record that waits.
#[derive(Clone, Copy)]
struct Waiting {
    place: Place,
    /// The end of the record's bytes among those of all.
    end: usize,
}

/// The origin of a record.
#[derive(Clone, Copy)]
struct Place {
    /// The index of its source, among all so far.
    source: usize,
    /// The number of its line or row.
    line: u64,
}

/// The treatment of records whose keys are there.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum IfThere {
    /// Returning an error.
    Stop,
    /// Overwriting the records in the table.
    Replace,
    /// Keeping the records in the table.
    Skip,
}

impl IfThere {
    /// Returns the treatment that the options `--replace` and `--skip` ask for.
    pub(super) fn of(replace: bool, skip: bool) -> Self {
        match (replace, skip) {
            (true, _) => Self::Replace,
            (_, true) => Self::Skip,
            _ => Self::Stop,
        }
    }
}

/// The unit in which the places of records are counted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    /// Lines of a text, in which a place is a line and a character.
    Line,
    /// Rows of a table.
    #[cfg(feature = "columns")]
    Row,
}

/// The numbers of records by what was done with them.
#[derive(Clone, Copy, Default)]
pub(super) struct Loaded {
    inserted: u64,
    /// Records that overwrote others.
    pub replaced: u64,
    /// Records that were left out, since their keys were there.
    pub skipped: u64,
}

impl Loaded {
    /// Returns the numbers in words: `verb` is what was done.
    pub(super) fn summary(&self, verb: &str) -> String {
        let mut text = format!("{} {verb}", records(self.written()));
        if self.replaced > 0 {
            text.push_str(&format!(", {} of them replaced others", self.replaced));
        }
        if self.skipped > 0 {
            text.push_str(&format!(", {} skipped", self.skipped));
        }
        text
    }

    /// Returns the number of records that are in the table now.
    pub(super) fn written(&self) -> u64 {
        self.inserted + self.replaced
    }
}

/// Records that wait to be written.
pub(super) struct Batch<'b> {
    opened: &'b Opened,
    table: &'b Table,
    if_there: IfThere,
    /// The names of what records come from, in turn.
    sources: Vec<String>,
    unit: Unit,
    records: Vec<u8>,
    waiting: Vec<Waiting>,
    /// The most records of a batch that there is memory for, as far as it is known.
    most: usize,
    loaded: Loaded,
}

impl<'b> Batch<'b> {
    /// Makes a batch without records, which come from a source of that name.
    pub(super) fn new(
        opened: &'b Opened,
        table: &'b Table,
        if_there: IfThere,
        source: String,
        unit: Unit,
    ) -> Self {
        let records = Vec::new();
        let waiting = Vec::new();
        let loaded = Loaded::default();
        let most = MOST_RECORDS;
        let sources = vec![source];
        Self { opened, table, if_there, sources, unit, records, waiting, most, loaded }
    }

    /// Notes that records come from a source of that name from here on.
    #[cfg(feature = "columns")]
    pub(super) fn begin_source(&mut self, name: &str) {
        self.sources.push(name.into());
    }

    /// Returns the name of the source that records come from now.
    pub(super) fn source(&self) -> &str {
        self.sources.last().map_or("", |name| name)
    }

    /// Returns the numbers of records that were loaded so far.
    pub(super) fn loaded(&self) -> Loaded {
        self.loaded
    }

    /// Adds the record of a line, and writes all if they are enough.
    pub(super) fn add(&mut self, line: u64, record: &[u8]) -> Outcome {
        self.records.extend_from_slice(record);
        let place = Place { source: self.sources.len() - 1, line };
        self.waiting.push(Waiting { place, end: self.records.len() });
        let is_enough = self.waiting.len() >= MOST_RECORDS || self.records.len() >= MOST_BYTES;
        if is_enough { self.write() } else { Ok(()) }
    }

    /// Writes the records that wait, all together, or in several parts if the memory is too small
    /// for that. If it fails nothing waits any more, and those before the one that it fails at are
    /// written.
    pub(super) fn write(&mut self) -> Outcome {
        let records = take(&mut self.records);
        let waiting = take(&mut self.waiting);
        let end_of = |count: usize| count.checked_sub(1).map_or(0, |last| waiting[last].end);
        let mut from = 0;
        while from < waiting.len() {
            let to = waiting.len().min(from + self.most);
            match self.commit(&records, end_of(from), &waiting[from..to]) {
                Ok(None) => from = to,
                Ok(Some(place)) => return Err(self.is_there(place)),
                // A batch that was too large once would be so again.
                Err(Error::Full { .. } | Error::TxnTooLarge { .. }) if to - from > 1 => {
                    self.most = (to - from) / 2
                }
                // Of these, one is refused. Those before it are written, and nothing after it.
                Err(Error::UniqueViolation { .. }) if to - from > 1 => self.most = (to - from) / 2,
                Err(error @ Error::UniqueViolation { .. }) => {
                    let place = self.shown(waiting[from].place);
                    return Err(Failure::Wrong(format!("{place}: {error}")));
                }
                Err(error) => return Err(self.opened.failure(&error)),
            }
        }
        Ok(())
    }

    /// Returns the place of a record, for an error.
    fn shown(&self, Place { source, line }: Place) -> String {
        let source = &self.sources[source];
        match self.unit {
            Unit::Line => format!("{source}:{line}:1"),
            #[cfg(feature = "columns")]
            Unit::Row => format!("{source}: row {line}"),
        }
    }

    fn is_there(&self, place: Place) -> Failure {
        let place = self.shown(place);
        Failure::Wrong(format!(
            "{place}: there is a record with this key already; --replace overwrites such records, \
             --skip leaves them"
        ))
    }

    /// Writes the records of `records` together; the first starts at byte `from`. If a key that is
    /// there is an error, it stops at the first such record and returns its place.
    fn commit(
        &mut self,
        records: &[u8],
        from: usize,
        waiting: &[Waiting],
    ) -> lode::Result<Option<Place>> {
        let each = |waiting: &[Waiting]| {
            let mut from = from;
            let record = |end| &records[std::mem::replace(&mut from, end)..end];
            waiting.iter().map(|waiting| waiting.end).map(record).collect::<Vec<_>>()
        };
        let count = waiting.len() as u64;
        match self.if_there {
            IfThere::Replace => {
                let new = self.table.upsert_all(each(waiting))?;
                self.loaded.inserted += new;
                self.loaded.replaced += count - new;
            }
            IfThere::Skip => {
                let new = self.table.insert_all(each(waiting))?;
                self.loaded.inserted += new;
                self.loaded.skipped += count - new;
            }
            IfThere::Stop => {
                if let Some(first) = self.table.insert_all_new(each(waiting))? {
                    self.loaded.inserted += self.table.insert_all(each(&waiting[..first]))?;
                    return Ok(Some(waiting[first].place));
                }
                self.loaded.inserted += count;
            }
        }
        Ok(None)
    }
}
