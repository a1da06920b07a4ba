//! The tables of the catalogue, and what is in them.

use lode::{Database, KeyKind, Table, Type};
use rusqlite::{Connection, Result, params};

use crate::catalogue::Lookup;
use crate::sql::quoted_if_needed;
use crate::types::{ARRAYS, Kind};

/// A type that tools may ask for.
pub(crate) struct TypeRow {
    pub oid: u32,
    /// The name in `pg_type`.
    pub name: &'static str,
    /// The name in SQL.
    pub words: &'static str,
    size: i16,
    category: &'static str,
}

const fn row(
    oid: u32,
    name: &'static str,
    words: &'static str,
    size: i16,
    category: &'static str,
) -> TypeRow {
    TypeRow { oid, name, words, size, category }
}

/// The types that values have here, and those that clients may say that parameters have.
pub(crate) const TYPES: [TypeRow; 17] = [
    row(16, "bool", "boolean", 1, "B"),
    row(17, "bytea", "bytea", -1, "U"),
    row(19, "name", "name", 64, "S"),
    row(20, "int8", "bigint", 8, "N"),
    row(21, "int2", "smallint", 2, "N"),
    row(23, "int4", "integer", 4, "N"),
    row(25, "text", "text", -1, "S"),
    row(26, "oid", "oid", 4, "N"),
    row(700, "float4", "real", 4, "N"),
    row(701, "float8", "double precision", 8, "N"),
    row(705, "unknown", "unknown", -2, "X"),
    row(1042, "bpchar", "character", -1, "S"),
    row(1043, "varchar", "character varying", -1, "S"),
    row(1082, "date", "date", 4, "D"),
    row(1114, "timestamp", "timestamp without time zone", 8, "D"),
    row(1184, "timestamptz", "timestamp with time zone", 8, "D"),
    row(1700, "numeric", "numeric", -1, "N"),
];

/// The tables.
pub(crate) const TABLES: &str = include_str!("tables.sql");

const NAMESPACE: i64 = 2200;
const CATALOGUE: i64 = 11;
const OWNER: i64 = 10;
/// The first number of what users create, as in PostgreSQL.
const FIRST: u32 = 16_384;

/// Returns a number for a name: always the same, and most likely another one for another name
/// (FNV-1a).
pub(super) fn number(name: &str) -> i64 {
    let hash = name
        .bytes()
        .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    i64::from(FIRST + hash % (i32::MAX as u32 - FIRST))
}

/// Returns the modifier of a column's type: for decimals, how many digits they have.
pub(super) fn modifier(kind: Type) -> i32 {
    match kind {
        Type::Decimal { precision, scale } => (i32::from(precision) << 16 | i32::from(scale)) + 4,
        _ => -1,
    }
}

/// Fills the tables, and returns what functions look up.
pub(crate) fn fill(connection: &Connection, db: &Database) -> Result<Lookup> {
    for table in ["pg_class", "pg_attribute", "pg_index", "pg_constraint", "pg_type"] {
        connection.execute(&format!("DELETE FROM pg_catalog.{table}"), [])?;
    }
    connection.execute("DELETE FROM information_schema.schema_tables", [])?;
    connection.execute("DELETE FROM information_schema.schema_columns", [])?;
    connection.execute("DELETE FROM information_schema.schema_keys", [])?;
    let mut insert = connection.prepare_cached(
        "INSERT INTO pg_catalog.pg_type
             (oid, typname, typnamespace, typlen, typcategory, typelem, typarray)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?;
    for known in &TYPES {
        let TypeRow { oid, name, size, category, .. } = known;
        let array =
            ARRAYS.iter().find(|(_, element)| element == oid).map_or(0, |(array, _)| *array);
        insert.execute(params![oid, name, CATALOGUE, size, category, 0, array])?;
        if array != 0 {
            insert.execute(params![array, format!("_{name}"), CATALOGUE, -1, "A", oid, 0])?;
        }
    }
    let mut lookup = Lookup::default();
    for name in db.table_names() {
        // One that is damaged or dropped at this moment is not shown.
        if let Ok(table) = db.table(&name) {
            add_table(connection, &table, &mut lookup)?;
        }
    }
    Ok(lookup)
}

fn add_table(connection: &Connection, table: &Table, lookup: &mut Lookup) -> Result<()> {
    let schema = table.schema();
    let oid = number(schema.name());
    lookup.numbers.insert(schema.name().into(), oid);
    add_class(connection, oid, schema.name(), "r", true)?;
    connection.execute(
        "INSERT INTO information_schema.schema_tables VALUES (?1)",
        params![schema.name()],
    )?;
    let mut attribute = connection.prepare_cached(
        "INSERT INTO pg_catalog.pg_attribute
             (attrelid, attname, atttypid, attlen, attnum, attnotnull, atttypmod)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?;
    let mut column_row = connection.prepare_cached(
        "INSERT INTO information_schema.schema_columns VALUES (?1,?2,?3,?4,?5,?6)",
    )?;
    let mut key_row = connection
        .prepare_cached("INSERT INTO information_schema.schema_keys VALUES (?1, ?2, ?3, ?4)")?;
    let key = format!("{}_pkey", schema.name());
    for (at, column) in schema.columns().iter().enumerate() {
        let kind = Kind::of_column(column.kind);
        let place = at as i64 + 1;
        let is_full = !column.nullable;
        let modifier = modifier(column.kind);
        let size = kind.size();
        attribute.execute(params![oid, column.name, kind.oid(), size, place, is_full, modifier])?;
        let nullable = if column.nullable { "YES" } else { "NO" };
        let name = kind.name();
        let udt = TYPES.iter().find(|known| known.oid == kind.oid()).map(|known| known.name);
        column_row.execute(params![schema.name(), column.name, place, nullable, name, udt])?;
        if at < schema.key_columns() {
            key_row.execute(params![key, schema.name(), column.name, place])?;
        }
    }
    let names = schema.columns()[..schema.key_columns()].iter().map(|column| &column.name[..]);
    let names: Vec<_> = names.collect();
    let method = match table.key_kind() {
        KeyKind::Hash => "hash",
        KeyKind::Tree => "btree",
    };
    let index = Index { name: &key, table, columns: &names, method, is_unique: true };
    let number = index.add(connection, true, lookup)?;
    add_constraint(connection, number, &index, lookup)?;
    for secondary in table.indexes().unwrap_or_default() {
        let names: Vec<_> = secondary.columns().iter().map(|name| &name[..]).collect();
        let name = secondary.name();
        let is_unique = secondary.is_unique();
        let index = Index { name, table, columns: &names, method: "btree", is_unique };
        index.add(connection, false, lookup)?;
    }
    Ok(())
}

/// An index, as the catalogue has it.
struct Index<'i> {
    name: &'i str,
    table: &'i Table,
    columns: &'i [&'i str],
    method: &'static str,
    is_unique: bool,
}

