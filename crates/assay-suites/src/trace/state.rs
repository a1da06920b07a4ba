//! The state of a key in the store: a version, which counts its writes, and the bytes of its value.

use super::line::Act;

/// The state of a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct State {
    /// The version, and as the lowest bit whether the record is there.
    number: u32,
    /// The bytes of the value.
    pub(super) size: u32,
}

impl State {
    /// Returns the state of a record that was filled in before the trace.
    pub(super) fn filled(size: u32) -> Self {
        Self::default().next(true, size)
    }

    pub(super) fn version(self) -> u32 {
        self.number >> 1
    }

    pub(super) fn is_there(self) -> bool {
        self.number & 1 == 1
    }

    /// Returns the state after a write.
    fn next(self, is_there: bool, size: u32) -> Self {
        let version = self.version().wrapping_add(1) & (u32::MAX >> 1);
        Self { number: version << 1 | u32::from(is_there), size: if is_there { size } else { 0 } }
    }

    /// Returns the operation that an act is on a record in this state: an insert of one that is
    /// there is a read.
    pub(super) fn resolved(self, act: Act) -> Act {
        if act == Act::Insert && self.is_there() { Act::Read } else { act }
    }

    /// Returns the state after a resolved operation.
    pub(super) fn after(self, act: Act, size: u32) -> Self {
        match act {
            Act::Insert | Act::Upsert => self.next(true, size),
            Act::Update | Act::ReadModifyWrite if self.is_there() => self.next(true, size),
            Act::Delete if self.is_there() => self.next(false, 0),
            _ => self,
        }
    }

    pub(super) fn to_bytes(self) -> [u8; 8] {
        (u64::from(self.number) << 32 | u64::from(self.size)).to_le_bytes()
    }

    pub(super) fn of_bytes(bytes: [u8; 8]) -> Self {
        let number = u64::from_le_bytes(bytes);
        Self { number: (number >> 32) as u32, size: number as u32 }
    }
}
