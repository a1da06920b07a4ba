//! Lode for programs in C and C++: `include/lode.h`, which cbindgen makes of these sources, and
//! `include/lode.hpp` on top of it. `docs/c.md` shows a session.
//!
//! A Rust program uses the crate `lodedb` itself; this one is compiled into `liblode`. Its modules
//! are public for Assay, which calls the functions as C does, to measure what they cost.
//!
//! - Handles are numbers that are looked up (`handles/`). One that was freed is found out.
//! - No panic crosses the border: each function runs in `failure::guarded`.
//! - What C passes is checked as far as it can be (`argument.rs`) before Lode sees it.
//!
//! Each module imports only modules that stand below it:
//!
//! | module | job |
//! |---|---|
//! | `version.rs` | the versions of the library and of its interface |
//! | `volumes/` | volumes, entries, properties, storages |
//! | `blobs/` | blob stores, writers, readers |
//! | `changes.rs` | committed changes in their order |
//! | `cursor.rs`, `read.rs`, `write.rs` | records of a table |
//! | `packing.rs` | packed records and keys |
//! | `transaction.rs`, `snapshot.rs` | what several calls have in common |
//! | `table.rs` | tables |
//! | `database.rs` | databases |
//! | `column.rs`, `options.rs` | descriptions: of tables, of how to open a database |
//! | `value.rs` | values of columns |
//! | `scratch.rs` | memory of a thread that is used again |
//! | `objects/` | what handles stand for |
//! | `argument.rs` | pointers from C |
//! | `failure.rs` | failures, their messages, the border |
//! | `status.rs` | numbers for what became of a call |
//! | `handles/` | numbers that stand for objects |

// Names are those of the header.
#![allow(non_camel_case_types)]
// Called by C: only the caller can vouch for its pointers.
#![allow(unsafe_code)]
// Each function's text is that of the header, and says what its pointers have to be.
#![allow(clippy::missing_safety_doc)]

mod argument;
mod blobs;
mod changes;
pub mod column;
pub mod cursor;
pub mod database;
pub mod failure;
mod handles;
pub mod objects;
pub mod options;
mod packing;
pub mod read;
mod scratch;
mod snapshot;
pub mod status;
pub mod table;
pub mod transaction;
pub mod value;
pub mod version;
mod volumes;
pub mod write;
