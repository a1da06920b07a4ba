//! Tables of commands, folded into the width of the terminal.

use comfy_table::{ContentArrangement, Table, presets};

use crate::cli;

/// Draws a table without lines, in at most the columns of the terminal, or 80.
pub(crate) fn folded(mut table: Table) -> String {
    table.load_style(presets::NOTHING);
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(u16::try_from(cli::width()).unwrap_or(u16::MAX));
    table.to_string().lines().map(|line| line.trim_end().to_string() + "\n").collect()
}
