//! Prepared statements and their bound values.

use std::ffi::{CString, c_char, c_int};
use std::ptr::NonNull;

use assay_driver::error::{Error, Result};
use assay_driver::schema::{Column, ColumnType, Value};

use super::MOST_SHORT_BYTES;
use super::library::{CrossDbLibrary, Functions, Handle, Interface, QueryResult, text};

/// A parameter: the bytes of an area that it takes, and their type.
#[derive(Clone, Copy)]
pub(super) enum Parameter {
    Integer(Integer),
    /// At most eight bytes, as an integer.
    ShortBytes {
        from: usize,
        size: usize,
    },
    Float {
        from: usize,
    },
    Text {
        from: usize,
        kind: ColumnType,
    },
}

/// An integer of an area of whole words. It is inside one of them, since it is aligned.
#[derive(Clone, Copy)]
pub(super) struct Integer {
    /// The offset of the integer's word.
    word: usize,
    /// Bits above the integer in the word.
    above_bits: u32,
    /// Bits of a word that the integer leaves.
    unused_bits: u32,
}

impl Integer {
    /// Returns the value; an unsigned one as the signed one of the same bits.
    #[inline]
    fn read(self, area: &[u8]) -> i64 {
        let word = i64::from_le_bytes(first(&area[self.word..]));
        (word << self.above_bits) >> self.unused_bits
    }
}

impl Parameter {
    /// Makes a parameter that takes a column of a packed record or key.
    pub(super) fn of_column(column: &Column) -> Self {
        Self::at(column.offset, column.kind)
    }

    /// Makes a parameter that takes a packed value by itself.
    pub(super) fn of_value(column: &Column) -> Self {
        Self::at(0, column.kind)
    }

    fn at(from: usize, kind: ColumnType) -> Self {
        match kind {
            ColumnType::F64 => Self::Float { from },
            ColumnType::Bytes(size) if size <= MOST_SHORT_BYTES => {
                Self::ShortBytes { from, size: size as usize }
            }
            ColumnType::Text(_) | ColumnType::Bytes(_) | ColumnType::VarBytes(_) => {
                Self::Text { from, kind }
            }
            integer => {
                let word = from & !(WORD - 1);
                let size = integer.size_bytes();
                let above_bits = 8 * (word + WORD - from - size) as u32;
                let unused_bits = 8 * (WORD - size) as u32;
                Self::Integer(Integer { word, above_bits, unused_bits })
            }
        }
    }

    /// Returns the bytes of the parameter's text and of the zero byte after it.
    fn text_size(&self) -> usize {
        match self {
            Self::Text { kind, .. } => kind.size_bytes() + 1,
            _ => 0,
        }
    }
}

/// Bytes of a word of an area.
const WORD: usize = 8;

/// CrossDB's `XDB_E_EXISTS`.
const EXISTS: c_int = 6;

/// CrossDB's answer to an insert.
pub(super) enum Inserted {
    Yes,
    /// Nothing was inserted, for no given reason.
    No,
    /// The key exists.
    Exists,
}

/// A prepared statement, closed when it is dropped.
pub(super) struct Prepared {
    pub(super) library: &'static CrossDbLibrary,
    handle: Handle,
    bind_int64: unsafe extern "C" fn(Handle, u16, i64) -> c_int,
    execute: unsafe extern "C" fn(Handle) -> *mut QueryResult,
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
        let handle = unsafe { (library.functions.prepare)(connection, c_sql.as_ptr()) };
        if handle.is_null() {
            return Err(Error::engine("prepare", sql));
        }
        let texts = Vec::with_capacity(parameters.iter().map(Parameter::text_size).sum());
        let Functions { bind_int64, stmt_exec: execute, .. } = library.functions;
        Ok(Self { library, handle, bind_int64, execute, parameters, texts })
    }

    /// Returns the statement's handle, for calls that are not here.
    pub(super) fn handle(&self) -> Handle {
        self.handle
    }

    /// Binds every parameter from one area.
    #[inline]
    pub(super) fn bind_all(&mut self, area: &[u8]) -> Result<()> {
        self.texts.clear();
        bound(self.bind_from(0, area))
    }

    /// Binds the first parameter to a value and the others from an area.
    #[inline]
    pub(super) fn bind_value_and_rest(&mut self, value: &[u8], area: &[u8]) -> Result<()> {
        self.texts.clear();
        let code = match self.parameters[0] {
            Parameter::Text { .. } | Parameter::ShortBytes { .. } => self.bind_one(0, value),
            _ => self.bind_one(0, &padded(value)),
        };
        bound(code | self.bind_from(1, area))
    }

    /// Binds the parameters from a position on.
    #[inline]
    fn bind_from(&mut self, first: usize, area: &[u8]) -> c_int {
        (first..self.parameters.len()).fold(0, |codes, at| codes | self.bind_one(at, area))
    }

    /// Binds the parameter at a position; returns CrossDB's code.
    #[inline]
    fn bind_one(&mut self, at: usize, area: &[u8]) -> c_int {
        let number = at as u16 + 1;
        match self.parameters[at] {
            Parameter::Integer(integer) => {
                // SAFETY: a live statement.
                unsafe { (self.bind_int64)(self.handle, number, integer.read(area)) }
            }
            Parameter::ShortBytes { from, size } => {
                let mut word = [0; WORD];
                word[..size].copy_from_slice(&area[from..][..size]);
                let value = i64::from_le_bytes(word);
                // SAFETY: a live statement.
                unsafe { (self.bind_int64)(self.handle, number, value) }
            }
            Parameter::Float { from } => {
                let value = f64::from_le_bytes(first(&area[from..]));
                // SAFETY: a live statement.
                unsafe { (self.library.functions.bind_double)(self.handle, number, value) }
            }
            Parameter::Text { from, kind } => self.bind_text(number, kind, &area[from..]),
        }
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
        // SAFETY: a live statement; the text stays until parameters are bound again.
        unsafe {
            (self.library.functions.bind_str2)(self.handle, number, text, value.len() as c_int)
        }
    }

    /// Executes the statement; returns the number of rows that it affected.
    #[inline]
    pub(super) fn execute(&mut self, what: &str) -> Result<u64> {
        let result = self.result(what)?;
        // SAFETY: a result of the library, before the connection's next call.
        Ok(unsafe { self.library.interface.affected_rows(result) })
    }

    /// Executes an insert.
    #[inline]
    pub(super) fn execute_insert(&mut self) -> Result<Inserted> {
        let interface = &self.library.interface;
        // SAFETY: a live statement with all parameters bound.
        let result = unsafe { (self.execute)(self.handle) };
        // SAFETY: a result lives until the connection's next call.
        let exists = |answer| unsafe { interface.error_code(answer) } == EXISTS;
        if NonNull::new(result).is_some_and(exists) {
            return Ok(Inserted::Exists);
        }
        let result = checked(self.library, "insert", result)?;
        // SAFETY: the same.
        Ok(match unsafe { interface.affected_rows(result) } {
            0 => Inserted::No,
            _ => Inserted::Yes,
        })
    }

    /// Executes the statement; the result lives until the connection's next call.
    #[inline]
    pub(super) fn result(&mut self, what: &str) -> Result<NonNull<QueryResult>> {
        // SAFETY: a live statement with all parameters bound.
        let result = unsafe { (self.execute)(self.handle) };
        checked(self.library, what, result)
    }
}

