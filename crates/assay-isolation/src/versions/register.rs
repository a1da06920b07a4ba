//! The versions of a register: one for each write.

use super::{Base, Node, OneKey, ROOT, Tree, writer_of};
use crate::collect::{Directs, Kind, Malformed, NONE};
use crate::verdict::Anomaly;

/// Returns the versions of a register.
///
/// If it was ever deleted, a read without a value does not show which version it saw.
pub(super) fn tree(one: &OneKey<'_, '_>, directs: &mut Directs) -> Result<Tree, Malformed> {
    let values = one.by_value()?;
    let is_deleted = one.writes.iter().any(|write| write.kind == Kind::Delete);
    let mut seen = Vec::with_capacity(one.views.len());
    for view in &one.views {
        seen.push(match view.seen {
            [] if is_deleted => NONE,
            [] => ROOT,
            [value] => match writer_of(&values, *value) {
                Some(write) if one.is_committed(write as usize) => write + 1,
                // Its place among the committed versions is not known.
                Some(write) => {
                    let writer = one.writes[write as usize].transaction;
                    directs.note(Anomaly::AbortedRead, &[writer, view.transaction], one.key);
                    NONE
                }
                None => {
                    directs.note(Anomaly::Garbage, &[view.transaction], one.key);
                    NONE
                }
            },
            _ => {
                directs.note(Anomaly::Garbage, &[view.transaction], one.key);
                NONE
            }
        });
    }
    let mut nodes = vec![Node { parent: ROOT, write: NONE }];
    let mut bases = Vec::new();
    for (place, write) in one.writes.iter().enumerate() {
        let base = one.base(place).map_or(NONE, |view| seen[view]);
        let parent = match base {
            _ if !one.is_first(place) => place as u32,
            NONE => ROOT,
            base => base,
        };
        if one.is_first(place) && base != NONE && one.is_committed(place) {
            bases.push(Base { node: base, transaction: write.transaction });
        }
        nodes.push(Node { parent, write: place as u32 });
    }
    Ok(Tree { nodes, seen, bases })
}
