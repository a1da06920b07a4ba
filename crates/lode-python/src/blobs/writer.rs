//! Writing a blob.

use std::io::Write;
use std::sync::Mutex;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PySlice, PyString};

use crate::failure::{Failure, Result};
use crate::view::{expect_open, lock};

use super::reader::{STEP_BYTES, of_stream};

/// The source of the bytes of a blob.
pub(crate) enum Source<'py> {
    /// Bytes in memory.
    Bytes(Bound<'py, PyBytes>),
    /// A view of the bytes of another object.
    View(Bound<'py, PyAny>),
    /// The method of an object that reads some bytes.
    Read(Bound<'py, PyAny>),
}

impl<'py> Source<'py> {
    /// Takes bytes, an object that has them in memory, or one with a method `read`.
    ///
    /// # Errors
    /// `value_misfit`.
    pub(crate) fn take(object: &Bound<'py, PyAny>) -> Result<Self> {
        if !object.is_instance_of::<PyBytes>()
            && let Some(read) = object.getattr_opt(intern!(object.py(), "read"))?
        {
            return Ok(Self::Read(read));
        }
        Self::in_memory(object, "a blob is made of bytes, or of an object with read(size)")
    }

    /// Takes bytes, or an object that has them in memory.
    fn in_memory(object: &Bound<'py, PyAny>, expected: &str) -> Result<Self> {
        if let Ok(bytes) = object.cast::<PyBytes>() {
            return Ok(Self::Bytes(bytes.clone()));
        }
        let misfit = || -> Result<Failure> {
            let class = object.get_type().name()?;
            let is_text = object.is_instance_of::<PyString>();
            let advice = if is_text { "; encode it, or open a file in binary mode" } else { "" };
            Ok(Failure::value(format!("{expected}, not {class}{advice}")))
        };
        let view = object.py().import("builtins")?.getattr("memoryview")?.call1((object,));
        let Ok(view) = view else { return Err(misfit()?) };
        if view.getattr("nbytes")?.extract::<usize>()? == 0 {
            return Ok(Self::Bytes(PyBytes::new(object.py(), b"")));
        }
        match view.call_method1("cast", ("B",)) {
            Ok(view) => Ok(Self::View(view)),
            // It is not in one piece.
            Err(_) => {
                Ok(Self::Bytes(view.call_method0("tobytes")?.cast_into().map_err(PyErr::from)?))
            }
        }
    }

    /// Calls `work` with all bytes, a part at a time.
    fn each(&self, py: Python<'py>, work: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        match self {
            Self::Bytes(bytes) => bytes.as_bytes().chunks(STEP_BYTES).try_for_each(|part| {
                py.check_signals()?;
                work(part)
            }),
            Self::View(view) => (0..view.len()?).step_by(STEP_BYTES).try_for_each(|start| {
                py.check_signals()?;
                let [start, stop] = [start, start + STEP_BYTES].map(usize::cast_signed);
                let part = view.get_item(PySlice::new(py, start, stop, 1))?;
                let part = part.call_method0("tobytes")?;
                work(part.cast::<PyBytes>().map_err(PyErr::from)?.as_bytes())
            }),
            Self::Read(read) => loop {
                let part = read.call1((STEP_BYTES,))?;
                match Self::in_memory(&part, "read() of the source of a blob gives bytes")? {
                    Self::Bytes(bytes) if bytes.as_bytes().is_empty() => return Ok(()),
                    part => part.each(py, work)?,
                }
            },
        }
    }
}

/// A blob that is being written. `lode.BlobWriter` is its face.
#[pyclass(frozen, name = "_BlobWriter", module = "lode._lode")]
pub(crate) struct Writer {
    database: lode::Database,
    /// The writer, until it is finished or discarded.
    writer: Mutex<Option<lode::BlobWriter>>,
}

fn ended() -> Failure {
    let message = "the writer has ended: it was closed or discarded, or a write has failed; open \
                   another one";
    Failure::Call("ended", message.into())
}

impl Writer {
    pub(crate) fn of(database: &lode::Database, writer: lode::BlobWriter) -> Self {
        Self { database: database.clone(), writer: Some(writer).into() }
    }

    /// Writes all that a source has. If that fails, the blob is given up.
    pub(crate) fn take_all(&self, py: Python<'_>, source: &Source<'_>) -> Result<()> {
        let mut locked = lock(&self.writer, "writer")?;
        let writer = locked.as_mut().ok_or_else(ended)?;
        let written = source.each(py, &mut |bytes| {
            py.detach(|| {
                expect_open(&self.database)?;
                writer.write_all(bytes).map_err(of_stream)
            })
        });
        if written.is_err() {
            let writer = locked.take();
            py.detach(|| drop(writer));
        }
        written
    }
}

#[pymethods]
impl Writer {
    /// Writes bytes, all of them, and returns their number.
    fn write(&self, py: Python<'_>, data: &Bound<'_, PyAny>) -> Result<u64> {
        let before = self.tell()?;
        self.take_all(py, &Source::in_memory(data, "write takes bytes")?)?;
        Ok(self.tell()? - before)
    }

    /// Returns the number of bytes that were written.
    pub(crate) fn tell(&self) -> Result<u64> {
        let locked = lock(&self.writer, "writer")?;
        Ok(locked.as_ref().ok_or_else(ended)?.length_bytes())
    }

    /// Puts the blob in the place of the one before.
    pub(crate) fn finish(&self, py: Python<'_>) -> Result<()> {
        let writer = lock(&self.writer, "writer")?.take().ok_or_else(ended)?;
        py.detach(|| Ok(writer.finish()?))
    }

    /// Gives the blob up.
    fn discard(&self, py: Python<'_>) -> Result<()> {
        let writer = lock(&self.writer, "writer")?.take();
        py.detach(|| drop(writer));
        Ok(())
    }
}
