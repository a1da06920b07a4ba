//! The writers of a job: which rows they change, and what each commits.
//!
//! A single writer has all rows to itself. Of several, each is a thread with rows of its own, and
//! all change columns of a few shared rows besides. A writer of its own, the first, inserts those
//! before the threads start.

use assay_core::crew::share;
use assay_core::random::{Words, derive, mix};
use assay_driver::Driver;

use super::history::{Habits, History, Step};
use super::ledger::Contents;
use super::order::Commit;
use super::{COMMITS_AFTER, Job};

/// The number of rows that all writers change: few, so that they meet.
const SHARED_ROWS: u32 = 8;

/// The columns of a shared row that a commit may change, each a register.
const COLUMNS: usize = 2;

/// The most shared rows of a transaction.
const MOST_SHARED: u64 = 3;

/// The writers of a job.
#[derive(Clone, Copy, Debug)]
pub(super) struct Writers {
    seed: u64,
    habits: Habits,
    threads: u32,
    /// Commits of all histories together.
    commits: u32,
    /// Rows of each thread.
    own_rows: u32,
    shared_rows: u32,
}

impl Writers {
    /// Returns the writers of a job.
    pub(super) fn of(job: &Job, driver: &dyn Driver) -> Self {
        let habits = Habits::of(driver);
        let threads = job.threads.max(1);
        let is_shared = threads > 1 && habits.changes();
        let shared_rows = if is_shared { SHARED_ROWS.min(job.commits) } else { 0 };
        let most = (job.commits - shared_rows).div_ceil(threads).saturating_add(COMMITS_AFTER);
        let own_rows = habits.rows(most, threads);
        Self { seed: job.seed, habits, threads, commits: job.commits, own_rows, shared_rows }
    }

    /// Returns the number of writers.
    pub(super) fn count(self) -> usize {
        if self.threads == 1 { 1 } else { self.threads as usize + 1 }
    }

    /// Returns the places of the writers that work at once.
    pub(super) fn at_once(self) -> std::ops::Range<usize> {
        self.first()..self.count()
    }

    /// Returns the place of the first thread's writer.
    fn first(self) -> usize {
        usize::from(self.threads > 1)
    }

    /// Returns the number of rows.
    pub(super) fn rows(self) -> u32 {
        self.shared_from() + self.shared_rows
    }

    /// Returns the first row that all writers change; they are the last rows.
    pub(super) fn shared_from(self) -> u32 {
        self.own_rows.saturating_mul(self.threads)
    }

    /// Returns the rows of a writer's own.
    pub(super) fn own(self, writer: usize) -> std::ops::Range<u32> {
        match writer.checked_sub(self.first()) {
            Some(thread) => thread as u32 * self.own_rows..(thread as u32 + 1) * self.own_rows,
            None => 0..0,
        }
    }

    /// Returns the number of commits in a writer's history.
    pub(super) fn commits(self, writer: usize) -> u32 {
        match writer.checked_sub(self.first()) {
            Some(thread) => {
                let share = share(u64::from(self.commits - self.shared_rows), self.threads, thread);
                (share.end - share.start) as u32
            }
            None => self.shared_rows,
        }
    }

    /// Returns a writer at the start of its history.
    pub(super) fn author(self, writer: usize) -> Author {
        // A single writer's history needs no part of the seed.
        let seed = if self.threads == 1 { self.seed } else { mix(self.seed, writer as u64) };
        let own = self.own(writer);
        let history = History::new(seed, self.habits, own.end - own.start);
        Author { writers: self, writer, history, seed: derive(seed, "shared") }
    }

    /// Returns the number of registers: the columns of shared rows that commits change.
    pub(super) fn registers(self) -> usize {
        self.shared_rows as usize * COLUMNS
    }

    /// Returns the shared row of a register.
    pub(super) fn row_of(self, register: usize) -> u32 {
        self.shared_from() + (register / COLUMNS) as u32
    }

    /// Returns the register that a step writes, or both of a row that it inserts.
    pub(super) fn registers_of(self, step: Step) -> Vec<usize> {
        let Some(row) = step.row().checked_sub(self.shared_from()) else { return Vec::new() };
        let first = row as usize * COLUMNS;
        match step {
            Step::Insert(_) => vec![first, first + 1],
            Step::Mark(_) => vec![first],
            Step::Touch(_) => vec![first + 1],
            Step::Delete(_) => unreachable!("shared rows stay"),
        }
    }

