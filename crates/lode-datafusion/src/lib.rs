//! Tables of [Lode](lode) for [DataFusion](datafusion): queries read them, in SQL or as data
//! frames.
//!
//! | to … | there is |
//! |---|---|
//! | query all tables of a database | [`register_tables`] |
//! | have them in a schema of their own, or as they were at one moment | [`LodeSchema`] |
//! | query one table | [`LodeTable`] |
//!
//! ```
//! use datafusion::prelude::SessionContext;
//! use lode::{Database, KeyKind, Schema, Type, Value};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let db = Database::in_memory()?;
//! let schema = Schema::build("call").key("caller", Type::I64).key("time", Type::I64);
//! let calls = db.create_table(&schema.column("seconds", Type::I64).finish()?, KeyKind::Tree)?;
//! for (caller, time, seconds) in [(7, 100, 15), (7, 200, 30), (9, 150, 60)] {
//!     let values = [caller, time, seconds].map(Value::Signed);
//!     calls.insert(&calls.schema().pack(&values)?)?;
//! }
//!
//! let context = SessionContext::new();
//! lode_datafusion::register_tables(&context, &db)?;
//! # let runtime = tokio::runtime::Builder::new_multi_thread().build()?;
//! # runtime.block_on(async {
//! let sum = context.sql("SELECT sum(seconds) AS sum FROM call WHERE caller = 7").await?;
//! assert!(sum.to_string().await?.contains("| 45  |"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })
//! # }
//! ```
//!
//! # What is pushed down
//!
//! - The columns that a query uses: others are not copied out of the pages.
//! - Conditions on the primary key that compare a column with a value: `=`, `IN`, `<`, `<=`, `>`,
//!   `>=`, `BETWEEN`. In a tree these are values of the first columns of the key, and a range of
//!   the next one; of a hashed table, values of all of them. DataFusion looks at the rows again.
//!   It need not for conditions on the first column of a tree's key, or the only one of a hashed
//!   key.
//!   Of lists of more than 1,000 keys, all between the first and the last is read.
//! - The limit.
//! - The order of keys of a table in a tree: a query that wants it needs no sorting.
//!
//! Conditions on floats are not pushed down. `EXPLAIN` names what was.
//!
//! # How it reads
//!
//! A scan is a snapshot: all of its rows are of the moment at which the query was planned. Of
//! several tables, or of one that a query reads twice, these moments differ, unless they are
//! [at](LodeSchema::at) the same snapshot. Rows come in batches, of which at most two are in memory
//! for each partition. Tables in trees whose keys start with whole numbers or moments are read in
//! as many partitions as DataFusion wants. Pages are read by threads for work that blocks, never by
//! those that run queries.
//!
//! # Reading only
//!
//! `INSERT`, `UPDATE`, `DELETE` and the like are refused. Lode's own functions write, and so does
//! SQL by `lode sql`.

#![warn(missing_docs, unreachable_pub)]
#![deny(unsafe_code)]

mod error;
mod partitions;
mod pushdown;
mod reader;
mod scan;
mod schema;
mod table;

use std::sync::Arc;

use datafusion::common::TableReference;
use datafusion::error::Result;
use datafusion::prelude::SessionContext;
use lode::Database;

pub use schema::LodeSchema;
pub use table::LodeTable;

/// Registers every table of a database under its name.
///
/// Tables that are created later are not there; a [`LodeSchema`] has them.
///
/// # Errors
/// When a table cannot be read, or when there is one of its name already.
pub fn register_tables(context: &SessionContext, db: &Database) -> Result<()> {
    let schema = LodeSchema::new(db.clone());
    for name in db.table_names() {
        if let Some(table) = schema.find(&name)? {
            context.register_table(TableReference::bare(name), Arc::new(table))?;
        }
    }
    Ok(())
}
