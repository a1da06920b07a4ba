//! Snapshots: all tables as they were at one moment.

use crate::argument::out;
use crate::failure::guarded;
use crate::objects::{lode_database, lode_snapshot};
use crate::status::lode_status::{self, LODE_OK};

/// Takes a snapshot of all tables, which is written to `snapshot` and freed with
/// `lode_free_snapshot`. It blocks no other operation. `lode_at` makes a view of it.
///
/// Old images of pages that change are kept in memory for it. If they would take too much, the
/// oldest snapshots return `LODE_SNAPSHOT_TOO_OLD` from then on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_take_snapshot(
    database: lode_database,
    snapshot: *mut lode_snapshot,
) -> lode_status {
    guarded(|| {
        let out = out!(snapshot);
        out.set(lode_snapshot::new(database.share()?.snapshot())?);
        Ok(LODE_OK)
    })
}

/// Frees a snapshot. Cursors and transactions that were made of it keep their own share in it.
#[unsafe(no_mangle)]
pub extern "C" fn lode_free_snapshot(snapshot: lode_snapshot) -> lode_status {
    guarded(|| snapshot.free().map(|()| LODE_OK))
}
