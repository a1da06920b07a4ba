//! The lookup by key, in the two forms of calling that CrossDB has.

use std::ffi::c_void;
use std::ptr::{self, NonNull};

use assay_driver::Outcome;
use assay_driver::error::{Error, Result};
use assay_driver::schema::Schema;

use super::library::{CrossDbLibrary, Handle, Interface};
use super::row::{Answer, RowReader, take};
use super::statement::{Parameter, Prepared, checked};

/// The number of values that the statement gets when its callback is set.
const MOST_KEY_COLUMNS: usize = 4;

/// A prepared lookup.
pub(super) struct Lookup {
    statement: Prepared,
    form: Form,
    payload_size: usize,
}

/// The way in which CrossDB returns rows.
enum Form {
    /// CrossDB calls the driver with the row in the table.
    Callback(NonNull<Answer>),
    /// CrossDB copies the row into a result, from which it is fetched.
    Fetch(RowReader),
}

impl Lookup {
    /// Prepares a lookup; by callback if this version of the library has it.
    pub(super) fn new(
        library: &'static CrossDbLibrary,
        connection: Handle,
        sql: &str,
        schema: &Schema,
    ) -> Result<Self> {
        let parameters: Vec<_> = schema.key_columns().iter().map(Parameter::of_column).collect();
        let statement = Prepared::new(library, connection, sql, parameters)?;
        let interface = &library.interface;
        let payload_size = schema.payload_size();
        let reader = RowReader::new(interface, schema);
        let form = match interface {
            Interface::Shown(_, Some(_)) => {
                let payload = ptr::slice_from_raw_parts_mut(ptr::null_mut(), 0);
                let answer = Box::new(Answer { reader, payload, is_found: false });
                Form::Callback(NonNull::from(Box::leak(answer)))
            }
            Interface::Shown(_, None) | Interface::Opaque(_) => Form::Fetch(reader),
        };
        let lookup = Self { statement, form, payload_size };
        lookup.set_callback(schema.key_columns().len())?;
        Ok(lookup)
    }

    /// Sets the statement's callback, or none. The statement keeps it and calls it when it is
    /// executed with values bound before. (Before this its callback is not even null.)
    fn set_callback(&self, key_columns: usize) -> Result<()> {
        let Prepared { library, .. } = self.statement;
        let takes_values = !matches!(library.interface, Interface::Shown(_, None));
        if takes_values && key_columns > MOST_KEY_COLUMNS {
            let words = format!("keys of more than {MOST_KEY_COLUMNS} columns");
            return Err(Error::unsupported(words));
        }
        let statement = self.statement.handle();
        let empty = c"".as_ptr();
        // SAFETY: a live statement. It takes a number or a text for each column of the key; an
        // address serves as both, and CrossDB asks for no more values than there are columns.
        // A result is freed before the connection's next call.
        unsafe {
            let result = match (&library.interface, &self.form) {
                (Interface::Shown(_, Some(execute)), Form::Callback(answer)) => {
                    let answer = answer.as_ptr().cast::<c_void>();
                    execute(statement, take, answer, empty, empty, empty, empty)
                }
                (Interface::Opaque(functions), _) => {
                    (functions.execute_with_values)(statement, empty, empty, empty, empty)
                }
                _ => return Ok(()),
            };
            let result = checked(library, "prepare", result)?;
            if let Form::Fetch(_) = self.form {
                (library.functions.free_result)(result.as_ptr());
            }
        }
        Ok(())
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
                let functions = &self.statement.library.functions;
                let result = self.statement.result("get")?;
                // SAFETY: the result lives until it is freed, and its row with it.
                unsafe {
                    let row = (functions.fetch_row)(result.as_ptr());
                    if !row.is_null() {
                        reader.copy(result, row, payload);
                    }
                    (functions.free_result)(result.as_ptr());
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
