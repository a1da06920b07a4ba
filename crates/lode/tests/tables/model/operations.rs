//! Operations on a table and on its model.

use std::ops::Bound;

use lode::{Durability, Error, Table, Transaction};
use proptest::prelude::*;

use crate::reading::nth;

use super::contents::{Contents, Size};
use super::disk::BALLAST;
use super::keys::Place;
use super::run::Model;

pub type Range = (Bound<Place>, Bound<Place>);

/// A write of a record.
#[derive(Clone, Debug)]
pub enum Write<C: Contents> {
    Insert(C::Entry),
    Upsert(C::Entry),
    Update(C::Update),
    Delete,
}

/// An operation. Keys are few, so that operations meet.
#[derive(Clone, Debug)]
pub enum Operation<C: Contents> {
    Write(Place, Write<C>),
    /// A change that makes it another record.
    Change(Place, C::Entry),
    /// A change whose closure decides against it.
    Keep(Place),
    /// A change that leaves bytes that are no payload.
    Spoil(Place),
    DeleteRange(i16, i16),
    Get(Place),
    GetMany(Vec<Place>),
    Scan {
        range: Range,
        backward: bool,
        limit: u64,
    },
    TakeSnapshot,
    DropSnapshot,
    Begin,
    Commit,
    Rollback,
    Check,
    /// An operation that only a database in a directory has.
    Disk(DiskOperation<C>),
}

#[derive(Clone, Debug)]
pub enum DiskOperation<C: Contents> {
    InsertRange(i16, i16, C::Entry),
    Checkpoint,
    /// A checkpoint with writes before each of its steps, and snapshots between them.
    CheckpointAmid(Vec<(Place, Write<C>)>),
    Flush,
    LookAfter,
    CleanPages(u64),
    GiveBack,
    Compact,
    Rest,
    Reopen,
    /// Reads this number of records of the other table, and writes one of them.
    Sweep(u32),
}

/// The largest distance of keys from 0 on a disk.
const REACH: i16 = 150;

fn writes<C: Contents>(size: Size) -> impl Strategy<Value = Write<C>> {
    prop_oneof![
        6 => C::entries(size).prop_map(Write::<C>::Insert),
        3 => C::entries(size).prop_map(Write::<C>::Upsert),
        6 => C::updates(size).prop_map(Write::<C>::Update),
        3 => Just(Write::<C>::Delete),
    ]
}

/// Operations on keys of `-reach..reach`.
fn on_keys<C: Contents>(reach: i16) -> BoxedStrategy<Operation<C>> {
    let key = move || (-reach..reach, 0..6u8);
    let bound = move || {
        prop_oneof![
            key().prop_map(Bound::Included),
            key().prop_map(Bound::Excluded),
            Just(Bound::Unbounded),
        ]
    };
    prop_oneof![
        18 => (key(), writes::<C>(Size::Any)).prop_map(|(at, write)| Operation::Write(at, write)),
        3 => (key(), C::entries(Size::Any)).prop_map(|(at, entry)| Operation::Change(at, entry)),
        1 => key().prop_map(Operation::Keep),
        1 => key().prop_map(Operation::Spoil),
        1 => (-reach..reach, 0..20i16)
            .prop_map(|(from, size)| Operation::DeleteRange(from, from + size)),
        2 => key().prop_map(Operation::Get),
        1 => proptest::collection::vec(key(), 0..40).prop_map(Operation::GetMany),
        2 => (bound(), bound(), any::<bool>(), 0..50u64)
            .prop_map(|(lower, upper, backward, limit)| {
                Operation::Scan { range: (lower, upper), backward, limit }
            }),
        1 => Just(Operation::TakeSnapshot),
        1 => Just(Operation::DropSnapshot),
        1 => Just(Operation::Begin),
        1 => Just(Operation::Commit),
        1 => Just(Operation::Rollback),
        1 => Just(Operation::Check),
    ]
    .boxed()
}

