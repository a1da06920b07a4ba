//! Comma-separated values (RFC 4180), with a header line, and forms that differ a little.
//!
//! Written and read here, since a null and an empty text have to differ: a null is an empty field,
//! an empty text is one in quotes. Readers of CSV do not say which fields had quotes.

mod fields;
mod form;
mod guess;
mod packed;
mod read;
mod values;
mod write;

pub use form::CsvForm;
pub(super) use guess::Guesses;

pub(super) use read::Reader;
pub(super) use write::Writer;
