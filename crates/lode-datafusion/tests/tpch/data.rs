//! The eight tables of TPC-H, made by `tpchgen`, in a database of Lode and in Parquet files.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch, StringArray};
use datafusion::arrow::compute::cast;
use lode::{Database, KeyKind, Options, Schema, Type};
use lode_arrow::{FileFormat, FileWriter, IfThere, WriteOptions, append, arrow_schema};
use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator,
    PartSuppGenerator, RegionGenerator, SupplierGenerator,
};

/// Rows that are written at a time.
const BATCH_ROWS: usize = 8_192;

/// A table of TPC-H.
pub struct TableOf {
    pub name: &'static str,
    kind: KeyKind,
    key: &'static [&'static str],
    /// The columns in the order of TPC-H.
    pub columns: &'static [(&'static str, Kind)],
    /// The lines of its file as TPC-H has it, by scale factor.
    lines: fn(f64) -> Box<dyn Iterator<Item = String>>,
}

/// The kind of values of a column.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Number,
    /// A decimal with two digits after the point, which Lode has as a number of hundredths.
    Decimal,
    Date,
    Text,
}
use Kind::{Date, Decimal, Number, Text};

macro_rules! lines {
    ($generator:ident) => {
        |scale| Box::new($generator::new(scale, 1, 1).into_iter().map(|row| row.to_string()))
    };
}

pub const TABLES: [TableOf; 8] = [
    TableOf {
        name: "region",
        kind: KeyKind::Hash,
        key: &["r_regionkey"],
        columns: &[("r_regionkey", Number), ("r_name", Text), ("r_comment", Text)],
        lines: lines!(RegionGenerator),
    },
    TableOf {
        name: "nation",
        kind: KeyKind::Hash,
        key: &["n_nationkey"],
        columns: &[
            ("n_nationkey", Number),
            ("n_name", Text),
            ("n_regionkey", Number),
            ("n_comment", Text),
        ],
        lines: lines!(NationGenerator),
    },
    TableOf {
        name: "supplier",
        kind: KeyKind::Hash,
        key: &["s_suppkey"],
        columns: &[
            ("s_suppkey", Number),
            ("s_name", Text),
            ("s_address", Text),
            ("s_nationkey", Number),
            ("s_phone", Text),
            ("s_acctbal", Decimal),
            ("s_comment", Text),
        ],
        lines: lines!(SupplierGenerator),
    },
    TableOf {
        name: "part",
        kind: KeyKind::Tree,
        key: &["p_partkey"],
        columns: &[
            ("p_partkey", Number),
            ("p_name", Text),
            ("p_mfgr", Text),
            ("p_brand", Text),
            ("p_type", Text),
            ("p_size", Number),
            ("p_container", Text),
            ("p_retailprice", Decimal),
            ("p_comment", Text),
        ],
        lines: lines!(PartGenerator),
    },
    TableOf {
        name: "partsupp",
        kind: KeyKind::Tree,
        key: &["ps_partkey", "ps_suppkey"],
        columns: &[
            ("ps_partkey", Number),
            ("ps_suppkey", Number),
            ("ps_availqty", Number),
            ("ps_supplycost", Decimal),
            ("ps_comment", Text),
        ],
        lines: lines!(PartSuppGenerator),
    },
    TableOf {
        name: "customer",
        kind: KeyKind::Tree,
        key: &["c_custkey"],
        columns: &[
            ("c_custkey", Number),
            ("c_name", Text),
            ("c_address", Text),
            ("c_nationkey", Number),
            ("c_phone", Text),
            ("c_acctbal", Decimal),
            ("c_mktsegment", Text),
            ("c_comment", Text),
        ],
        lines: lines!(CustomerGenerator),
    },
    TableOf {
        name: "orders",
        kind: KeyKind::Tree,
        key: &["o_orderkey"],
        columns: &[
            ("o_orderkey", Number),
            ("o_custkey", Number),
            ("o_orderstatus", Text),
            ("o_totalprice", Decimal),
            ("o_orderdate", Date),
            ("o_orderpriority", Text),
            ("o_clerk", Text),
            ("o_shippriority", Number),
            ("o_comment", Text),
        ],
        lines: lines!(OrderGenerator),
    },
    TableOf {
        name: "lineitem",
        kind: KeyKind::Tree,
        key: &["l_orderkey", "l_linenumber"],
        columns: &[
            ("l_orderkey", Number),
            ("l_partkey", Number),
            ("l_suppkey", Number),
            ("l_linenumber", Number),
            ("l_quantity", Decimal),
            ("l_extendedprice", Decimal),
            ("l_discount", Decimal),
            ("l_tax", Decimal),
            ("l_returnflag", Text),
            ("l_linestatus", Text),
            ("l_shipdate", Date),
            ("l_commitdate", Date),
            ("l_receiptdate", Date),
            ("l_shipinstruct", Text),
            ("l_shipmode", Text),
            ("l_comment", Text),
        ],
        lines: lines!(LineItemGenerator),
    },
];

