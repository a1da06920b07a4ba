//! A record type whose own code does what a test wants: where the engine calls it, anything may
//! happen.

use std::cell::RefCell;

use lode::{Record, Result, RowRef, Schema, Value};

use super::world::schema;

thread_local! {
    /// The code that the record type runs, once.
    static HOOK: RefCell<Option<Box<dyn FnOnce()>>> = const { RefCell::new(None) };
}

/// The place of the hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Where {
    Pack,
    PackKey,
    Unpack,
    Drop,
}

thread_local! {
    static PLACE: RefCell<Option<Where>> = const { RefCell::new(None) };
}

/// Has the next call of the record type's code at a place do something.
pub fn hook(place: Where, work: impl FnOnce() + 'static) {
    PLACE.set(Some(place));
    HOOK.set(Some(Box::new(work)));
}

fn at(place: Where) {
    if PLACE.with_borrow(|wanted| *wanted == Some(place)) {
        HOOK.take().into_iter().for_each(|work| work());
    }
}

/// A record of table [`Hooked::TABLE`].
pub struct Hooked {
    pub id: u64,
    pub n: i64,
}

impl Hooked {
    pub const TABLE: &str = "hooked";
}

impl Drop for Hooked {
    fn drop(&mut self) {
        at(Where::Drop);
    }
}

impl Record for Hooked {
    type Key<'k> = u64;

    fn schema() -> Result<Schema> {
        Ok(schema(Self::TABLE, true))
    }

    fn key(&self) -> u64 {
        self.id
    }

    fn pack(&self, schema: &Schema) -> Result<Vec<u8>> {
        at(Where::Pack);
        schema.pack(&[Value::Unsigned(self.id), Value::Signed(self.n), Value::Text("hooked")])
    }

    fn pack_key(key: u64, schema: &Schema) -> Result<Vec<u8>> {
        at(Where::PackKey);
        schema.pack_key(&[Value::Unsigned(key)])
    }

    fn unpack(row: RowRef<'_>) -> Result<Self> {
        at(Where::Unpack);
        let (Some(Value::Unsigned(id)), Some(Value::Signed(n))) = (row.get("id"), row.get("n"))
        else {
            panic!("a row of the table has an id and a number");
        };
        Ok(Self { id, n })
    }
}
