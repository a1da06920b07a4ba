//! `--until-ci`: decides which cells get further trials.
//!
//! Looking at an interval after each trial and stopping when it is narrow favours intervals that
//! are narrow by chance. So the first look is at [`FIRST_LOOK`] trials, and an interval has to be
//! narrow in [`LOOKS`] looks in a row.

use std::collections::HashMap;

use assay_core::plan::{Cell, LineKey};
use assay_core::run_file::RunFile;
use assay_report::blocks::{Line, Wide, blocks};
use program_support::exit::{Failure, Outcome};

use crate::cli::Trials;
use crate::output::progress::title;

/// The number of trials before the first look.
const FIRST_LOOK: u32 = 6;

/// The number of looks in a row in which an interval has to be narrow.
const LOOKS: u32 = 2;

/// The default maximum of trials, however wide the intervals are.
const MOST_TRIALS: u32 = 30;

/// The fewest trials after which a cell can be done.
const LEAST_TRIALS: u32 = FIRST_LOOK + LOOKS - 1;

/// The intervals seen so far.
pub(crate) struct StoppingRule {
    share: f64,
    most_trials: u32,
    /// For each cell, the number of looks in a row in which it was narrow.
    narrow: HashMap<LineKey, u32>,
}

impl StoppingRule {
    /// Returns the rule that the user asks for, if any; fails if it cannot be met.
    pub(crate) fn wanted(wanted: &Trials) -> Outcome<Option<Self>> {
        let refused = |why: String| Err(Failure::Usage(why));
        let Some(share) = wanted.until_ci else {
            return Ok(None);
        };
        match wanted.max_trials {
            Some(most) if most < wanted.trials => {
                refused(format!("--max-trials {most} is less than --trials {}", wanted.trials))
            }
            Some(most) if most < LEAST_TRIALS => refused(format!(
                "--max-trials {most} is too few: --until-ci needs {LEAST_TRIALS}, since intervals \
                 have to be narrow after {FIRST_LOOK} trials and after one more"
            )),
            None if wanted.trials > MOST_TRIALS => refused(format!(
                "--trials {} is more than --max-trials, which is {MOST_TRIALS} unless you raise it",
                wanted.trials
            )),
            most => Ok(Some(Self {
                share,
                most_trials: most.unwrap_or(MOST_TRIALS),
                narrow: HashMap::new(),
            })),
        }
    }

    /// Returns the number of trials before the first look.
    pub(crate) fn first_trials(wanted: &Trials) -> u32 {
        wanted.trials.max(FIRST_LOOK)
    }

    /// Looks at the intervals after a trial, and returns the cells that need another one; none once
    /// the maximum of trials is reached.
    pub(crate) fn look(&mut self, run: &RunFile, trials: u32) -> Vec<Cell> {
        let mut go_on = Vec::new();
        for line in blocks(run).iter().flat_map(|block| &block.lines) {
            let Some(widest) = line.widest().filter(|_| line.trouble().is_none()) else {
                continue;
            };
            let looks = self.narrow.entry(line.cell().line()).or_default();
            // A cell that is done gets no more trials, so it stays narrow.
            *looks = if widest.side <= self.share { *looks + 1 } else { 0 };
            if *looks < LOOKS {
                go_on.push(line.cell().clone());
            }
        }
        if trials < self.most_trials { go_on } else { Vec::new() }
    }

    /// Returns for each cell that is not done how far it is from the wanted interval.
    pub(crate) fn shortfalls(&self, run: &RunFile) -> Vec<String> {
        let blocks = blocks(run);
        let lines = blocks.iter().flat_map(|block| &block.lines);
        lines.filter_map(|line| self.shortfall(line)).collect()
    }

