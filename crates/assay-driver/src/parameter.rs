//! Parameters of an engine, which a user sets with `--set ENGINE.NAME=VALUE`.

use std::fmt;

use crate::cache::{MOST_BYTES, binary_size, parse_size};

/// A parameter of an engine.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// The parameter's name.
    pub name: &'static str,
    /// The values that it can have, and its default.
    pub values: Values,
    /// The parameter's effect, in one line.
    pub about: &'static str,
    /// The value that the published driver had, for `--as-published`.
    pub as_published: Option<&'static str>,
    /// True if the parameter has no meaning for data in memory.
    pub of_files: bool,
}

/// The values of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// One of several words, the default first.
    Words(&'static [&'static str]),
    /// A number of bytes.
    Bytes {
        /// The least.
        least: u64,
        /// The most.
        most: u64,
        /// The default, in words.
        default: &'static str,
    },
    /// A number of bytes that is a power of two.
    PowerOfTwo {
        /// The least.
        least: u64,
        /// The most.
        most: u64,
        /// The default, in words.
        default: &'static str,
    },
    /// A text that the engine itself checks.
    Text,
}

/// The name of [`Parameter::CACHE_BYTES`].
pub(crate) const CACHE_BYTES: &str = "cache_bytes";

impl Parameter {
    /// The size of the engine's own cache, for every engine that has a setting for it. A driver
    /// finds it in [`OpenSpec::cache_bytes`](crate::OpenSpec::cache_bytes).
    pub const CACHE_BYTES: Self = Self {
        of_files: true,
        ..Self::bytes(
            CACHE_BYTES,
            (1 << 20, MOST_BYTES),
            "as --cache says",
            "the engine's own cache, in each store",
        )
    };

    /// Returns a parameter that is one of several words, the default first.
    pub const fn words(
        name: &'static str,
        words: &'static [&'static str],
        about: &'static str,
    ) -> Self {
        let values = Values::Words(words);
        Self { name, values, about, as_published: None, of_files: false }
    }

    /// Returns a parameter that is a number of bytes, at least and at most those of `range`.
    pub const fn bytes(
        name: &'static str,
        range: (u64, u64),
        default: &'static str,
        about: &'static str,
    ) -> Self {
        let values = Values::Bytes { least: range.0, most: range.1, default };
        Self { name, values, about, as_published: None, of_files: false }
    }

    /// Returns a parameter whose text the engine itself checks.
    pub const fn text(name: &'static str, about: &'static str) -> Self {
        Self { name, values: Values::Text, about, as_published: None, of_files: false }
    }

    /// Returns the words of a parameter that is one of them, the default first; none for others.
    pub fn word_list(&self) -> &'static [&'static str] {
        match self.values {
            Values::Words(words) => words,
            _ => &[],
        }
    }

    /// Checks a value, and returns it as the engine gets it: bytes as a plain number.
    ///
    /// # Errors
    /// The values that it can have.
    pub fn check(&self, value: &str) -> Result<String, String> {
        let in_range = match self.values {
            Values::Words(words) => words.contains(&value).then(|| value.to_string()),
            Values::Bytes { least, most, .. } => bytes_between(value, least, most),
            Values::PowerOfTwo { least, most, .. } => bytes_between(value, least, most)
                .filter(|bytes| bytes.parse().is_ok_and(u64::is_power_of_two)),
            Values::Text => (!value.is_empty()).then(|| value.to_string()),
        };
        in_range.ok_or_else(|| format!("{} is {}", self.name, self.values))
    }
}

fn bytes_between(value: &str, least: u64, most: u64) -> Option<String> {
    let bytes = parse_size(value).ok().filter(|bytes| (least..=most).contains(bytes))?;
    Some(bytes.to_string())
}

/// Writes which values there are, without the default.
impl fmt::Display for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let range = |f: &mut fmt::Formatter<'_>, least, most| match most {
            MOST_BYTES => write!(f, "at least {}, such as 64m", size(least)),
            _ => write!(f, "from {} to {}", size(least), size(most)),
        };
        match *self {
            Self::Words(words) => write!(f, "one of {}", words.join(", ")),
            Self::Bytes { least, most, .. } => {
                f.write_str("a number of bytes, ")?;
                range(f, least, most)
            }
            Self::PowerOfTwo { least, most, .. } => {
                f.write_str("a power of two bytes, ")?;
                range(f, least, most)
            }
            Self::Text => f.write_str("a text that is not empty"),
        }
    }
}

fn size(bytes: u64) -> String {
    match bytes {
        ..1024 => format!("{bytes} B"),
        _ => binary_size(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_checked_by_their_kind() {
        let words = Parameter::words("log", &["on", "off"], "");
        assert_eq!(words.check("off"), Ok("off".into()));
        assert_eq!(words.check("maybe"), Err("log is one of on, off".into()));
        let bytes = Parameter::bytes("buffer", (1 << 20, 1 << 30), "64m", "");
        assert_eq!(bytes.check("2m"), Ok("2097152".into()));
        let refused = "buffer is a number of bytes, from 1 MiB to 1 GiB";
        for bad in ["", "1", "2g", "-1", "1.5m", "x"] {
            assert_eq!(bytes.check(bad), Err(refused.into()), "{bad}");
        }
        let values = Values::PowerOfTwo { least: 512, most: 1 << 16, default: "4096" };
        let page = Parameter { values, ..bytes };
        assert_eq!(page.check("64k"), Ok("65536".into()));
        let refused = "buffer is a power of two bytes, from 512 B to 64 KiB";
        for bad in ["511", "513", "128k", "many"] {
            assert_eq!(page.check(bad), Err(refused.into()), "{bad}");
        }
        assert!(Parameter::text("url", "").check("").is_err());
        let least = "cache_bytes is a number of bytes, at least 1 MiB, such as 64m";
        assert_eq!(Parameter::CACHE_BYTES.check("1k"), Err(least.into()));
    }
}