/// Operations on a database in memory.
pub fn in_memory<C: Contents>() -> impl Strategy<Value = Vec<Operation<C>>> {
    proptest::collection::vec(on_keys::<C>(20), 0..300)
}

/// Operations on a disk: on few keys, so that they meet, and on many, so that there are many pages.
pub fn on_disk<C: Contents>() -> impl Strategy<Value = (Durability, Vec<Operation<C>>)> {
    let amid = ((-REACH..REACH, 0..6u8), writes::<C>(Size::BesideCheckpoint));
    let range = (-REACH..REACH, 0..25i16, C::entries(Size::Common));
    let of_disk = prop_oneof![
        8 => range.prop_map(|(from, count, entry)| {
            DiskOperation::InsertRange(from, from + count, entry)
        }),
        3 => Just(DiskOperation::<C>::Checkpoint),
        2 => proptest::collection::vec(amid, 0..10).prop_map(DiskOperation::CheckpointAmid),
        1 => Just(DiskOperation::<C>::Flush),
        1 => Just(DiskOperation::<C>::LookAfter),
        3 => (1..40u64).prop_map(DiskOperation::<C>::CleanPages),
        2 => Just(DiskOperation::<C>::GiveBack),
        1 => Just(DiskOperation::<C>::Compact),
        1 => Just(DiskOperation::<C>::Rest),
        2 => Just(DiskOperation::<C>::Reopen),
        5 => (1..2 * BALLAST).prop_map(DiskOperation::<C>::Sweep),
    ];
    let operation = prop_oneof![
        5 => on_keys::<C>(20),
        5 => on_keys::<C>(REACH),
        2 => of_disk.prop_map(Operation::Disk),
    ];
    let level =
        prop_oneof![Just(Durability::None), Just(Durability::Process), Just(Durability::Commit)];
    (level, proptest::collection::vec(operation, 0..150))
}

/// A record of a table.
#[derive(Clone, Copy)]
pub struct Record<'t, C> {
    pub table: &'t Table,
    pub contents: C,
    pub place: Place,
}

impl<C: Contents> Record<'_, C> {
    fn key(self) -> Vec<u8> {
        self.contents.keys().key(self.place)
    }

    fn packed(self, entry: C::Entry) -> Vec<u8> {
        self.contents.record(self.place, entry)
    }
}

impl<C: Contents> Write<C> {
    /// Carries it out on a model, and returns what the table has to return.
    pub fn on_model(&self, model: &mut Model<C>, place: Place) -> bool {
        let before = model.get(&place).copied();
        match (self, before) {
            (Self::Insert(entry), None) | (Self::Upsert(entry), _) => {
                model.insert(place, *entry);
            }
            (Self::Update(update), Some(entry)) => {
                model.insert(place, C::updated(entry, *update));
            }
            (Self::Delete, _) => {
                model.remove(&place);
            }
            _ => {}
        }
        match self {
            Self::Insert(_) => before.is_none(),
            _ => before.is_some(),
        }
    }

    pub fn on_table(&self, record: Record<'_, C>) -> Result<bool, Error> {
        let table = record.table;
        match self {
            Self::Insert(entry) => table.insert(&record.packed(*entry)),
            Self::Upsert(entry) => table.upsert(&record.packed(*entry)),
            Self::Update(update) => {
                let (column, bytes) = C::column(*update);
                table.update(record.key(), nth(column), &bytes)
            }
            Self::Delete => table.delete(record.key()),
        }
    }

    pub fn in_transaction(
        &self,
        transaction: &Transaction,
        record: Record<'_, C>,
    ) -> Result<bool, Error> {
        let table = record.table;
        match self {
            Self::Insert(entry) => transaction.insert(table, &record.packed(*entry)),
            Self::Upsert(entry) => transaction.upsert(table, &record.packed(*entry)),
            Self::Update(update) => {
                let (column, bytes) = C::column(*update);
                transaction.update(table, record.key(), nth(column), &bytes)
            }
            Self::Delete => transaction.delete(table, record.key()),
        }
    }
}
