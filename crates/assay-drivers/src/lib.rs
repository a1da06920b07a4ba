//! The engines that Assay drives, one module an engine, and their registry.
//!
//! To add an engine: write its module, give it a feature, and add one line to [`all`].

#![warn(unreachable_pub)]

#[cfg(feature = "canopydb")]
mod canopydb;
#[cfg(feature = "crossdb")]
mod crossdb;
#[cfg(feature = "duckdb")]
mod duckdb;
pub mod facts;
#[cfg(feature = "fjall")]
mod fjall;
#[cfg(any(feature = "leveldb", feature = "rocksdb", feature = "tonbo"))]
mod key_locks;
#[cfg(any(
    feature = "canopydb",
    feature = "fjall",
    feature = "leveldb",
    feature = "lmdb",
    feature = "mdbx",
    feature = "persy",
    feature = "redb",
    feature = "rocksdb",
    feature = "sled",
    feature = "surrealkv"
))]
mod kv;
#[cfg(feature = "leveldb")]
mod leveldb;
mod linker;
#[cfg(feature = "lmdb")]
mod lmdb;
#[cfg(feature = "lode")]
mod lode;
#[cfg(feature = "lode-c")]
mod lode_c;
#[cfg(feature = "lode-server")]
mod lode_server;
#[cfg(feature = "maps")]
mod maps;
#[cfg(feature = "mdbx")]
mod mdbx;
mod null;
#[cfg(feature = "persy")]
mod persy;
pub mod plugin;
#[cfg(feature = "redb")]
mod redb;
#[cfg(feature = "rocksdb")]
mod rocksdb;
#[cfg(feature = "sled")]
mod sled;
#[cfg(any(feature = "crossdb", feature = "duckdb", feature = "lode-server", feature = "sqlite"))]
mod sql;
#[cfg(feature = "sqlite")]
mod sqlite;
#[cfg(feature = "stl")]
mod stl;
#[cfg(feature = "surrealkv")]
mod surrealkv;
#[cfg(any(
    feature = "fjall",
    feature = "mdbx",
    feature = "redb",
    feature = "rocksdb",
    feature = "surrealkv"
))]
mod ticker;
#[cfg(feature = "tonbo")]
mod tonbo;
#[cfg(any(feature = "maps", feature = "stl"))]
mod word_key;

use assay_driver::Driver;

#[cfg(feature = "tonbo")]
pub use crate::tonbo::s3_server::serve as serve_s3;

/// Returns every engine that was compiled in, in the order in which tables show them, and then
/// those of plugins.
pub fn all() -> Vec<Box<dyn Driver>> {
    let mut drivers = compiled_in();
    drivers.extend(plugin::drivers());
    drivers
}

fn compiled_in() -> Vec<Box<dyn Driver>> {
    vec![
        Box::new(null::Null),
        #[cfg(feature = "stl")]
        Box::new(stl::Stl::map()),
        #[cfg(feature = "stl")]
        Box::new(stl::Stl::hashmap()),
        #[cfg(feature = "maps")]
        Box::new(maps::btreemap::driver()),
        #[cfg(feature = "maps")]
        Box::new(maps::hashbrown::driver()),
        #[cfg(feature = "maps")]
        Box::new(maps::dashmap::driver()),
        #[cfg(feature = "maps")]
        Box::new(maps::papaya::driver()),
        #[cfg(feature = "lode")]
        Box::new(lode::LodeDriver),
        #[cfg(feature = "lode-c")]
        Box::new(lode_c::LodeByC),
        #[cfg(feature = "lode-server")]
        Box::new(lode_server::LodeByServer),
        #[cfg(feature = "sqlite")]
        Box::new(sqlite::Sqlite),
        #[cfg(feature = "duckdb")]
        Box::new(duckdb::DuckDb),
        #[cfg(feature = "lmdb")]
        Box::new(lmdb::Lmdb),
        #[cfg(feature = "mdbx")]
        Box::new(mdbx::Mdbx),
        #[cfg(feature = "leveldb")]
        Box::new(leveldb::LevelDb),
        #[cfg(feature = "rocksdb")]
        Box::new(rocksdb::RocksDb),
        #[cfg(feature = "redb")]
        Box::new(redb::Redb),
        #[cfg(feature = "fjall")]
        Box::new(fjall::Fjall),
        #[cfg(feature = "sled")]
        Box::new(sled::Sled),
        #[cfg(feature = "canopydb")]
        Box::new(canopydb::CanopyDb),
        #[cfg(feature = "persy")]
        Box::new(persy::Persy),
        #[cfg(feature = "surrealkv")]
        Box::new(surrealkv::SurrealKv),
        #[cfg(feature = "tonbo")]
        Box::new(tonbo::Tonbo::local()),
        #[cfg(feature = "tonbo")]
        Box::new(tonbo::Tonbo::s3()),
        #[cfg(feature = "crossdb")]
        Box::new(crossdb::CrossDb),
    ]
}