    fn shortfall(&self, line: &Line<'_>) -> Option<String> {
        let Wide { phase, side } = line.widest().filter(|_| line.trouble().is_none())?;
        let looks = self.narrow.get(&line.cell().line()).copied().unwrap_or(0);
        if looks >= LOOKS {
            return None;
        }
        let cell = title(&Cell { trial: 1, ..line.cell().clone() });
        let trials = line.trials.len();
        let wanted = self.share * 100.0;
        let found = side * 100.0;
        Some(if side > self.share {
            format!(
                "{cell}: {phase} is within {found:.2} % after {trials} trials, not within \
                 {wanted:.2} %"
            )
        } else {
            format!(
                "{cell}: {phase} is within {found:.2} % after {trials} trials, but was not before \
                 the last one"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use assay_core::run_file::CellResult;
    use serde_json::json;

    use super::*;
    use crate::running::executor::new_run;

    /// Returns a run whose trials had these rates.
    fn run_of(rates: &[u64]) -> RunFile {
        let mut run = new_run(rates.len());
        run.cells = (1..).zip(rates).map(|(trial, rate)| trial_of(trial, *rate)).collect();
        run
    }

    fn trial_of(trial: u32, rate: u64) -> CellResult {
        let cell = json!({
            "suite": "somesuite", "engine": "quick", "storage": "memory", "durability": "none",
            "durability_wanted": "none", "key_kind": "hash", "rows": 1000, "threads": 1,
            "trial": trial, "seed": 1, "variant": "random access", "options": null,
            "engine_options": {}, "engine_parameters": {}, "cpus": [], "page_cache": "warm",
            "revision": 1, "key_kind_named": false, "cache_named": false, "calibration": false,
            "dir": null,
        });
        let phase = json!({
            "name": "query", "rounds": [{ "operations": rate, "time_ns": 1_000_000_000 }],
            "published_top": 1, "tape_hash": "", "checked": 0, "threads": 1,
        });
        let measurement = json!({
            "engine_version": "1", "engine_name": "quick", "settings": [], "notes": [],
            "filesystem": null, "phases": [phase], "reopened": 0, "resources": {
                "peak_rss_bytes": 0, "rss_before_open_bytes": 0, "cpu_user_ns": 0,
                "cpu_system_ns": 0, "written_bytes": null, "open_ns": 0, "close_ns": 0,
                "store_peak_bytes": null, "store_closed_bytes": null,
            },
        });
        let result = json!({
            "cell": cell, "started": "2026-01-01T00:00:00Z", "status": { "outcome": "measured" },
            "measurement": measurement,
        });
        serde_json::from_value(result).expect("a result")
    }

    fn until(share: f64, most: u32) -> StoppingRule {
        let wanted = Trials { trials: 1, until_ci: Some(share), max_trials: Some(most) };
        StoppingRule::wanted(&wanted).expect("it can be").expect("it is asked for")
    }

    const STEADY: [u64; 8] = [1000, 1001, 999, 1002, 998, 1000, 1001, 999];

    #[test]
    fn a_cell_is_done_when_it_was_narrow_in_two_looks_in_a_row() {
        let mut steady = until(0.05, 30);
        assert_eq!(steady.look(&run_of(&STEADY[..6]), 6).len(), 1, "once is not enough");
        assert!(steady.look(&run_of(&STEADY[..7]), 7).is_empty());
        assert_eq!(steady.shortfalls(&run_of(&STEADY[..7])), [""; 0]);
        // An outlying trial between two looks restarts the count.
        let mut shaken = until(0.05, 30);
        let mut rates = STEADY.to_vec();
        assert_eq!(shaken.look(&run_of(&rates[..6]), 6).len(), 1);
        rates[6] = 500;
        assert_eq!(shaken.look(&run_of(&rates[..7]), 7).len(), 1);
        rates[6] = 1000;
        assert_eq!(shaken.look(&run_of(&rates[..8]), 8).len(), 1);
        assert!(shaken.look(&run_of(&rates), 9).is_empty());
    }

    #[test]
    fn an_interval_is_narrow_up_to_the_share() {
        let uneven = run_of(&[1000, 1000, 1000, 1000, 1000, 1250]);
        let widest = blocks(&uneven)[0].lines[0].widest().expect("an interval");
        assert!(widest.side > 0.1, "{widest:?}");
        let mut between = until(widest.side * 0.99, 30);
        between.look(&uneven, 6);
        assert!(between.narrow.values().all(|looks| *looks == 0));
        let mut above = until(widest.side * 1.01, 30);
        above.look(&uneven, 6);
        assert!(above.narrow.values().all(|looks| *looks == 1));
    }

    #[test]
    fn there_is_an_end_and_what_is_missing_is_said() {
        let wide = run_of(&[1000, 2000, 1000, 2000, 1000, 2000, 1000]);
        let mut rule = until(0.02, 7);
        assert_eq!(rule.look(&run_of(&[1000, 2000, 1000, 2000, 1000, 2000]), 6).len(), 1);
        assert!(rule.look(&wide, 7).is_empty());
        let said = rule.shortfalls(&wide).join("");
        let words = ["quick · memory · 1k rows", "query is within ", "7 trials, not within 2.00 %"];
        assert!(words.iter().all(|words| said.contains(words)), "{said}");
        // The cell is narrow in the end, but only once.
        let mut late = until(0.05, 7);
        late.look(&wide, 6);
        late.look(&run_of(&STEADY[..7]), 7);
        let said = late.shortfalls(&run_of(&STEADY[..7])).join("");
        assert!(said.contains("but was not before the last one"), "{said}");
    }
}
