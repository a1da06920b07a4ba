//! Values of SQLite as values of PostgreSQL's types, in text and in binary, and back.

pub(crate) mod array;
pub(crate) mod decode;
pub(crate) mod encode;
mod numeric;
pub(crate) mod time;

use lode::Type;
use rusqlite::types::ValueRef;

/// A type of PostgreSQL that columns have here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Bool,
    /// `int8`: all whole numbers of SQLite.
    Int,
    Float,
    Text,
    Bytes,
    /// `timestamptz`: microseconds since 1970 in SQLite.
    Time,
    Numeric,
}

/// The types that parameters may have, by their numbers.
const OIDS: [(u32, Kind); 24] = [
    (16, Kind::Bool),
    (17, Kind::Bytes),
    (18, Kind::Text),
    (19, Kind::Text),
    (20, Kind::Int),
    (21, Kind::Int),
    (23, Kind::Int),
    (25, Kind::Text),
    (26, Kind::Int),
    (114, Kind::Text),
    (142, Kind::Text),
    (650, Kind::Text),
    (700, Kind::Float),
    (701, Kind::Float),
    (869, Kind::Text),
    (1042, Kind::Text),
    (1043, Kind::Text),
    (1082, Kind::Time),
    (1114, Kind::Time),
    (1184, Kind::Time),
    (1700, Kind::Numeric),
    (2205, Kind::Text),
    (2206, Kind::Text),
    (2950, Kind::Text),
];

/// The types of arrays that parameters may have, by their numbers, with those of the elements.
pub(crate) const ARRAYS: [(u32, u32); 17] = [
    (199, 114),
    (1000, 16),
    (1001, 17),
    (1003, 19),
    (1005, 21),
    (1007, 23),
    (1009, 25),
    (1014, 1042),
    (1015, 1043),
    (1016, 20),
    (1021, 700),
    (1022, 701),
    (1028, 26),
    (1115, 1114),
    (1182, 1082),
    (1185, 1184),
    (1231, 1700),
];

/// The type of arrays of such numbers.
const OIDS_ARRAY: u32 = 1028;

/// The type of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Taken {
    /// PostgreSQL's number of the type.
    pub oid: u32,
    /// The type of the value, or of the elements.
    pub kind: Kind,
    pub is_array: bool,
}

impl Taken {
    /// Returns the type of arrays whose elements have a type.
    pub(crate) fn array_of(kind: Kind) -> Self {
        let found = ARRAYS.iter().find(|(_, element)| *element == kind.oid());
        let (oid, _) = found.expect("there are arrays of all types that columns have");
        Self { oid: *oid, kind, is_array: true }
    }

    /// Returns the type with the name of the elements' type.
    pub(crate) fn array_of_name(element: &str) -> Option<Self> {
        // Clients take it for the only one that they know.
        let is_oid = element.eq_ignore_ascii_case("oid");
        if is_oid { Self::of_oid(OIDS_ARRAY) } else { Kind::of_name(element).map(Self::array_of) }
    }

    /// Returns the type with one of PostgreSQL's numbers.
    pub(crate) fn of_oid(oid: u32) -> Option<Self> {
        let element = ARRAYS.iter().find(|(array, _)| *array == oid).map(|(_, element)| *element);
        let kind = Kind::of_oid(element.unwrap_or(oid))?;
        Some(Self { oid, kind, is_array: element.is_some() })
    }

    /// Returns the type of what SQLite has for a value.
    pub(crate) fn kind_here(self) -> Kind {
        if self.is_array { Kind::Text } else { self.kind }
    }
}

impl From<Kind> for Taken {
    fn from(kind: Kind) -> Self {
        Self { oid: kind.oid(), kind, is_array: false }
    }
}

impl Kind {
    /// Returns the type of a column of a table.
    pub(crate) fn of_column(kind: Type) -> Self {
        match kind {
            Type::F32 | Type::F64 => Self::Float,
            Type::Bool => Self::Bool,
            Type::Timestamp => Self::Time,
            Type::Text(_) | Type::VarText(_) => Self::Text,
            Type::Bytes(_) | Type::VarBytes(_) => Self::Bytes,
            Type::Decimal { .. } => Self::Numeric,
            _ => Self::Int,
        }
    }

    /// Returns the type for the words that a column of SQLite is declared with. (Datatypes In
    /// SQLite, 3.1.)
    pub(crate) fn of_declared(words: &str) -> Option<Self> {
        let words = words.to_ascii_uppercase();
        let has = |part: &str| words.contains(part);
        Some(match &words[..] {
            "BOOLEAN" | "BOOL" => Self::Bool,
            "TIMESTAMP" => Self::Time,
            _ if has("DECIMAL") || has("NUMERIC") => Self::Numeric,
            _ if has("INT") => Self::Int,
            _ if has("CHAR") || has("CLOB") || has("TEXT") => Self::Text,
            _ if has("BLOB") => Self::Bytes,
            _ if has("REAL") || has("FLOA") || has("DOUB") => Self::Float,
            _ => return None,
        })
    }

    /// Returns the type that a value has by itself; none for NULL.
    pub(crate) fn of_value(value: ValueRef<'_>) -> Option<Self> {
        match value {
            ValueRef::Null => None,
            ValueRef::Integer(_) => Some(Self::Int),
            ValueRef::Real(_) => Some(Self::Float),
            ValueRef::Text(_) => Some(Self::Text),
            ValueRef::Blob(_) => Some(Self::Bytes),
        }
    }

    /// Returns the type that values of a type of PostgreSQL become.
    pub(crate) fn of_oid(oid: u32) -> Option<Self> {
        OIDS.iter().find(|(known, _)| *known == oid).map(|(_, kind)| *kind)
    }

    /// Returns the type with a name that a cast to it may have.
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        Some(match &name.to_ascii_lowercase()[..] {
            "bool" | "boolean" => Self::Bool,
            "int2" | "int4" | "int8" | "int" | "integer" | "smallint" | "bigint" | "oid" => {
                Self::Int
            }
            "float4" | "float8" | "real" | "double" | "float" => Self::Float,
            "numeric" | "decimal" => Self::Numeric,
            "text" | "varchar" | "char" | "bpchar" | "name" | "character" | "json" | "uuid" => {
                Self::Text
            }
            "bytea" => Self::Bytes,
            "timestamp" | "timestamptz" | "date" => Self::Time,
            _ => return None,
        })
    }

    /// Returns PostgreSQL's number of the type.
    pub(crate) fn oid(self) -> u32 {
        match self {
            Self::Bool => 16,
            Self::Bytes => 17,
            Self::Int => 20,
            Self::Text => 25,
            Self::Float => 701,
            Self::Time => 1184,
            Self::Numeric => 1700,
        }
    }

    /// Returns the bytes of a value, or −1 if they vary.
    pub(crate) fn size(self) -> i16 {
        match self {
            Self::Bool => 1,
            Self::Int | Self::Float | Self::Time => 8,
            Self::Bytes | Self::Text | Self::Numeric => -1,
        }
    }

    /// Returns PostgreSQL's name of the type.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Bool => "boolean",
            Self::Bytes => "bytea",
            Self::Int => "bigint",
            Self::Text => "text",
            Self::Float => "double precision",
            Self::Time => "timestamp with time zone",
            Self::Numeric => "numeric",
        }
    }
}
