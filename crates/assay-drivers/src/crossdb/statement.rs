//! Prepared statements and what is bound to them.

use std::ffi::{CString, c_char, c_int};
use std::ops::Range;

use assay_core::error::{Error, Result};
use assay_core::schema::{Column, ColumnType, Value};

use super::library::{CrossDbLibrary, Handle, QueryResult, text};

/// A parameter: which bytes of an area it takes, and as what.
#[derive(Clone, Copy)]
pub(super) struct Parameter {
    from: usize,
    kind: ColumnType,
}

impl Parameter {
    /// A parameter that takes a column of a packed record or key.
    pub(super) fn of_column(column: &Column) -> Self {
        Self { from: column.offset, kind: column.kind }
    }

    /// A parameter that takes a packed value by itself.
    pub(super) fn of_value(column: &Column) -> Self {
        Self { from: 0, kind: column.kind }
    }

    /// Bytes of its text, and of the zero byte after it.
    fn text_size(&self) -> usize {
        match self.kind {
            ColumnType::Text(size) => size as usize + 1,
            _ => 0,
        }
    }
}

/// CrossDB's `XDB_E_EXISTS`.
const EXISTS: u16 = 6;

/// What CrossDB says of an insert.
pub(super) enum Inserted {
    Yes,
    /// It did not, and gave no reason.
    No,
    /// The key is there.
    Exists,
}

/// A prepared statement, closed when it is dropped.
pub(super) struct Prepared {
    pub(super) library: &'static CrossDbLibrary,
    handle: Handle,
    parameters: Vec<Parameter>,
    /// Bound texts, each with a zero byte after it, until the statement has been executed: the
    /// library copies one byte more than a text's length. It never grows beyond its capacity,
    /// so texts stay where they are.
    texts: Vec<u8>,
}

impl Prepared {
    /// Prepares a statement with these parameters, in their order.
    pub(super) fn new(
        library: &'static CrossDbLibrary,
        connection: Handle,
        sql: &str,
        parameters: Vec<Parameter>,
    ) -> Result<Self> {
        let c_sql = c_text(sql)?;
        // SAFETY: an open connection and a NUL-terminated statement.
        let handle = unsafe { (library.prepare)(connection, c_sql.as_ptr()) };
        if handle.is_null() {
            return Err(Error::engine("prepare", sql));
        }
        let texts = Vec::with_capacity(parameters.iter().map(Parameter::text_size).sum());
        Ok(Self { library, handle, parameters, texts })
    }

    /// The statement, for calls that are not here.
    pub(super) fn handle(&self) -> Handle {
        self.handle
    }

    /// Binds every parameter from one area.
    #[inline]
    pub(super) fn bind_all(&mut self, area: &[u8]) -> Result<()> {
        self.texts.clear();
        self.bind(0..self.parameters.len(), area)
    }

    /// Binds the first parameter to a value and the others from an area.
    #[inline]
    pub(super) fn bind_value_and_rest(&mut self, value: &[u8], area: &[u8]) -> Result<()> {
        self.texts.clear();
        self.bind(0..1, value)?;
        self.bind(1..self.parameters.len(), area)
    }

    #[inline]
    fn bind(&mut self, which: Range<usize>, area: &[u8]) -> Result<()> {
        let mut codes = 0;
        for at in which {
            let Parameter { from, kind } = self.parameters[at];
            codes |= self.bind_one(at as u16 + 1, kind, &area[from..]);
        }
        match codes {
            0 => Ok(()),
            code => Err(Error::engine("bind", format!("error {code}"))),
        }
    }

