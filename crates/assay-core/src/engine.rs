//! The name of an engine in cells, views and charts: its id, and the build that measured it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The ids of the engine that the authors of this instrument wrote themselves, one for each of its
/// interfaces.
pub const OWN_ENGINES: [&str; 3] = ["lode", "lode-c", "lode-server"];

/// The ending of the text of an engine that the other build measured (`assay run --against`).
const OTHER_BUILD: &str = "@other";

/// The build of Assay, or of an engine, that measures a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WhichBuild {
    /// The build that runs the command.
    This,
    /// The build that takes turns with it.
    Other,
}

/// An engine of a build. Its text, in run files too, is its id, with `@other` after it for the
/// other build.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct EngineRef {
    /// The engine's id, as drivers have it.
    pub id: String,
    /// The build that measures it.
    pub build: WhichBuild,
}

impl EngineRef {
    /// Returns an engine of the build that runs the command.
    pub fn of_this_build(id: &str) -> Self {
        Self { id: id.into(), build: WhichBuild::This }
    }

    /// Returns the engine in another build.
    pub fn of(&self, build: WhichBuild) -> Self {
        Self { build, ..self.clone() }
    }

    /// Returns true if the other build measures the engine.
    pub fn is_of_other_build(&self) -> bool {
        self.build == WhichBuild::Other
    }

    /// Returns true if the engine is by the authors of this instrument.
    pub fn is_own(&self) -> bool {
        OWN_ENGINES.contains(&self.id.as_str())
    }
}

/// Writes the ending of an engine's text.
impl fmt::Display for WhichBuild {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::This => "",
            Self::Other => OTHER_BUILD,
        })
    }
}

impl fmt::Display for EngineRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, build } = self;
        f.pad(&format!("{id}{build}"))
    }
}

/// Reads the text of an engine.
impl From<&str> for EngineRef {
    fn from(text: &str) -> Self {
        match text.strip_suffix(OTHER_BUILD) {
            Some(id) => Self { id: id.into(), build: WhichBuild::Other },
            None => Self::of_this_build(text),
        }
    }
}

impl From<String> for EngineRef {
    fn from(text: String) -> Self {
        text.as_str().into()
    }
}

impl From<EngineRef> for String {
    fn from(engine: EngineRef) -> Self {
        engine.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_interface_of_the_own_engine_is_own_in_either_build() {
        for text in ["lode", "lode-c", "lode-server", "lode-c@other"] {
            assert!(EngineRef::from(text).is_own(), "{text}");
        }
        assert!(!EngineRef::from("lmdb").is_own());
    }

    #[test]
    fn an_engine_of_either_build_has_one_text() {
        let ours = EngineRef::of_this_build("lmdb");
        let other = ours.of(WhichBuild::Other);
        assert_eq!([ours.to_string(), other.to_string()], ["lmdb", "lmdb@other"]);
        for engine in [ours, other] {
            let text = serde_json::to_string(&engine).expect("text");
            assert_eq!(text, format!("\"{engine}\""));
            assert_eq!(serde_json::from_str::<EngineRef>(&text).expect("an engine"), engine);
        }
    }
}
