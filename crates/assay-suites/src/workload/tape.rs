//! The operations of a thread in a phase, computed from seed and position: the same on every engine
//! and machine, however fast it is.
//!
//! A thread knows the records of its own lane at every moment. It knows those of other lanes as
//! they were at the start of the phase. It writes records of its own, and reads any.

use assay_core::random::{draw, mix};

use super::choice::{Choice, Chooser, Seeds, Spans};
use super::course::{Course, span};
use super::model::{Lane, Start, State};
use super::sizes::{Sizes, open_uniform};
use super::spec::{Kind, Phase};
use crate::batch::Selected;

/// The most draws of a record that is there.
const DRAWS: u64 = 16;

/// One operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Operation {
    pub(super) kind: Kind,
    /// The record, or the number of an absent key.
    pub(super) row: u64,
    /// For a record of the thread's own: its state before the operation. Others' are found out
    /// afterwards.
    pub(super) before: Option<State>,
    /// The state after it, if it writes the record.
    pub(super) after: Option<State>,
    /// The number of records that a scan wants, and the columns of them.
    pub(super) wanted: u64,
    pub(super) selected: Selected,
    /// The place of the column that a find looks for.
    pub(super) by: usize,
}

/// The operations of one thread in a phase.
#[derive(Clone, Debug)]
pub(super) struct Tape {
    /// The shares of kinds, each with those before it.
    shares: Vec<(f64, Kind)>,
    chooser: Chooser,
    scanned: Sizes,
    selected: Selected,
    found_by: usize,
    seed: u64,
    /// The number of operations in the windows before.
    before: u64,
    thread: u64,
    threads: u64,
    is_oldest: bool,
    /// The places of the lane at the start of the phase.
    at_start: u64,
}

impl Tape {
    /// Returns the operations of a thread in the next window of a phase.
    pub(super) fn new(phase: &Phase, course: &Course, start: &Start, thread: usize) -> Self {
        let own = mix(course.seed, 2 + thread as u64);
        let mut sum = 0.0;
        let shares = Kind::ALL.into_iter().filter(|kind| phase.has(*kind)).map(|kind| {
            sum += phase.mix[kind as usize];
            (sum, kind)
        });
        let shares = shares.collect();
        let first = course.first_span(thread);
        let spans = Spans { first, now: span(phase, course.sharing(thread), start.rows) };
        let seeds = Seeds { phase: course.seed, draws: mix(own, 1) };
        let before = course.done(thread);
        let thread = thread as u64;
        let threads = u64::from(course.lanes);
        let all = u128::from(first.max(1));
        let from = (all * u128::from(thread) / u128::from(threads)) as u64;
        Self {
            shares,
            chooser: Chooser::new(phase.choose, spans, seeds, from),
            scanned: phase.scanned.clone(),
            selected: match &phase.scanned_columns {
                None => Selected::ALL,
                Some(places) => Selected::of(places.iter().copied()),
            },
            found_by: phase.found_by.unwrap_or(0),
            seed: own,
            before,
            thread,
            threads,
            is_oldest: phase.choose == Choice::Oldest,
            at_start: (start.rows + threads - 1 - thread) / threads,
        }
    }

    /// Returns the kind of the operation at a position.
    fn kind(&self, position: u64) -> Kind {
        let uniform =
            open_uniform(mix(self.seed, position)) * self.shares.last().map_or(1.0, |s| s.0);
        let found = self.shares.iter().find(|(share, _)| uniform <= *share);
        found.or(self.shares.last()).map_or(Kind::Read, |(_, kind)| *kind)
    }

