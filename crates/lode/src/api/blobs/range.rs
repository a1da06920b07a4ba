//! The keys of blobs that start with some bytes.

use std::ops::Bound;

use crate::api::{Cursor, ReadTable, Table};
use crate::schema::Value;

/// Returns a cursor over the records whose keys, of one column of bytes, start with some.
pub(super) fn with_prefix(table: &Table, start: &[u8]) -> Cursor {
    let lower = Bound::Included(Value::Bytes(start));
    match after_all_with(start) {
        None => table.range((lower, Bound::Unbounded)),
        Some(after) => table.range((lower, Bound::Excluded(Value::Bytes(&after)))),
    }
}

/// Returns the first bytes after all that start with `start`; `None` if there are none.
fn after_all_with(start: &[u8]) -> Option<Vec<u8>> {
    let end = start.iter().rposition(|byte| *byte != u8::MAX)?;
    let mut after = start[..=end].to_vec();
    after[end] += 1;
    debug_assert!(&after[..] > start, "it is after all with these first bytes");
    Some(after)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_after_a_prefix_has_a_higher_last_byte() {
        assert_eq!(after_all_with(b"ab"), Some(b"ac".to_vec()));
        assert_eq!(after_all_with(b"a\xff\xff"), Some(b"b".to_vec()));
        assert_eq!(after_all_with(b"\xff"), None);
        assert_eq!(after_all_with(b""), None);
    }
}
