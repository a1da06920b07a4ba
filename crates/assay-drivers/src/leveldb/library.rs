//! The functions of LevelDB's C interface that the driver calls, loaded from the shared library
//! when they are first needed. Signatures follow LevelDB's public header, `leveldb/c.h`.

use std::ffi::{c_char, c_int, c_void};
use std::sync::OnceLock;

use libloading::Library;

use crate::linker;

/// The files that the dynamic linker looks for: as Debian names the library, and as LevelDB does.
const FILES: [&str; 3] = ["libleveldb.so.1d", "libleveldb.so.1", "libleveldb.so"];

/// An object of the library: only ever handed back to it.
pub(super) type Handle = *mut c_void;

macro_rules! library {
    ($($name:ident = $symbol:literal: fn($($argument:ty),*) $(-> $result:ty)?;)+) => {
        /// The loaded library.
        pub(super) struct LevelDbLibrary {
            $(pub(super) $name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)+
            _library: Library,
        }

        impl LevelDbLibrary {
            fn load() -> Result<Self, String> {
                // SAFETY: loading runs the library's initialisers, which is what loading an
                // engine means; the library stays loaded as long as its functions are kept.
                let library = linker::load(&FILES, |file| unsafe { Library::new(file) })?;
                Ok(Self {
                    $($name: {
                        // SAFETY: the signature is the one in LevelDB's header.
                        let symbol = unsafe {
                            library.get::<unsafe extern "C" fn($($argument),*) $(-> $result)?>(
                                $symbol,
                            )
                        };
                        *symbol.map_err(|error| {
                            let (name, said) =
                                (String::from_utf8_lossy($symbol), linker::words(&error));
                            format!("the library of LevelDB lacks the function {name} ({said})")
                        })?
                    },)+
                    _library: library,
                })
            }
        }
    };
}

library! {
    major_version = b"leveldb_major_version": fn() -> c_int;
    minor_version = b"leveldb_minor_version": fn() -> c_int;
    free = b"leveldb_free": fn(Handle);
    open = b"leveldb_open": fn(Handle, *const c_char, *mut *mut c_char) -> Handle;
    close = b"leveldb_close": fn(Handle);
    put = b"leveldb_put":
        fn(Handle, Handle, *const u8, usize, *const u8, usize, *mut *mut c_char);
    delete = b"leveldb_delete": fn(Handle, Handle, *const u8, usize, *mut *mut c_char);
    write = b"leveldb_write": fn(Handle, Handle, Handle, *mut *mut c_char);
    get = b"leveldb_get":
        fn(Handle, Handle, *const u8, usize, *mut usize, *mut *mut c_char) -> *mut u8;
    options_create = b"leveldb_options_create": fn() -> Handle;
    options_destroy = b"leveldb_options_destroy": fn(Handle);
    options_set_create_if_missing = b"leveldb_options_set_create_if_missing": fn(Handle, u8);
    options_set_block_size = b"leveldb_options_set_block_size": fn(Handle, usize);
    options_set_cache = b"leveldb_options_set_cache": fn(Handle, Handle);
    options_set_filter_policy = b"leveldb_options_set_filter_policy": fn(Handle, Handle);
    cache_create_lru = b"leveldb_cache_create_lru": fn(usize) -> Handle;
    cache_destroy = b"leveldb_cache_destroy": fn(Handle);
    filter_create_bloom = b"leveldb_filterpolicy_create_bloom": fn(c_int) -> Handle;
    filter_destroy = b"leveldb_filterpolicy_destroy": fn(Handle);
    read_options_create = b"leveldb_readoptions_create": fn() -> Handle;
    read_options_destroy = b"leveldb_readoptions_destroy": fn(Handle);
    write_options_create = b"leveldb_writeoptions_create": fn() -> Handle;
    write_options_destroy = b"leveldb_writeoptions_destroy": fn(Handle);
    write_options_set_sync = b"leveldb_writeoptions_set_sync": fn(Handle, u8);
    batch_create = b"leveldb_writebatch_create": fn() -> Handle;
    batch_destroy = b"leveldb_writebatch_destroy": fn(Handle);
    batch_clear = b"leveldb_writebatch_clear": fn(Handle);
    batch_put = b"leveldb_writebatch_put": fn(Handle, *const u8, usize, *const u8, usize);
    batch_delete = b"leveldb_writebatch_delete": fn(Handle, *const u8, usize);
    iterator_create = b"leveldb_create_iterator": fn(Handle, Handle) -> Handle;
    iterator_destroy = b"leveldb_iter_destroy": fn(Handle);
    iterator_valid = b"leveldb_iter_valid": fn(Handle) -> u8;
    iterator_seek_to_first = b"leveldb_iter_seek_to_first": fn(Handle);
    iterator_seek = b"leveldb_iter_seek": fn(Handle, *const u8, usize);
    iterator_next = b"leveldb_iter_next": fn(Handle);
    iterator_key = b"leveldb_iter_key": fn(Handle, *mut usize) -> *const u8;
    iterator_value = b"leveldb_iter_value": fn(Handle, *mut usize) -> *const u8;
    iterator_error = b"leveldb_iter_get_error": fn(Handle, *mut *mut c_char);
}

/// Returns the library, or why it cannot be used. Looks for it once.
pub(super) fn library() -> Result<&'static LevelDbLibrary, String> {
    static LIBRARY: OnceLock<Result<LevelDbLibrary, String>> = OnceLock::new();
    LIBRARY.get_or_init(LevelDbLibrary::load).as_ref().map_err(Clone::clone)
}
