//! Failures as Python's exceptions.

use lode::{Effect, Error};
use pyo3::prelude::*;

/// The reason why a call fails.
#[derive(Debug)]
pub(crate) enum Failure {
    /// An error of Lode.
    Lode(Box<Error>),
    /// A call that is not possible, with the word for it and a message.
    Call(&'static str, String),
    /// An exception that code of Python has raised.
    Python(PyErr),
}

pub(crate) type Result<T> = std::result::Result<T, Failure>;

impl Failure {
    /// Makes the failure of a call with a value that its column cannot have.
    #[cold]
    pub(crate) fn value(message: impl Into<String>) -> Self {
        Self::Call("value_misfit", message.into())
    }

    /// Makes the failure of a call with an argument that is not possible.
    #[cold]
    pub(crate) fn argument(message: impl Into<String>) -> Self {
        Self::Call("bad_argument", message.into())
    }

    /// Makes the failure of a call with an object that another thread is using.
    #[cold]
    pub(crate) fn busy(what: &str) -> Self {
        Self::Call("busy", format!("another thread is using the {what}; use one in each thread"))
    }

    /// Makes the failure of a call with a transaction that has ended.
    #[cold]
    pub(crate) fn ended() -> Self {
        Self::Call("ended", "the transaction has ended; begin another one".into())
    }
}

impl From<Error> for Failure {
    #[cold]
    fn from(error: Error) -> Self {
        Self::Lode(Box::new(error))
    }
}

impl From<lode_arrow::Error> for Failure {
    #[cold]
    fn from(error: lode_arrow::Error) -> Self {
        match error {
            lode_arrow::Error::Lode(error) => error.into(),
            other => Self::value(other.to_string()),
        }
    }
}

impl From<PyErr> for Failure {
    #[cold]
    fn from(error: PyErr) -> Self {
        Self::Python(error)
    }
}

impl From<Failure> for PyErr {
    #[cold]
    fn from(failure: Failure) -> Self {
        let (code, effect, message) = match failure {
            Failure::Python(raised) => return raised,
            Failure::Call(code, message) => (code, Effect::None, message),
            Failure::Lode(error) => (error.code(), error.effect(), error.to_string()),
        };
        let effect = match effect {
            Effect::None => "none",
            Effect::Applied => "applied",
            Effect::Unknown => "unknown",
        };
        Python::attach(|py| {
            let made = py
                .import("lode._errors")
                .and_then(|errors| errors.call_method1("make", (code, effect, message)));
            made.map_or_else(|raised| raised, Self::from_value)
        })
    }
}
