//! Random ids, as UUIDs of version 4.

use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::{BuildHasher, Hasher};

/// A UUID.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Id(u128);

impl Id {
    /// Returns random bits in the form of version 4. What the standard library seeds its hash maps
    /// with is random for each process, and differs for each of them.
    pub(crate) fn random() -> Self {
        let bits = || u128::from(RandomState::new().build_hasher().finish());
        let fixed = 0xf << 76 | 0b11 << 62;
        Self((bits() << 64 | bits()) & !fixed | 4 << 76 | 0b10 << 62)
    }

    /// Reads an id; `None` if it has not 16 bytes.
    pub(crate) fn of_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(|bytes| Self(u128::from_be_bytes(bytes)))
    }

    pub(crate) fn to_bytes(self) -> [u8; 16] {
        self.0.to_be_bytes()
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = format!("{:032x}", self.0);
        let parts = [0..8, 8..12, 12..16, 16..20, 20..32].map(|part| &digits[part]);
        f.write_str(&parts.join("-"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_random_and_of_version_4() {
        let id = Id::random();
        let text = id.to_string();
        assert_eq!((text.len(), &text[14..15]), (36, "4"), "{text}");
        assert!("89ab".contains(&text[19..20]), "{text}");
        assert_eq!(Id::of_bytes(&id.to_bytes()), Some(id));
        assert_ne!(id, Id::random());
    }
}
