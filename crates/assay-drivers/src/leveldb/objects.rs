//! LevelDB's objects with their owners: each is destroyed when it is dropped, and none outlives its
//! source. The rest of the driver does without `unsafe`.

use std::ffi::{CStr, c_char};
use std::marker::PhantomData;
use std::ops::Deref;
use std::ptr;

use super::library::{Handle, LevelDbLibrary};

type Result<T> = std::result::Result<T, String>;

macro_rules! object {
    ($(#[$doc:meta])* $name:ident, $destroy:ident) => {
        $(#[$doc])*
        pub(super) struct $name {
            library: &'static LevelDbLibrary,
            handle: Handle,
        }

        impl Drop for $name {
            fn drop(&mut self) {
                // SAFETY: the handle is this object's own, and nothing borrows it any more.
                unsafe { (self.library.$destroy)(self.handle) }
            }
        }
    };
}

object!(
    /// Options of lookups and scans.
    ReadOptions,
    read_options_destroy
);
object!(
    /// Options of writes.
    WriteOptions,
    write_options_destroy
);
object!(
    /// Writes that are applied at once.
    Batch,
    batch_destroy
);
object!(
    /// A block cache.
    Cache,
    cache_destroy
);
object!(
    /// A filter policy.
    Filter,
    filter_destroy
);
object!(
    /// Options of a database.
    Options,
    options_destroy
);

impl Batch {
    pub(super) fn clear(&mut self) {
        // SAFETY: the handle is a batch.
        unsafe { (self.library.batch_clear)(self.handle) }
    }

    pub(super) fn put(&mut self, key: &[u8], value: &[u8]) {
        // SAFETY: the handle is a batch; both slices are copied during the call.
        unsafe {
            (self.library.batch_put)(
                self.handle,
                key.as_ptr(),
                key.len(),
                value.as_ptr(),
                value.len(),
            );
        }
    }

    pub(super) fn delete(&mut self, key: &[u8]) {
        // SAFETY: the handle is a batch; the slice is copied during the call.
        unsafe { (self.library.batch_delete)(self.handle, key.as_ptr(), key.len()) }
    }
}

/// An open database with the objects that it uses until it is closed.
pub(super) struct Database {
    library: &'static LevelDbLibrary,
    handle: Handle,
    // Dropped after the database is closed, in this order.
    _options: Options,
    _cache: Cache,
    _filter: Filter,
}

// SAFETY: LevelDB's `doc/index.md`, "Concurrency", lets threads share a database without a lock of
// theirs; options, cache and filter are only held.
unsafe impl Send for Database {}
// SAFETY: as above.
unsafe impl Sync for Database {}

impl Drop for Database {
    fn drop(&mut self) {
        // SAFETY: the handle is this object's own; iterators borrow it, so none is left.
        unsafe { (self.library.close)(self.handle) }
    }
}

impl Database {
    pub(super) fn open(
        library: &'static LevelDbLibrary,
        path: &CStr,
        create: bool,
        cache_bytes: usize,
        block_size: usize,
        bloom_bits: i32,
    ) -> Result<Self> {
        // SAFETY: constructors that take numbers and return new objects.
        let (cache, filter, options) = unsafe {
            (
                Cache { library, handle: (library.cache_create_lru)(cache_bytes) },
                Filter { library, handle: (library.filter_create_bloom)(bloom_bits) },
                Options { library, handle: (library.options_create)() },
            )
        };
        // SAFETY: each handle is an object of the kind that the function takes; cache and filter
        // live as long as the database does.
        unsafe {
            (library.options_set_create_if_missing)(options.handle, u8::from(create));
            (library.options_set_block_size)(options.handle, block_size);
            (library.options_set_cache)(options.handle, cache.handle);
            (library.options_set_filter_policy)(options.handle, filter.handle);
        }
        // SAFETY: the path ends with a NUL and is copied during the call.
        let handle = checked(library, |error| unsafe {
            (library.open)(options.handle, path.as_ptr(), error)
        })?;
        Ok(Self { library, handle, _options: options, _cache: cache, _filter: filter })
    }

    pub(super) fn read_options(&self) -> ReadOptions {
        // SAFETY: a constructor.
        let handle = unsafe { (self.library.read_options_create)() };
        ReadOptions { library: self.library, handle }
    }

    pub(super) fn write_options(&self, sync: bool) -> WriteOptions {
        // SAFETY: a constructor, and a setter of what it made.
        let handle = unsafe {
            let handle = (self.library.write_options_create)();
            (self.library.write_options_set_sync)(handle, u8::from(sync));
            handle
        };
        WriteOptions { library: self.library, handle }
    }

    pub(super) fn batch(&self) -> Batch {
        // SAFETY: a constructor.
        Batch { library: self.library, handle: unsafe { (self.library.batch_create)() } }
    }

    pub(super) fn put(&self, options: &WriteOptions, key: &[u8], value: &[u8]) -> Result<()> {
        // SAFETY: the handles are of the kinds that the function takes; both slices are copied
        // during the call.
        checked(self.library, |error| unsafe {
            (self.library.put)(
                self.handle,
                options.handle,
                key.as_ptr(),
                key.len(),
                value.as_ptr(),
                value.len(),
                error,
            );
        })
    }

    pub(super) fn delete(&self, options: &WriteOptions, key: &[u8]) -> Result<()> {
        // SAFETY: as in `put`.
        checked(self.library, |error| unsafe {
            (self.library.delete)(self.handle, options.handle, key.as_ptr(), key.len(), error);
        })
    }

    pub(super) fn write(&self, options: &WriteOptions, batch: &mut Batch) -> Result<()> {
        // SAFETY: the handles are of the kinds that the function takes; the batch is ours alone.
        checked(self.library, |error| unsafe {
            (self.library.write)(self.handle, options.handle, batch.handle, error);
        })
    }

    pub(super) fn get(&self, options: &ReadOptions, key: &[u8]) -> Result<Option<Value>> {
        let mut size = 0;
        // SAFETY: the handles are of the kinds that the function takes; the key is read, and the
        // size written, during the call.
        let data = checked(self.library, |error| unsafe {
            (self.library.get)(
                self.handle,
                options.handle,
                key.as_ptr(),
                key.len(),
                &raw mut size,
                error,
            )
        })?;
        Ok((!data.is_null()).then_some(Value { library: self.library, data, size }))
    }

    pub(super) fn entries(&self, options: &ReadOptions) -> Entries<'_> {
        // SAFETY: the handles are of the kinds that the function takes; the iterator borrows the
        // database, and the options are read during the call.
        let handle = unsafe { (self.library.iterator_create)(self.handle, options.handle) };
        Entries { library: self.library, handle, database: PhantomData }
    }
}

/// A value that a lookup returned.
pub(super) struct Value {
    library: &'static LevelDbLibrary,
    data: *mut u8,
    size: usize,
}

impl Deref for Value {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the lookup returned `size` bytes, which are ours until they are freed.
        unsafe { std::slice::from_raw_parts(self.data, self.size) }
    }
}

