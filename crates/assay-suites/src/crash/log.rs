//! The commits that a writer acknowledged.

use serde::{Deserialize, Serialize};

use super::order::Span;

/// A commit that was acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Acknowledged {
    /// The place of its writer. A writer's commits are acknowledged in their order.
    pub writer: u32,
    /// The beginnings and ends of all commits before this one began, counted.
    pub began: u64,
    /// The beginnings and ends of all commits before this one was done, counted.
    pub ended: u64,
}

/// A commit of which a single writer heard an error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// The commit's number in the history, from 1 on.
    pub number: u32,
    /// True if nothing of it may be there: the engine says so, or was not asked to commit yet.
    pub is_without_effect: bool,
    /// The error.
    pub why: String,
}

/// The commits of a writer, in the order in which its parent heard of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Log {
    acknowledged: Vec<Acknowledged>,
    /// The commits that a single writer tried besides those.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    refused: Vec<Refused>,
}

impl Log {
    /// Adds a commit.
    pub fn add(&mut self, commit: Acknowledged) {
        self.acknowledged.push(commit);
    }

    /// Adds a commit that was refused.
    pub fn refuse(&mut self, commit: Refused) {
        self.refused.push(commit);
    }

    /// Returns the refused commits.
    pub fn refused(&self) -> &[Refused] {
        &self.refused
    }

    /// Returns the refused commit with this number, if it was refused.
    pub(super) fn refusal(&self, number: u32) -> Option<&Refused> {
        self.refused.iter().find(|refused| refused.number == number)
    }

    /// Returns the number of commits that a single writer tried.
    pub(super) fn tried(&self) -> u32 {
        self.commits() + u32::try_from(self.refused.len()).unwrap_or(u32::MAX)
    }

    /// Returns the number of acknowledged commits.
    pub fn commits(&self) -> u32 {
        u32::try_from(self.acknowledged.len()).unwrap_or(u32::MAX)
    }

    /// Returns the number of acknowledged commits of each of `count` writers.
    pub(super) fn counts(&self, count: usize) -> Vec<u32> {
        self.counts_of_first(self.acknowledged.len(), count)
    }

    /// Returns how many of the first `some` acknowledged commits are each writer's.
    pub(super) fn counts_of_first(&self, some: usize, count: usize) -> Vec<u32> {
        let mut counts = vec![0; count];
        for commit in &self.acknowledged[..some] {
            if let Some(count) = counts.get_mut(commit.writer as usize) {
                *count += 1;
            }
        }
        counts
    }

    /// Returns the times of a writer's acknowledged commits.
    pub(super) fn spans(&self, writer: usize) -> Vec<Span> {
        let of_writer = self.acknowledged.iter().filter(|commit| commit.writer as usize == writer);
        of_writer.map(|commit| Span { began: commit.began, ended: Some(commit.ended) }).collect()
    }

    /// Returns the place of the first acknowledged commit beyond the first ones of its writer,
    /// whose number `counts` has, and the number of such commits.
    pub(super) fn beyond(&self, counts: &[u32]) -> (Option<u32>, u32) {
        let mut seen = vec![0; counts.len()];
        let mut beyond = Vec::new();
        for (place, commit) in (0..).zip(&self.acknowledged) {
            if let Some(seen) = seen.get_mut(commit.writer as usize) {
                *seen += 1;
                if *seen > counts[commit.writer as usize] {
                    beyond.push(place);
                }
            }
        }
        (beyond.first().copied(), beyond.len() as u32)
    }
}
