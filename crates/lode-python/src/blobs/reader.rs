//! Reading a blob.

use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::sync::Mutex;

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::failure::{Failure, Result};
use crate::view::{expect_open, lock};

/// The most bytes that are read or written between two looks for signals.
pub(crate) const STEP_BYTES: usize = 1 << 20;

/// The number of the error for an argument that is not possible, on all systems.
const EINVAL: i32 = 22;

/// Makes the failure of an error of a stream, which may be one of Lode.
pub(crate) fn of_stream(error: io::Error) -> Failure {
    match error.downcast::<lode::Error>() {
        Ok(error) => error.into(),
        Err(other) => PyErr::from(other).into(),
    }
}

/// Reads the bytes from `start` up to `stop`, as far as there are any.
pub(crate) fn read_range<'py>(
    py: Python<'py>,
    reader: &mut lode::BlobReader,
    start: u64,
    stop: Option<u64>,
) -> Result<Bound<'py, PyBytes>> {
    let length = reader.length_bytes();
    let stop = stop.map_or(length, |stop| stop.min(length));
    reader.seek(SeekFrom::Start(start)).map_err(of_stream)?;
    read_exact(py, reader, stop.saturating_sub(start))
}

/// Reads a number of bytes that are there.
fn read_exact<'py>(
    py: Python<'py>,
    reader: &mut lode::BlobReader,
    count: u64,
) -> Result<Bound<'py, PyBytes>> {
    let count = usize::try_from(count)
        .map_err(|_| Failure::argument("the blob has no room in memory; read it in parts"))?;
    Ok(PyBytes::new_with(py, count, |bytes| {
        for part in bytes.chunks_mut(STEP_BYTES) {
            py.check_signals()?;
            py.detach(|| reader.read_exact(part).map_err(of_stream))?;
        }
        Ok(())
    })?)
}

/// A blob that is being read. `lode.BlobReader` is its face.
#[pyclass(frozen, name = "_BlobReader", module = "lode._lode")]
pub(crate) struct Reader {
    database: lode::Database,
    /// The reader, until it is closed.
    reader: Mutex<Option<lode::BlobReader>>,
}

impl Reader {
    pub(crate) fn of(database: &lode::Database, reader: lode::BlobReader) -> Self {
        Self { database: database.clone(), reader: Some(reader).into() }
    }

    /// Calls `work` with the reader.
    ///
    /// # Errors
    /// `busy`, `ended`, `closed`, `forked`; those of `work`.
    fn with<T>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut lode::BlobReader) -> Result<T>,
    ) -> Result<T> {
        let mut locked = lock(&self.reader, "reader")?;
        let closed = || Failure::Call("ended", "the reader was closed; open the blob again".into());
        let reader = locked.as_mut().ok_or_else(closed)?;
        py.detach(|| expect_open(&self.database))?;
        work(reader)
    }
}

#[pymethods]
impl Reader {
    /// The number of bytes of the blob.
    #[getter]
    fn length_bytes(&self, py: Python<'_>) -> Result<u64> {
        self.with(py, |reader| Ok(reader.length_bytes()))
    }

    /// Reads at most a number of bytes, fewer only at the end; all that are left if it is below 0.
    fn read<'py>(&self, py: Python<'py>, most_bytes: i64) -> Result<Bound<'py, PyBytes>> {
        self.with(py, |reader| {
            let position = reader.stream_position().map_err(of_stream)?;
            let left = reader.length_bytes().saturating_sub(position);
            let count = u64::try_from(most_bytes).map_or(left, |most| most.min(left));
            let read = read_exact(py, reader, count);
            if read.is_err() {
                // The bytes that were read before are not given out.
                reader.seek(SeekFrom::Start(position)).map_err(of_stream)?;
            }
            read
        })
    }

    /// Goes to an offset from the start (0), the position (1) or the end (2), and returns it.
    fn seek(&self, py: Python<'_>, offset: i64, whence: i64) -> Result<u64> {
        // As files do: programs that look for an end of their format catch this.
        let before = || {
            let message = "a blob has no such place: seek from its start to 2**64 - 1";
            Failure::from(PyOSError::new_err((EINVAL, message)))
        };
        let to = match whence {
            0 => SeekFrom::Start(u64::try_from(offset).map_err(|_| before())?),
            1 => SeekFrom::Current(offset),
            2 => SeekFrom::End(offset),
            other => {
                let message = format!("there is no whence {other}; use 0, 1 or 2");
                return Err(Failure::argument(message));
            }
        };
        self.with(py, |reader| {
            reader.seek(to).map_err(|error| match error.kind() {
                ErrorKind::InvalidInput => before(),
                _ => of_stream(error),
            })
        })
    }

    /// Frees the blob if it was replaced or deleted.
    fn close(&self, py: Python<'_>) -> Result<()> {
        let reader = lock(&self.reader, "reader")?.take();
        py.detach(|| drop(reader));
        Ok(())
    }
}
