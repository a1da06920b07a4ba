//! `lode load`: lines become records, which are written many at a time.

mod batch;
mod lines;

use lode::{KeyKind, Options, Schema, Table};
use program_support::exit::{Failure, Outcome};
use program_support::output::print;

use self::batch::{Batch, IfThere, Loaded};
use self::lines::Lines;
use super::records;
use crate::cli::LoadArgs;
use crate::database::{DirContent, Opened, kind_word, look};
use crate::record;
use crate::schema_text;

/// Puts lines of JSON into a table.
pub(crate) fn load(args: &LoadArgs, options: &Options) -> Outcome {
    let schema = args.schema.as_deref().map(|text| schema_text::parse(&args.table, text));
    let schema = schema.transpose().map_err(|why| Failure::Usage(format!("--schema: {why}")))?;
    // Nothing is created for lines that cannot be read.
    let mut lines = Lines::of(args.file.as_deref())?;
    lines.wait()?;
    let opened = open(args, schema.is_some(), options)?;
    let loaded = table(args, schema.as_ref(), &opened)
        .and_then(|table| fill(&opened, &table, lines, if_there(args)));
    let loaded = opened.close_after(loaded)?;
    print(&format!("{}\n", summary(loaded)))
}

fn open(args: &LoadArgs, may_create: bool, options: &Options) -> Outcome<Opened> {
    match look(&args.dir)? {
        DirContent::Free if may_create => Opened::or_new(&args.dir, options),
        DirContent::Taken if may_create => Err(Failure::Usage(format!(
            "{}: there are other files in this directory; choose an empty or a new one",
            args.dir.display()
        ))),
        _ => Opened::existing(&args.dir, options),
    }
}

fn if_there(args: &LoadArgs) -> IfThere {
    match (args.replace, args.skip) {
        (true, _) => IfThere::Replace,
        (_, true) => IfThere::Skip,
        _ => IfThere::Stop,
    }
}

/// The table, which is created if it is not there and its schema is given.
fn table(args: &LoadArgs, schema: Option<&Schema>, opened: &Opened) -> Outcome<Table> {
    let name = &args.table;
    let Some(schema) = schema else {
        return opened
            .table(name)
            .map_err(|failure| failure.and("--schema creates a table that is not there"));
    };
    if !opened.db.table_names().contains(name) {
        let kind = args.kind.map_or(KeyKind::Tree, KeyKind::from);
        return opened.db.create_table(schema, kind).map_err(|error| opened.failure(&error));
    }
    let table = opened.table(name)?;
    if table.schema() != schema {
        let columns = schema_text::print(table.schema());
        return Err(Failure::Usage(format!(
            "--schema: table {name} is there already, and has other columns: {columns}"
        )));
    }
    match args.kind.map(KeyKind::from) {
        Some(kind) if kind != table.key_kind() => Err(Failure::Usage(format!(
            "--kind: table {name} is there already, and is of kind {}",
            kind_word(table.key_kind())
        ))),
        _ => Ok(table),
    }
}

/// Loads lines up to the end, or to the first that cannot be loaded.
fn fill(opened: &Opened, table: &Table, mut lines: Lines, if_there: IfThere) -> Outcome<Loaded> {
    let mut batch = Batch::new(opened, table, if_there, lines.name());
    let read = read_all(&mut lines, &mut batch, table.schema());
    // What comes before the line that is wrong is loaded all the same; and if that does not work,
    // it is the first thing that is wrong.
    let written = batch.write();
    let loaded = batch.loaded();
    let stay = match loaded.written() {
        0 => "nothing was loaded".into(),
        1 => "1 record before was loaded, and stays".into(),
        count => format!("{} before were loaded, and stay", records(count)),
    };
    written.and(read).map(|()| loaded).map_err(|failure| failure.and(&stay))
}

fn read_all(lines: &mut Lines, batch: &mut Batch<'_>, schema: &Schema) -> Outcome {
    while let Some((number, line)) = lines.next()? {
        let record = record::read(schema, line)
            .map_err(|fault| lines::wrong(batch.source(), number, line, &fault))?;
        batch.add(number, &record)?;
    }
    Ok(())
}

fn summary(loaded: Loaded) -> String {
    let mut text = format!("{} loaded", records(loaded.written()));
    if loaded.replaced > 0 {
        text.push_str(&format!(", {} of them replaced others", loaded.replaced));
    }
    if loaded.skipped > 0 {
        text.push_str(&format!(", {} skipped", loaded.skipped));
    }
    text
}
