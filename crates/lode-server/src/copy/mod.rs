//! The formats of `COPY`: PostgreSQL's text and binary ones, and CSV.

pub(crate) mod binary;
pub(crate) mod read;
pub(crate) mod write;

/// A field, or NULL.
pub(crate) type Field = Option<Vec<u8>>;

/// The form of rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Format {
    /// True for rows in binary: then nothing else holds.
    pub is_binary: bool,
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
        let null = null.into();
        Self { is_binary: false, is_csv, delimiter, null, quote: b'"', has_header: false }
    }
}
