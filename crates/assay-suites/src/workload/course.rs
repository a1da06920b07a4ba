//! The course of a phase over its windows: each continues where the one before it ended. Often
//! chosen records stay the same ones, and whoever takes records in turn takes the next one.

use assay_core::random::derive;

use super::spec::{Kind, Phase};

/// The state that the windows of a phase share, and their progress.
#[derive(Clone, Debug)]
pub(super) struct Course {
    /// The seed of the phase.
    pub(super) seed: u64,
    /// The number of threads, without one in the background.
    pub(super) threads: u32,
    /// The number of parts that records are dealt into: one for each thread.
    pub(super) lanes: u32,
    /// The places that are expected in the first window.
    first_span: u64,
    /// The places of the thread in the background, if the phase has one.
    first_span_behind: u64,
    /// The number of operations that each thread has done.
    done: Vec<u64>,
}

impl Course {
    /// Returns the course of a phase that starts with `rows` records; `seed` is the cell's.
    pub(super) fn new(phase: &Phase, seed: u64, threads: u32, rows: u64) -> Self {
        let lanes = threads + u32::from(phase.background.is_some());
        Self {
            seed: derive(derive(seed, "phase"), &phase.name),
            threads,
            lanes,
            first_span: span(phase, threads, rows),
            first_span_behind: phase.behind().map_or(0, |behind| span(&behind, 1, rows)),
            done: vec![0; lanes as usize],
        }
    }

    /// Returns the places that a thread is expected to choose among in the first window.
    pub(super) fn first_span(&self, thread: usize) -> u64 {
        if self.is_behind(thread) { self.first_span_behind } else { self.first_span }
    }

    /// Returns the number of threads that share the operations of a thread's phase.
    pub(super) fn sharing(&self, thread: usize) -> u32 {
        if self.is_behind(thread) { 1 } else { self.threads }
    }

    /// Returns true if a thread is the one in the background.
    fn is_behind(&self, thread: usize) -> bool {
        thread >= self.threads as usize
    }

    /// Returns the number of operations that a thread did in the windows before.
    pub(super) fn done(&self, thread: usize) -> u64 {
        self.done.get(thread).copied().unwrap_or(0)
    }

    /// Notes the number of operations that each thread did in a window.
    pub(super) fn advance(&mut self, operations: &[u64]) {
        for (done, more) in self.done.iter_mut().zip(operations) {
            *done += more;
        }
    }
}

/// Returns the places that a thread is expected to choose among, at the end of a window that
/// starts with `rows` records.
pub(super) fn span(phase: &Phase, threads: u32, rows: u64) -> u64 {
    rows + phase.expected(Kind::Insert) / u64::from(threads)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::file;
    use super::super::model::{Model, Start};
    use super::super::tape::{Operation, Tape};
    use super::*;

    /// Returns the operations of the only thread in two windows.
    fn windows(mix: &str, choose: &str) -> [Vec<Operation>; 2] {
        let text = format!(
            "title = \"Test\"\n[records]\ncount = 1000\nkey = {{ type = \"u64\" }}\n\
             value = {{ constant = 8 }}\n[[phase]]\nname = \"serve\"\noperations = 3000\n\
             mix = {mix}\nchoose = {choose}\n"
        );
        let spec = file::parse(&text).expect("a workload");
        let phase = &spec.phases[0];
        let mut model = Model::loaded(spec.records.count);
        let mut course = Course::new(phase, 7, 1, model.rows());
        [(); 2].map(|()| {
            let start = Start::of(&model);
            let mut lanes = std::mem::take(&mut model).lanes(1);
            let tape = Tape::new(phase, &course, &start, 0);
            let done = (0..3_100).map(|at| tape.next(at, &mut lanes[0], &start)).collect();
            model = Model::of_lanes(&lanes.iter().collect::<Vec<_>>());
            course.advance(&[3_100]);
            done
        })
    }

    /// Returns how often each record is chosen.
    fn counts(operations: &[Operation]) -> BTreeMap<u64, u64> {
        let mut counts = BTreeMap::new();
        operations.iter().for_each(|done| *counts.entry(done.row).or_default() += 1);
        counts
    }

    #[test]
    fn the_windows_of_a_phase_choose_the_same_records_often() {
        for mix in ["{ read = 1 }", "{ read = 9, insert = 1 }"] {
            for choose in ["{ zipfian = 1.2 }", "{ hotspot = { keys = 0.001, operations = 0.9 } }"]
            {
                let [first, second] = windows(mix, choose);
                let hottest = counts(&first).into_iter().max_by_key(|(_, count)| *count);
                let (row, count) = hottest.expect("a record");
                // Records that the first window inserted may be hot in the second too.
                let again = counts(&second).get(&row).copied().unwrap_or(0);
                assert!(again > count / 2, "{mix} {choose}: {count}, then {again}");
                assert_ne!(first, second, "each window draws anew");
            }
        }
    }

    /// However many records the phase itself inserts.
    #[test]
    fn the_thread_in_the_background_chooses_among_its_own_places() {
        for threads in [1, 3] {
            let text = "title = \"Test\"\n[records]\ncount = 1000\nkey = { type = \"u64\" }\n\
                        value = { constant = 8 }\n[[phase]]\nname = \"serve\"\n\
                        operations = 500000\nmix = { insert = 1 }\nbackground = { rate = 1, \
                        mix = { read = 1 }, choose = { zipfian = 1.2 } }\n";
            let spec = file::parse(text).expect("a workload");
            let phase = &spec.phases[0];
            let model = Model::loaded(spec.records.count);
            let course = Course::new(phase, 7, threads, model.rows());
            let start = Start::of(&model);
            let mut lanes = model.lanes(course.lanes);
            let behind = phase.behind().expect("a background");
            let thread = threads as usize;
            let tape = Tape::new(&behind, &course, &start, thread);
            let read: Vec<_> =
                (0..3_000).map(|at| tape.next(at, &mut lanes[thread], &start)).collect();
            // Of a thousand records, the hottest has 23 % by Zipf's law with this exponent.
            let hottest = counts(&read).into_values().max();
            assert!(hottest.is_some_and(|count| (600..800).contains(&count)), "{hottest:?}");
        }
    }

    #[test]
    fn a_sequence_continues_in_the_next_window() {
        let [first, second] = windows("{ read = 1 }", "\"sequential\"");
        let last = first[first.len() - 1].row;
        assert_eq!((last, second[0].row), (99, 100), "after three times all records");
    }
}
