//! Gives a table another schema under which its records stay as they are: only definitions change.

use std::sync::Arc;

use super::Engine;
use crate::codec::Writer;
use crate::error::Result;
use crate::schema::{Entries, Schema};
use crate::table::{Definition, TableCore};
use crate::wal::LogRecord;

impl Engine {
    /// Gives a table another schema, and its indexes those that follow from it, in one step: the
    /// log has all of it or nothing. Drops what was given up of the table. Returns the table; the
    /// one before is gone, as if it was dropped.
    ///
    /// # Errors
    /// `TableExists`, `CatalogueFull`; those of writing.
    pub(crate) fn redefine_table(
        &self,
        table: &TableCore,
        schema: &Schema,
    ) -> Result<Arc<TableCore>> {
        let (core, end) = self.admitted(0, &mut || {
            let mut catalogue = self.catalogue_mut();
            self.expect_open()?;
            table.ensure_open()?;
            let parts = catalogue.parts_of(table.id());
            // A successor is one that was given up, with its indexes: this is the only alteration.
            let is_kept =
                |part: &Definition| part.owner() == Some(table.id()) && !part.is_given_up();
            let (mut before, given_up): (Vec<_>, Vec<_>) = parts.into_iter().partition(is_kept);
            before.push(table.definition().clone());
            let redefined = |before: &Definition| redefined(before, schema);
            let after = before.iter().map(redefined).collect::<Result<Vec<_>>>()?;
            let replaced: Vec<_> = given_up.iter().chain(&before).cloned().collect();
            catalogue.expect_room(&after, &replaced)?;
            let _alone = self.gate.close();
            let past = self.past_of(&replaced);
            let past = past.iter().map(|definition| LogRecord::Definition { definition });
            let drops = given_up.iter().map(|part| LogRecord::DropTable { table: part.id });
            let schemas: Vec<_> = after.iter().map(stored).collect();
            let redefinitions = after.iter().zip(&schemas);
            let redefinitions = redefinitions
                .map(|(after, schema)| LogRecord::Redefine { table: after.id, schema });
            let end = self.append(past.chain(drops).chain(redefinitions))?;
            let all = &mut *catalogue;
            given_up.iter().for_each(|part| all.drop(&self.pager, part));
            let mut core = None;
            for (before, after) in before.iter().zip(after) {
                core = all.redefine(&self.pager, before, after);
            }
            let core = core.ok_or_else(|| table.corrupt("it is not in the catalogue"))?;
            all.list_indexes(&core);
            Ok((core, end))
        })?;
        self.settle(end)?;
        Ok(core)
    }
}

/// Returns the definition of a table, or of an index of it, once the table has another schema.
fn redefined(before: &Definition, schema: &Schema) -> Result<Definition> {
    let schema = match &before.index {
        None => schema.clone(),
        Some(of) => Entries::new(schema, &of.described(schema)?)?.schema().clone(),
    };
    debug_assert!(schema.suits_records_of(&before.schema), "entries stay as they are");
    Ok(before.redefined(schema))
}

fn stored(definition: &Definition) -> Vec<u8> {
    let mut writer = Writer::default();
    definition.schema.store(&mut writer);
    writer.0
}
