//! The items of a writer and a checker, line by line, and the judgement of what is left.

use std::collections::{HashMap, HashSet};

use super::Found;

/// The promise of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Promise {
    /// Each acknowledged item survives.
    All,
    /// The items that survive are a prefix of those that were tried.
    Prefix,
}

/// The items that a writer tried, in their order, and those that it acknowledged.
#[derive(Debug, Default)]
pub(super) struct Items {
    tried: Vec<String>,
    /// Each item's place among those, and true once it is acknowledged.
    places: HashMap<String, (usize, bool)>,
    acknowledged: usize,
}

impl Items {
    /// Returns the number of acknowledged items.
    pub(super) fn acknowledged(&self) -> usize {
        self.acknowledged
    }

    /// Returns the number of items that were tried.
    pub(super) fn tried(&self) -> usize {
        self.tried.len()
    }

    /// Takes a line of the writer.
    ///
    /// # Errors
    /// Why it is none, for a person.
    pub(super) fn take(&mut self, line: &str) -> Result<(), String> {
        let line = line.trim();
        let (word, item) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let item = item.trim_start();
        let place = self.places.get_mut(item);
        match (word, place) {
            ("try" | "ack", _) if item.is_empty() => Err(format!("{line:?} names no item")),
            ("try", None) => {
                self.places.insert(item.into(), (self.tried.len(), false));
                self.tried.push(item.into());
                Ok(())
            }
            ("try", Some(_)) => {
                Err(format!("item {item:?} is tried twice; give each its own name"))
            }
            ("ack", Some((_, is_acknowledged))) if !*is_acknowledged => {
                *is_acknowledged = true;
                self.acknowledged += 1;
                Ok(())
            }
            ("ack", Some(_)) => Err(format!("item {item:?} is acknowledged twice")),
            ("ack", None) => Err(format!("item {item:?} is acknowledged, but was not tried")),
            _ => Err(format!("{line:?} is neither `try ITEM` nor `ack ITEM`")),
        }
    }

    /// Judges the lines of a checker.
    pub(super) fn judge(&self, left: &str, promise: Promise) -> Found {
        let mut found = HashSet::new();
        let mut last = None;
        for item in left.lines().map(str::trim).filter(|item| !item.is_empty()) {
            let Some(&(place, _)) = self.places.get(item) else {
                return Found::Wrong(format!("item {item:?} is there and was never tried"));
            };
            if !found.insert(item) {
                return Found::Wrong(format!("item {item:?} is there twice"));
            }
            last = last.max(Some(place));
        }
        let has_to_be_there = |(place, item): &(usize, &String)| match promise {
            Promise::All => self.places[*item].1,
            Promise::Prefix => last.is_some_and(|last| *place < last),
        };
        let tried = self.tried.iter().enumerate();
        let wanted: Vec<_> = tried.filter(has_to_be_there).map(|(_, item)| item).collect();
        let mut lost = wanted.iter().filter(|item| !found.contains(item.as_str()));
        match lost.next() {
            None => Found::Everything,
            Some(first) => {
                let count = 1 + lost.count();
                let first = String::clone(first);
                Found::Lost { count, of: wanted.len(), first }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(lines: &str) -> Items {
        let mut items = Items::default();
        lines.lines().for_each(|line| items.take(line).expect("a line"));
        items
    }

    #[test]
    fn what_was_acknowledged_has_to_be_there_and_what_was_tried_may_be() {
        let items = items("try a b\nack a b\ntry 2\nack 2\ntry 3\n");
        assert_eq!(items.acknowledged(), 2);
        let lost = |count, of, first: &str| Found::Lost { count, of, first: first.into() };
        for (left, all, prefix) in [
            ("a b\n2\n3\n", Found::Everything, Found::Everything),
            (" a b \n\n2", Found::Everything, Found::Everything),
            ("3\n2\na b", Found::Everything, Found::Everything),
            ("a b\n", lost(1, 2, "2"), Found::Everything),
            ("", lost(2, 2, "a b"), Found::Everything),
            ("a b\n3\n", lost(1, 2, "2"), lost(1, 2, "2")),
            ("3", lost(2, 2, "a b"), lost(2, 2, "a b")),
        ] {
            assert_eq!(items.judge(left, Promise::All), all, "{left:?}");
            assert_eq!(items.judge(left, Promise::Prefix), prefix, "{left:?}");
        }
        for (left, why) in [("a b\n4", "never tried"), ("2\n2", "there twice")] {
            let Found::Wrong(said) = items.judge(left, Promise::All) else { panic!("{left}") };
            assert!(said.contains(why), "{said}");
        }
    }

    #[test]
    fn a_line_of_something_else_is_refused() {
        for (lines, why) in [
            ("hello", "is neither"),
            ("try", "names no item"),
            ("try 1\ntry 1", "tried twice"),
            ("ack 1", "was not tried"),
            ("try 1\nack 1\nack 1", "acknowledged twice"),
        ] {
            let mut items = Items::default();
            let refused = lines.lines().find_map(|line| items.take(line).err());
            assert!(refused.is_some_and(|refused| refused.contains(why)), "{lines:?}");
        }
    }
}