/// Makes all tables at a scale factor: in a database in memory, which is returned, and as Parquet
/// files in a folder. Both get the same batches.
pub fn make(scale: f64, folder: &Path) -> Database {
    let db = Options::new().in_memory().expect("a database");
    for table in &TABLES {
        let schema = table.schema();
        let stored = db.create_table(&schema, table.kind).expect("a table");
        let file = File::create(folder.join(table.file())).expect("a file");
        let options = WriteOptions::of(FileFormat::Parquet);
        let mut writer =
            FileWriter::new(FileFormat::Parquet, &arrow_schema(&schema), &options, file)
                .expect("a writer");
        let mut lines = (table.lines)(scale).peekable();
        while lines.peek().is_some() {
            let batch = table.batch(&schema, lines.by_ref().take(BATCH_ROWS));
            append(&db, &stored, &batch, IfThere::Stop).expect("there is room");
            writer.write(&batch).expect("it is written");
        }
        writer.finish().expect("it is finished");
    }
    db
}

impl TableOf {
    /// The name of its Parquet file.
    pub fn file(&self) -> String {
        format!("{}.parquet", self.name)
    }

    fn schema(&self) -> Schema {
        let mut builder = Schema::build(self.name);
        for name in self.key {
            builder = builder.key(name, Type::I64);
        }
        for (name, kind) in self.columns.iter().filter(|(name, _)| !self.key.contains(name)) {
            let kind = match kind {
                Number | Decimal => Type::I64,
                Date => Type::Timestamp,
                Text => Type::VarText(200),
            };
            builder = builder.column(name, kind);
        }
        builder.finish().expect("a schema")
    }

    /// Lines of its file, whose fields end with bars, as a batch.
    fn batch(&self, schema: &Schema, lines: impl Iterator<Item = String>) -> RecordBatch {
        let mut fields: Vec<Vec<String>> = vec![Vec::new(); self.columns.len()];
        for line in lines {
            for (values, (value, (_, kind))) in
                fields.iter_mut().zip(line.split('|').zip(self.columns))
            {
                values.push(if *kind == Decimal { hundredths(value) } else { value.to_string() });
            }
        }
        let wanted = arrow_schema(schema);
        let arrays = wanted.fields().iter().map(|field| {
            let at = self.columns.iter().position(|(name, _)| name == field.name());
            let text: ArrayRef = Arc::new(StringArray::from(std::mem::take(
                &mut fields[at.expect("a column of TPC-H")],
            )));
            cast(&text, field.data_type()).expect("a value of its type")
        });
        let arrays = arrays.collect();
        RecordBatch::try_new(wanted, arrays).expect("a batch")
    }
}

/// A decimal with two digits after its point, or without one, as a number of hundredths.
fn hundredths(decimal: &str) -> String {
    match decimal.split_once('.') {
        Some((whole, digits)) => format!("{whole}{digits}"),
        None => format!("{decimal}00"),
    }
}
