//! A static site of results: an index, a page a suite, the crash tests, isolation, and the run
//! files themselves. Its pages need no network and no server. Equal inputs make equal bytes.

mod crashes;
mod frame;
mod index;
mod isolation;
mod standing;
mod standing_table;

use std::collections::BTreeSet;

use assay_core::chart::LineChart;
use assay_core::durability;
use assay_core::run_file::RunFile;

use crate::html::{self, About, Link, PageError, Part};

/// A run of a site.
pub struct SiteRun {
    /// The run, with texts that are safe to show.
    pub run: RunFile,
    /// The charts that its suites publish, each with its suite.
    pub charts: Vec<(String, LineChart)>,
    /// The run file, from the site's folder.
    pub file: String,
}

/// A page of a site.
pub struct SitePage {
    /// The page's file, from the site's folder.
    pub file: String,
    /// The page's content.
    pub text: String,
}

/// The page at which a visitor starts.
const INDEX: &str = "index.html";
/// The page of crash tests.
const CRASHES: &str = "durability.html";
/// The page of isolation.
const ISOLATION: &str = "isolation.html";

/// The verdicts of tests, and their files from the site's folder.
#[derive(Clone, Copy)]
pub struct Tests<'t> {
    /// The verdicts of crash tests.
    pub crashes: &'t durability::Verdicts,
    /// The file of these.
    pub crashes_file: &'t str,
    /// The verdicts about isolation.
    pub isolation: &'t assay_core::isolation::Verdicts,
    /// The file of these.
    pub isolation_file: &'t str,
}

/// Returns the pages of a site.
///
/// # Errors
/// If nothing was measured in any run.
pub fn pages(
    runs: &[SiteRun],
    tests: Tests<'_>,
    about: About<'_>,
) -> Result<Vec<SitePage>, PageError> {
    let suites = suites(runs);
    let all: Vec<_> = runs.iter().map(|run| part_of(run, None)).collect();
    let links = links(&suites, tests);
    let mut pages = vec![index::page(&all, &suites, tests, &links, about)?];
    for suite in &suites {
        let parts: Vec<_> = runs
            .iter()
            .filter(|run| run.run.results().any(|result| result.cell.suite == *suite))
            .map(|run| part_of(run, Some(suite)))
            .collect();
        match html::render(&parts, &links, about) {
            Ok(text) => pages.push(SitePage { file: suite_file(suite), text }),
            // The index has the outcome of each run.
            Err(PageError::Nothing) => {}
            Err(error) => return Err(error),
        }
    }
    if !tests.crashes.verdicts.is_empty() {
        pages.push(crashes::page(tests.crashes, tests.crashes_file, &links));
    }
    if !tests.isolation.verdicts.is_empty() {
        pages.push(isolation::page(tests.isolation, tests.isolation_file, &links));
    }
    Ok(pages)
}

/// Returns the suites that have figures, ordered by name.
fn suites(runs: &[SiteRun]) -> Vec<String> {
    let measured = |run: &'_ SiteRun| {
        let results = run.run.results().filter(|result| !result.measurement.phases.is_empty());
        results.map(|result| result.cell.suite.clone()).collect::<Vec<_>>()
    };
    runs.iter().flat_map(measured).collect::<BTreeSet<_>>().into_iter().collect()
}

fn links(suites: &[String], tests: Tests<'_>) -> Vec<Link> {
    let link = |title: &str, href: String| Link { title: title.into(), href };
    let mut links = vec![link("All results", INDEX.into())];
    links.extend(suites.iter().map(|suite| link(suite, suite_file(suite))));
    if !tests.crashes.verdicts.is_empty() {
        links.push(link("What survives a crash", CRASHES.into()));
    }
    if !tests.isolation.verdicts.is_empty() {
        links.push(link(isolation::TITLE, ISOLATION.into()));
    }
    links
}

/// Returns the file of a suite's page. A run file may name a suite as it likes.
fn suite_file(suite: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let name: String = suite.chars().take(100).map(plain).collect();
    format!("suite-{name}.html")
}

/// Returns a run, or the part of it that is of one suite.
fn part_of(run: &SiteRun, suite: Option<&str>) -> Part {
    let is_of = |name: &str| suite.is_none_or(|suite| suite == name);
    let mut own = run.run.clone();
    own.cells.retain(|result| is_of(&result.cell.suite));
    own.planned_cells -= (run.run.cells.len() - own.cells.len()).min(own.planned_cells);
    let charts = run.charts.iter().filter(|(name, _)| is_of(name));
    let charts = charts.map(|(_, chart)| chart.clone()).collect();
    Part { run: own, charts, file: Some(run.file.clone()) }
}
