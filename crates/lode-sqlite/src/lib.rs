//! SQL over the tables of Lode: a module of virtual tables for SQLite.
//!
//! [`attach`] makes the tables of a [`lode::Database`] visible on a connection of [`rusqlite`],
//! with all of SQLite's language. [`Console`] is a separate connection, for shells and scripts:
//! there `CREATE TABLE` makes tables of Lode. [`register`] is for programs that name directories by
//! SQL, and for the loadable extension in `extension/`.
//!
//! ```
//! use lode::{Database, KeyKind, Schema, Type};
//!
//! let db = Database::in_memory()?;
//! let schema = Schema::build("city").key("name", Type::VarText(80)).column("people", Type::U64);
//! db.create_table(&schema.finish()?, KeyKind::Tree)?;
//!
//! let connection = rusqlite::Connection::open_in_memory()?;
//! lode_sqlite::attach(&connection, &db)?;
//! connection.execute("INSERT INTO city VALUES ('Bern', 134591), ('Thun', 43743)", [])?;
//! let query = "SELECT sum(people) FROM city WHERE name < 'C'";
//! let people: i64 = connection.query_row(query, [], |row| row.get(0))?;
//! assert_eq!(people, 134_591);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # How it works
//! - A table is a virtual table. Its columns have SQLite's types by the types that they have in
//!   Lode; `docs/sql.md` has the list, and what does not fit.
//! - Conditions on the key are carried out by Lode (`plan`, `range`), all others by SQLite.
//! - A transaction of SQLite that writes is one of Lode, at a snapshot (`session`).

#![warn(unreachable_pub)]

mod attach;
mod collation;
mod confined;
mod console;
mod cursor;
mod ddl;
mod decimal;
mod directories;
mod error;
mod functions;
mod guard;
mod lexer;
mod math;
mod module;
mod number;
mod plan;
mod position;
mod range;
mod rows;
mod session;
mod single;
mod source;
mod statement;
mod table;
mod transient;
mod values;
mod write;

pub use attach::{HiddenTable, attach, create_statement, register};
pub use console::{Console, Step};
pub use lexer::{Script, is_complete};
