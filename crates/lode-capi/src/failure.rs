//! Failures, and the border that none of them crosses by unwinding. The message of the last one is
//! kept for each thread.

use std::any::Any;
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use lode::{Effect, Error};

use crate::handles::Unusable;
use crate::status::lode_status;

/// The reason why a call fails. One word, so that results without one are passed in registers.
#[derive(Debug)]
pub(crate) struct Failure(Box<Parts>);

#[derive(Debug)]
struct Parts {
    status: lode_status,
    message: String,
    effect: u32,
}

pub(crate) type Result<T> = std::result::Result<T, Failure>;

impl Failure {
    #[cold]
    pub(crate) fn new(status: lode_status, message: impl Into<String>) -> Self {
        Self(Box::new(Parts { status, message: message.into(), effect: LODE_EFFECT_NONE }))
    }

    /// Makes the failure of a call with a handle that cannot be used; `what` is what it is of.
    #[cold]
    pub(crate) fn unusable(what: &str, why: Unusable) -> Self {
        match why {
            Unusable::Gone => Self::new(
                lode_status::LODE_BAD_HANDLE,
                format!("the {what} was freed already, or never was one; make a new one"),
            ),
            Unusable::Busy => Self::new(
                lode_status::LODE_BUSY,
                format!(
                    "another thread is using the {what}; let one thread at a time use it, or make \
                     one for each"
                ),
            ),
            Unusable::Broken => Self::new(
                lode_status::LODE_PANIC,
                format!("a fault has left the {what} unfinished; free it and start again"),
            ),
        }
    }

    /// Makes the failure of a call with an argument that is not possible.
    #[cold]
    pub(crate) fn argument(message: impl Into<String>) -> Self {
        Self::new(lode_status::LODE_BAD_ARGUMENT, message)
    }

    #[cold]
    pub(crate) fn too_small(what: &str, has_bytes: usize, needs_bytes: usize) -> Self {
        Self::new(
            lode_status::LODE_TOO_SMALL,
            format!("{what} has room for {has_bytes} bytes and needs {needs_bytes}; give it more"),
        )
    }

    /// Makes the failure of a stream of Lode, which is one of Lode as a rule.
    #[cold]
    pub(crate) fn of_stream(error: std::io::Error) -> Self {
        match error.downcast::<Error>() {
            Ok(error) => error.into(),
            Err(error) => Self::new(lode_status::LODE_IO, error.to_string()),
        }
    }

    #[cfg(test)]
    pub(crate) fn status(&self) -> lode_status {
        self.0.status
    }
}

impl From<Error> for Failure {
    #[cold]
    fn from(error: Error) -> Self {
        let status = lode_status::of(&error);
        let effect = number_of(error.effect());
        Self(Box::new(Parts { status, message: error.to_string(), effect }))
    }
}

impl From<lode_volumes::Error> for Failure {
    #[cold]
    fn from(error: lode_volumes::Error) -> Self {
        let effect = match &error {
            lode_volumes::Error::Database(error) => number_of(error.effect()),
            lode_volumes::Error::Partial { .. } => LODE_EFFECT_PARTIAL,
            _ => LODE_EFFECT_NONE,
        };
        let status = lode_status::of_volume(&error);
        Self(Box::new(Parts { status, message: error.to_string(), effect }))
    }
}

fn number_of(effect: Effect) -> u32 {
    match effect {
        Effect::None => LODE_EFFECT_NONE,
        Effect::Applied => LODE_EFFECT_APPLIED,
        Effect::Unknown => LODE_EFFECT_UNKNOWN,
    }
}

/// The last failure of a thread.
struct Last {
    message: CString,
    effect: u32,
}

thread_local! {
    static LAST: RefCell<Last> =
        RefCell::new(Last { message: CString::default(), effect: LODE_EFFECT_NONE });
}

/// Runs what a function of the interface does. Keeps its failure, or that it has panicked.
#[inline(always)]
pub(crate) fn guarded(work: impl FnOnce() -> Result<lode_status>) -> lode_status {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(status)) => status,
        Ok(Err(failure)) => keep(*failure.0),
        Err(panic) => keep_panic(panic),
    }
}

