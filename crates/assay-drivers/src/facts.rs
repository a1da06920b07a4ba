//! Facts about engines that nobody has to measure: their licence, and the languages of programs
//! that can use them. They are as the engines' authors state them.

/// Facts about an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The engine's id.
    pub engine: &'static str,
    /// The licence, as SPDX writes it where it does.
    pub licence: &'static str,
    /// The languages of programs that can use the engine, by its authors or by kept bindings, its
    /// own first.
    pub languages: &'static [&'static str],
}

/// The languages in which there is a binding for almost everything, after the engine's own.
macro_rules! and_many {
    ($($own:literal),+) => {
        &[$($own,)+ "python", "java", "go", "rust", "javascript", "c#", "ruby", "swift"]
    };
}

/// Facts about every engine whose data outlive a process, or can.
const ALL: &[Facts] = &[
    Facts { engine: "lode", licence: "MIT OR Apache-2.0", languages: &["rust"] },
    Facts { engine: "lode-c", licence: "MIT OR Apache-2.0", languages: &["c", "c++"] },
    Facts { engine: "lode-server", licence: "MIT OR Apache-2.0", languages: and_many!["c", "c++"] },
    Facts { engine: "sqlite", licence: "public domain", languages: and_many!["c", "c++"] },
    Facts { engine: "duckdb", licence: "MIT", languages: and_many!["c++", "c"] },
    Facts {
        engine: "lmdb",
        licence: "OLDAP-2.8",
        languages: &["c", "c++", "python", "java", "go", "rust", "javascript", "c#", "ruby"],
    },
    Facts {
        engine: "mdbx",
        licence: "Apache-2.0",
        languages: &["c", "c++", "python", "go", "rust", "java", "javascript", "ruby"],
    },
    Facts {
        engine: "leveldb",
        licence: "BSD-3-Clause",
        languages: &["c++", "c", "python", "java", "javascript", "rust"],
    },
    Facts {
        engine: "rocksdb",
        licence: "Apache-2.0 OR GPL-2.0-only",
        languages: &["c++", "c", "java", "python", "go", "rust", "c#"],
    },
    Facts { engine: "redb", licence: "MIT OR Apache-2.0", languages: &["rust"] },
    Facts { engine: "fjall", licence: "MIT OR Apache-2.0", languages: &["rust"] },
    Facts { engine: "sled", licence: "MIT OR Apache-2.0", languages: &["rust"] },
    Facts { engine: "canopydb", licence: "MIT", languages: &["rust"] },
    Facts { engine: "persy", licence: "MPL-2.0", languages: &["rust"] },
    Facts { engine: "surrealkv", licence: "Apache-2.0", languages: &["rust"] },
    Facts { engine: "tonbo", licence: "Apache-2.0", languages: &["rust"] },
    Facts { engine: "tonbo-s3", licence: "Apache-2.0", languages: &["rust"] },
    Facts { engine: "dashmap", licence: "MIT", languages: &["rust"] },
    Facts { engine: "papaya", licence: "MIT", languages: &["rust"] },
    Facts { engine: "hashbrown", licence: "MIT OR Apache-2.0", languages: &["rust"] },
    Facts { engine: "btreemap", licence: "MIT OR Apache-2.0", languages: &["rust"] },
    Facts {
        engine: "stl-map",
        licence: "GPL-3.0-or-later WITH GCC-exception-3.1",
        languages: &["c++"],
    },
    Facts {
        engine: "stl-hashmap",
        licence: "GPL-3.0-or-later WITH GCC-exception-3.1",
        languages: &["c++"],
    },
];

/// Returns the facts about an engine, if they are known.
pub fn facts(engine: &str) -> Option<&'static Facts> {
    ALL.iter().find(|facts| facts.engine == engine)
}

/// Returns every language that an engine can be used from, in alphabetic order.
pub fn languages() -> Vec<&'static str> {
    let mut all: Vec<_> = ALL.iter().flat_map(|facts| facts.languages).copied().collect();
    all.sort_unstable();
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Engines whose authors state no licence that we know, and what is no engine.
    const UNKNOWN: [&str; 2] = ["null", "crossdb"];

    #[test]
    fn facts_are_known_of_each_engine_once() {
        for driver in crate::all() {
            let id = driver.profile().id;
            let known = ALL.iter().filter(|facts| facts.engine == id).count();
            assert_eq!(known, usize::from(!UNKNOWN.contains(&id)), "{id}");
        }
        assert!(ALL.iter().all(|facts| !facts.languages.is_empty()));
        assert!(languages().windows(2).all(|pair| pair[0] < pair[1]));
    }
}
