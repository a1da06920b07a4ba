//! The keys of a workload: a number that a record's number becomes, perhaps behind leading columns.
//! Records whose numbers leave one remainder have one front, as the columns behind the key have
//! values; the number tells those of a front apart. So all places in the order of keys are known
//! without a table of them.

use assay_core::random::{Bijection, derive, draw};
use assay_driver::schema::{ColumnType, Schema};

use super::columns::{type_of, write};
use super::spec::{Column, ColumnKind, KeyType, MOST_LEADING, Made, Spec};
use super::texts;

/// The numbers of hashed keys if none of them is scanned, so that there is room for any number of
/// records.
const SPACIOUS: u64 = 1 << 40;

/// The distance of moments, and the first of them: 2026-01-01, in nanoseconds.
const MOMENT_NS: u64 = 1_000_000;
const FIRST_MOMENT_NS: u64 = 1_767_225_600_000_000_000;

/// The distance of sparse keys on average.
const SPARSE: u64 = 1 << 16;

/// The first number of absent dense keys, which have no gaps.
const DENSE_ABSENT: u64 = 1 << 62;

/// The names of a key's leading columns in stores.
const NAMES: [&str; MOST_LEADING] = ["part_1", "part_2", "part_3"];

/// A place in the order of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank {
    front: u64,
    within: u64,
}

/// The keys.
pub(super) struct Keys {
    leading: Vec<Leading>,
    kind: KeyType,
    /// Bytes of the key area before the number.
    number_at: usize,
    /// The fronts, and which remainder has which.
    fronts: u64,
    spread_fronts: Bijection,
    /// The first number, and the width of each record's part of the range.
    first: u64,
    part: u64,
    /// Which record of a front has which part; none: by their numbers.
    spread: Option<Bijection>,
    seed: u64,
}

/// A leading column.
struct Leading {
    kind: ColumnKind,
    distinct: u64,
    /// The distance of values, as numbers.
    part: u64,
    /// Bytes of the key area before it.
    at: usize,
}

/// Returns the names and types of a key's columns in stores.
pub(super) fn declared(spec: &Spec) -> Vec<(&'static str, ColumnType)> {
    let key = &spec.records.key;
    let leading = NAMES.into_iter().zip(&key.leading);
    let leading = leading.map(|(name, column)| (name, type_of(column.kind)));
    let number = match key.kind {
        KeyType::U64 => ColumnType::U64,
        KeyType::Text(size) => ColumnType::Text(size),
        KeyType::Bytes(size) => ColumnType::Bytes(size),
    };
    leading.chain([("id", number)]).collect()
}

impl Keys {
    /// Returns the keys of records that a schema lays out; `seed` is the workload's.
    pub(super) fn new(spec: &Spec, schema: &Schema, seed: u64) -> Self {
        let key = &spec.records.key;
        let fronts = key.fronts();
        let all = if spec.scans() { spec.most_rows().unwrap_or(SPACIOUS) } else { SPACIOUS };
        let capacity = all.div_ceil(fronts).max(1);
        let (first, part) = match key.made {
            Made::Dense => (0, 1),
            Made::Sparse => (0, SPARSE),
            Made::Time => (FIRST_MOMENT_NS, MOMENT_NS),
            // Below 2^63, which every engine's numbers reach.
            Made::Hashed => (0, i64::MAX.cast_unsigned() / capacity),
        };
        let places = schema.key_columns();
        let leading = |(column, at): (&Column, usize)| Leading {
            kind: column.kind,
            distinct: column.distinct,
            part: column.kind.most_number() / column.distinct,
            at,
        };
        let offsets = places.iter().map(|place| place.offset);
        Self {
            leading: key.leading.iter().zip(offsets).map(leading).collect(),
            kind: key.kind,
            number_at: places[places.len() - 1].offset,
            fronts,
            spread_fronts: Bijection::new(derive(seed, "fronts"), fronts),
            first,
            part,
            spread: (key.made == Made::Hashed)
                .then(|| Bijection::new(derive(seed, "keys"), capacity)),
            seed: derive(seed, "values"),
        }
    }

    /// Returns the place of a record in the order of keys.
    pub(super) fn rank(&self, row: u64) -> Rank {
        Rank { front: self.front(row), within: self.within(row) }
    }