#[cold]
#[inline(never)]
fn keep(parts: Parts) -> lode_status {
    // A name from outside may have zeros in it, which would end the text.
    let text: Vec<u8> = parts.message.bytes().filter(|byte| *byte != 0).collect();
    let message = CString::new(text).unwrap_or_default();
    // While a thread ends there may be no place for it.
    let _ = LAST.try_with(|last| {
        *last.borrow_mut() = Last { message, effect: parts.effect };
    });
    parts.status
}

#[cold]
#[inline(never)]
fn keep_panic(panic: Box<dyn Any + Send>) -> lode_status {
    let said = match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(said), _) => said,
        (_, Some(said)) => said.as_str(),
        _ => "no reason was given",
    };
    let message = format!("a fault in Lode, please report it: {said}");
    // What was thrown may itself panic when it is dropped.
    let status =
        keep(Parts { status: lode_status::LODE_PANIC, message, effect: LODE_EFFECT_UNKNOWN });
    std::mem::forget(panic);
    status
}

/// Returns the message of the last call of this thread that failed, ended by a zero; an empty text
/// if none has.
///
/// The text stays until the next call of this thread that fails, and no longer than the thread. A
/// call that succeeds leaves it as it is.
#[unsafe(no_mangle)]
pub extern "C" fn lode_error_message() -> *const c_char {
    LAST.try_with(|last| last.borrow().message.as_ptr()).unwrap_or(c"".as_ptr())
}

/// Nothing has happened, and nothing will.
pub const LODE_EFFECT_NONE: u32 = 0;
/// Everything has happened and stays; the failure came after that.
pub const LODE_EFFECT_APPLIED: u32 = 1;
/// The effect can be seen until the database is closed. When it is opened again, all of it is there
/// or none.
pub const LODE_EFFECT_UNKNOWN: u32 = 2;
/// Some of the volumes that a storage has mounted have the change and keep it.
pub const LODE_EFFECT_PARTIAL: u32 = 3;

/// Returns what the last call of this thread that failed has done to records, tables and entries,
/// as one of the numbers from `LODE_EFFECT_NONE` on.
#[unsafe(no_mangle)]
pub extern "C" fn lode_error_effect() -> u32 {
    LAST.try_with(|last| last.borrow().effect).unwrap_or(LODE_EFFECT_NONE)
}

/// Returns a word for a status, such as "no_table", ended by a zero; "unknown" for a number that is
/// none. The text is constant.
#[unsafe(no_mangle)]
pub extern "C" fn lode_status_name(status: i32) -> *const c_char {
    let word: &'static CStr = lode_status::word(status);
    word.as_ptr()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message() -> String {
        LAST.with(|last| last.borrow().message.to_str().expect("UTF-8").to_string())
    }

    #[test]
    fn a_panic_becomes_a_status_and_its_text_a_message() {
        assert_eq!(guarded(|| panic!("on purpose")), lode_status::LODE_PANIC);
        assert_eq!(message(), "a fault in Lode, please report it: on purpose");
        assert_eq!(lode_error_effect(), LODE_EFFECT_UNKNOWN);
        let number = 7;
        assert_eq!(guarded(|| panic!("{number} of them")), lode_status::LODE_PANIC);
        assert!(message().ends_with(": 7 of them"));
        assert_eq!(guarded(|| Ok(lode_status::LODE_EXISTS)), lode_status::LODE_EXISTS);
        assert!(message().ends_with(": 7 of them"), "a call that succeeds leaves it");
    }

    #[test]
    fn the_message_of_an_error_of_lode_is_kept_without_its_zeros() {
        let table = String::from("a\0b");
        let error = Error::NoTable { table };
        assert_eq!(guarded(|| Err(error.into())), lode_status::LODE_NO_TABLE);
        assert_eq!(message(), "there is no table ab; create it");
        assert_eq!(lode_error_effect(), LODE_EFFECT_NONE);
        std::thread::spawn(|| assert_eq!(message(), "", "each thread has its own"))
            .join()
            .expect("no panic");
    }
}
