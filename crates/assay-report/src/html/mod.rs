//! The page of results: one file for people, with its data, its style and its scripts in it. It
//! needs no network. Its scripts draw it from the data that `data` makes.

pub(crate) mod data;
mod facts;
pub(crate) mod lines;

use assay_core::chart::LineChart;
use assay_core::run_file::RunFile;

use crate::markup::text;

const PAGE: &str = include_str!("page.html");

/// The styles; later ones override earlier ones.
const STYLES: [&str; 4] = [
    include_str!("page/page.css"),
    include_str!("page/matrix.css"),
    include_str!("page/sections.css"),
    include_str!("page/media.css"),
];

/// The scripts, each after those that it uses: together they are one module.
const SCRIPTS: [&str; 14] = [
    include_str!("page/dom.js"),
    include_str!("page/format.js"),
    include_str!("page/model.js"),
    include_str!("page/marks.js"),
    include_str!("page/filters.js"),
    include_str!("page/verdict.js"),
    include_str!("page/ranking.js"),
    include_str!("page/matrix.js"),
    include_str!("page/charts.js"),
    include_str!("page/curves.js"),
    include_str!("page/questions.js"),
    include_str!("page/sections.js"),
    include_str!("page/advice.js"),
    include_str!("page/main.js"),
];

/// A run, and the line charts that its suites publish.
pub struct Part {
    /// The run, with texts that are safe to show.
    pub run: RunFile,
    /// The charts.
    pub charts: Vec<LineChart>,
    /// The run file, from the page's folder, if readers of the page have it.
    pub file: Option<String>,
}

/// A link to another page of the same site.
pub struct Link {
    /// The link's text.
    pub title: String,
    /// The link's target, from the page's folder.
    pub href: String,
}

/// A function that returns a suite's description in a few words, if it is known.
pub type About<'a> = &'a dyn Fn(&str) -> Option<&'static str>;

/// The reason why the page was not made.
#[derive(Debug, thiserror::Error)]
pub enum PageError {
    /// No cell was measured.
    #[error("there is nothing to show: no cell of the run files was measured")]
    Nothing,
    /// The data cannot be written as JSON.
    #[error("the figures cannot be written as JSON: {0}")]
    Json(#[from] serde_json::Error),
}

/// Renders runs as one page, with links to the other pages of its site.
///
/// # Errors
/// If nothing was measured in any of them.
pub fn render(parts: &[Part], links: &[Link], about: About<'_>) -> Result<String, PageError> {
    let data = data::of(parts, about);
    if !data.has_figures() {
        return Err(PageError::Nothing);
    }
    // In JSON, `<` occurs in texts only. Escaped, no text ends the element or starts another one.
    let json = serde_json::to_string(&data)?.replace('<', "\\u003c");
    let style = STYLES.concat();
    let script = SCRIPTS.concat();
    let nav = nav(links);
    Ok(fill(PAGE, &[("style", &style), ("nav", &nav), ("data", &json), ("script", &script)]))
}

/// Returns the links between the pages of a site; empty without any.
pub(crate) fn nav(links: &[Link]) -> String {
    if links.is_empty() {
        return String::new();
    }
    let link =
        |link: &Link| format!("<a href=\"{}\">{}</a>\n", text(&link.href), text(&link.title));
    let links: Vec<_> = links.iter().map(link).collect();
    format!("<nav aria-label=\"Pages\">\n{}</nav>\n", links.concat())
}

/// Returns a page with each `{{name}}` replaced; the values themselves are not searched again.
pub(crate) fn fill(page: &str, values: &[(&str, &str)]) -> String {
    let mut pieces = page.split("{{");
    let mut page = pieces.next().unwrap_or_default().to_string();
    for piece in pieces {
        let (name, rest) = piece.split_once("}}").unwrap_or((piece, ""));
        let value = values.iter().find(|(known, _)| *known == name);
        debug_assert!(value.is_some(), "{name} is no value of the page");
        page += value.map_or("", |(_, value)| value);
        page += rest;
    }
    page
}
