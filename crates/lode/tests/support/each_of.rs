//! Reading records that are structs.

use lode::{Record, RecordCursor, Result};

/// Calls `visit` with each record, until it returns false.
pub fn each_of<R: Record>(
    cursor: RecordCursor<R>,
    mut visit: impl FnMut(R) -> Result<bool>,
) -> Result<()> {
    for record in cursor {
        if !visit(record?)? {
            break;
        }
    }
    Ok(())
}

/// All records that a cursor returns.
pub fn collected<R: Record>(cursor: RecordCursor<R>) -> Vec<R> {
    cursor.collect::<Result<_>>().expect("they are read")
}