    /// Returns the registers' values in the record of a shared row.
    pub(super) fn values(contents: Contents) -> [u32; COLUMNS] {
        [contents.written, contents.touched]
    }

    /// Returns the number by which a commit marks shared rows.
    pub(super) fn mark(self, commit: Commit) -> u32 {
        let count = self.count() as u32;
        commit.number.saturating_mul(count).saturating_add(commit.writer as u32)
    }

    /// Returns the commit that made such a mark.
    pub(super) fn commit_of(self, mark: u32) -> Commit {
        let count = self.count() as u32;
        Commit { writer: (mark % count) as usize, number: mark / count }
    }

    /// Returns whose history a writer's is, if there are several.
    pub(super) fn of_thread(self, writer: usize) -> String {
        match (self.threads, writer.checked_sub(self.first())) {
            (2.., Some(thread)) => format!(" of thread {}", thread + 1),
            _ => String::new(),
        }
    }

    /// Returns a commit in words.
    pub(super) fn words(self, commit: Commit) -> String {
        let Commit { writer, number } = commit;
        match (self.threads, writer.checked_sub(self.first())) {
            (1, _) => format!("commit {number}"),
            (_, Some(thread)) => format!("commit {number} of thread {}", thread + 1),
            (_, None) => format!("commit {number} before the threads"),
        }
    }
}

/// One writer on its way through its history.
#[derive(Clone)]
pub(super) struct Author {
    writers: Writers,
    writer: usize,
    history: History,
    /// The seed of what it does on shared rows.
    seed: u64,
}

impl Author {
    /// Returns the number of commits so far.
    pub(super) fn commits(&self) -> u32 {
        self.history.commits()
    }

    /// Returns the last commit.
    pub(super) fn commit(&self) -> Commit {
        Commit { writer: self.writer, number: self.commits() }
    }

    /// Returns what a row of its own has.
    pub(super) fn row(&self, row: u32) -> Option<Contents> {
        self.history.row(row - self.writers.own(self.writer).start)
    }

    /// Takes the rows of the last commit, which was refused, back to how they were, and sets them
    /// aside. Whether it changed them is not known, so no later commit does.
    pub(super) fn set_aside(&mut self, before: &Self, steps: &[Step]) {
        let first = self.writers.own(self.writer).start;
        self.history.set_aside(&before.history, steps.iter().map(|step| step.row() - first));
    }

    /// Returns true if the row was set aside.
    pub(super) fn is_aside(&self, row: u32) -> bool {
        self.history.is_aside(row - self.writers.own(self.writer).start)
    }

    /// Makes the next commit and returns its steps, each on another row; several are a transaction.
    pub(super) fn advance(&mut self) -> Vec<Step> {
        let Writers { threads, habits, shared_rows, .. } = self.writers;
        let shared_from = self.writers.shared_from();
        if self.writer < self.writers.first() {
            let row = shared_from + self.commits();
            self.history.pass();
            return vec![Step::Insert(row)];
        }
        let mut words = Words::new(mix(self.seed, u64::from(self.commits()) + 1));
        if threads > 1 && shared_rows > 0 && words.next().is_multiple_of(4) {
            self.history.pass();
            return vec![shared_step(&mut words, shared_from, shared_rows)];
        }
        let first = self.writers.own(self.writer).start;
        let own = self.history.advance().into_iter().map(|step| step.moved(first));
        let mut steps: Vec<_> = own.collect();
        if steps.len() > 1 && habits.changes_together() && shared_rows > 0 {
            for _ in 0..words.next() % (MOST_SHARED + 1) {
                let step = shared_step(&mut words, shared_from, shared_rows);
                if steps.iter().all(|other| other.row() != step.row()) {
                    steps.push(step);
                }
            }
        }
        steps
    }
}

/// Draws a change of a shared row.
fn shared_step(words: &mut Words, shared_from: u32, shared_rows: u32) -> Step {
    let row = shared_from + (words.next() % u64::from(shared_rows)) as u32;
    if words.next().is_multiple_of(2) { Step::Touch(row) } else { Step::Mark(row) }
}
