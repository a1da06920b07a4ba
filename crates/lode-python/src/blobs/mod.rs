//! Blob stores: values of any length, by their keys.

mod reader;
mod writer;

use std::sync::Mutex;

use lode::{BlobEntry, Error, MOST_BLOB_KEY_BYTES};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyString, PyType};

use crate::failure::{Failure, Result};
use crate::view::lock;

pub(crate) use reader::Reader;
use writer::Source;
pub(crate) use writer::Writer;

/// A blob store: values of any length up to 4 GiB, under keys of at most 1,000 bytes.
///
/// `Database.create_blobs` and `Database.blobs` return one. Any number of threads may use it. A
/// key is bytes, or a str for its UTF-8; stores give keys back as bytes.
///
///     >>> import io, lode
///     >>> db = lode.memory()
///     >>> films = db.create_blobs("films")
///     >>> films["lion"] = b"a short film"
///     >>> films["lion"], films.read_range("lion", 2, 7), films.length_bytes("lion")
///     (b'a short film', b'short', 12)
///     >>> films.put("whale", io.BytesIO(bytes(100_000)))
///     100000
///     >>> list(films), "lion" in films, films.delete("lion")
///     ([b'lion', b'whale'], True, True)
///     >>> db.close()
///
/// A write is seen as a whole or not at all, and is as durable as a commit. Of several writers of
/// one key, the last one to finish counts.
#[pyclass(frozen, module = "lode")]
pub(crate) struct Blobs {
    database: lode::Database,
    blobs: lode::Blobs,
}

/// Reads the key of a blob, or the start of one.
///
/// # Errors
/// `value_misfit`.
fn take_key(object: &Bound<'_, PyAny>) -> Result<Vec<u8>> {
    if let Ok(bytes) = object.cast::<PyBytes>() {
        return Ok(bytes.as_bytes().to_vec());
    }
    let Ok(text) = object.cast::<PyString>() else {
        let class = object.get_type().name()?;
        return Err(Failure::value(format!("the key of a blob is bytes or a str, not {class}")));
    };
    let text: String = text.extract().map_err(|_| {
        Failure::value(
            "the key of a blob has a surrogate, which UTF-8 does not; encode it to bytes",
        )
    })?;
    Ok(text.into_bytes())
}

/// Makes the failure of a store that does not exist, or of its name.
fn of_store(error: Error, name: &str) -> Failure {
    match error {
        Error::NoTable { table } if table.strip_suffix(".blobs") == Some(name) => {
            let message = format!("there is no blob store {name}; create it with create_blobs");
            Failure::Call("no_table", message)
        }
        other => other.into(),
    }
}

fn missing(key: &Bound<'_, PyAny>) -> Failure {
    PyKeyError::new_err((key.clone().unbind(),)).into()
}

impl Blobs {
    pub(crate) fn create(
        py: Python<'_>,
        database: &lode::Database,
        name: &str,
        exist_ok: bool,
    ) -> Result<Self> {
        let blobs = py.detach(|| {
            if exist_ok { database.blobs_or_create(name) } else { database.create_blobs(name) }
        })?;
        Ok(Self { database: database.clone(), blobs })
    }

    pub(crate) fn open_store(
        py: Python<'_>,
        database: &lode::Database,
        name: &str,
    ) -> Result<Self> {
        let blobs = py.detach(|| database.blobs(name)).map_err(|error| of_store(error, name))?;
        Ok(Self { database: database.clone(), blobs })
    }

    pub(crate) fn drop_store(py: Python<'_>, database: &lode::Database, name: &str) -> Result<()> {
        py.detach(|| database.drop_blobs(name)).map_err(|error| of_store(error, name))
    }

    /// Returns a reader of a blob; `None` if it is missing.
    fn reader(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> Result<Option<lode::BlobReader>> {
        let key = take_key(key)?;
        py.detach(|| Ok(self.blobs.read(key)?))
    }

    fn cursor(
        &self,
        py: Python<'_>,
        prefix: Option<&Bound<'_, PyAny>>,
        gives: Gives,
    ) -> Result<Entries> {
        let prefix = prefix.map(take_key).transpose()?;
        let cursor = py.detach(|| match prefix {
            None => Some(self.blobs.iter()),
            // No key is so long.
            Some(prefix) if prefix.len() > MOST_BLOB_KEY_BYTES => None,
            Some(prefix) => Some(self.blobs.prefix(prefix)),
        });
        Ok(Entries { cursor: cursor.into(), gives })
    }

    /// Returns the bytes of a blob from `start` to `stop`; `None` if it is missing.
    fn part<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
        start: u64,
        stop: Option<u64>,
    ) -> Result<Option<Bound<'py, PyBytes>>> {
        let Some(mut reader) = self.reader(py, key)? else { return Ok(None) };
        let read = reader::read_range(py, &mut reader, start, stop);
        py.detach(|| drop(reader));
        read.map(Some)
    }
}

#[pymethods]
impl Blobs {
    /// The name of the store.
    #[getter]
    fn name(&self) -> &str {
        self.blobs.name()
    }

    fn __repr__(&self) -> String {
        format!("<lode.Blobs {:?}>", self.blobs.name())
    }

