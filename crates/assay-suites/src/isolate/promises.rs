//! The promises of the documentation of engines for transactions, as the drivers use them.

use assay_isolation::Level;

/// A level of isolation that an engine's documentation names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Promise {
    /// The level.
    pub level: Level,
    /// The page that names it.
    pub source: &'static str,
}

const PROMISES: [(&str, Level, &str); 11] = [
    ("canopydb", Level::Serializable, "docs.rs/canopydb, Database::begin_write"),
    ("fjall", Level::Serializable, "docs.rs/fjall, Transactional modes"),
    ("lmdb", Level::Serializable, "lmdb.tech/doc, writes are fully serialized"),
    ("lode", Level::StrictlySerializable, "crates/lode/DESIGN.md, Transactions"),
    ("lode-c", Level::StrictlySerializable, "crates/lode/DESIGN.md, Transactions"),
    ("lode-server", Level::Serializable, "docs/serve.md, The language"),
    ("mdbx", Level::Serializable, "libmdbx.dqdkfa.ru, write transactions are serialized"),
    ("persy", Level::ReadCommitted, "docs.rs/persy, Persy::begin"),
    ("redb", Level::Serializable, "github.com/cberner/redb, docs/design.md"),
    ("sqlite", Level::Serializable, "sqlite.org/isolation.html"),
    ("surrealkv", Level::SnapshotIsolation, "github.com/surrealdb/surrealkv, README"),
];

/// Returns the promise of an engine; none if no page of it names a level.
pub fn promise(engine: &str) -> Option<Promise> {
    let found = PROMISES.iter().find(|(id, ..)| *id == engine);
    found.map(|(_, level, source)| Promise { level: *level, source })
}
