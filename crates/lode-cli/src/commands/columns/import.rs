//! `lode import`: a source is read once to see that all of it fits, and once more to write it.

use std::path::Path;

use arrow_array::RecordBatch;
use lode::{Error, Options, Schema, SchemaFault, Table};
use lode_arrow::{Packer, lode_schema};
use program_support::exit::{Failure, Outcome};
use program_support::interrupt::{self, Interrupt};
use program_support::output::print;

use super::key::{Keys, Numbers, ROW, expect_unnumbered};
use super::source::{Part, Source};
use super::{expect_different, failure, under_way};
use crate::cli::columns::ImportArgs;
use crate::commands::batch::{Batch, IfThere, Loaded, Unit};
use crate::commands::records;
use crate::commands::target::{Target, open};
use crate::database::{DirContent, Opened, look};
use crate::progress::Progress;
use crate::schema_text;

/// Puts the rows of files, or of a Delta table, into a table.
pub(crate) fn import(args: &ImportArgs, options: &Options) -> Outcome {
    let schema = args.schema.as_deref().map(|text| schema_text::parse(&args.table, text));
    let schema = schema.transpose().map_err(|why| Failure::Usage(format!("--schema: {why}")))?;
    expect_different(&args.columns)?;
    under_way::expect_other(&args.table)?;
    let keys = Keys::of(&args.key);
    if schema.is_some() && matches!(keys, Keys::Named([_, ..])) {
        return Err(Failure::Usage(
            "--key: --schema says already which columns are the key".into(),
        ));
    }
    lode_arrow::silence_reader_panics();
    interrupt::watch("lode", || ())?;
    // A pipe is read to its end here, which a signal ends at once.
    let source = Source::of(args)?;
    let noted = Interrupt::noted();
    let job = Job { args, options, source: &source, keys, noted: &noted };
    let loaded = match look(&args.dir)? {
        DirContent::Free => job.to_new_database(schema)?,
        DirContent::Database | DirContent::Taken => {
            let opened = open(&args.dir, true, options)?;
            let loaded = job.to_database(&opened, schema);
            opened.close_after(loaded)?
        }
    };
    print(&format!("{}\n", loaded.summary("imported")))
}

/// The source and the options of an import.
struct Job<'j> {
    args: &'j ImportArgs,
    options: &'j Options,
    source: &'j Source,
    keys: Keys<'j>,
    noted: &'j Interrupt,
}

/// The schema and the keys of the records that rows become.
struct Rows<'r> {
    schema: &'r Schema,
    /// The numbers that are the records' keys, if these are made.
    numbers: Option<Numbers>,
}

impl<'r> Rows<'r> {
    /// Describes the records of a new table.
    fn new(keys: Keys<'_>, schema: &'r Schema) -> Outcome<Self> {
        let numbers = matches!(keys, Keys::Auto).then(|| Numbers::of(schema)).transpose()?;
        Ok(Self { schema, numbers })
    }

    /// Describes the records that are added to a table.
    fn added(keys: Keys<'_>, opened: &Opened, table: &'r Table) -> Outcome<Self> {
        let numbers = matches!(keys, Keys::Auto).then(|| Numbers::after(opened, table));
        Ok(Self { schema: table.schema(), numbers: numbers.transpose()? })
    }

    /// Returns the column whose values are made.
    fn made(&self) -> Option<&str> {
        self.numbers.as_ref().map(Numbers::column)
    }
}

