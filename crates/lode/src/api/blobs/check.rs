//! The check of blob stores: each blob has all of its chunks, and each chunk is of a blob, or is
//! pending.

use super::tables::{
    Head, Part, Tables, blob_of, bytes_of_chunk, chunk_key, id_of, parts_of_chunk,
};
use crate::api::{Database, ReadTable, Snapshot};
use crate::engine::CheckReport;
use crate::error::{Error, Result};

impl Database {
    /// Checks all blob stores as they were at a snapshot.
    ///
    /// # Errors
    /// Those of reading, except `Corrupt`: that is in the report.
    pub(in crate::api) fn check_blobs(
        &self,
        snapshot: &Snapshot,
        report: &mut CheckReport,
    ) -> Result<()> {
        let suffix = Part::Blobs.of("");
        let names = self.table_names();
        let stores = names.iter().filter_map(|table| table.strip_suffix(&suffix));
        // Other tables of such names are the user's.
        for name in stores.filter(|name| Part::Blobs.table(self, name).is_ok()) {
            match Tables::of(self, name) {
                Ok(tables) => tables.check(snapshot, report)?,
                // Of a store that was dropped since the names were read, the blobs went first.
                Err(Error::NoTable { table }) if Part::Blobs.table(self, name).is_ok() => {
                    report.add(Some(&Part::Blobs.of(name)), format!("table {table} is missing"));
                }
                Err(error @ (Error::OtherColumns { .. } | Error::NoOrder { .. })) => {
                    let why = format!("it is no store: {error}");
                    report.add(Some(&Part::Blobs.of(name)), why);
                }
                other => ignore_damage(other.map(drop))?,
            }
        }
        Ok(())
    }
}

/// Returns an error, except of two kinds: of damage, which the check of the tables has reported,
/// and of a table created or dropped since the snapshot.
fn ignore_damage(checked: Result<()>) -> Result<()> {
    match checked {
        Err(Error::Corrupt { .. } | Error::NoTable { .. } | Error::NoIndex { .. }) => Ok(()),
        other => other,
    }
}

impl Tables {
    /// Checks a store, as far as its tables can be read.
    fn check(&self, snapshot: &Snapshot, report: &mut CheckReport) -> Result<()> {
        ignore_damage(self.check_blobs(snapshot, report))?;
        ignore_damage(self.check_chunks(snapshot, report))?;
        ignore_damage(self.check_pending(snapshot, report))
    }

    /// Looks for all chunks of each blob.
    fn check_blobs(&self, snapshot: &Snapshot, report: &mut CheckReport) -> Result<()> {
        let mut chunk = Vec::new();
        let mut blobs = self.blobs.at(snapshot).iter();
        while let Some(row) = blobs.next_row()? {
            let (key, head) = blob_of(row);
            let missing = match head.id {
                None if head.length_bytes > 0 => Some("it has a length and no id".into()),
                None => None,
                Some(id) => self.fault_of_chunks(snapshot, id, head, &mut chunk)?,
            };
            if let Some(why) = missing {
                let key = key.escape_ascii();
                report.add(Some(self.blobs.schema().name()), format!("blob {key}: {why}"));
            }
        }
        Ok(())
    }

    /// Returns what is wrong with the chunks of a blob: the first that is not as it has to be.
    fn fault_of_chunks(
        &self,
        snapshot: &Snapshot,
        id: u64,
        head: Head,
        chunk: &mut Vec<u8>,
    ) -> Result<Option<String>> {
        if head.length_bytes == 0 {
            return Ok(Some("it has no length and an id".into()));
        }
        for number in 0..head.chunks() {
            let is_there = match u32::try_from(number) {
                Ok(number) => self.chunks.at(snapshot).get_into(&chunk_key(id, number), chunk),
                Err(_) => Ok(false),
            };
            match is_there {
                Ok(true) => {}
                Ok(false) => return Ok(Some(format!("chunk {number} of id {id} is missing"))),
                Err(Error::Corrupt { .. }) => {
                    return Ok(Some(format!("chunk {number} of id {id} cannot be read")));
                }
                Err(error) => return Err(error),
            }
            let has = bytes_of_chunk(chunk).len();
            let expected = head.chunk_size(number);
            if has != expected {
                let why = format!("chunk {number} of id {id} has {has} bytes, not {expected}");
                return Ok(Some(why));
            }
        }
        let end = (id, u32::try_from(head.chunks()).unwrap_or(u32::MAX));
        let mut after = self.chunks.at(snapshot).range(end..=(id, u32::MAX)).limit(1);
        let more = after.next_row()?.is_some();
        Ok(more.then(|| format!("id {id} has chunks after its end")))
    }

    /// Looks for the blob of each id that has chunks.
    fn check_chunks(&self, snapshot: &Snapshot, report: &mut CheckReport) -> Result<()> {
        let [of_id, number] = [0, 1].map(|at| self.chunks.schema().columns()[at].id());
        let mut from = (0, 0);
        loop {
            let mut next = self.chunks.at(snapshot).range(from..).limit(1).columns([of_id, number]);
            let Some(row) = next.next_row()? else { return Ok(()) };
            let (id, _) = parts_of_chunk(row.bytes());
            let is_known = self.pending.at(snapshot).contains(id)?
                || self.has_id(&self.blobs.at(snapshot), id)?;
            if !is_known {
                let why = format!("chunks of id {id} are of no blob");
                report.add(Some(self.chunks.schema().name()), why);
            }
            match id.checked_add(1) {
                Some(next) => from = (next, 0),
                None => return Ok(()),
            }
        }
    }

    /// Looks for blobs whose chunks would be removed.
    fn check_pending(&self, snapshot: &Snapshot, report: &mut CheckReport) -> Result<()> {
        let mut pending = self.pending.at(snapshot).iter();
        while let Some(row) = pending.next_row()? {
            let id = id_of(row.key());
            if self.has_id(&self.blobs.at(snapshot), id)? {
                let why = format!("id {id} is pending and of a blob");
                report.add(Some(self.pending.schema().name()), why);
            }
        }
        Ok(())
    }
}
