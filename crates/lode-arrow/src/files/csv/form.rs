//! The form of a file of CSV.

use std::ffi::OsStr;
use std::path::Path;

/// The form of a CSV file.
///
/// ```
/// use lode_arrow::CsvForm;
///
/// let form = CsvForm { delimiter: Some(b';'), nulls: vec!["NA".into()], ..CsvForm::default() };
/// assert!(form.has_header);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsvForm {
    /// The byte between two fields. Without one it is a comma, and a tab in
    /// [files of a table](crate::TableFiles) whose names end in `.tsv`.
    pub delimiter: Option<u8>,
    /// True if the first line has the names of the columns.
    pub has_header: bool,
    /// Words that mean a null where they stand without quotes. A field that is empty means one too.
    /// The first of them is written, or nothing if the list is empty.
    pub nulls: Vec<String>,
    /// True if times are written as in ISO 8601, `2024-02-29T12:30:00.5Z`, where they are of the
    /// years 0 to 9999. Others are microseconds since the start of 1970. Both are read.
    pub iso_times: bool,
}

impl Default for CsvForm {
    fn default() -> Self {
        Self { delimiter: None, has_header: true, nulls: Vec::new(), iso_times: false }
    }
}

impl CsvForm {
    /// Returns the byte between two fields.
    pub fn delimiter(&self) -> u8 {
        self.delimiter.unwrap_or(b',')
    }

    /// Returns the byte between two fields that a file has by the end of its name: a tab for
    /// `.tsv`, also before `.gz` or `.zst`.
    pub fn delimiter_of_path(path: &Path) -> Option<u8> {
        let end = |path: &Path| path.extension().and_then(OsStr::to_str).map(str::to_string);
        match end(path)?.as_str() {
            "tsv" => Some(b'\t'),
            "gz" | "zst" => Self::delimiter_of_path(Path::new(path.file_stem()?)),
            _ => None,
        }
    }

    /// Checks that the delimiter separates fields, and that words for null differ from values.
    ///
    /// # Errors
    /// The fault, in words.
    pub fn check(&self) -> Result<(), String> {
        let is_of_values =
            |byte: u8| byte.is_ascii_alphanumeric() || b"\"+-.\r\n\0".contains(&byte);
        if self.delimiter.is_some_and(|byte| !byte.is_ascii() || is_of_values(byte)) {
            return Err(
                "fields cannot be told apart by it; choose a character of ASCII that is no \
                        letter, no digit and none of \" + - ."
                    .into(),
            );
        }
        let delimiter = char::from(self.delimiter());
        let is_cut = |word: &&String| word.contains(['"', '\r', '\n', delimiter]);
        match self.nulls.iter().find(is_cut) {
            Some(word) => Err(format!("{word:?} cannot stand in a field without quotes")),
            None => Ok(()),
        }
    }
}