impl Job<'_> {
    fn target<'t>(&'t self, schema: Option<&'t Schema>) -> Target<'t> {
        Target { table: &self.args.table, schema, kind: self.args.kind }
    }

    /// Returns the schema of a table that is not there: as it is said, or as the source has it.
    fn new_schema(&self, said: Option<Schema>) -> Outcome<Schema> {
        if let Some(schema) = said {
            return Ok(schema);
        }
        let first = self.source.first();
        let found = if self.source.has_types() {
            first.open(None, None)?.schema
        } else {
            self.source.guess_schema(self.noted)?
        };
        let schema = match self.keys {
            Keys::Named(names) => lode_schema(&self.args.table, &found, names),
            Keys::Auto => {
                expect_unnumbered(first.name(), &found, ROW)?;
                let (found, names) = Numbers::before(&found);
                lode_schema(&self.args.table, &found, &names)
            }
        };
        schema.map_err(|error| match error {
            lode_arrow::Error::Lode(Error::InvalidSchema { fault: SchemaFault::NoKey, .. }) => {
                Failure::Usage(format!(
                    "{}: it does not say which columns are the key of a new table; --key names \
                     them",
                    first.name()
                ))
            }
            other => failure(None, first.name(), &other),
        })
    }

    /// Imports into a new database. Creates nothing for a source with something wrong in it.
    fn to_new_database(&self, said: Option<Schema>) -> Outcome<Loaded> {
        let schema = self.new_schema(said)?;
        let rows = Rows::new(self.keys, &schema)?;
        self.check(&rows)?;
        let existed = self.args.dir.exists();
        let opened = open(&self.args.dir, true, self.options)?;
        let loaded = self.to_new_table(&opened, &rows);
        let loaded = opened.close_after(loaded);
        if loaded.is_err() {
            remove_new(&self.args.dir, existed);
        }
        loaded
    }

    fn to_database(&self, opened: &Opened, said: Option<Schema>) -> Outcome<Loaded> {
        if !self.target(None).is_in(opened) {
            let schema = self.new_schema(said)?;
            let rows = Rows::new(self.keys, &schema)?;
            self.check(&rows)?;
            return self.to_new_table(opened, &rows);
        }
        let table = self.target(said.as_ref()).existing(opened)?;
        self.keys.expect_of(&table)?;
        let rows = Rows::added(self.keys, opened, &table)?;
        self.check(&rows)?;
        under_way::begin(opened, &self.args.table, false)?;
        let filled = self.fill(opened, &table, &rows);
        let ended = under_way::end(opened);
        let loaded = filled.map_err(|(loaded, failure)| {
            failure.and(&match loaded.written() {
                0 => "nothing was imported".into(),
                1 => "1 record before was imported, and stays".into(),
                count => format!("{} before were imported, and stay", records(count)),
            })
        })?;
        ended.map_err(|failure| failure.and("all records were imported, and stay"))?;
        Ok(loaded)
    }

    /// Fills a new table, which is dropped again if that does not work. If this program is killed,
    /// the next one drops it.
    fn to_new_table(&self, opened: &Opened, rows: &Rows<'_>) -> Outcome<Loaded> {
        under_way::begin(opened, &self.args.table, true)?;
        let table = self.target(Some(rows.schema)).in_database(opened);
        let filled = table.and_then(|table| {
            let filled = self.fill(opened, &table, rows).map_err(|(_, failure)| failure)?;
            under_way::end(opened)?;
            Ok(filled)
        });
        filled.map_err(|failure| match under_way::drop_new(opened, &self.args.table) {
            Ok(()) => failure.and("nothing was imported"),
            Err(why) => failure.and(&format!("the new table is not whole: {why}")),
        })
    }

    /// Checks that all rows fit.
    fn check(&self, rows: &Rows<'_>) -> Outcome {
        let mut count = Count::new("checking");
        let mut parts = self.source.parts();
        parts.try_for_each(|part| self.each_record(part, rows, &mut count, &mut |_, _| Ok(())))
    }

    /// Writes all rows. If that fails it says how many were written before.
    fn fill(
        &self,
        opened: &Opened,
        table: &Table,
        rows: &Rows<'_>,
    ) -> Result<Loaded, (Loaded, Failure)> {
        let if_there = IfThere::of(self.args.replace, self.args.skip);
        let first = self.source.first().name().to_string();
        let mut batch = Batch::new(opened, table, if_there, first, Unit::Row);
        let mut count = Count::new("importing");
        let read = self.source.parts().try_for_each(|part| {
            batch.begin_source(part.name());
            let put = &mut |row, record: &[u8]| batch.add(row, record).map_err(Stop::Failure);
            self.each_record(part, rows, &mut count, put)
        });
        let written = read.and_then(|()| batch.write());
        let loaded = batch.loaded();
        written.map(|()| loaded).map_err(|failure| (loaded, failure))
    }

    /// Reads all rows of a part as records.
    fn each_record(
        &self,
        part: Part<'_>,
        rows: &Rows<'_>,
        count: &mut Count,
        put: &mut lode_arrow::Put<'_, Stop>,
    ) -> Outcome {
        let name = part.name();
        let wrong = |error: lode_arrow::Error| failure(None, name, &error);
        let reader = part.open(Some(rows.schema), rows.made())?;
        if let Some(column) = rows.made() {
            expect_unnumbered(name, &reader.schema, column)?;
        }
        let number = |batch: RecordBatch, before| match &rows.numbers {
            Some(numbers) => numbers.add_to(&batch, before),
            None => Ok(batch),
        };
        let none = number(RecordBatch::new_empty(reader.schema.clone()), count.before)?;
        let mut packer = Packer::new(rows.schema, none.schema()).map_err(wrong)?;
        packer = packer.rounds_times(self.args.round);
        let before = count.before;
        for batch in reader.batches {
            if self.noted.came() {
                return Err(Failure::Interrupted("interrupted".into()));
            }
            let batch = number(batch?, before + packer.rows())?;
            packer.pack(&batch, put).map_err(|stop| match stop {
                Stop::Row(error) => wrong(error),
                Stop::Failure(failure) => failure,
            })?;
            count.at(before + packer.rows(), self.source, reader.rows);
        }
        if self.noted.came() { Err(Failure::Interrupted("interrupted".into())) } else { Ok(()) }
    }
}

/// The number of rows of a source that have been read.
struct Count {
    doing: &'static str,
    /// The display of the progress, from the first batch on.
    progress: Option<Progress>,
    /// Rows of the parts so far.
    before: u64,
}

impl Count {
    fn new(doing: &'static str) -> Self {
        Self { doing, progress: None, before: 0 }
    }

    /// Shows that `read` rows have been read, the last of a part that has `rows`, if it says so.
    fn at(&mut self, read: u64, source: &Source, rows: Option<u64>) {
        self.before = read;
        let doing = || format!("{} {}", self.doing, source.name());
        let progress = self.progress.get_or_insert_with(|| match rows {
            Some(rows) if source.parts().count() == 1 => Progress::of_rows(doing(), rows),
            _ => Progress::of_records(doing()),
        });
        progress.at(read);
    }
}

/// The reason why no more rows are wanted.
enum Stop {
    /// A row that does not fit.
    Row(lode_arrow::Error),
    /// A record that cannot be written.
    Failure(Failure),
}

impl From<lode_arrow::Error> for Stop {
    fn from(error: lode_arrow::Error) -> Self {
        Self::Row(error)
    }
}

/// Removes a database that was made for nothing. What cannot be removed is an empty database.
fn remove_new(dir: &Path, existed: bool) {
    let _ = if existed { remove_files(dir) } else { std::fs::remove_dir_all(dir) };
}

fn remove_files(dir: &Path) -> std::io::Result<()> {
    for entry in std::fs::read_dir(dir)? {
        std::fs::remove_file(entry?.path())?;
    }
    Ok(())
}