    /// Returns the operation at a position of the window, and notes in the lane what it writes.
    pub(super) fn next(&self, position: u64, lane: &mut Lane, start: &Start) -> Operation {
        let position = self.before + position;
        let kind = self.kind(position);
        let row = match kind {
            Kind::Missing => Some(draw(mix(self.seed, 3), position, start.rows.max(1))),
            Kind::Insert => None,
            Kind::Read | Kind::Scan | Kind::Find => self.any(position, lane, start),
            Kind::Upsert => self.own(position, lane, start),
            _ => self.own_live(position, lane, start),
        };
        // Without a record to choose, the operation is on one that is yet to be inserted.
        let row = row.unwrap_or_else(|| lane.row(lane.len()));
        let is_own = kind != Kind::Missing && lane.owns(row);
        let before = is_own.then(|| lane.state(row));
        let is_there = before.is_some_and(State::is_there);
        let after = match kind {
            Kind::Insert | Kind::Upsert => Some(lane.write(row, true)),
            Kind::Delete if is_there => Some(lane.write(row, false)),
            kind if kind.updates() && is_there => Some(lane.write(row, true)),
            _ => None,
        };
        let wanted = match kind {
            Kind::Scan => self.scanned.of(mix(mix(self.seed, 4), position)),
            _ => 0,
        };
        let Self { selected, found_by: by, .. } = *self;
        Operation { kind, row, before, after, wanted, selected, by }
    }

    /// Returns the places that a thread chooses among: the records at the start of the phase, then
    /// those that it inserted itself. Records before the oldest of its own are taken to be gone.
    fn places(&self, lane: &Lane, start: &Start) -> (u64, u64) {
        let own_oldest = lane.oldest() as u64;
        let first = if own_oldest < self.at_start {
            own_oldest * self.threads
        } else {
            start.rows + own_oldest - self.at_start
        };
        (first, start.rows + lane.len() as u64 - self.at_start)
    }

    /// Returns the record at a place.
    fn row_at(&self, place: u64, start: &Start) -> u64 {
        match place.checked_sub(start.rows) {
            None => place,
            Some(nth) => (self.at_start + nth) * self.threads + self.thread,
        }
    }

    /// Draws a record at a position, again and again while it is refused.
    fn drawn(
        &self,
        position: u64,
        lane: &Lane,
        start: &Start,
        accepts: impl Fn(u64) -> Option<u64>,
    ) -> Option<u64> {
        let (first, count) = self.places(lane, start);
        let draws = (0..DRAWS).map(|nth| match nth {
            0 => position,
            // Beyond the positions of operations.
            _ => mix(nth, position) | 1 << 63,
        });
        draws
            .filter_map(|at| self.chooser.place(at, first, count))
            .find_map(|place| accepts(self.row_at(place, start)))
    }

    /// Returns the record for a read: one of any lane.
    fn any(&self, position: u64, lane: &Lane, start: &Start) -> Option<u64> {
        if self.is_oldest {
            return self.oldest(lane);
        }
        let is_there =
            |row: u64| if lane.owns(row) { lane.state(row).is_there() } else { start.has(row) };
        self.drawn(position, lane, start, |row| is_there(row).then_some(row))
            .or_else(|| self.oldest(lane))
    }

    /// Returns a record of the thread's own, whether or not it is there.
    fn own(&self, position: u64, lane: &Lane, start: &Start) -> Option<u64> {
        if self.is_oldest {
            return self.oldest(lane);
        }
        self.drawn(position, lane, start, |row| self.near(row, lane))
    }

    /// Returns a record of the thread's own that is there.
    fn own_live(&self, position: u64, lane: &Lane, start: &Start) -> Option<u64> {
        if self.is_oldest || lane.live() == 0 {
            return self.oldest(lane);
        }
        let is_there = |row: &u64| lane.state(*row).is_there();
        let accepts = |row| self.near(row, lane).filter(is_there);
        self.drawn(position, lane, start, accepts).or_else(|| {
            let first = draw(mix(self.seed, 5), position, lane.len() as u64);
            lane.live_from(first as usize).map(|place| lane.row(place))
        })
    }

    /// Returns the record of the thread's own next to a record.
    fn near(&self, row: u64, lane: &Lane) -> Option<u64> {
        let place = (row / self.threads).min((lane.len() as u64).checked_sub(1)?);
        Some(place * self.threads + self.thread)
    }

    fn oldest(&self, lane: &Lane) -> Option<u64> {
        (lane.oldest() < lane.len()).then(|| lane.row(lane.oldest()))
    }
}
