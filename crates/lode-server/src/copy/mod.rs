//! The formats of `COPY`: PostgreSQL's text, and CSV.

pub(crate) mod read;
pub(crate) mod write;

/// The form of lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Format {
    pub is_csv: bool,
    pub delimiter: u8,
    /// The text of NULL.
    pub null: String,
    /// The quote of CSV, which also stands before a quote within quotes.
    pub quote: u8,
    /// True if the first line has the names of columns.
    pub has_header: bool,
}

impl Format {
    /// Returns PostgreSQL's text format, or its CSV.
    pub(crate) fn of(is_csv: bool) -> Self {
        let (delimiter, null) = if is_csv { (b',', "") } else { (b'\t', "\\N") };
        Self { is_csv, delimiter, null: null.into(), quote: b'"', has_header: false }
    }
}