impl Index<'_> {
    fn list(&self) -> String {
        self.columns.iter().map(|name| quoted_if_needed(name)).collect::<Vec<_>>().join(", ")
    }

    /// Returns the numbers of its columns in the table, from 1 on, with a text between them.
    fn places(&self, between: &str) -> String {
        let place = |name: &&str| {
            let mut columns = self.table.schema().columns().iter();
            columns.position(|column| column.name == **name).map_or(0, |at| at + 1).to_string()
        };
        self.columns.iter().map(place).collect::<Vec<_>>().join(between)
    }

    /// Adds the index, and returns its number.
    fn add(&self, connection: &Connection, is_primary: bool, lookup: &mut Lookup) -> Result<i64> {
        let Self { name, table, columns, method, is_unique } = self;
        let table = table.schema().name();
        // Two tables may have an index of one name each.
        let oid = number(&format!("{table}.{name}"));
        lookup.numbers.insert((*name).into(), oid);
        let unique = if *is_unique { "UNIQUE " } else { "" };
        let quoted_name = quoted_if_needed(name);
        let quoted_table = quoted_if_needed(table);
        let list = self.list();
        let statement = format!(
            "CREATE {unique}INDEX {quoted_name} ON public.{quoted_table} USING {method} ({list})"
        );
        add_class(connection, oid, name, "i", false)?;
        connection.execute(
            "UPDATE pg_catalog.pg_class SET relam = (SELECT oid FROM pg_catalog.pg_am
             WHERE amname = ?2) WHERE oid = ?1",
            params![oid, method],
        )?;
        let place = number(table);
        let places = self.places(" ");
        let count = columns.len() as i64;
        let options = vec!["0"; columns.len()].join(" ");
        connection.execute(
            "INSERT INTO pg_catalog.pg_index
                 (indexrelid, indrelid, indnatts, indnkeyatts, indisunique, indisprimary, indkey,
                  indoption, definition)
             VALUES (?1, ?2, ?3, ?3, ?4, ?5, ?6, ?7, ?8)",
            params![oid, place, count, is_unique, is_primary, places, options, statement],
        )?;
        let names = columns.iter().map(|name| (*name).into()).collect();
        lookup.indexes.insert(oid, (statement, names));
        Ok(oid)
    }
}

/// Adds the condition of a primary key.
fn add_constraint(
    connection: &Connection,
    oid: i64,
    index: &Index<'_>,
    lookup: &mut Lookup,
) -> Result<()> {
    let definition = format!("PRIMARY KEY ({})", index.list());
    let table = number(index.table.schema().name());
    connection.execute(
        "INSERT INTO pg_catalog.pg_constraint
             (oid, conname, conrelid, conindid, conkey, definition)
         VALUES (?1, ?2, ?3, ?1, ?4, ?5)",
        params![oid, index.name, table, format!("{{{}}}", index.places(",")), definition],
    )?;
    lookup.constraints.insert(oid, definition);
    Ok(())
}

fn add_class(
    connection: &Connection,
    oid: i64,
    name: &str,
    kind: &str,
    has_index: bool,
) -> Result<()> {
    let mut insert = connection.prepare_cached(
        "INSERT INTO pg_catalog.pg_class
             (oid, relname, relnamespace, relowner, relkind, relhasindex)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    insert.execute(params![oid, name, NAMESPACE, OWNER, kind, has_index])?;
    Ok(())
}
