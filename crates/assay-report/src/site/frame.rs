//! Tables, and the frame of the pages that need no script.

use crate::html::Link;
use crate::markup::text;

const PAGE: &str = include_str!("site.html");
const STYLES: [&str; 2] = [include_str!("../html/page/page.css"), include_str!("site.css")];

/// A cell of a table.
pub(super) struct Cell {
    /// The classes of its style.
    pub class: &'static str,
    /// The cell's content, as HTML.
    pub html: String,
}

impl Cell {
    /// Returns a cell of words, which are aligned left.
    pub(super) fn words(html: impl Into<String>) -> Self {
        Self { class: "words", html: html.into() }
    }

    /// Returns a cell of words or figures.
    pub(super) fn plain(html: impl Into<String>) -> Self {
        Self { class: "", html: html.into() }
    }
}

/// Returns a table in a region that can be scrolled; the first cell of each row is its heading.
pub(super) fn table(title: &str, heads: &[Cell], rows: &[Vec<Cell>]) -> String {
    let mut out = format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{0}\">\
         <table aria-label=\"{0}\">\n<thead><tr>",
        text(title)
    );
    for head in heads {
        out += &format!("<th scope=\"col\"{}>{}</th>", class(head), head.html);
    }
    out += "</tr></thead>\n<tbody>\n";
    for row in rows {
        out += "<tr>";
        for (at, cell) in row.iter().enumerate() {
            let class = class(cell);
            out += &match at {
                0 => format!("<th scope=\"row\"{class}>{}</th>", cell.html),
                _ => format!("<td{class}>{}</td>", cell.html),
            };
        }
        out += "</tr>\n";
    }
    out + "</tbody></table></div>\n"
}

fn class(cell: &Cell) -> String {
    match cell.class {
        "" => String::new(),
        class => format!(" class=\"{class}\""),
    }
}

/// Returns a whole page; `body` is HTML.
pub(super) fn page(title: &str, links: &[Link], body: &str) -> String {
    let nav = crate::html::nav(links);
    crate::html::fill(
        PAGE,
        &[("title", &text(title)), ("style", &STYLES.concat()), ("nav", &nav), ("body", body)],
    )
}
