//! The check that a table and its secondary indexes agree: each record has its entry in each index,
//! and each entry is that of a record.

use super::{Needs, Rows, Secondary, TableCore, Walk};
use crate::batch::Batch;
use crate::error::Result;
use crate::pager::{Pager, ReadEpoch};
use crate::tree::Direction;

impl TableCore {
    /// Calls `report` with each record that has no entry in an index at a moment, and each entry
    /// without a record. Records and entries that cannot be read are left out.
    pub(crate) fn check_entries_at(
        &self,
        pager: &Pager,
        moment: ReadEpoch,
        report: &mut dyn FnMut(String),
    ) {
        for secondary in &self.secondaries().all {
            if secondary.core().was_there(moment).is_err() {
                continue;
            }
            // One that is being built has not all entries yet.
            if secondary.of().was_ready(moment) {
                self.report_missing(secondary, pager, moment, report);
            }
            self.report_extra(secondary, pager, moment, report);
        }
    }

    /// Reports records without an entry.
    fn report_missing(
        &self,
        secondary: &Secondary,
        pager: &Pager,
        moment: ReadEpoch,
        report: &mut dyn FnMut(String),
    ) {
        let entries = secondary.entries();
        let name = &secondary.of().name;
        self.each_record(pager, moment, &mut |record| {
            let (key, payload) = self.split(record)?;
            let entry = entries.entry_of(self.schema(), key, payload);
            let core = secondary.core();
            let found = core.in_order(&entry.key, |key| core.payload_at(pager, moment, key))?;
            if found.as_ref() != Some(&entry.payload) {
                let entry = [entry.key, entry.payload].concat();
                let shown = entries.shown(self.schema(), &entry);
                report(format!("a record with ({shown}) has no entry in index {name}"));
            }
            Ok(())
        });
    }

    /// Reports entries that are not those of a record.
    fn report_extra(
        &self,
        secondary: &Secondary,
        pager: &Pager,
        moment: ReadEpoch,
        report: &mut dyn FnMut(String),
    ) {
        let entries = secondary.entries();
        let name = &secondary.of().name;
        let mut key = Vec::new();
        secondary.core().each_record(pager, moment, &mut |entry| {
            secondary.core().split(entry)?;
            let record = match secondary.key_of_record(self.schema(), entry, &mut key) {
                Ok(()) => self.in_order(&key, |key| self.payload_at(pager, moment, key))?,
                Err(error) => {
                    report(error.to_string());
                    return Ok(());
                }
            };
            record.as_ref().map_or(Ok(()), |payload| self.expect_stored(payload))?;
            let wanted = record.map(|payload| entries.entry_of(self.schema(), &key, &payload));
            let wanted = wanted.map(|wanted| [wanted.key, wanted.payload].concat());
            if wanted.as_deref() != Some(entry) {
                let shown = entries.shown(self.schema(), entry);
                report(format!("index {name} has an entry ({shown}) of no record"));
            }
            Ok(())
        });
    }

    /// Calls `visit` with each packed record that can be read at a moment. Records for which it
    /// fails are left out: the check of their pages reports them.
    fn each_record(
        &self,
        pager: &Pager,
        moment: ReadEpoch,
        visit: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) {
        let mut rows = Rows::new(self, None, Needs::Record);
        let mut walk: Walk = self.walk_readable_in(pager, Direction::Forward);
        let wanted = self.index.whole();
        let mut batch = Batch::default();
        loop {
            batch.clear();
            match self.next_page(pager, moment, &mut walk, &wanted, &mut batch) {
                Ok(false) => return,
                Err(error) if !walk.goes_on(&error) => return,
                Ok(true) => {}
                Err(_) => continue,
            }
            for at in 0..batch.len() {
                if let Ok(true) = rows.read(self, pager, moment, &batch, at) {
                    let _ = visit(rows.bytes(&batch));
                }
            }
        }
    }
}