impl Interface {
    /// Returns CrossDB's error code, 0 for no error.
    ///
    /// # Safety
    /// `result` is one of the library, before the next call of its connection.
    #[inline]
    unsafe fn error_code(&self, result: NonNull<QueryResult>) -> c_int {
        match self {
            // SAFETY: the caller's promise; the header shows this version's result.
            Self::Shown(..) => c_int::from(unsafe { (*result.as_ptr()).error_code }),
            // SAFETY: the caller's promise.
            Self::Opaque(functions) => unsafe { (functions.error_code)(result.as_ptr()) },
        }
    }

    /// # Safety
    /// As for [`Self::error_code`].
    #[inline]
    unsafe fn affected_rows(&self, result: NonNull<QueryResult>) -> u64 {
        match self {
            // SAFETY: the caller's promise; the header shows this version's result.
            Self::Shown(..) => unsafe { (*result.as_ptr()).affected_rows },
            Self::Opaque(functions) => {
                // SAFETY: the caller's promise.
                let rows = unsafe { (functions.affected_rows)(result.as_ptr()) };
                // A statement that failed has a negative number, and was an error before this.
                u64::try_from(rows).unwrap_or(0)
            }
        }
    }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        // SAFETY: it is live, and not used after this.
        unsafe { (self.library.functions.stmt_close)(self.handle) };
    }
}

/// Returns a result without an error; it lives until the connection's next call.
#[inline]
pub(super) fn checked(
    library: &CrossDbLibrary,
    what: &str,
    result: *mut QueryResult,
) -> Result<NonNull<QueryResult>> {
    let Some(result) = NonNull::new(result) else {
        return Err(Error::engine(what, "no result"));
    };
    // SAFETY: a result of the library, before the connection's next call.
    match unsafe { library.interface.error_code(result) } {
        0 => Ok(result),
        code => Err(error_of(library, what, result, code)),
    }
}

#[cold]
fn error_of(
    library: &CrossDbLibrary,
    what: &str,
    result: NonNull<QueryResult>,
    code: c_int,
) -> Error {
    // SAFETY: the result lives, and the message is its own.
    let message = unsafe { text((library.functions.errmsg)(result.as_ptr())) };
    Error::engine(what, format!("{message} (error {code})"))
}

/// Returns a text as C takes it.
pub(super) fn c_text(text: &str) -> Result<CString> {
    CString::new(text).map_err(|e| Error::engine("pass a text", e))
}

/// Checks that all values were bound, from CrossDB's codes.
#[inline]
fn bound(codes: c_int) -> Result<()> {
    match codes {
        0 => Ok(()),
        code => Err(Error::engine("bind", format!("error {code}"))),
    }
}

/// Returns a packed number as a word of an area.
#[inline]
fn padded(value: &[u8]) -> [u8; WORD] {
    let mut word = [0; WORD];
    match *value {
        [a] => word[0] = a,
        [a, b] => word[..2].copy_from_slice(&[a, b]),
        [a, b, c, d] => word[..4].copy_from_slice(&[a, b, c, d]),
        _ => word = first(value),
    }
    word
}

/// Returns the first bytes of an area.
#[inline]
fn first<const N: usize>(bytes: &[u8]) -> [u8; N] {
    *bytes.first_chunk().expect("an area has room for its columns")
}
