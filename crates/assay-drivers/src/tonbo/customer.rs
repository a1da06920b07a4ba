//! The record of Tonbo's own benchmarks as its documentation declares records, with the derive
//! macro: an application whose schema is known when it is compiled has it. It is several times
//! faster than the dynamic records that serve every other schema.

// (The derive macro takes `Result` for the one of the prelude.)
use assay_driver::error::Result as Checked;
use assay_driver::schema::{ColumnType, Schema, Value, write_bytes};
use tonbo::Record;

use super::layout::Layout;
use super::rows::{Row, utf8};

/// A customer. The names are those of the benchmark's columns, without their prefix.
// `Record` makes its type a part of public traits.
#[allow(unreachable_pub)]
#[derive(Record, Debug)]
pub struct Customer {
    #[record(primary_key)]
    pub c_custkey: i32,
    pub c_name: String,
    pub c_address: String,
    pub c_nationkey: i32,
    pub c_phone: String,
    pub c_acctbal: String,
    pub c_mktsegment: String,
    pub c_comment: String,
}

const INTEGERS: [usize; 2] = [0, 3];

/// Returns true if a schema's records are customers.
pub(super) fn is_customer(schema: &Schema) -> bool {
    let names = [
        "c_custkey",
        "c_name",
        "c_address",
        "c_nationkey",
        "c_phone",
        "c_acctbal",
        "c_mktsegment",
        "c_comment",
    ];
    schema.key_columns().len() == 1
        && schema.columns().len() == names.len()
        && schema.columns().iter().zip(names).enumerate().all(|(at, (column, name))| {
            column.name == name
                && match column.kind {
                    ColumnType::I32 => INTEGERS.contains(&at),
                    ColumnType::Text(_) => !INTEGERS.contains(&at),
                    _ => false,
                }
        })
}

impl Row for Customer {
    fn schema(_: &Layout) -> CustomerSchema {
        CustomerSchema
    }

    fn key(layout: &Layout, area: &[u8]) -> i32 {
        number(layout, 0, area)
    }

    fn pack(layout: &Layout, packed: &[u8]) -> Checked<Self> {
        Ok(Self {
            c_custkey: number(layout, 0, packed),
            c_name: text(layout, 1, packed)?,
            c_address: text(layout, 2, packed)?,
            c_nationkey: number(layout, 3, packed),
            c_phone: text(layout, 4, packed)?,
            c_acctbal: text(layout, 5, packed)?,
            c_mktsegment: text(layout, 6, packed)?,
            c_comment: text(layout, 7, packed)?,
        })
    }

    fn unpack(
        layout: &Layout,
        found: &CustomerRef<'_>,
        columns: impl Iterator<Item = usize>,
        base: usize,
        packed: &mut [u8],
    ) {
        for at in columns {
            let column = &layout.schema.columns()[at];
            let from = column.offset - base;
            let bytes = &mut packed[from..from + column.kind.size_bytes()];
            let text = match at {
                0 => {
                    bytes.copy_from_slice(&found.c_custkey.to_le_bytes());
                    continue;
                }
                3 => {
                    bytes.copy_from_slice(&found.c_nationkey.unwrap_or_default().to_le_bytes());
                    continue;
                }
                1 => found.c_name,
                2 => found.c_address,
                4 => found.c_phone,
                5 => found.c_acctbal,
                6 => found.c_mktsegment,
                _ => found.c_comment,
            };
            write_bytes(column.kind, text.unwrap_or_default().as_bytes(), bytes);
        }
    }
}

fn number(layout: &Layout, at: usize, packed: &[u8]) -> i32 {
    match layout.schema.columns()[at].value(packed) {
        Value::Signed(number) => number as i32,
        _ => 0,
    }
}

fn text(layout: &Layout, at: usize, packed: &[u8]) -> Checked<String> {
    match layout.schema.columns()[at].value(packed) {
        Value::Text(text) => utf8(text).map(str::to_string),
        _ => Ok(String::new()),
    }
}
