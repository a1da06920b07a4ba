//! The engines of a command, and the settings chosen for them.

use std::collections::BTreeMap;

use assay_driver::Driver;
use program_support::exit::{Failure, Outcome};

use crate::plugins;
use crate::plugins::known::Known;

/// The id of the engine that shows the instrument's own cost.
pub(crate) const NULL: &str = "null";

/// Returns the named engines in the order named, each once. The caller decides if none is named.
pub(crate) fn named(ids: &[String]) -> Outcome<Vec<Box<dyn Driver>>> {
    if ids.iter().any(String::is_empty) {
        return Err(Failure::Usage(
            "the name of an engine is empty; name engines with commas between them".into(),
        ));
    }
    let mut once: Vec<&String> = Vec::new();
    for id in ids {
        if !once.contains(&id) {
            once.push(id);
        }
    }
    once.into_iter()
        .map(|id| match assay_drivers::find(id) {
            Some(driver) => Ok(driver),
            None => plugins::find(id)?.ok_or_else(|| missing(id)),
        })
        .collect()
}

/// The engines of a command.
pub(crate) struct Chosen {
    pub drivers: Vec<Box<dyn Driver>>,
    /// True if engines were asked for by name: they are shown even if they cannot do it.
    pub by_name: bool,
}

/// The word that stands for every engine.
const EVERY: &str = "all";

/// Returns the engines of `-e`: names, `all`, and `!NAME` for all but that one. No words mean all.
pub(crate) fn chosen(words: &[String]) -> Outcome<Chosen> {
    let (excluded, wanted): (Vec<_>, Vec<_>) =
        words.iter().cloned().partition(|word| word.starts_with('!'));
    let excluded: Vec<_> = excluded.iter().map(|word| &word[1..]).collect();
    excluded.iter().try_for_each(|id| check_known(id))?;
    let names: Vec<_> = wanted.iter().filter(|word| *word != EVERY).cloned().collect();
    let by_name = !names.is_empty() && names.len() == wanted.len();
    let mut drivers = if by_name { Vec::new() } else { all()? };
    for driver in named(&names)? {
        if drivers.iter().all(|other| other.profile().id != driver.profile().id) {
            drivers.push(driver);
        }
    }
    drivers.retain(|driver| !excluded.contains(&driver.profile().id));
    if drivers.is_empty() {
        Err(Failure::Usage("the engines to leave out leave none; name fewer".into()))
    } else {
        Ok(Chosen { drivers, by_name })
    }
}

/// Checks that an engine that is to be left out exists. It need not be in this build.
fn check_known(id: &str) -> Outcome {
    let of_another_build = assay_drivers::left_out().iter().any(|engine| engine.id == id);
    if of_another_build || Known::find(id).is_some() {
        Ok(())
    } else {
        named(&[id.to_string()]).map(|_| ())
    }
}

/// Returns why an engine is missing, and how to get it.
fn missing(id: &str) -> Failure {
    if let Some(engine) = assay_drivers::left_out().iter().find(|e| e.id == id) {
        return Failure::Usage(format!(
            "this build has no engine {id}; build with --features {} to have it",
            engine.feature
        ));
    }
    if let Some(known) = Known::find(id) {
        return Failure::Usage(format!("{id} is not built here: {}", known.command()));
    }
    let known: Vec<_> = assay_drivers::all().iter().map(|d| d.profile().id.to_string()).collect();
    Failure::Usage(format!(
        "there is no engine {id} here, and no {} in the folders of plugins; there are {}",
        plugins::folders::file_name(id),
        known.join(", ")
    ))
}

/// Returns all engines but `null`, with those of plugins that are found. `assay list` says which
/// plugins cannot be used.
pub(crate) fn all() -> Outcome<Vec<Box<dyn Driver>>> {
    plugins::find_all()?;
    Ok(assay_drivers::all().into_iter().filter(|d| d.profile().id != NULL).collect())
}

/// Settings by engine, from `ENGINE.NAME=VALUE` and `--as-published`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings(BTreeMap<String, BTreeMap<String, String>>);

