//! The keys of tables in the model: two numbers, or two columns of variable length that are in the
//! same order.

use crate::reading::nth;
use lode::{Builder, Schema, Type, Value};

/// A key, as the model has it.
pub type Place = (i16, u8);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keys {
    Numbers,
    AnyLength,
}

impl Keys {
    /// A schema that has only the key yet.
    pub fn schema(self) -> Builder {
        let builder = Schema::build("t");
        match self {
            Self::Numbers => builder.key("a", Type::I16).key("b", Type::U8),
            Self::AnyLength => builder.key("a", Type::VarBytes(600)).key("b", Type::VarText(8)),
        }
    }

    /// Returns the bytes of a packed record in the columns of the key.
    pub fn cells(self, (a, b): Place) -> [Vec<u8>; 2] {
        match self {
            Self::Numbers => [a.to_le_bytes().to_vec(), vec![b]],
            Self::AnyLength => [long_name(a), vec![b'x'; b.into()]],
        }
    }

    /// Returns the bytes of a scanned row in a column of the key.
    pub fn in_row(self, place: Place, column: usize) -> Vec<u8> {
        let cell = self.cells(place)[column].clone();
        match self {
            Self::Numbers => cell,
            Self::AnyLength => [&(cell.len() as u32).to_le_bytes()[..], &cell].concat(),
        }
    }

    /// The packed key.
    pub fn key(self, place: Place) -> Vec<u8> {
        match self {
            Self::Numbers => self.cells(place).concat(),
            Self::AnyLength => {
                let cells = self.cells(place);
                let counted =
                    cells.map(|cell| [&(cell.len() as u16).to_le_bytes()[..], &cell].concat());
                counted.concat()
            }
        }
    }

    /// The key of a packed record, which `schema` says is one.
    pub fn of(self, schema: &Schema, record: &[u8]) -> Place {
        let row = schema.row(record).expect("a record");
        let place = match (row.at(nth(0)), row.at(nth(1))) {
            (Value::Signed(a), Value::Unsigned(b)) => (a as i16, b as u8),
            (Value::Bytes(a), Value::Text(b)) => {
                let a = u16::from_be_bytes(*a.first_chunk().expect("two bytes"));
                ((a ^ 1 << 15) as i16, b.len() as u8)
            }
            other => panic!("{other:?} are no key"),
        };
        assert_eq!(record[..schema.key_length(record).expect("a key")], self.key(place));
        place
    }
}

/// Two bytes in the order of numbers, and after them mostly few others, and zeros among them.
fn long_name(a: i16) -> Vec<u8> {
    let mixed = (a as u16).wrapping_mul(40_503);
    let more = if mixed.is_multiple_of(7) { mixed % 599 } else { mixed % 24 };
    let filling = (0..more).map(|at| ((mixed >> 4 ^ at) % 3) as u8 * 127);
    (a as u16 ^ 1 << 15).to_be_bytes().into_iter().chain(filling).collect()
}