/// An engine that a build can have and this one does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The engine's id.
    pub id: &'static str,
    /// The Cargo feature that brings it in.
    pub feature: &'static str,
}

/// The engines that only builds with further features have, and their features.
const OPTIONAL: [LeftOut; 9] = [
    LeftOut { id: "canopydb", feature: "more" },
    LeftOut { id: "duckdb", feature: "duckdb" },
    LeftOut { id: "lode-c", feature: "lode-c" },
    LeftOut { id: "lode-server", feature: "lode-server" },
    LeftOut { id: "persy", feature: "more" },
    LeftOut { id: "rocksdb", feature: "rocksdb" },
    LeftOut { id: "surrealkv", feature: "more" },
    LeftOut { id: "tonbo", feature: "tonbo" },
    LeftOut { id: "tonbo-s3", feature: "tonbo" },
];

/// Returns the engines that this build leaves out, in the order of their ids.
pub fn left_out() -> Vec<LeftOut> {
    let here = compiled_in();
    let is_here = |id: &str| here.iter().any(|driver| driver.profile().id == id);
    OPTIONAL.into_iter().filter(|engine| !is_here(engine.id)).collect()
}

/// Returns the engine with this id.
pub fn find(id: &str) -> Option<Box<dyn Driver>> {
    all().into_iter().find(|driver| driver.profile().id == id)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// Checks that a change of statistics or of the run file rebuilds no engine.
    #[test]
    fn engines_compile_against_their_own_face_of_assay_only() {
        let manifest = include_str!("../Cargo.toml");
        let built = manifest.lines().take_while(|line| *line != "[dev-dependencies]");
        let ours = built.filter(|line| line.starts_with("assay-"));
        assert_eq!(ours.collect::<Vec<_>>(), ["assay-driver.workspace = true"]);
    }

    /// Checks that an engine compiles without the others.
    #[test]
    fn shared_modules_are_built_for_each_engine_that_uses_them() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let lib = include_str!("lib.rs");
        for module in ["key_locks", "kv", "sql", "ticker", "word_key"] {
            let at = lib.find(&format!("\nmod {module};")).expect("it is a module");
            let condition = &lib[lib[..at].rfind("#[cfg").expect("it has a condition")..at];
            let mut users = 0;
            for entry in std::fs::read_dir(&folder).expect("the sources").flatten() {
                let path = entry.path();
                let stem = path.file_stem().unwrap_or_default().to_string_lossy();
                let is_user = text_of(&path).contains(&format!("crate::{module}"));
                if is_user && stem != "lib" {
                    let feature = format!("\"{}\"", stem.replace('_', "-"));
                    assert!(condition.contains(&feature), "{module} is not built for {feature}");
                    users += 1;
                }
            }
            assert!(users > 1, "{module} has {users} users");
        }
    }

    /// Returns the text of a source, or of all in a folder.
    fn text_of(path: &Path) -> String {
        if !path.is_dir() {
            return std::fs::read_to_string(path).expect("a source");
        }
        let entries = std::fs::read_dir(path).expect("a folder").flatten();
        entries.map(|entry| text_of(&entry.path())).collect()
    }

    #[test]
    fn ids_are_unique_and_profiles_whole() {
        let drivers = all();
        for (at, driver) in drivers.iter().enumerate() {
            let profile = driver.profile();
            assert!(drivers[..at].iter().all(|other| other.profile().id != profile.id));
            assert!(!profile.key_kinds.is_empty() && !profile.levels.is_empty());
            for (_, levels) in profile.levels {
                assert!(levels.is_sorted() && !levels.is_empty(), "{}", profile.id);
            }
        }
    }
}
