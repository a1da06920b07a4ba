//! An import that is under way is noted in the database, so that one that is killed is known.

use lode::{Error, KeyKind, Value};
use program_support::exit::{Failure, Outcome};

use crate::database::Opened;
use crate::unfinished::{NOTE, schema};

/// Refuses to import into the table that says which import is under way.
pub(super) fn expect_other(table: &str) -> Outcome {
    if table == NOTE {
        Err(Failure::Usage(format!(
            "table {NOTE} says which import is under way; choose another name"
        )))
    } else {
        Ok(())
    }
}

/// Notes that an import starts.
pub(super) fn begin(opened: &Opened, table: &str, is_new: bool) -> Outcome {
    let noted = || {
        let schema = schema()?;
        let record = schema.pack(&[Value::Text(table), Value::Bool(is_new)])?;
        opened.db.create_table(&schema, KeyKind::Tree)?.insert(&record).map(drop)
    };
    noted().map_err(|error| opened.failure(&error))
}

/// Notes that an import has ended, with or without success: what the database has now counts.
pub(super) fn end(opened: &Opened) -> Outcome {
    opened.db.drop_table(NOTE).map_err(|error| opened.failure(&error))
}

/// Drops a table that an import has made and not filled, and then the note of it; returns what is
/// in the way.
pub(super) fn drop_new(opened: &Opened, table: &str) -> Result<(), Error> {
    [table, NOTE].iter().try_for_each(|name| match opened.db.drop_table(name) {
        Err(Error::NoTable { .. }) => Ok(()),
        other => other,
    })
}
