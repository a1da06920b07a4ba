//! Reads what is left of a damaged tree: the leaves that lead from its root, and those whose
//! parents are lost.

use std::collections::{BTreeMap, HashSet};

use super::batch::fill;
use super::{Fences, Layout, Tree, Wanted};
use crate::batch::Batch;
use crate::error::Result;
use crate::index::{Remains, Salvaged, Shape, Visit};
use crate::pager::{PageNumber, PageRef};

/// A node that could be read.
struct Readable {
    level: usize,
    fences: Fences,
    /// The pages of its children, with the fences that they should have.
    children: Vec<(PageNumber, Fences)>,
}

/// The keys of a node that is lost.
struct Gap {
    fences: Fences,
    /// True if it may have had children.
    had_children: bool,
}

impl Gap {
    fn has(&self, fences: &Fences) -> bool {
        let is_below = match (&self.fences.lower, &fences.lower) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(outer), Some(inner)) => outer <= inner,
        };
        let is_above = match (&self.fences.upper, &fences.upper) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(outer), Some(inner)) => outer >= inner,
        };
        is_below && is_above
    }
}

/// The leaves that were found in gaps: their upper fences, by the lower ones.
#[derive(Default)]
struct Filled(BTreeMap<Option<Vec<u8>>, Option<Vec<u8>>>);

impl Filled {
    /// Adds a leaf; returns false if another one has some of its keys.
    fn add(&mut self, fences: &Fences) -> bool {
        let before = self.0.range(..=fences.lower.clone()).next_back();
        let is_after = before.is_none_or(|(_, upper)| match (upper, &fences.lower) {
            (Some(upper), Some(lower)) => upper <= lower,
            _ => false,
        });
        let mut after = self.0.range(fences.lower.clone()..);
        let is_before = after.next().is_none_or(|(lower, _)| match (&fences.upper, lower) {
            (Some(upper), Some(lower)) => upper <= lower,
            _ => false,
        });
        if is_after && is_before {
            self.0.insert(fences.lower.clone(), fences.upper.clone());
        }
        is_after && is_before
    }

    /// Returns the keys of a gap that no leaf has.
    fn rest_of(&self, gap: &Gap) -> Vec<Fences> {
        let mut rest = Vec::new();
        let mut from = gap.fences.lower.clone();
        for (lower, upper) in self.0.range(gap.fences.lower.clone()..) {
            let fences = Fences { lower: lower.clone(), upper: upper.clone() };
            if !gap.has(&fences) {
                break;
            }
            if *lower != from {
                rest.push(Fences { lower: from, upper: lower.clone() });
            }
            from = upper.clone();
            if from.is_none() {
                return rest;
            }
        }
        if from.is_none() || from != gap.fences.upper {
            rest.push(Fences { lower: from, upper: gap.fences.upper.clone() });
        }
        rest
    }
}

/// Looks at a node below others of the level `above`; copies the records of a leaf.
fn look(
    layout: Layout,
    words: PageRef<'_>,
    above: usize,
    batch: &mut Batch,
) -> Result<Readable, String> {
    let node = layout.node(words);
    node.check()?;
    let level = node.level();
    if level >= above {
        return Err("it is of a level that is not below its parent's".into());
    }
    let fences = node.fences();
    let mut children = Vec::new();
    if node.is_leaf() {
        fill(batch, node, 0..node.count(), &Wanted::all(layout.shape.payload_size));
    } else {
        let count = node.count();
        let lower = |at| if at == 0 { fences.lower.clone() } else { Some(node.key(at)) };
        let upper = |at| if at + 1 == count { fences.upper.clone() } else { lower(at + 1) };
        let child = |at| (node.child(at), Fences { lower: lower(at), upper: upper(at) });
        children.extend((0..count).map(child));
    }
    Ok(Readable { level, fences, children })
}

fn visit_all(batch: &Batch, visit: &mut Visit<'_>) -> Result<()> {
    (0..batch.len()).try_for_each(|at| {
        let (key, payload) = batch.record(at);
        visit(Salvaged::Entry { key, payload })
    })
}

impl Tree {
    /// Calls `visit` with every record that can be read, in no order, with the pages that are
    /// damaged, and with the keys that are lost.
    ///
    /// # Errors
    /// Those of `visit`; `Full`.
    pub(crate) fn salvage(
        root: PageNumber,
        shape: Shape,
        remains: &Remains<'_>,
        visit: &mut Visit<'_>,
    ) -> Result<()> {
        let layout = Layout::new(shape);
        let mut batch = Batch::default();
        let mut seen = HashSet::new();
        let mut gaps = Vec::new();
        let mut nodes = vec![(root, Fences::default(), usize::MAX)];
        while let Some((page, fences, above)) = nodes.pop() {
            // Two parents that lead to one page are damaged: it counts once.
            let is_new = seen.insert(page);
            let read = remains.read(page, |words| {
                let found = look(layout, words, above, &mut batch)?;
                if is_new && found.fences == fences {
                    Ok(found)
                } else {
                    Err("it has the keys of another node".into())
                }
            })?;
            match read {
                Ok(Readable { level: 0, .. }) => visit_all(&batch, visit)?,
                Ok(Readable { level, children, .. }) => {
                    let children = children.into_iter().rev();
                    nodes.extend(children.map(|(page, fences)| (page, fences, level)));
                }
                Err(why) => {
                    visit(Salvaged::Page { why })?;
                    gaps.push(Gap { fences, had_children: above > 1 });
                }
            }
        }
        let filled = Self::fill_gaps(layout, remains, &seen, &gaps, visit)?;
        for gap in gaps {
            for Fences { lower: from, upper: before } in filled.rest_of(&gap) {
                visit(Salvaged::Keys { from, before })?;
            }
        }
        Ok(())
    }

    /// Reads the leaves whose parents are lost.
    fn fill_gaps(
        layout: Layout,
        remains: &Remains<'_>,
        seen: &HashSet<PageNumber>,
        gaps: &[Gap],
        visit: &mut Visit<'_>,
    ) -> Result<Filled> {
        let mut filled = Filled::default();
        if !gaps.iter().any(|gap| gap.had_children) {
            return Ok(filled);
        }
        let mut batch = Batch::default();
        let damaged = remains.each(|page| !seen.contains(&page), &mut |_, words| {
            let found = match look(layout, words, usize::MAX, &mut batch) {
                Ok(found) => found,
                Err(why) => return Ok(Err(why)),
            };
            let is_in_gap = gaps.iter().any(|gap| gap.had_children && gap.has(&found.fences));
            if found.level > 0 || !is_in_gap {
                return Ok(Ok(()));
            }
            if !filled.add(&found.fences) {
                return Ok(Err("it has the keys of another node".into()));
            }
            visit_all(&batch, visit).map(Ok)
        })?;
        damaged.into_iter().try_for_each(|why| visit(Salvaged::Page { why }))?;
        Ok(filled)
    }
}
