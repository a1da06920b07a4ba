//! Lode's databases for Python: the extension module `lode._lode`, of which the package `lode` in
//! `python/` is the face.
//!
//! Values go from Python to `value`, which makes those of Lode; `record` packs and unpacks whole
//! records with them. `database`, `table`, `transaction`, `snapshot`, `rows`, `changes` and `blobs`
//! are Python's classes; `find` and `write` do what a table does in several steps. A `view` is the
//! moment that a table is read at. `signals` looks for Ctrl-C. No lock of Python's is held while
//! Lode works.

mod arrays;
mod arrow;
mod blobs;
mod changes;
mod database;
mod failure;
mod find;
mod record;
mod rows;
mod schema;
mod signals;
mod snapshot;
mod table;
mod transaction;
mod value;
mod view;
mod write;

/// Lode's classes. Import `lode` instead.
#[pyo3::pymodule(gil_used = false)]
mod _lode {
    #[pymodule_export]
    use super::blobs::{Blobs, Reader, Writer};
    #[pymodule_export]
    use super::changes::Changes;
    #[pymodule_export]
    use super::database::{Database, memory, open};
    #[pymodule_export]
    use super::rows::Rows;
    #[pymodule_export]
    use super::snapshot::Snapshot;
    #[pymodule_export]
    use super::table::Table;
    #[pymodule_export]
    use super::transaction::{Savepoint, Transaction};
}
