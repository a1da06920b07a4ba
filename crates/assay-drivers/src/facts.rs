//! Facts about engines that no run measures. Licences, languages and days are as the engines'
//! authors state them; costs are those of `.ci/weigh`.

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
    /// The release that this Assay was written for.
    pub release: Option<Release>,
}

/// A release of an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Release {
    /// The version, as the driver says it.
    pub version: &'static str,
    /// The day of the release, as `2026-11-13`; none if its authors name none.
    pub day: Option<&'static str>,
    /// The cost of having the engine in a program; none if it was not measured.
    pub cost: Option<Cost>,
}

/// The cost of having an engine in a program, as `.ci/weigh` measures it: with the driver, in an
/// optimised program without symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Processor time to compile the engine and what it needs, in seconds.
    pub compile_s: u32,
    /// Bytes that a program grows by.
    pub program_bytes: u64,
}

/// The languages in which there is a binding for almost everything, after the engine's own.
macro_rules! and_many {
    ($($own:literal),+) => {
        &[$($own,)+ "python", "java", "go", "rust", "javascript", "c#", "ruby", "swift"]
    };
}

impl Facts {
    const fn new(
        engine: &'static str,
        licence: &'static str,
        languages: &'static [&'static str],
    ) -> Self {
        Self { engine, licence, languages, release: None }
    }

    /// Names the release, and the day of it if its authors name one.
    const fn of(self, version: &'static str, day: Option<&'static str>) -> Self {
        Self { release: Some(Release { version, day, cost: None }), ..self }
    }

    /// Adds the cost of the release.
    const fn costing(self, compile_s: u32, program_bytes: u64) -> Self {
        let Some(release) = self.release else { panic!("a cost is of a release") };
        let cost = Some(Cost { compile_s, program_bytes });
        Self { release: Some(Release { cost, ..release }), ..self }
    }
}

/// The licence that most crates of Rust have.
const OF_RUST: &str = "MIT OR Apache-2.0";
/// The licence of the C++ library of GCC.
const OF_GCC: &str = "GPL-3.0-or-later WITH GCC-exception-3.1";

/// Facts about every engine whose data outlive a process, or can.
const ALL: &[Facts] = &[
    Facts::new("lode", OF_RUST, &["rust", "c", "c++", "python"])
        .of("0.1.0", None)
        .costing(92, 4_466_232),
    Facts::new("lode-c", OF_RUST, &["c", "c++"]),
    Facts::new("lode-server", OF_RUST, and_many!["c", "c++"]),
    Facts::new("sqlite", "public domain", and_many!["c", "c++"])
        .of("3.54.1", Some("2026-10-16"))
        .costing(43, 2_102_960),
    Facts::new("duckdb", "MIT", and_many!["c++", "c"]),
    Facts::new(
        "lmdb",
        "OLDAP-2.8",
        &["c", "c++", "python", "java", "go", "rust", "javascript", "c#", "ruby"],
    )
    .of("0.9.70", None)
    .costing(34, 158_480),
    Facts::new(
        "mdbx",
        "Apache-2.0",
        &["c", "c++", "python", "go", "rust", "java", "javascript", "ruby"],
    )
    .of("0.13.7", Some("2025-07-30"))
    .costing(27, 476_264),
    Facts::new("leveldb", "BSD-3-Clause", &["c++", "c", "python", "java", "javascript", "rust"])
        .of("1.23", Some("2021-02-23")),
    Facts::new(
        "rocksdb",
        "Apache-2.0 OR GPL-2.0-only",
        &["c++", "c", "java", "python", "go", "rust", "c#"],
    )
    .of("11.8.1", Some("2026-07-28")),
    Facts::new("redb", OF_RUST, &["rust"]).of("4.6.0", Some("2026-11-13")).costing(18, 1_188_928),
    Facts::new("fjall", OF_RUST, &["rust"]).of("3.1.13", Some("2026-10-25")).costing(34, 1_552_024),
    Facts::new("sled", OF_RUST, &["rust"]).of("0.34.7", Some("2021-09-12")).costing(15, 938_496),
    Facts::new("canopydb", "MIT", &["rust"]).of("0.2.5", Some("2025-11-22")).costing(42, 1_038_472),
    Facts::new("persy", "MPL-2.0", &["rust"]).of("1.8.1", Some("2026-06-30")).costing(24, 940_176),
    Facts::new("surrealkv", "Apache-2.0", &["rust"])
        .of("1.2.0", Some("2026-11-02"))
        .costing(91, 3_520_192),
    Facts::new("tonbo", "Apache-2.0", &["rust"]).of("0.3.2", Some("2025-04-10")),
    Facts::new("tonbo-s3", "Apache-2.0", &["rust"]).of("0.3.2", Some("2025-04-10")),
    Facts::new("dashmap", "MIT", &["rust"]).of("6.2.1", Some("2026-05-17")),
    Facts::new("papaya", "MIT", &["rust"]).of("0.2.5", Some("2026-08-21")),
    Facts::new("hashbrown", OF_RUST, &["rust"]).of("0.17.2", Some("2026-11-22")),
    Facts::new("btreemap", OF_RUST, &["rust"]),
    Facts::new("stl-map", OF_GCC, &["c++"]),
    Facts::new("stl-hashmap", OF_GCC, &["c++"]),
];

/// Returns the facts about an engine, if they are known.
pub fn facts(engine: &str) -> Option<&'static Facts> {
    ALL.iter().find(|facts| facts.engine == engine)
}

/// Returns the release of an engine if it is of this version, whose first word counts: the others
/// are of the binding.
pub fn release(engine: &str, version: &str) -> Option<Release> {
    let release = facts(engine)?.release?;
    (version.split(' ').next() == Some(release.version)).then_some(release)
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

    /// Checks that no driver reports a newer version than the one whose day of release is listed.
    /// LevelDB is the system's, so its version is not ours to say.
    #[test]
    fn releases_are_of_the_versions_that_are_built() {
        let mut looked_at = 0;
        for driver in crate::all() {
            let id = driver.profile().id;
            if id == "leveldb" || facts(id).is_none_or(|facts| facts.release.is_none()) {
                continue;
            }
            let version = driver.version().expect("a version");
            assert!(release(id, &version).is_some(), "{id} is {version} now");
            looked_at += 1;
        }
        assert!(looked_at > 0 || crate::all().len() == 1, "nothing was looked at");
    }
}
