//! Errors as PostgreSQL's clients get them: a SQLSTATE and a line.

use pgwire::error::ErrorInfo;
use pgwire::messages::response::{ErrorResponse, NoticeResponse};
use rusqlite::{Error, ErrorCode, ffi};

/// The most characters of a line.
const MOST_CHARACTERS: usize = 2_000;

/// An error of a statement or of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// SQLSTATE: five characters.
    pub code: &'static str,
    pub line: String,
}

pub(crate) const SYNTAX: &str = "42601";
pub(crate) const NO_TABLE: &str = "42P01";
pub(crate) const NO_PARAMETER: &str = "42P02";
pub(crate) const NO_SETTING: &str = "42704";
pub(crate) const NOT_SUPPORTED: &str = "0A000";
pub(crate) const INVALID_TEXT: &str = "22P02";
pub(crate) const INVALID_BINARY: &str = "22P03";
pub(crate) const INVALID_SETTING: &str = "22023";
pub(crate) const OUT_OF_RANGE: &str = "22003";
pub(crate) const BAD_TIME: &str = "22007";
pub(crate) const NOT_UTF8: &str = "22021";
pub(crate) const FAILED_TRANSACTION: &str = "25P02";
pub(crate) const READ_ONLY: &str = "25006";
pub(crate) const NO_TRANSACTION: &str = "25P01";
pub(crate) const ACTIVE_TRANSACTION: &str = "25001";
pub(crate) const NO_STATEMENT: &str = "26000";
pub(crate) const NO_PORTAL: &str = "34000";
pub(crate) const STATEMENT_EXISTS: &str = "42P05";
pub(crate) const PORTAL_EXISTS: &str = "42P03";
pub(crate) const PROTOCOL: &str = "08P01";
pub(crate) const NOT_AUTHORIZED: &str = "28000";
pub(crate) const WRONG_PASSWORD: &str = "28P01";
pub(crate) const TOO_MANY: &str = "53300";
pub(crate) const CANCELED: &str = "57014";
pub(crate) const ENDING: &str = "57P01";
pub(crate) const CONFLICT: &str = "40001";
pub(crate) const TOO_MUCH_KEPT: &str = "53400";
pub(crate) const TOO_LARGE: &str = "54000";
pub(crate) const INTERNAL: &str = "XX000";

/// The line of SQLite, and of functions, for a statement that is to end.
pub(crate) const INTERRUPTED: &str = "interrupted";

impl Refusal {
    pub(crate) fn new(code: &'static str, line: impl Into<String>) -> Self {
        Self { code, line: line.into() }
    }

    /// Returns the error of a statement whose result is wrong or cannot be had.
    pub(crate) fn of_sqlite(error: &Error) -> Self {
        let line = match error {
            Error::SqlInputError { msg, .. } => msg.clone(),
            Error::SqliteFailure(_, Some(why)) => why.clone(),
            other => other.to_string(),
        };
        let (code, extended) = match error {
            Error::SqlInputError { error, .. } | Error::SqliteFailure(error, _) => {
                (error.code, error.extended_code)
            }
            Error::MultipleStatement => return Self::new(SYNTAX, line),
            _ => return Self::new(INTERNAL, line),
        };
        Self::new(state(code, extended, &line), line)
    }

    /// Returns the message for the client.
    pub(crate) fn message(&self, is_last: bool) -> ErrorResponse {
        ErrorResponse::from(self.info(if is_last { "FATAL" } else { "ERROR" }))
    }

    /// Returns the message for the client of what is no error.
    pub(crate) fn warning(&self) -> NoticeResponse {
        NoticeResponse::from(self.info("WARNING"))
    }

    fn info(&self, severity: &str) -> ErrorInfo {
        // A zero byte would end the text.
        let line = self.line.chars().take(MOST_CHARACTERS);
        let line = line.map(|letter| if letter == '\0' { '\u{fffd}' } else { letter }).collect();
        let mut info = ErrorInfo::new(severity.into(), self.code.into(), line);
        info.severity_nonlocalized = Some(severity.into());
        info
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::of_sqlite(&error)
    }
}

/// Returns the SQLSTATE for a code of SQLite.
fn state(code: ErrorCode, extended: i32, line: &str) -> &'static str {
    if extended == ffi::SQLITE_BUSY_SNAPSHOT {
        return CONFLICT;
    }
    match code {
        ErrorCode::ConstraintViolation => of_constraint(extended, line),
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => "55P03",
        ErrorCode::ReadOnly => READ_ONLY,
        ErrorCode::OperationInterrupted => CANCELED,
        ErrorCode::DiskFull if line.contains("disk") => "53100",
        ErrorCode::DiskFull if line.contains("a transaction can hold") => "54000",
        ErrorCode::DiskFull | ErrorCode::OutOfMemory => "53200",
        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => "XX001",
        ErrorCode::SystemIoFailure => "58030",
        ErrorCode::CannotOpen => "58P01",
        ErrorCode::TooBig => "54000",
        ErrorCode::TypeMismatch => "42804",
        ErrorCode::AuthorizationForStatementDenied => NOT_SUPPORTED,
        _ => of_text(line),
    }
}

fn of_constraint(extended: i32, line: &str) -> &'static str {
    if extended == ffi::SQLITE_CONSTRAINT_DATATYPE {
        let is_long = line.contains("at most") && line.contains("bytes");
        let is_number = line.contains(" to ") || line.contains("digits");
        return match (is_long, is_number) {
            (true, _) => "22001",
            (false, true) => OUT_OF_RANGE,
            (false, false) => "22000",
        };
    }
    if line.starts_with("NOT NULL") {
        "23502"
    } else if line.starts_with("UNIQUE") || line.contains("unique index") {
        "23505"
    } else {
        "23000"
    }
}

/// Returns the SQLSTATE for SQLite's plain error, which only its text tells apart.
fn of_text(line: &str) -> &'static str {
    let has = |part: &str| line.contains(part);
    if line == INTERRUPTED {
        CANCELED
    } else if has("no such table") || has("there is no table") {
        NO_TABLE
    } else if has("no such column") || has("has no column named") {
        "42703"
    } else if has("no such function") || has("wrong number of arguments") {
        "42883"
    } else if has("ambiguous column") {
        "42702"
    } else if has("no such savepoint") {
        "3B001"
    } else if has("already") && has("index") || has("there is a table") {
        "42P07"
    } else if has("no such index") || has("there is no index") {
        NO_SETTING
    } else if has("outside of transactions") {
        ACTIVE_TRANSACTION
    } else if has("integer overflow") {
        OUT_OF_RANGE
    } else if has("not supported") || has("not available on virtual tables") {
        NOT_SUPPORTED
    } else if has("malformed JSON") {
        INVALID_TEXT
    } else {
        SYNTAX
    }
}
