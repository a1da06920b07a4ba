//! Schemas as they are stored in the catalogue and the log.

use super::{Schema, Type};
use crate::codec::{Reader, Writer};
use crate::error::{Error, Result};

impl Type {
    /// Returns the number of the type, and its size: bytes, or the digits of a decimal.
    fn code(self) -> (u8, u32) {
        match self {
            Self::U8 => (1, 0),
            Self::U16 => (2, 0),
            Self::U32 => (3, 0),
            Self::U64 => (4, 0),
            Self::I8 => (5, 0),
            Self::I16 => (6, 0),
            Self::I32 => (7, 0),
            Self::I64 => (8, 0),
            Self::F32 => (9, 0),
            Self::F64 => (10, 0),
            Self::Bool => (11, 0),
            Self::Timestamp => (12, 0),
            Self::Text(size) => (13, size),
            Self::Bytes(size) => (14, size),
            Self::VarText(most) => (15, most),
            Self::VarBytes(most) => (16, most),
            Self::Decimal { precision, scale } => {
                (17, u16::from_le_bytes([precision, scale]).into())
            }
        }
    }

    fn of_code(code: u8, size: u32) -> Option<Self> {
        Some(match code {
            1 => Self::U8,
            2 => Self::U16,
            3 => Self::U32,
            4 => Self::U64,
            5 => Self::I8,
            6 => Self::I16,
            7 => Self::I32,
            8 => Self::I64,
            9 => Self::F32,
            10 => Self::F64,
            11 => Self::Bool,
            12 => Self::Timestamp,
            13 => Self::Text(size),
            14 => Self::Bytes(size),
            15 => Self::VarText(size),
            16 => Self::VarBytes(size),
            17 => {
                let [precision, scale] = u16::try_from(size).ok()?.to_le_bytes();
                Self::Decimal { precision, scale }
            }
            _ => return None,
        })
    }
}

impl Schema {
    /// Appends the schema: its name, the number of columns, and the number of those of the key.
    /// Then come the name of each, its type, and a byte: its lowest bit says if it can be null, the
    /// next one if records expire by it.
    pub(crate) fn store(&self, writer: &mut Writer) {
        writer.counted(self.name.as_bytes());
        writer.u32(self.columns.len() as u32).u32(self.key_columns as u32);
        for column in &self.columns {
            let (code, size) = column.kind.code();
            writer.counted(column.name.as_bytes()).u8(code).u32(size);
            let expires = self.expires == Some(column.id);
            writer.u8(u8::from(column.nullable) | u8::from(expires) << 1);
        }
    }

    /// Returns the bytes that [`store`](Self::store) appends.
    pub(crate) fn stored_bytes(&self) -> usize {
        const LENGTH: usize = size_of::<u32>();
        let of_column = |name: &String| LENGTH + name.len() + 1 + size_of::<u32>() + 1;
        let columns: usize = self.columns.iter().map(|column| of_column(&column.name)).sum();
        LENGTH + self.name.len() + 2 * size_of::<u32>() + columns
    }

    /// Reads a schema that was stored.
    pub(crate) fn restore(reader: &mut Reader<'_>) -> Result<Self> {
        let mut builder = Self::build(reader.text()?);
        let columns = reader.u32()?;
        let key_columns = reader.u32()?;
        for at in 0..columns {
            let name = reader.text()?;
            let code = reader.u8()?;
            let size = reader.u32()?;
            let bits = reader.u8()?;
            if bits > 3 {
                return Err(Error::corrupt("a schema", format!("a column is of kind {bits}")));
            }
            let nullable = bits & 1 != 0;
            let expires = bits & 2 != 0;
            let Some(kind) = Type::of_code(code, size) else {
                return Err(Error::corrupt("a schema", format!("there is no type {code}")));
            };
            builder = match (at < key_columns, nullable) {
                (true, _) => builder.key(name, kind),
                (false, true) => builder.nullable(name, kind),
                (false, false) => builder.column(name, kind),
            };
            if expires {
                builder = builder.expires(name);
            }
        }
        builder.finish().map_err(|error| Error::corrupt("a schema", error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_comes_back_as_it_was() {
        let mut builder = Schema::build("täble").key("a", Type::U8).key("b", Type::Text(7));
        for code in 1..=17 {
            let kind = Type::of_code(code, 3).expect("a type");
            builder = builder.column(&format!("c{code}"), kind).nullable(&format!("n{code}"), kind);
        }
        let schema = builder.expires("n12").finish().expect("a schema");
        let mut writer = Writer::default();
        schema.store(&mut writer);
        let mut reader = Reader::new(&writer.0, "a schema");
        assert_eq!(Schema::restore(&mut reader).expect("it is whole"), schema);
        assert!(reader.is_empty());
        for end in 0..writer.0.len() {
            assert!(Schema::restore(&mut Reader::new(&writer.0[..end], "a schema")).is_err());
        }
        assert!(Type::of_code(18, 0).is_none());
        assert!(Type::of_code(17, 1 << 16).is_none());
    }
}