    /// Opens a blob as a file of bytes: for reading, with the mode "rb", or for writing, with "wb".
    /// Raises `KeyError` if the blob to read is missing.
    ///
    /// A `BlobReader` reads the blob that it has found to its end, also when that is replaced or
    /// deleted. A `BlobWriter` replaces the blob when it is closed.
    #[pyo3(signature = (key, mode = "rb"))]
    fn open<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
        mode: &str,
    ) -> Result<Bound<'py, PyAny>> {
        static READER: PyOnceLock<Py<PyType>> = PyOnceLock::new();
        static WRITER: PyOnceLock<Py<PyType>> = PyOnceLock::new();
        match mode {
            "rb" => {
                let found = self.reader(py, key)?.ok_or_else(|| missing(key))?;
                let reader = Reader::of(&self.database, found);
                Ok(READER.import(py, "lode._blobs", "BlobReader")?.call1((reader,))?)
            }
            "wb" => {
                let key = take_key(key)?;
                let writer = py.detach(|| self.blobs.write(key))?;
                let writer = Writer::of(&self.database, writer);
                Ok(WRITER.import(py, "lode._blobs", "BlobWriter")?.call1((writer,))?)
            }
            other => {
                Err(Failure::argument(format!("there is no mode {other} for a blob; use rb or wb")))
            }
        }
    }

    /// Writes a blob, in the place of one with its key, and returns the number of its bytes.
    ///
    /// `source` is bytes; or a file, or any object with `read(size)`, of which all that is left is
    /// read, a MiB at a time; or another object that has bytes in memory. If it raises, nothing
    /// has happened.
    fn put(
        &self,
        py: Python<'_>,
        key: &Bound<'_, PyAny>,
        source: &Bound<'_, PyAny>,
    ) -> Result<u64> {
        let key = take_key(key)?;
        let source = Source::take(source)?;
        let writer = py.detach(|| self.blobs.write(key))?;
        let writer = Writer::of(&self.database, writer);
        writer.take_all(py, &source)?;
        let length_bytes = writer.tell()?;
        writer.finish(py)?;
        Ok(length_bytes)
    }

    fn __setitem__(
        &self,
        py: Python<'_>,
        key: &Bound<'_, PyAny>,
        source: &Bound<'_, PyAny>,
    ) -> Result<()> {
        self.put(py, key, source).map(|_| ())
    }

    /// Returns the bytes of a blob, all at once in memory, or `default` if it is missing.
    #[pyo3(signature = (key, default = None))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
    ) -> Result<Option<Bound<'py, PyAny>>> {
        Ok(self.part(py, key, 0, None)?.map(Bound::into_any).or(default))
    }

    fn __getitem__<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
    ) -> Result<Bound<'py, PyBytes>> {
        self.part(py, key, 0, None)?.ok_or_else(|| missing(key))
    }

    /// Returns the bytes of a blob from the offset `start` up to `stop`, which is left out, as far
    /// as there are any. It reads only that part. Raises `KeyError` if the blob is missing.
    #[pyo3(signature = (key, start = 0, stop = None))]
    fn read_range<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
        start: u64,
        stop: Option<u64>,
    ) -> Result<Bound<'py, PyBytes>> {
        self.part(py, key, start, stop)?.ok_or_else(|| missing(key))
    }

    /// Returns the number of bytes of a blob. Raises `KeyError` if it is missing.
    fn length_bytes(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> Result<u64> {
        let packed = take_key(key)?;
        py.detach(|| self.blobs.length_bytes(packed))?.ok_or_else(|| missing(key))
    }

    fn __contains__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> Result<bool> {
        let key = take_key(key)?;
        py.detach(|| Ok(self.blobs.contains(key)?))
    }

    /// Deletes a blob. Returns false if it is missing.
    fn delete(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> Result<bool> {
        let key = take_key(key)?;
        py.detach(|| Ok(self.blobs.remove(key)?))
    }

    fn __delitem__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> Result<()> {
        if self.delete(py, key)? { Ok(()) } else { Err(missing(key)) }
    }

    /// Returns the number of blobs.
    fn __len__(&self, py: Python<'_>) -> Result<usize> {
        let len = py.detach(|| self.blobs.len())?;
        usize::try_from(len).map_err(|_| Failure::argument("there are too many blobs to count"))
    }

    fn __iter__(&self, py: Python<'_>) -> Result<Entries> {
        self.cursor(py, None, Gives::Keys)
    }

    /// Returns an iterator over the keys, or those that start with `prefix`, in their order. It
    /// sees the store as it is now.
    #[pyo3(signature = (prefix = None))]
    fn keys(&self, py: Python<'_>, prefix: Option<&Bound<'_, PyAny>>) -> Result<Entries> {
        self.cursor(py, prefix, Gives::Keys)
    }

    /// Returns an iterator over pairs of keys and the numbers of bytes of their blobs, as `keys`.
    #[pyo3(signature = (prefix = None))]
    fn entries(&self, py: Python<'_>, prefix: Option<&Bound<'_, PyAny>>) -> Result<Entries> {
        self.cursor(py, prefix, Gives::Lengths)
    }
}

/// The part of each entry that an iterator gives.
#[derive(Clone, Copy)]
enum Gives {
    /// The key.
    Keys,
    /// The key and the number of bytes.
    Lengths,
}

/// The keys of a store, one after another.
#[pyclass(frozen, module = "lode")]
pub(crate) struct Entries {
    /// The cursor, until all was read.
    cursor: Mutex<Option<lode::BlobCursor>>,
    gives: Gives,
}

#[pymethods]
impl Entries {
    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__<'py>(&self, py: Python<'py>) -> Result<Option<Bound<'py, PyAny>>> {
        let next = py.detach(|| {
            let mut cursor = lock(&self.cursor, "iterator")?;
            let next = cursor.as_mut().and_then(Iterator::next).transpose()?;
            if next.is_none() {
                *cursor = None;
            }
            Ok::<_, Failure>(next)
        })?;
        let Some(BlobEntry { key, length_bytes, .. }) = next else { return Ok(None) };
        let key = PyBytes::new(py, &key);
        Ok(Some(match self.gives {
            Gives::Keys => key.into_any(),
            Gives::Lengths => (key, length_bytes).into_pyobject(py)?.into_any(),
        }))
    }
}
