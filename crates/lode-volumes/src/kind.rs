//! The types of values.

use std::fmt;

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident = $tag:literal $word:literal,)+) => {
        /// The types of values.
        ///
        /// ```
        /// use lode_volumes::{Kind, Value};
        ///
        /// assert_eq!(Value::U8(7).kind(), Kind::U8);
        /// assert_eq!(Kind::U8.to_string(), "u8");
        /// assert_eq!("u8".parse(), Ok(Kind::U8));
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Kind { $($(#[$doc])* $kind = $tag,)+ }

        impl Kind {
            /// All types of values.
            pub const ALL: &[Self] = &[$(Self::$kind,)+];

            pub(crate) fn of_tag(tag: u8) -> Option<Self> {
                match tag { $($tag => Some(Self::$kind),)+ _ => None }
            }

            /// Returns the word for the type in JSON and on the command line.
            pub fn word(self) -> &'static str {
                match self { $(Self::$kind => $word,)+ }
            }
        }
    };
}

kinds! {
    /// Signed, 1 byte.
    I8 = 1 "i8",
    /// Signed, 2 bytes.
    I16 = 2 "i16",
    /// Signed, 4 bytes.
    I32 = 3 "i32",
    /// Signed, 8 bytes.
    I64 = 4 "i64",
    /// Unsigned, 1 byte.
    U8 = 5 "u8",
    /// Unsigned, 2 bytes.
    U16 = 6 "u16",
    /// Unsigned, 4 bytes.
    U32 = 7 "u32",
    /// Unsigned, 8 bytes.
    U64 = 8 "u64",
    /// IEEE 754, 4 bytes.
    F32 = 9 "f32",
    /// IEEE 754, 8 bytes.
    F64 = 10 "f64",
    /// UTF-8 of at most [`MOST_VALUE_BYTES`](crate::MOST_VALUE_BYTES).
    Text = 11 "text",
    /// Bytes, at most [`MOST_VALUE_BYTES`](crate::MOST_VALUE_BYTES).
    Blob = 12 "blob",
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

impl std::str::FromStr for Kind {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let found = Self::ALL.iter().find(|kind| kind.word() == word);
        let words = || Self::ALL.iter().map(|kind| kind.word()).collect::<Vec<_>>().join(", ");
        found.copied().ok_or_else(|| format!("there is no type {word}; there are {}", words()))
    }
}
