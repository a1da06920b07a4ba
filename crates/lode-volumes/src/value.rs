//! Typed values.

use std::fmt;

use crate::error::{Error, Result};
use crate::kind::Kind;

/// The most bytes of a value.
pub const MOST_VALUE_BYTES: usize = lode::MOST_VARIABLE_BYTES;

macro_rules! values {
    ($($(#[$doc:meta])* $kind:ident $number:ty,)+) => {
        /// A value that owns its bytes.
        ///
        /// ```
        /// use lode_volumes::{Value, Volume};
        ///
        /// let root = Volume::in_memory()?.root();
        /// root.set("port", 8080u16)?;
        /// root.set("host", "localhost")?;
        /// assert_eq!(root.property("port")?, Some(Value::U16(8080)));
        /// let port: u16 = root.property("port")?.expect("it was set").try_into()?;
        /// assert_eq!(port, 8080);
        /// # Ok::<(), lode_volumes::Error>(())
        /// ```
        #[derive(Clone, Debug, PartialEq)]
        pub enum Value {
            $($(#[$doc])* $kind($number),)+
            /// Text.
            Text(Box<str>),
            /// Bytes.
            Blob(Box<[u8]>),
        }

        /// A borrowed value.
        ///
        /// ```
        /// use lode_volumes::{ValueRef, Volume};
        ///
        /// let root = Volume::in_memory()?.root();
        /// root.set("motto", "keep it short")?;
        /// let length = root.with_property("motto", |motto| match motto {
        ///     ValueRef::Text(text) => text.len(),
        ///     _ => 0,
        /// })?;
        /// assert_eq!(length, Some(13));
        /// # Ok::<(), lode_volumes::Error>(())
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum ValueRef<'v> {
            $($(#[$doc])* $kind($number),)+
            /// Text.
            Text(&'v str),
            /// Bytes.
            Blob(&'v [u8]),
        }

        impl Value {
            /// Returns the value, to be passed on without a copy.
            pub fn as_ref(&self) -> ValueRef<'_> {
                match self {
                    $(Self::$kind(number) => ValueRef::$kind(*number),)+
                    Self::Text(text) => ValueRef::Text(text),
                    Self::Blob(bytes) => ValueRef::Blob(bytes),
                }
            }
        }

        impl ValueRef<'_> {
            /// Returns the type.
            pub fn kind(&self) -> Kind {
                match self {
                    $(Self::$kind(_) => Kind::$kind,)+
                    Self::Text(_) => Kind::Text,
                    Self::Blob(_) => Kind::Blob,
                }
            }

            /// Returns a copy.
            pub fn to_value(self) -> Value {
                match self {
                    $(Self::$kind(number) => Value::$kind(number),)+
                    Self::Text(text) => Value::Text(text.into()),
                    Self::Blob(bytes) => Value::Blob(bytes.into()),
                }
            }

            /// Calls `work` with the bytes that the table has of it.
            pub(crate) fn with_bytes<T>(self, work: impl FnOnce(&[u8]) -> T) -> T {
                match self {
                    $(Self::$kind(number) => work(&number.to_le_bytes()),)+
                    Self::Text(text) => work(text.as_bytes()),
                    Self::Blob(bytes) => work(bytes),
                }
            }

            /// Returns the bytes of the value.
            pub(crate) fn size_bytes(self) -> usize {
                match self {
                    $(Self::$kind(_) => size_of::<$number>(),)+
                    Self::Text(text) => text.len(),
                    Self::Blob(bytes) => bytes.len(),
                }
            }

            /// Returns the value of these bytes; `None` if they are not valid for the type.
            pub(crate) fn of_bytes(kind: Kind, bytes: &[u8]) -> Option<ValueRef<'_>> {
                Some(match kind {
                    $(Kind::$kind => {
                        ValueRef::$kind(<$number>::from_le_bytes(bytes.try_into().ok()?))
                    })+
                    Kind::Text => ValueRef::Text(str::from_utf8(bytes).ok()?),
                    Kind::Blob => ValueRef::Blob(bytes),
                })
            }
        }

        $(
            impl From<$number> for ValueRef<'_> {
                fn from(number: $number) -> Self {
                    Self::$kind(number)
                }
            }

            impl TryFrom<Value> for $number {
                type Error = Error;

                fn try_from(value: Value) -> Result<Self> {
                    match value {
                        Value::$kind(number) => Ok(number),
                        other => Err(other.misfit(Kind::$kind)),
                    }
                }
            }
        )+

        impl fmt::Display for ValueRef<'_> {
            /// Shows numbers in digits, text as it is, bytes in hexadecimal digits.
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Self::$kind(number) => fmt::Display::fmt(number, f),)+
                    Self::Text(text) => f.write_str(text),
                    Self::Blob(bytes) => bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}")),
                }
            }
        }
    };
}

