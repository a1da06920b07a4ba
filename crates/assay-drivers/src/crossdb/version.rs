//! The versions of CrossDB that the driver can drive.

/// The part of a version that decides on the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Version {
    major: u32,
    minor: u32,
}

impl Version {
    /// The first version that finds every row: 0.7 misses some when its index grows.
    const OLDEST: Self = Self { major: 0, minor: 8 };
    /// The first version whose results and rows are read through functions.
    const OPAQUE: Self = Self { major: 0, minor: 12 };
    /// The first version that does not find a negative key of one or two bytes.
    const MISSES_NARROW_KEYS: Self = Self { major: 0, minor: 14 };
    /// The last version whose functions are known.
    const NEWEST: Self = Self { major: 0, minor: 14 };

    /// Reads `0.8.0`, `0.8` or `0.8.0-something`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split(['.', '-']);
        let mut number = || parts.next()?.parse().ok();
        Some(Self { major: number()?, minor: number()? })
    }

    /// Returns true if the driver knows the interface of this version.
    pub(super) fn is_driven(self) -> bool {
        (Self::OLDEST..=Self::NEWEST).contains(&self)
    }

    /// Returns true if the version finds every key of one or two bytes. 0.14 misses negative ones.
    pub(super) fn finds_narrow_keys(self) -> bool {
        self < Self::MISSES_NARROW_KEYS
    }

    /// Returns true if results and rows of this release are read through functions.
    pub(super) fn has_opaque_results(self) -> bool {
        self >= Self::OPAQUE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_driven(text: &str) -> bool {
        Version::parse(text).is_some_and(Version::is_driven)
    }

    #[test]
    fn versions_of_the_known_interface_are_driven() {
        for text in ["0.8.0", "0.8", "0.9.1", "0.12.0", "0.14.0", "0.8.0-test"] {
            assert!(is_driven(text), "{text}");
        }
    }

    #[test]
    fn older_newer_and_unreadable_versions_are_not() {
        for text in ["0.7.0", "0.15.0", "1.0.0", "1.8.0", "", "0", "eight", "0.x", "-1.8"] {
            assert!(!is_driven(text), "{text}");
        }
    }
}
