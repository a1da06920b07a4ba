//! Runs queries over tables of Lode and over Parquet files.

use std::path::Path;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, PrimitiveArray, RecordBatch};
use datafusion::arrow::datatypes::{DataType, Decimal128Type, Int64Type};
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::common::ScalarValue;
use datafusion::error::Result;
use datafusion::logical_expr::{ColumnarValue, Volatility, create_udf};
use datafusion::prelude::{ParquetReadOptions, SessionConfig, SessionContext};
use lode::Database;
use lode_datafusion::LodeSchema;

use crate::data::{Kind, TABLES};

/// The type that TPC-H gives to decimals.
const DECIMAL: DataType = DataType::Decimal128(15, 2);

/// A context with the tables of a database.
pub async fn over_lode(db: &Database, config: SessionConfig) -> Result<SessionContext> {
    let context = context(config);
    let catalog = context.catalog("datafusion").expect("the catalog that is always there");
    let stored = LodeSchema::new(db.clone()).at(db.snapshot());
    catalog.register_schema("stored", Arc::new(stored))?;
    add_views(&context).await?;
    Ok(context)
}

/// A context with the Parquet files of a folder.
pub async fn over_parquet(folder: &Path, config: SessionConfig) -> Result<SessionContext> {
    let context = context(config);
    context.sql("CREATE SCHEMA stored").await?.collect().await?;
    for table in &TABLES {
        let file = folder.join(table.file());
        let path = file.to_str().expect("a path of a temporary folder");
        let name = format!("stored.{}", table.name);
        context.register_parquet(name, path, ParquetReadOptions::default()).await?;
    }
    add_views(&context).await?;
    Ok(context)
}

fn context(config: SessionConfig) -> SessionContext {
    let config = config.set_bool("datafusion.sql_parser.parse_float_as_decimal", true);
    let context = SessionContext::new_with_config(config);
    let decimal = |values: &[ColumnarValue]| match &values[0] {
        ColumnarValue::Array(values) => Ok(ColumnarValue::Array(decimals(values)?)),
        ColumnarValue::Scalar(value) => {
            let values = decimals(&value.to_array()?)?;
            Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&values, 0)?))
        }
    };
    let types = (vec![DataType::Int64], DECIMAL);
    let hundredths =
        create_udf("hundredths", types.0, types.1, Volatility::Immutable, Arc::new(decimal));
    context.register_udf(hundredths);
    context
}

/// Numbers of hundredths as decimals with two digits after the point.
fn decimals(hundredths: &ArrayRef) -> Result<ArrayRef> {
    let decimals: PrimitiveArray<Decimal128Type> =
        hundredths.as_primitive::<Int64Type>().unary(i128::from);
    Ok(Arc::new(decimals.with_data_type(DECIMAL)))
}

/// Shows what is stored as TPC-H has it.
async fn add_views(context: &SessionContext) -> Result<()> {
    for table in &TABLES {
        let columns = table.columns.iter().map(|(name, kind)| match kind {
            Kind::Decimal => format!("hundredths({name}) AS {name}"),
            Kind::Number | Kind::Date | Kind::Text => name.to_string(),
        });
        let columns = columns.collect::<Vec<_>>().join(", ");
        let name = table.name;
        let view = format!("CREATE VIEW {name} AS SELECT {columns} FROM stored.{name}");
        context.sql(&view).await?.collect().await?;
    }
    Ok(())
}

/// The rows of an answer, each as words, in an order of their own: a query may leave open in which
/// order rows come that it sorts alike.
pub fn rows(answer: &[RecordBatch]) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for batch in answer {
        let options = FormatOptions::default();
        let columns = batch.columns().iter();
        let columns = columns.map(|column| ArrayFormatter::try_new(column, &options));
        let columns = columns.collect::<Result<Vec<_>, _>>().expect("values that can be shown");
        let row = |at: usize| columns.iter().map(|column| column.value(at).to_string()).collect();
        rows.extend((0..batch.num_rows()).map(row));
    }
    rows.sort();
    rows
}
