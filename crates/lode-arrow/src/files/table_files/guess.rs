//! The types of the columns of a table in files of CSV, which do not say them.

use std::sync::Arc;

use arrow_schema::{Field, Schema, SchemaRef};

use super::TableFiles;
use crate::error::{Error, Result};
use crate::files::ReadOptions;
use crate::files::csv::Guesses;

impl TableFiles {
    /// Returns the columns of files of CSV with the types that all of their fields have: whole
    /// numbers of 64 bits, floats, truth values, times, or else text. Numbers that these types do
    /// not give back digit by digit are text. Calls `stop` with the number of rows so far, and ends
    /// early if that says so.
    ///
    /// # Errors
    /// The errors of [`open`](Self::open) and of reading, with the place of the file.
    pub fn guess_schema(
        &self,
        options: &ReadOptions,
        stop: &mut dyn FnMut(u64) -> bool,
    ) -> Result<SchemaRef, (usize, Error)> {
        let schema = Some(Arc::new(Schema::empty()));
        let options = ReadOptions { schema, ..options.clone() };
        let mut guesses = Guesses::new(options.rounds_times);
        let mut rows = 0;
        for place in 0..self.files.len() {
            let failed = |error| (place, error);
            let reader = self.open(place, &options).map_err(failed)?;
            let is_read = |said: &&Field| reader.schema().index_of(said.name()).is_ok();
            guesses.begin(self.partitions.iter().filter(is_read));
            guesses.add(reader.schema());
            for batch in reader {
                let batch = batch.map_err(failed)?;
                rows += batch.num_rows() as u64;
                guesses.look_at(&batch);
                if stop(rows) {
                    return Ok(guesses.schema());
                }
            }
        }
        Ok(guesses.schema())
    }
}