values! {
    /// Signed, 1 byte.
    I8 i8,
    /// Signed, 2 bytes.
    I16 i16,
    /// Signed, 4 bytes.
    I32 i32,
    /// Signed, 8 bytes.
    I64 i64,
    /// Unsigned, 1 byte.
    U8 u8,
    /// Unsigned, 2 bytes.
    U16 u16,
    /// Unsigned, 4 bytes.
    U32 u32,
    /// Unsigned, 8 bytes.
    U64 u64,
    /// IEEE 754, 4 bytes.
    F32 f32,
    /// IEEE 754, 8 bytes.
    F64 f64,
}

/// Copies a value of any lifetime.
pub(crate) fn to_value(value: ValueRef<'_>) -> Value {
    value.to_value()
}

impl Value {
    /// Returns the type.
    pub fn kind(&self) -> Kind {
        self.as_ref().kind()
    }

    fn misfit(&self, wanted: Kind) -> Error {
        Error::OtherKind { found: self.kind(), wanted }
    }
}

impl fmt::Display for Value {
    /// Shows numbers in digits, text as it is, bytes in hexadecimal digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_ref().fmt(f)
    }
}

impl ValueRef<'_> {
    /// Refuses what is too long for a property.
    pub(crate) fn expect_fits(self) -> Result<()> {
        match self.size_bytes() {
            size_bytes if size_bytes > MOST_VALUE_BYTES => {
                Err(Error::ValueTooLong { size_bytes, most_bytes: MOST_VALUE_BYTES })
            }
            _ => Ok(()),
        }
    }
}

impl<'v> From<&'v str> for ValueRef<'v> {
    fn from(text: &'v str) -> Self {
        Self::Text(text)
    }
}

impl<'v> From<&'v String> for ValueRef<'v> {
    fn from(text: &'v String) -> Self {
        Self::Text(text)
    }
}

impl<'v> From<&'v [u8]> for ValueRef<'v> {
    fn from(bytes: &'v [u8]) -> Self {
        Self::Blob(bytes)
    }
}

impl<'v> From<&'v Vec<u8>> for ValueRef<'v> {
    fn from(bytes: &'v Vec<u8>) -> Self {
        Self::Blob(bytes)
    }
}

impl<'v, const N: usize> From<&'v [u8; N]> for ValueRef<'v> {
    fn from(bytes: &'v [u8; N]) -> Self {
        Self::Blob(bytes)
    }
}

impl<'v> From<&'v Value> for ValueRef<'v> {
    fn from(value: &'v Value) -> Self {
        value.as_ref()
    }
}

impl TryFrom<Value> for String {
    type Error = Error;

    fn try_from(value: Value) -> Result<Self> {
        match value {
            Value::Text(text) => Ok(text.into()),
            other => Err(other.misfit(Kind::Text)),
        }
    }
}

impl TryFrom<Value> for Vec<u8> {
    type Error = Error;

    fn try_from(value: Value) -> Result<Self> {
        match value {
            Value::Blob(bytes) => Ok(bytes.into()),
            other => Err(other.misfit(Kind::Blob)),
        }
    }
}
