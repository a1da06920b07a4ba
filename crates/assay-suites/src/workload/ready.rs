//! Workloads that ship: files of common kinds, and caches of which figures were published.

use std::str::FromStr;

use clap::ValueEnum;

use super::caches;
use super::kinds::Sample;

/// A workload that ships.
#[derive(Clone, Debug)]
pub struct Ready(String);

impl Ready {
    /// Returns the text of its file.
    pub fn text(&self) -> &str {
        &self.0
    }
}

impl FromStr for Ready {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        if let Some(cache) = caches::text(name) {
            return cache.map(Self);
        }
        Sample::from_str(name, false).map(|sample| Self(sample.text().into())).map_err(|_| {
            let kinds = Sample::value_variants().iter().filter_map(Sample::to_possible_value);
            let kinds: Vec<_> = kinds.map(|kind| kind.get_name().to_string()).collect();
            format!(
                "no kind of workload; there are {}, and twitter:1 to twitter:54",
                kinds.join(", ")
            )
        })
    }
}