impl Settings {
    /// Reads and checks the settings.
    pub(crate) fn parse(set: &[String], as_published: bool) -> Outcome<Self> {
        let mut settings = Self::default();
        if as_published {
            for driver in assay_drivers::all() {
                let profile = driver.profile();
                for parameter in profile.parameters {
                    let default = parameter.word_list().first().copied();
                    let differs = parameter.as_published.filter(|&value| Some(value) != default);
                    if let Some(value) = differs {
                        settings.insert(profile.id, parameter.name, value.into());
                    }
                }
            }
        }
        for text in set {
            let parsed =
                text.split_once('=').and_then(|(path, value)| Some((path.split_once('.')?, value)));
            let Some(((engine, name), value)) = parsed else {
                return Err(Failure::Usage(format!(
                    "--set {text}: write it as ENGINE.NAME=VALUE; assay list shows the parameters"
                )));
            };
            let driver = named(&[engine.to_string()])?.remove(0);
            let Some(parameter) = driver.profile().parameter(name) else {
                let known = driver.profile().parameters.iter().map(|known| known.name);
                let known: Vec<_> = known.collect();
                let there = if known.is_empty() {
                    "it has none".to_string()
                } else {
                    format!("it has {}", known.join(", "))
                };
                return Err(Failure::Usage(format!(
                    "--set {text}: {engine} has no parameter {name}; {there}"
                )));
            };
            let value = parameter
                .check(value)
                .map_err(|why| Failure::Usage(format!("--set {text}: {engine}.{why}")))?;
            settings.insert(engine, name, value);
        }
        Ok(settings)
    }

    fn insert(&mut self, engine: &str, name: &str, value: String) {
        self.0.entry(engine.into()).or_default().insert(name.into(), value);
    }

    /// Returns the settings chosen for an engine.
    pub(crate) fn of(&self, engine: &str) -> BTreeMap<String, String> {
        self.0.get(engine).cloned().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(words: &[&str]) -> Result<(Vec<&'static str>, bool), Failure> {
        let words: Vec<_> = words.iter().map(ToString::to_string).collect();
        let chosen = chosen(&words)?;
        Ok((chosen.drivers.iter().map(|driver| driver.profile().id).collect(), chosen.by_name))
    }

    #[test]
    fn engines_are_chosen_by_names_all_of_them_and_exceptions() {
        let (every, by_name) = ids(&[]).expect("all engines");
        assert!(every.contains(&"sqlite") && !every.contains(&NULL) && !by_name);
        assert_eq!(ids(&["all"]).expect("all"), (every.clone(), false));
        assert_eq!(ids(&["lmdb", "sqlite"]).expect("two"), (vec!["lmdb", "sqlite"], true));
        let (others, by_name) = ids(&["!sqlite", "!duckdb", "!nudb"]).expect("all but some");
        assert!(others.len() + 1 == every.len() && !others.contains(&"sqlite") && !by_name);
        let (with_null, _) = ids(&["all", "null"]).expect("all and one more");
        assert_eq!(with_null.len(), every.len() + 1);
        assert_eq!(ids(&["lmdb", "sqlite", "!lmdb"]).expect("one"), (vec!["sqlite"], true));
        for bad in [&["!nosuch"][..], &["!"], &["sqlite", "!sqlite"], &["all", ""]] {
            assert!(matches!(ids(bad), Err(Failure::Usage(_))), "{bad:?}");
        }
    }

    #[test]
    fn settings_are_checked_against_the_engines() {
        let parse = |text: &str| Settings::parse(&[text.to_string()], false);
        let good = parse("sqlite.rowid=yes").expect("it exists");
        assert_eq!(good.of("sqlite")["rowid"], "yes");
        let pages = parse("sqlite.page_size=8k").expect("a power of two");
        assert_eq!(pages.of("sqlite")["page_size"], "8192", "as every driver gets bytes");
        for bad in [
            "sqlite",
            "sqlite.rowid",
            "nosuch.x=1",
            "sqlite.nosuch=1",
            "sqlite.rowid=7",
            "sqlite.page_size=1000",
            "sqlite.cache_bytes=1k",
        ] {
            assert!(matches!(parse(bad), Err(Failure::Usage(_))), "{bad}");
        }
    }

    #[test]
    fn as_published_gives_sqlite_its_rowid() {
        let settings = Settings::parse(&[], true).expect("no settings of the user's");
        assert_eq!(settings.of("sqlite")["rowid"], "yes");
        assert!(settings.of("stl-hashmap").is_empty(), "the default is the published one");
    }
}
