//! `lode schema`

use lode::Options;
use program_support::exit::Outcome;
use program_support::output::print;

use crate::cli::SchemaArgs;
use crate::database::{Opened, kind_word};
use crate::schema_text;

/// Prints the schemas of all tables, or of one.
pub(crate) fn schema(args: &SchemaArgs, options: &Options) -> Outcome {
    let opened = Opened::to_read(&args.dir, options)?;
    let names = match &args.table {
        Some(name) => vec![name.clone()],
        None => opened.db.table_names(),
    };
    let lines = names.iter().map(|name| line(&opened, name)).collect::<Outcome<String>>();
    let printed = lines.and_then(|lines| print(&lines));
    opened.close_after(printed)
}

fn line(opened: &Opened, name: &str) -> Outcome<String> {
    let table = opened.table(name)?;
    let kind = kind_word(table.key_kind());
    let columns = schema_text::print(table.schema());
    Ok(format!("{}\t{kind}\t{columns}\n", schema_text::name(name)))
}
