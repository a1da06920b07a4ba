//! `lode changes`

use std::io::Write;
use std::time::Duration;

use lode::{Change, ChangedTable, Changes, Commit, Error, IndexSchema, Options, RowChange};
use program_support::exit::Outcome;
use program_support::output::{print, to_standard_output};
use serde_json::{Value, json};

use crate::cli::changes::ChangesArgs;
use crate::database::{Opened, kind_word};
use crate::record::Writer;
use crate::schema_text;

/// The time between two looks for more changes.
const PAUSE: Duration = Duration::from_millis(100);

/// Prints the changes of a database, or has it keep them.
pub(crate) fn changes(args: &ChangesArgs, options: &Options) -> Outcome {
    if let Some(bytes) = args.keep {
        let opened = Opened::existing(&args.dir, &options.clone().keep_changes(bytes))?;
        return opened.close_after(Ok(()));
    }
    let opened = Opened::to_read(&args.dir, options)?;
    let done = if args.position {
        let position = opened.db.position().map_err(|error| opened.failure(&error));
        position.and_then(|position| print(&format!("{position}\n")))
    } else {
        let changes = opened.db.changes(args.since).map_err(|error| opened.failure(&error));
        changes.and_then(|changes| print_changes(&opened, changes, args.follow))
    };
    opened.close_after(done)
}

fn print_changes(opened: &Opened, mut changes: Changes, follow: bool) -> Outcome {
    let mut read = Ok(());
    let mut lines = Lines::default();
    to_standard_output(&mut |out| {
        loop {
            for commit in changes.by_ref() {
                match commit.and_then(|commit| lines.of(&commit)) {
                    Ok(lines) => out.write_all(lines)?,
                    Err(error) => {
                        read = Err(error);
                        return Ok(());
                    }
                }
            }
            out.flush()?;
            if !follow {
                return Ok(());
            }
            std::thread::sleep(PAUSE);
        }
    })?;
    read.map_err(|error| opened.failure(&error))
}

/// Writes commits as lines.
#[derive(Default)]
struct Lines {
    bytes: Vec<u8>,
}

impl Lines {
    /// Returns the lines of a commit.
    fn of(&mut self, commit: &Commit) -> Result<&[u8], Error> {
        self.bytes.clear();
        for (number, change) in (1..).zip(&commit.changes) {
            let position = json!(commit.position.to_string());
            write!(self.bytes, "{{\"position\":{position}").expect("a vector takes everything");
            self.field("last", &json!(number == commit.changes.len()));
            // The record is appended as it is dumped, so its numbers stay exact.
            match change {
                Change::Row(row) => self.row(row)?,
                other => self.definition(other),
            }
            self.bytes.extend_from_slice(b"}\n");
        }
        Ok(&self.bytes)
    }

    fn field(&mut self, name: &str, value: &Value) {
        write!(self.bytes, ",{}:{value}", json!(name)).expect("a vector takes everything");
    }

    fn row(&mut self, row: &RowChange) -> Result<(), Error> {
        self.field("change", &json!("row"));
        self.field("table", &json!(row.table().name()));
        let writer = Writer::new(row.table().schema());
        for (name, record) in [("before", row.before_bytes()), ("after", row.after_bytes())] {
            write!(self.bytes, ",{}:", json!(name)).expect("a vector takes everything");
            match record {
                None => self.bytes.extend_from_slice(b"null"),
                Some(record) => {
                    writer.append(record, &mut self.bytes)?;
                    // The end of the line.
                    self.bytes.pop();
                }
            }
        }
        Ok(())
    }

    fn definition(&mut self, change: &Change) {
        match change {
            Change::CreateTable { table } => {
                self.table("create table", table);
                self.schema(table);
            }
            Change::AlterTable { before, after } => {
                self.table("alter table", before);
                self.field("name", &json!(after.name()));
                self.schema(after);
            }
            Change::DropTable { table } => self.table("drop table", table),
            Change::CreateIndex { table, index } => {
                self.index("create index", table, index);
                self.field("columns", &json!(index.columns()));
                self.field("unique", &json!(index.is_unique()));
            }
            Change::DropIndex { table, index } => self.index("drop index", table, index),
            // Rows are written elsewhere, and this version knows no other change.
            _ => self.field("change", &json!("other")),
        }
    }

    fn table(&mut self, change: &str, table: &ChangedTable) {
        self.field("change", &json!(change));
        self.field("table", &json!(table.name()));
    }

    fn schema(&mut self, table: &ChangedTable) {
        self.field("kind", &json!(kind_word(table.key_kind())));
        self.field("schema", &json!(schema_text::print(table.schema())));
    }

    fn index(&mut self, change: &str, table: &ChangedTable, index: &IndexSchema) {
        self.table(change, table);
        self.field("index", &json!(index.name()));
    }
}