    /// Binds a value; unsigned integers become signed ones of the same bits.
    #[inline]
    fn bind_one(&mut self, number: u16, kind: ColumnType, bytes: &[u8]) -> c_int {
        let integer = match kind {
            ColumnType::U8 => i64::from(bytes[0].cast_signed()),
            ColumnType::U16 => i64::from(i16::from_le_bytes(first(bytes))),
            ColumnType::U32 | ColumnType::I32 => i64::from(i32::from_le_bytes(first(bytes))),
            ColumnType::U64 | ColumnType::I64 => i64::from_le_bytes(first(bytes)),
            ColumnType::F64 => {
                let float = f64::from_le_bytes(first(bytes));
                // SAFETY: a live statement.
                return unsafe { (self.library.bind_double)(self.handle, number, float) };
            }
            ColumnType::Text(_) | ColumnType::Bytes(_) | ColumnType::VarBytes(_) => {
                return self.bind_text(number, kind, bytes);
            }
        };
        // SAFETY: a live statement.
        unsafe { (self.library.bind_int64)(self.handle, number, integer) }
    }

    fn bind_text(&mut self, number: u16, kind: ColumnType, bytes: &[u8]) -> c_int {
        let (Value::Text(value) | Value::Bytes(value)) =
            Value::read(kind, &bytes[..kind.size_bytes()])
        else {
            unreachable!("numbers are bound as numbers")
        };
        let from = self.texts.len();
        assert!(from + value.len() < self.texts.capacity(), "room for every text");
        self.texts.extend_from_slice(value);
        self.texts.push(0);
        let text: *const c_char = self.texts[from..].as_ptr().cast();
        // SAFETY: a live statement; the text stays until the first parameter is bound again.
        unsafe { (self.library.bind_str2)(self.handle, number, text, value.len() as c_int) }
    }

    /// Executes it; answers the rows that it affected.
    #[inline]
    pub(super) fn execute(&mut self, what: &str) -> Result<u64> {
        Ok(self.result(what)?.affected_rows)
    }

    /// Executes an insert.
    #[inline]
    pub(super) fn execute_insert(&mut self) -> Result<Inserted> {
        // SAFETY: a live statement with all parameters bound.
        let result = unsafe { (self.library.stmt_exec)(self.handle) };
        // SAFETY: null, or a result that lives until the connection's next call.
        if unsafe { result.as_ref() }.is_some_and(|answer| answer.error_code == EXISTS) {
            return Ok(Inserted::Exists);
        }
        Ok(match checked(self.library, "insert", result)?.affected_rows {
            0 => Inserted::No,
            _ => Inserted::Yes,
        })
    }

    /// Executes it; the result lives until the connection's next call.
    #[inline]
    pub(super) fn result(&mut self, what: &str) -> Result<&mut QueryResult> {
        // SAFETY: a live statement with all parameters bound.
        let result = unsafe { (self.library.stmt_exec)(self.handle) };
        checked(self.library, what, result)
    }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        // SAFETY: it is live, and nobody uses it after this.
        unsafe { (self.library.stmt_close)(self.handle) };
    }
}

/// A result without an error.
#[inline]
pub(super) fn checked<'r>(
    library: &CrossDbLibrary,
    what: &str,
    result: *mut QueryResult,
) -> Result<&'r mut QueryResult> {
    // SAFETY: null, or a result of the library that lives until the connection's next call.
    match unsafe { result.as_mut() } {
        Some(answer) if answer.error_code == 0 => Ok(answer),
        _ => Err(error_of(library, what, result)),
    }
}

#[cold]
fn error_of(library: &CrossDbLibrary, what: &str, result: *mut QueryResult) -> Error {
    // SAFETY: as above; the message belongs to the result.
    match unsafe { result.as_ref() } {
        None => Error::engine(what, "no result"),
        Some(answer) => {
            let message = unsafe { text((library.errmsg)(result)) };
            Error::engine(what, format!("{message} (error {})", answer.error_code))
        }
    }
}

/// A text as C takes it.
pub(super) fn c_text(text: &str) -> Result<CString> {
    CString::new(text).map_err(|e| Error::engine("pass a text", e))
}

/// The first bytes of a column's value.
#[inline]
fn first<const N: usize>(bytes: &[u8]) -> [u8; N] {
    *bytes.first_chunk().expect("an area has room for its columns")
}
