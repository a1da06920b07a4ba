//! `lode index`

use lode::{Error, IndexSchema, Options};
use program_support::exit::{Failure, Outcome};
use program_support::output::print;

use crate::cli::index::{CreateArgs, DropArgs, IndexArgs, IndexCommand, ListArgs};
use crate::database::Opened;
use crate::progress;
use crate::schema_text::name;

/// Creates, drops or lists secondary indexes.
pub(crate) fn index(args: &IndexArgs, options: &Options) -> Outcome {
    match &args.command {
        IndexCommand::Create(args) => create(args, options),
        IndexCommand::Drop(args) => drop_index(args, options),
        IndexCommand::List(args) => list(args, options),
    }
}

/// Returns the columns of an index, with commas between them.
pub(super) fn columns(index: &IndexSchema) -> String {
    index.columns().iter().map(|column| name(column)).collect::<Vec<_>>().join(", ")
}

/// Returns the word for an index: unique or not.
pub(super) fn kind_word(index: &IndexSchema) -> &'static str {
    if index.is_unique() { "unique" } else { "index" }
}

fn create(args: &CreateArgs, options: &Options) -> Outcome {
    let index = IndexSchema::new(&args.index, &args.columns);
    let index = if args.unique { index.unique() } else { index };
    let opened = Opened::existing(&args.dir, options)?;
    let created = opened.table(&args.table).and_then(|table| {
        let created = progress::during("indexing", || table.create_index(&index));
        created.map_err(|error| match error {
            Error::Duplicates { .. } => Failure::Wrong(opened.fault(&error.to_string())),
            error => opened.failure(&error),
        })?;
        let table = name(&args.table);
        print(&format!("index {} of table {table} created\n", name(&args.index)))
    });
    opened.close_after(created)
}

fn drop_index(args: &DropArgs, options: &Options) -> Outcome {
    let opened = Opened::existing(&args.dir, options)?;
    let dropped = opened.table(&args.table).and_then(|table| {
        table.drop_index(&args.index).map_err(|error| opened.failure(&error))?;
        let table = name(&args.table);
        print(&format!("index {} of table {table} dropped\n", name(&args.index)))
    });
    opened.close_after(dropped)
}

fn list(args: &ListArgs, options: &Options) -> Outcome {
    let opened = Opened::to_read(&args.dir, options)?;
    let names = match &args.table {
        Some(name) => vec![name.clone()],
        None => opened.db.table_names(),
    };
    let lines = names.iter().map(|name| lines(&opened, name)).collect::<Outcome<String>>();
    let printed = lines.and_then(|lines| print(&lines));
    opened.close_after(printed)
}

/// Returns a line for each index of a table.
fn lines(opened: &Opened, table: &str) -> Outcome<String> {
    let indexes = opened.table(table)?.indexes().map_err(|error| opened.failure(&error))?;
    let line = |index: &IndexSchema| {
        let kind = kind_word(index);
        let columns = columns(index);
        format!("{}\t{}\t{kind}\t{columns}\n", name(table), name(index.name()))
    };
    Ok(indexes.iter().map(line).collect())
}