impl Drop for Value {
    fn drop(&mut self) {
        // SAFETY: the lookup allocated it for us.
        unsafe { (self.library.free)(self.data.cast()) }
    }
}

/// A cursor over a snapshot of the entries in order.
pub(super) struct Entries<'d> {
    library: &'static LevelDbLibrary,
    handle: Handle,
    database: PhantomData<&'d Database>,
}

impl Drop for Entries<'_> {
    fn drop(&mut self) {
        // SAFETY: the handle is this object's own; keys and values borrow it, so none is left.
        unsafe { (self.library.iterator_destroy)(self.handle) }
    }
}

impl Entries<'_> {
    pub(super) fn seek_to_first(&mut self) {
        // SAFETY: the handle is an iterator.
        unsafe { (self.library.iterator_seek_to_first)(self.handle) }
    }

    pub(super) fn seek(&mut self, key: &[u8]) {
        // SAFETY: the handle is an iterator; the key is read during the call.
        unsafe { (self.library.iterator_seek)(self.handle, key.as_ptr(), key.len()) }
    }

    /// Moves to the next entry; only after [`Self::item`] returned an entry.
    pub(super) fn next(&mut self) {
        // SAFETY: the handle is an iterator, and it is at an entry, which the check repeats since
        // LevelDB does not.
        unsafe {
            if (self.library.iterator_valid)(self.handle) != 0 {
                (self.library.iterator_next)(self.handle);
            }
        }
    }

    /// Returns the current entry, until the cursor is moved.
    pub(super) fn item(&self) -> Option<(&[u8], &[u8])> {
        let mut key_size = 0;
        let mut value_size = 0;
        // SAFETY: the handle is an iterator; at an entry, key and value are bytes of the returned
        // sizes. They stay until it is moved, for which it has to be borrowed anew.
        unsafe {
            if (self.library.iterator_valid)(self.handle) == 0 {
                return None;
            }
            let key = (self.library.iterator_key)(self.handle, &raw mut key_size);
            let value = (self.library.iterator_value)(self.handle, &raw mut value_size);
            Some((
                std::slice::from_raw_parts(key, key_size),
                std::slice::from_raw_parts(value, value_size),
            ))
        }
    }

    /// Fails if an error ended the entries.
    pub(super) fn status(&self) -> Result<()> {
        // SAFETY: the handle is an iterator.
        checked(self.library, |error| unsafe { (self.library.iterator_error)(self.handle, error) })
    }
}

/// Calls a function that reports its error through a pointer.
fn checked<T>(library: &LevelDbLibrary, call: impl FnOnce(*mut *mut c_char) -> T) -> Result<T> {
    let mut error: *mut c_char = ptr::null_mut();
    let answer = call(&raw mut error);
    if error.is_null() {
        return Ok(answer);
    }
    // SAFETY: LevelDB returned a text that ends with a NUL and is ours to free.
    let text = unsafe {
        let text = CStr::from_ptr(error).to_string_lossy().into_owned();
        (library.free)(error.cast());
        text
    };
    Err(text)
}
