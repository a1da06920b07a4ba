//! The cache sizes of an open store.

use std::fmt;

/// The most bytes that a processor of today can address.
pub const MOST_BYTES: u64 = 1 << 52;

/// An engine's own cache, next to the system's page cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cache {
    /// A cache of this size.
    Size {
        /// The most bytes that all of the store's caches may take up.
        size_bytes: u64,
        /// The setting of that size, as the engine's users know it.
        setting: &'static str,
    },
    /// The engine's default, which the driver does not know.
    Default,
    /// No cache: the engine maps its files, so that the system's page cache is its cache.
    Mapped,
    /// No cache: all data is in memory.
    InMemory,
    /// The engine has no setting for the size of a cache, or no cache.
    NoSetting,
}

impl fmt::Display for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Size { size_bytes, setting } => {
                write!(f, "cache: {} ({setting})", binary_size(*size_bytes))
            }
            Self::Default => f.write_str("cache: the engine's default"),
            Self::Mapped => f.write_str("cache: none, its files are mapped"),
            Self::InMemory => f.write_str("cache: none, its data is in memory"),
            Self::NoSetting => f.write_str("cache: no setting"),
        }
    }
}

/// Returns a limit's size as users write it: in GiB if it is a whole number of them, else rounded
/// down to MiB; below 1 MiB in KiB.
pub fn binary_size(size_bytes: u64) -> String {
    let kib = size_bytes >> 10;
    let mib = size_bytes >> 20;
    let gib = size_bytes >> 30;
    match size_bytes {
        whole if gib > 0 && whole == gib << 30 => format!("{gib} GiB"),
        _ if mib > 0 => format!("{mib} MiB"),
        _ => format!("{kib} KiB"),
    }
}

/// Reads a size in bytes; k, m, g and t are KiB, MiB, GiB and TiB, in either case.
///
/// # Errors
/// If the text is no size, or is too large for any machine.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let units = [('k', 10), ('m', 20), ('g', 30), ('t', 40)];
    let last = text.chars().last().map(|last| last.to_ascii_lowercase());
    let unit = units.into_iter().find(|(letter, _)| Some(*letter) == last);
    let (digits, shift) = unit.map_or((text, 0), |(_, shift)| (&text[..text.len() - 1], shift));
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err("not a size; write digits with m or g behind them, such as 256m".into());
    }
    let bytes = digits.parse::<u64>().ok().and_then(|count| count.checked_mul(1 << shift));
    bytes.filter(|&bytes| bytes <= MOST_BYTES).ok_or_else(|| "too large for any machine".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_in_units_of_1024() {
        let sizes = ["4096", "512k", "256m", "256M", "1g", "2T"].map(parse_size);
        let bytes = [4096, 512 << 10, 256 << 20, 256 << 20, 1 << 30, 2 << 40];
        assert_eq!(sizes, bytes.map(Ok));
        for bad in ["", "m", "-1", "1.5g", "1gb", "many", "1µ", "99999999999t", "5000t"] {
            assert!(parse_size(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_cache_is_described_with_its_size_and_its_setting() {
        let cache = Cache::Size { size_bytes: 256 << 20, setting: "PRAGMA cache_size" };
        assert_eq!(cache.to_string(), "cache: 256 MiB (PRAGMA cache_size)");
        assert_eq!(binary_size(3 << 30), "3 GiB");
        assert_eq!(binary_size((3 << 30) + (512 << 20)), "3584 MiB");
        assert_eq!(binary_size((1 << 20) + 1), "1 MiB");
        assert_eq!(binary_size(500 << 10), "500 KiB");
    }
}
