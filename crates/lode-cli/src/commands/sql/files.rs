//! `.read`, which runs the statements of a file, and `.dump`, which writes them.

use std::fs::File;
use std::io::{BufRead, BufReader};

use lode::{ReadTable, RowRef, Table, Type, Value};
use lode_sqlite::Script;
use program_support::output::to_standard_output;

use super::session::{Next, Session};

/// The most files that are read one in the other.
const MOST_FILES: usize = 16;

/// Rows of one `INSERT`.
const ROWS_A_STATEMENT: usize = 100;

/// Runs the statements and commands of a file, up to the first that fails.
///
/// # Errors
/// The fault, with the file and the line.
pub(super) fn read(session: &mut Session, path: &str) -> Result<Next, String> {
    if session.files == MOST_FILES {
        return Err(format!("{path}: {MOST_FILES} files are being read already, one in the other"));
    }
    let file = File::open(path).map_err(|error| format!("{path}: {error}"))?;
    session.files += 1;
    let before = session.set_aside(Script::default());
    let done = lines(session, path, BufReader::new(file));
    session.set_aside(before);
    session.files -= 1;
    done
}

/// Runs the statements of lines, up to the first that fails.
///
/// # Errors
/// The fault, with the name of their source and the line.
pub(super) fn lines(
    session: &mut Session,
    name: &str,
    input: impl BufRead,
) -> Result<Next, String> {
    let mut start = 1;
    for (line, number) in input.lines().zip(1..) {
        let line = line.map_err(|error| format!("{name}: {error}"))?;
        if session.is_at_start() {
            start = number;
        }
        match session.take_line(&line) {
            Ok(Next::Line) => {}
            Ok(Next::Quit) => return Ok(Next::Quit),
            Err(why) => return Err(format!("{name}:{start}: {why}")),
        }
    }
    // The last statement needs no semicolon.
    let rest = session.take_rest();
    session.run(&rest).map_err(|why| format!("{name}:{start}: {why}"))?;
    Ok(Next::Line)
}

/// Writes the statements that make tables again, with their rows: of one table, or of all.
///
/// # Errors
/// The fault, in a line: a table that is not there or damaged, a value that SQL cannot write.
pub(super) fn dump(session: &Session, name: Option<&str>) -> Result<(), String> {
    let names = name.map_or_else(|| session.db.table_names(), |name| vec![name.into()]);
    let snapshot = session.db.snapshot();
    for name in names {
        let table = session.db.table(&name).map_err(|error| error.to_string())?;
        let mut failed = None;
        let written = to_standard_output(&mut |out| {
            writeln!(out, "{};", lode_sqlite::create_statement(&table))?;
            match lode_sqlite::create_index_statements(&table) {
                Ok(indexes) => indexes.iter().try_for_each(|index| writeln!(out, "{index};"))?,
                Err(error) => {
                    failed = Some(error.to_string());
                    return Ok(());
                }
            }
            let mut rows = table.at(&snapshot).iter();
            let mut count = 0;
            loop {
                let row = match rows.next_row() {
                    Ok(Some(row)) => row,
                    Ok(None) => break,
                    Err(error) => {
                        failed = Some(error.to_string());
                        break;
                    }
                };
                let values = match values(&table, row) {
                    Ok(values) => values,
                    Err(why) => {
                        failed = Some(why);
                        break;
                    }
                };
                match count % ROWS_A_STATEMENT {
                    0 if count > 0 => writeln!(out, ";\nINSERT INTO {} VALUES", quoted(&name))?,
                    0 => writeln!(out, "INSERT INTO {} VALUES", quoted(&name))?,
                    _ => writeln!(out, ",")?,
                }
                write!(out, "({values})")?;
                count += 1;
            }
            if count > 0 { writeln!(out, ";") } else { Ok(()) }
        });
        written.map_err(|failure| failure.line().unwrap_or_default().to_string())?;
        failed.map_or(Ok(()), Err)?;
    }
    Ok(())
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn bytes_in_hex(bytes: &[u8]) -> String {
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("x'{hex}'")
}

/// Returns the values of a row as SQL.
fn values(table: &Table, row: RowRef<'_>) -> Result<String, String> {
    let values = table.schema().columns().iter().map(|column| {
        let cannot = |what: &str| {
            let table = table.schema().name();
            let column = &column.name;
            Err(format!("{table}.{column} is {what}, which SQL cannot write; use lode dump"))
        };
        match row.at(column.id()) {
            Value::Null => Ok("NULL".into()),
            Value::Unsigned(number) if i64::try_from(number).is_err() => {
                cannot(&number.to_string())
            }
            Value::Unsigned(number) => Ok(number.to_string()),
            Value::Signed(number) | Value::Timestamp(number) => Ok(number.to_string()),
            Value::Bool(truth) => Ok(u8::from(truth).to_string()),
            Value::Float(number) if number.is_nan() => cannot("NaN"),
            Value::Float(number) if number == f64::INFINITY => Ok("9e999".into()),
            Value::Float(number) if number == f64::NEG_INFINITY => Ok("-9e999".into()),
            Value::Float(number) => Ok(format!("{number:?}")),
            // SQL ends at a zero byte.
            Value::Text(text) if text.contains('\0') => {
                Ok(format!("CAST({} AS TEXT)", bytes_in_hex(text.as_bytes())))
            }
            Value::Text(text) => Ok(format!("'{}'", text.replace('\'', "''"))),
            Value::Bytes(_) if matches!(column.kind, Type::Text(_) | Type::VarText(_)) => {
                cannot("text that is no UTF-8")
            }
            Value::Bytes(bytes) => Ok(bytes_in_hex(bytes)),
            // As a text it has all of its digits.
            Value::Decimal(number) => Ok(format!("'{number}'")),
            _ => cannot("of a kind that is not known here"),
        }
    });
    Ok(values.collect::<Result<Vec<String>, _>>()?.join(", "))
}
