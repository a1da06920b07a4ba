//! The lookup by key, in the two forms of calling that CrossDB offers.

use std::ffi::c_void;
use std::ptr::{self, NonNull};

use assay_driver::Outcome;
use assay_driver::error::{Error, Result};
use assay_driver::schema::Schema;

use super::library::{CrossDbLibrary, ExecuteWithCallback, Handle};
use super::row::{Answer, RowReader, take};
use super::statement::{Parameter, Prepared, checked};

/// As many values as the statement is given when its callback is set.
const MOST_KEY_COLUMNS: usize = 4;

/// A prepared lookup.
pub(super) struct Lookup {
    statement: Prepared,
    form: Form,
    payload_size: usize,
}

/// How rows come.
enum Form {
    /// CrossDB calls the driver with the row where it lies in the table.
    Callback(NonNull<Answer>),
    /// CrossDB copies the row into a result, from which it is fetched.
    Fetch(RowReader),
}

impl Lookup {
    /// Prepares a lookup; by callback where this version of the library has it.
    pub(super) fn new(
        library: &'static CrossDbLibrary,
        connection: Handle,
        sql: &str,
        schema: &Schema,
    ) -> Result<Self> {
        let parameters: Vec<_> = schema.key_columns().iter().map(Parameter::of_column).collect();
        let statement = Prepared::new(library, connection, sql, parameters)?;
        let (reader, payload_size) = (RowReader::new(library, schema), schema.payload_size());
        let Some(execute) = library.execute_with_callback else {
            return Ok(Self { statement, form: Form::Fetch(reader), payload_size });
        };
        let no_payload = ptr::slice_from_raw_parts_mut(ptr::null_mut(), 0);
        let answer = Box::new(Answer { reader, payload: no_payload, is_found: false });
        let form = Form::Callback(NonNull::from(Box::leak(answer)));
        let lookup = Self { statement, form, payload_size };
        lookup.arm(execute, schema.key_columns().len())?;
        Ok(lookup)
    }

    /// Gives the statement its callback, which it keeps: executed with values that were bound
    /// before, it calls it as well. (Before this its callback is not even null.)
    fn arm(&self, execute: ExecuteWithCallback, key_columns: usize) -> Result<()> {
        if key_columns > MOST_KEY_COLUMNS {
            let words = format!("keys of more than {MOST_KEY_COLUMNS} columns");
            return Err(Error::unsupported(words));
        }
        let Form::Callback(answer) = self.form else { return Ok(()) };
        let answer = answer.as_ptr().cast::<c_void>();
        let (statement, empty) = (self.statement.handle(), c"".as_ptr());
        // SAFETY: a live statement. It takes a number or a text for each column of the key; an
        // address serves as both, and CrossDB asks for no more values than there are columns.
        let result = unsafe { execute(statement, take, answer, empty, empty, empty, empty) };
        checked(self.statement.library, "prepare", result).map(|_| ())
    }

    /// Looks a key up and copies its row's columns into the payload area.
    #[inline]
    pub(super) fn get(&mut self, key: &[u8], payload: &mut [u8]) -> Result<Outcome> {
        assert!(payload.len() >= self.payload_size, "room for a payload");
        self.statement.bind_all(key)?;
        let is_found = match &self.form {
            Form::Callback(answer) => {
                let answer = answer.as_ptr();
                // SAFETY: the answer lives as long as the lookup, and between the executions of
                // the statement only this function refers to it.
                unsafe {
                    (*answer).payload = payload;
                    (*answer).is_found = false;
                }
                self.statement.result("get")?;
                // SAFETY: the same.
                unsafe { (*answer).is_found }
            }
            Form::Fetch(reader) => {
                let library = self.statement.library;
                let result = self.statement.result("get")?;
                let meta = result.column_meta;
                // SAFETY: the result lives until it is freed, and its row with it.
                unsafe {
                    let row = (library.fetch_row)(result);
                    if !row.is_null() {
                        reader.copy(meta, row, payload);
                    }
                    (library.free_result)(result);
                    !row.is_null()
                }
            }
        };
        Ok(if is_found { Outcome::Done } else { Outcome::Missing })
    }
}

impl Drop for Lookup {
    fn drop(&mut self) {
        if let Form::Callback(answer) = self.form {
            // SAFETY: it came from a box, and no statement is executed any more.
            drop(unsafe { Box::from_raw(answer.as_ptr()) });
        }
    }
}
