//! Reading by bytes, as tests compare them.

use std::ops::Bound;
use std::sync::OnceLock;

use lode::{ColumnId, Cursor, Database, Key, ReadTable, Result, Schema, Type};

/// A range of packed keys, and what is read of its records.
#[derive(Clone, Copy, Debug)]
pub struct Scan<'s> {
    pub lower: Bound<&'s [u8]>,
    pub upper: Bound<&'s [u8]>,
    pub backward: bool,
    pub columns: &'s [usize],
    pub limit: u64,
}

/// The handle of the column at a place, of whatever schema.
pub fn nth(at: usize) -> ColumnId {
    static WIDE: OnceLock<Schema> = OnceLock::new();
    let wide = WIDE.get_or_init(|| {
        let build = (0..100).fold(Schema::build("wide").key("key", Type::U8), |build, at| {
            build.column(&at.to_string(), Type::U8)
        });
        build.finish().expect("a schema")
    });
    wide.columns()[at].id()
}

/// A cursor that reads what a scan says.
pub fn cursor(view: &impl ReadTable, scan: &Scan<'_>) -> Cursor {
    let columns: Vec<_> = scan.columns.iter().map(|at| nth(*at)).collect();
    let cursor = view.range_packed(scan.lower, scan.upper).columns(columns).limit(scan.limit);
    if scan.backward { cursor.rev() } else { cursor }
}

/// Calls `visit` with the bytes of each row, until it returns false.
pub fn each_row(mut cursor: Cursor, visit: &mut dyn FnMut(&[u8]) -> Result<bool>) -> Result<()> {
    while let Some(row) = cursor.next_row()? {
        if !visit(row.bytes())? {
            break;
        }
    }
    Ok(())
}

/// Returns the payload of the record with a key.
pub fn payload_of(view: &impl ReadTable, key: impl Key) -> Result<Option<Vec<u8>>> {
    Ok(view.get(key)?.map(|row| row.payload().to_vec()))
}

/// Says what is wrong with a database, if anything.
pub fn check(db: &Database) -> Result<(), String> {
    match db.check() {
        Ok(report) if report.is_sound() => Ok(()),
        Ok(report) => Err(report.to_string()),
        Err(error) => Err(error.to_string()),
    }
}
