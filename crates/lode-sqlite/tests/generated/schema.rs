//! Tables of any columns, as Lode has them and as SQLite has them.

use lode::{IndexSchema, KeyKind, Schema, Type};

use crate::random::Random;

/// A table that both have.
pub struct Table {
    pub name: String,
    pub schema: Schema,
    pub kind: KeyKind,
}

const KEY_TYPES: [Type; 14] = [
    Type::U8,
    Type::U16,
    Type::U64,
    Type::I8,
    Type::I32,
    Type::I64,
    Type::F32,
    Type::F64,
    Type::Bool,
    Type::Timestamp,
    Type::Text(5),
    Type::VarText(6),
    Type::Bytes(2),
    Type::VarBytes(3),
];

const TYPES: [Type; 16] = [
    Type::U8,
    Type::U16,
    Type::U32,
    Type::U64,
    Type::I8,
    Type::I16,
    Type::I32,
    Type::I64,
    Type::F32,
    Type::F64,
    Type::Bool,
    Type::Timestamp,
    Type::Text(5),
    Type::VarText(40),
    Type::Bytes(2),
    Type::VarBytes(9),
];

/// Returns true if sums of some values are exact in any order.
pub fn is_small_whole(kind: Type) -> bool {
    matches!(kind, Type::U8 | Type::U16 | Type::U32 | Type::I8 | Type::I16 | Type::I32 | Type::Bool)
}

impl Table {
    pub fn any(name: &str, random: &mut Random) -> Self {
        let keys = *random.one_of(&[1, 1, 1, 2, 2, 3]);
        let others = *random.one_of(&[0, 1, 1, 2, 2, 3, 3, 4, 4]);
        let mut builder = Schema::build(name);
        for at in 0..keys {
            builder = builder.key(&format!("k{at}"), *random.one_of(&KEY_TYPES));
        }
        for at in 0..others {
            let column = format!("c{at}");
            let kind = *random.one_of(&TYPES);
            builder = if random.percent(60) {
                builder.nullable(&column, kind)
            } else {
                builder.column(&column, kind)
            };
        }
        let kind = *random.one_of(&[KeyKind::Hash, KeyKind::Tree, KeyKind::Tree]);
        Self { name: name.into(), schema: builder.finish().expect("a schema"), kind }
    }

    /// Returns indexes over one or two of the columns. SQLite's table has none: no answer depends
    /// on them.
    pub fn any_indexes(&self, random: &mut Random) -> Vec<IndexSchema> {
        let mut indexes = Vec::new();
        for at in 0..random.below(3) {
            let mut columns = Vec::new();
            for _ in 0..=random.below(2) {
                let column = &random.one_of(self.schema.columns()).name;
                if !columns.contains(column) {
                    columns.push(column.clone());
                }
            }
            indexes.push(IndexSchema::new(&format!("i{at}"), columns));
        }
        indexes
    }

    /// Returns the statement that makes this table in SQLite.
    pub fn declaration(&self) -> String {
        let columns = self.schema.columns().iter().map(|column| {
            let name = &column.name;
            let (declared, check) = match column.kind {
                Type::U8 => ("INTEGER", format!("{name} BETWEEN 0 AND 255")),
                Type::U16 => ("INTEGER", format!("{name} BETWEEN 0 AND 65535")),
                Type::U32 => ("INTEGER", format!("{name} BETWEEN 0 AND 4294967295")),
                Type::U64 => ("INTEGER", format!("{name} >= 0")),
                Type::I8 => ("INTEGER", format!("{name} BETWEEN -128 AND 127")),
                Type::I16 => ("INTEGER", format!("{name} BETWEEN -32768 AND 32767")),
                Type::I32 => ("INTEGER", format!("{name} BETWEEN -2147483648 AND 2147483647")),
                Type::Bool => ("INTEGER", format!("{name} IN (0, 1)")),
                Type::F32 | Type::F64 => ("REAL", "1".into()),
                Type::Text(most) | Type::VarText(most) => {
                    ("TEXT", format!("length(CAST({name} AS BLOB)) <= {most}"))
                }
                Type::Bytes(size) => ("BLOB", format!("length({name}) = {size}")),
                Type::VarBytes(most) => ("BLOB", format!("length({name}) <= {most}")),
                _ => ("INTEGER", "1".into()),
            };
            let not_null = if column.nullable { "" } else { " NOT NULL" };
            format!("{name} {declared}{not_null} CHECK({check})")
        });
        let columns = columns.collect::<Vec<_>>().join(", ");
        let keys = self.keys().join(", ");
        format!("CREATE TABLE {}({columns}, PRIMARY KEY({keys})) STRICT, WITHOUT ROWID", self.name)
    }

    /// The names of the columns of the key.
    pub fn keys(&self) -> Vec<&str> {
        let keys = &self.schema.columns()[..self.schema.key_columns()];
        keys.iter().map(|column| &column.name[..]).collect()
    }
}
