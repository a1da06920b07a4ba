//! The facts about engines that are known before anything is measured.

use std::path::Path;

use assay_core::advice::Facts;
use assay_core::isolation::Verdicts;
use assay_driver::Driver;
use assay_drivers::facts;
use assay_suites::isolate::{self, promise};
use program_support::exit::{Failure, Outcome};
use program_support::output::say;

use crate::cli::AdviseArgs;
use crate::files::ISOLATION_FILE;

/// Known facts about engines: those of their authors, and results of tests of isolation.
pub(super) struct Known {
    isolation: Verdicts,
}

impl Known {
    /// Reads the verdicts of `assay isolate`; a missing file has none. One that cannot be read is
    /// refused if the question is about isolation.
    pub(super) fn read(args: &AdviseArgs) -> Outcome<Self> {
        match Verdicts::load(Path::new(ISOLATION_FILE)) {
            Ok(isolation) => Ok(Self { isolation }),
            Err(why) if args.isolation.is_some() => Err(Failure::Refused(why)),
            Err(why) => {
                say(&format!("note: {why}; no isolation is said to be tested"));
                Ok(Self { isolation: Verdicts::default() })
            }
        }
    }

    /// Returns the facts about an engine, if they are known.
    pub(super) fn facts(&self, driver: &dyn Driver) -> Option<Facts> {
        let id = driver.profile().id;
        let known = facts::facts(id)?;
        let version = driver.version().unwrap_or_default();
        let release = facts::release(id, &version);
        let cost = release.and_then(|release| release.cost);
        Some(Facts {
            engine: id.into(),
            licence: known.licence.into(),
            languages: known.languages.iter().map(ToString::to_string).collect(),
            isolation: self.isolation(driver, &version),
            released: release.and_then(|release| release.day).map(String::from),
            compile_s: cost.map(|cost| cost.compile_s),
            program_bytes: cost.map(|cost| cost.program_bytes),
        })
    }

    /// Returns the promised isolation, and what tests say of it; none if nothing is promised, or
    /// the engine has no transactions that could show any.
    fn isolation(&self, driver: &dyn Driver, version: &str) -> Option<String> {
        if isolate::why_not(driver).is_some() {
            return None;
        }
        let id = driver.profile().id;
        let promised = promise(id)?;
        let verdicts = || self.isolation.of(id, version);
        let seen = verdicts().find_map(|verdict| verdict.anomaly_against(promised.level));
        let tested = verdicts().map(|verdict| verdict.transactions).max();
        let level = promised.level;
        Some(match (seen, tested) {
            (Some(seen), _) => format!("{level} by its documentation, but shows {}", seen.anomaly),
            (None, Some(tested)) => format!("{level}, kept in {tested} transactions"),
            (None, None) => format!("{level} by its documentation"),
        })
    }

    /// Returns why an engine is not measured at all.
    pub(super) fn why_not(&self, driver: &dyn Driver, args: &AdviseArgs) -> Option<String> {
        self.why_not_for_language(driver, args).or_else(|| self.why_not_isolated(driver, args))
    }

    fn why_not_for_language(&self, driver: &dyn Driver, args: &AdviseArgs) -> Option<String> {
        let language = args.language.as_ref()?;
        match facts::facts(driver.profile().id) {
            Some(known) if known.languages.contains(&language.as_str()) => None,
            Some(known) => {
                Some(format!("is for {}, not for {language}", known.languages.join(", ")))
            }
            None => Some(format!("it is not known if {language} can use it")),
        }
    }

    fn why_not_isolated(&self, driver: &dyn Driver, args: &AdviseArgs) -> Option<String> {
        let wanted = args.isolation?.level();
        if let Some(why) = isolate::why_not(driver) {
            return Some(format!("its isolation is not known: {why}"));
        }
        let id = driver.profile().id;
        let Some(promised) = promise(id) else {
            return Some("its documentation names no level of isolation".into());
        };
        if promised.level < wanted {
            return Some(format!(
                "its documentation promises {}, not {wanted} ({})",
                promised.level, promised.source
            ));
        }
        let version = driver.version().unwrap_or_default();
        let mut against = self.isolation.of(id, &version).filter_map(|verdict| {
            let seen = verdict.anomaly_against(wanted)?;
            let anomaly = &seen.anomaly;
            let storage = verdict.storage;
            Some(format!("assay isolate saw {anomaly} on {storage}, which {wanted} excludes"))
        });
        against.next()
    }
}