    /// Returns the place of a record's front among all.
    fn front(&self, row: u64) -> u64 {
        if self.leading.is_empty() { 0 } else { self.spread_fronts.at(row % self.fronts) }
    }

    /// Returns the place of a record among those of its front.
    fn within(&self, row: u64) -> u64 {
        let nth = row / self.fronts;
        self.spread.as_ref().map_or(nth, |spread| spread.at(nth))
    }

    /// Returns the record whose key follows that of a record, if there are `rows` of them. Hashed
    /// keys of records beyond have their places too.
    pub(super) fn after(&self, row: u64, rows: u64) -> Option<u64> {
        let remainder = row % self.fronts;
        let next = match &self.spread {
            None => Some(row + self.fronts).filter(|next| *next < rows),
            Some(spread) => {
                let next = self.within(row) + 1;
                (next < spread.size()).then(|| spread.position_of(next) * self.fronts + remainder)
            }
        };
        next.or_else(|| {
            let first = self.spread.as_ref().map_or(0, |spread| spread.position_of(0));
            (self.front(row) + 1..self.fronts)
                .map(|front| first * self.fronts + self.spread_fronts.position_of(front))
                .find(|next| self.spread.is_some() || *next < rows)
        })
    }

    /// Writes the key area of a record.
    pub(super) fn write(&self, row: u64, area: &mut [u8]) {
        let within = self.within(row);
        let further = draw(self.seed, within, self.part.saturating_sub(1).max(1));
        let number = self.first.wrapping_add(within * self.part).wrapping_add(further);
        self.write_parts(row, number, area);
    }

    /// Writes the key area of a key that no record has.
    pub(super) fn write_absent(&self, row: u64, area: &mut [u8]) {
        let number = match self.part {
            1 => DENSE_ABSENT + row,
            part => self.first + self.within(row) * part + part - 1,
        };
        self.write_parts(row, number, area);
    }

    fn write_parts(&self, row: u64, number: u64, area: &mut [u8]) {
        area.fill(0);
        let mut front = self.front(row);
        for column in self.leading.iter().rev() {
            let value = front % column.distinct * column.part;
            front /= column.distinct;
            let to = &mut area[column.at..][..column.kind.bytes() as usize];
            write(column.kind, value, to);
        }
        let last = &mut area[self.number_at..];
        match self.kind {
            KeyType::U64 => last[..8].copy_from_slice(&number.to_le_bytes()),
            KeyType::Bytes(_) => last[..8].copy_from_slice(&number.to_be_bytes()),
            KeyType::Text(size) => texts::write(number, &mut last[..size as usize]),
        }
    }

    /// Returns the record with a key, whether or not there is one; none if no record can have it.
    pub(super) fn row_of(&self, area: &[u8]) -> Option<u64> {
        let mut front = 0;
        for column in &self.leading {
            let from = area.get(column.at..)?;
            let value = match column.kind {
                ColumnKind::U32 => u32::from_le_bytes(*from.first_chunk()?).into(),
                ColumnKind::U64 => u64::from_le_bytes(*from.first_chunk()?),
                ColumnKind::Text(size) => texts::read(from.get(..size as usize)?)?,
            };
            let place = value / column.part;
            front = (place < column.distinct).then(|| front * column.distinct + place)?;
        }
        let from = area.get(self.number_at..)?;
        let number = match self.kind {
            KeyType::U64 => u64::from_le_bytes(*from.first_chunk()?),
            KeyType::Bytes(_) => u64::from_be_bytes(*from.first_chunk()?),
            KeyType::Text(size) => texts::read(from.get(..size as usize)?)?,
        };
        let within = number.checked_sub(self.first)? / self.part;
        let nth = match &self.spread {
            None => within,
            Some(spread) => (within < spread.size()).then(|| spread.position_of(within))?,
        };
        let remainder =
            if self.leading.is_empty() { 0 } else { self.spread_fronts.position_of(front) };
        let row = nth.checked_mul(self.fronts)?.checked_add(remainder)?;
        let mut expected = vec![0; area.len()];
        self.write(row, &mut expected);
        (expected == area).then_some(row)
    }
}
