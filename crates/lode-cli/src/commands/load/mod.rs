//! `lode load`: lines become records, which are written many at a time.

mod lines;

use lode::{Options, Schema, Table};
use program_support::exit::{Failure, Outcome};
use program_support::output::print;

use self::lines::Lines;
use super::batch::{Batch, IfThere, Loaded, Unit};
use super::records;
use super::target::{Target, open};
use crate::cli::LoadArgs;
use crate::database::Opened;
use crate::record;
use crate::schema_text;

/// Puts lines of JSON into a table.
pub(crate) fn load(args: &LoadArgs, options: &Options) -> Outcome {
    let schema = args.schema.as_deref().map(|text| schema_text::parse(&args.table, text));
    let schema = schema.transpose().map_err(|why| Failure::Usage(format!("--schema: {why}")))?;
    // Nothing is created for lines that cannot be read.
    let mut lines = Lines::of(args.file.as_deref())?;
    lines.wait()?;
    let target = Target { table: &args.table, schema: schema.as_ref(), kind: args.kind };
    let opened = open(&args.dir, schema.is_some(), options)?;
    let loaded = target
        .in_database(&opened)
        .and_then(|table| fill(&opened, &table, lines, IfThere::of(args.replace, args.skip)));
    let loaded = opened.close_after(loaded)?;
    print(&format!("{}\n", loaded.summary("loaded")))
}

/// Loads lines up to the end, or to the first that cannot be loaded.
fn fill(opened: &Opened, table: &Table, mut lines: Lines, if_there: IfThere) -> Outcome<Loaded> {
    let mut batch = Batch::new(opened, table, if_there, lines.name(), Unit::Line);
    let read = read_all(&mut lines, &mut batch, table.schema());
    // Lines before the wrong one are loaded all the same; and if that fails, its error comes
    // first.
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
