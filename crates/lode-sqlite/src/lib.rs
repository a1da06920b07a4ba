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
//! - Lode carries out conditions on the key (`plan/`); SQLite carries out all others.
//! - A transaction of SQLite that writes is one of Lode, at a snapshot (`session/`).
//!
//! Each module imports only modules that stand below it:
//!
//! | module | job |
//! |---|---|
//! | `console.rs` | a connection for shells and scripts |
//! | `attach/` | what programs call: tables made visible, functions, the guard of a console |
//! | `table/` | a virtual table as SQLite calls it: cursors, writes, the module |
//! | `session/` | what a connection reads and writes, and the directories it opens |
//! | `plan/` | conditions as ranges of keys, and indexes for joins |
//! | `values/` | values of SQLite and of Lode, their order and their decimals |
//! | `language/`, `error.rs` | the text of statements; errors |

#![warn(unreachable_pub)]

mod attach;
mod console;
mod error;
mod language;
mod plan;
mod session;
mod table;
mod values;

pub use attach::attached::HiddenTable;
pub use attach::{attach, create_index_statements, create_statement, register};
pub use console::{Console, Step};
pub use language::lexer::{Script, is_complete};
