//! `lode stat`

use std::fmt::Write;
use std::fs;
use std::path::Path;

use comfy_table::{CellAlignment, presets};
use lode::{Options, ReadTable, Snapshot};
use program_support::exit::{Failure, Outcome};
use program_support::output::print;
use serde::Serialize;

use crate::cli::{Format, StatArgs};
use crate::database::{Opened, kind_word};
use crate::progress;
use crate::schema_text;

/// The facts about a database.
#[derive(Serialize)]
struct Report {
    /// The files of the database.
    files: Vec<File>,
    /// Bytes of the data file that are in use.
    data_used_bytes: u64,
    /// Bytes of the log since the last checkpoint.
    log_replay_bytes: u64,
    tables: Vec<Table>,
}

#[derive(Serialize)]
struct File {
    name: String,
    bytes: u64,
}

#[derive(Serialize)]
struct Table {
    name: String,
    keys: &'static str,
    records: u64,
    /// Bytes of a packed record, without what is of variable length.
    record_bytes: usize,
    /// Bytes of the record's key.
    key_bytes: usize,
    columns: Vec<Column>,
    indexes: Vec<Index>,
    /// The columns as `--schema` takes them, which the JSON does not repeat.
    #[serde(skip)]
    schema: String,
    #[serde(skip)]
    is_variable: bool,
}

/// A secondary index.
#[derive(Serialize)]
struct Index {
    name: String,
    columns: Vec<String>,
    unique: bool,
}

#[derive(Serialize)]
struct Column {
    name: String,
    #[serde(rename = "type")]
    kind: String,
    key: bool,
    nullable: bool,
}

/// Shows the sizes of a database and its tables.
pub(crate) fn stat(args: &StatArgs, options: &Options) -> Outcome {
    let files = files(&args.dir);
    let opened = Opened::to_read(&args.dir, options)?;
    let shown = files.and_then(|files| report(&opened, files)).and_then(|report| {
        print(&match args.format {
            Format::Table => table(&report),
            Format::Json => json(&report)?,
        })
    });
    opened.close_after(shown)
}

/// Returns the files of a directory that belong to a database; an empty list if the directory is
/// missing.
fn files(dir: &Path) -> Outcome<Vec<File>> {
    let refused = |error| Failure::Refused(format!("{}: {error}", dir.display()));
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten() {
        let entry = entry.map_err(refused)?;
        let found = entry.metadata().map_err(refused)?;
        match entry.file_name().into_string() {
            Ok(name) if found.is_file() && (name == "data" || name.starts_with("log-")) => {
                files.push(File { name, bytes: found.len() });
            }
            _ => {}
        }
    }
    files.sort_unstable_by(|one, other| one.name.cmp(&other.name));
    Ok(files)
}

fn report(opened: &Opened, files: Vec<File>) -> Outcome<Report> {
    let statistics = opened.db.statistics();
    let snapshot = opened.db.snapshot();
    let names = opened.db.table_names();
    let tables = names.iter().map(|name| describe(opened, &snapshot, name));
    Ok(Report {
        files,
        data_used_bytes: statistics.data_used_bytes,
        log_replay_bytes: statistics.log_bytes,
        tables: tables.collect::<Outcome<_>>()?,
    })
}

fn describe(opened: &Opened, snapshot: &Snapshot, name: &str) -> Outcome<Table> {
    let table = opened.table(name)?;
    let counted = progress::during(&format!("counting {name}"), || table.at(snapshot).len());
    let records = counted.map_err(|error| opened.failure(&error))?;
    let schema = table.schema();
    let columns = schema.columns().iter().enumerate().map(|(at, column)| Column {
        name: column.name.clone(),
        kind: column.kind.to_string(),
        key: at < schema.key_columns(),
        nullable: column.nullable,
    });
    let indexes = table.indexes().map_err(|error| opened.failure(&error))?;
    let indexes = indexes.iter().map(|index| Index {
        name: index.name().into(),
        columns: index.columns().into(),
        unique: index.is_unique(),
    });
    Ok(Table {
        name: name.into(),
        keys: kind_word(table.key_kind()),
        records,
        record_bytes: schema.record_size(),
        key_bytes: schema.most_key_size(),
        columns: columns.collect(),
        indexes: indexes.collect(),
        schema: schema_text::print(schema),
        is_variable: schema.is_variable() || schema.is_key_variable(),
    })
}

fn json(report: &Report) -> Outcome<String> {
    let text = serde_json::to_string_pretty(report);
    let text = text.map_err(|error| Failure::Refused(format!("cannot write JSON: {error}")))?;
    Ok(text + "\n")
}

fn table(report: &Report) -> String {
    let mut text = String::new();
    for file in &report.files {
        writeln!(text, "{}: {} bytes", file.name, file.bytes).expect("a text takes all");
    }
    let Report { data_used_bytes, log_replay_bytes, .. } = report;
    writeln!(text, "in use of data: {data_used_bytes} bytes").expect("a text takes all");
    writeln!(text, "to replay from the log: {log_replay_bytes} bytes").expect("a text takes all");
    if report.tables.is_empty() {
        return text + "no tables\n";
    }
    let mut table = comfy_table::Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["table", "keys", "records", "bytes a record", "columns"]);
    for found in &report.tables {
        table.add_row([
            schema_text::name(&found.name),
            found.keys.into(),
            found.records.to_string(),
            format!("{}{}", found.record_bytes, if found.is_variable { "+" } else { "" }),
            found.schema.clone(),
        ]);
    }
    for column in table.column_iter_mut().skip(2).take(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    text.push('\n');
    for line in table.to_string().lines() {
        text.push_str(line.trim_end());
        text.push('\n');
    }
    for (table, index) in
        report.tables.iter().flat_map(|table| table.indexes.iter().map(move |index| (table, index)))
    {
        let kind = if index.unique { "unique index" } else { "index" };
        let columns: Vec<_> = index.columns.iter().map(|name| schema_text::name(name)).collect();
        let table = schema_text::name(&table.name);
        let index = schema_text::name(&index.name);
        let columns = columns.join(", ");
        writeln!(text, "{kind} {index} of {table}: {columns}").expect("a text takes all");
    }
    text
}
