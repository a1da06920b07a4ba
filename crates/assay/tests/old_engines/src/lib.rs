//! Makes a plugin for Assay of an engine in Rust that keeps bytes under ordered bytes.

#[expect(dead_code, reason = "volumes and version 1 of the interface are not used here")]
#[path = "../../../../assay-drivers/src/plugin/abi.rs"]
mod abi;
mod functions;
mod record;

use std::error::Error;
use std::ffi::{CStr, c_void};
use std::ops::Bound;
use std::path::Path;

/// The result of an engine's call.
pub type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// A key, and its new value or `None` to delete it.
pub type Write = (Vec<u8>, Option<Vec<u8>>);

/// Says what acknowledged writes survive.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Nothing before the store is closed.
    None,
    /// A killed process.
    Process,
    /// A power cut.
    Commit,
}

impl Level {
    /// Returns the level's bit in `assay_driver.h`.
    const fn bit(self) -> u32 {
        match self {
            Self::None => 1,
            Self::Process => 2,
            Self::Commit => 8,
        }
    }
}

/// Describes an engine on the command line and in tables.
pub struct Declared {
    /// Names the engine on the command line.
    pub id: &'static CStr,
    /// Names the engine in tables.
    pub name: &'static CStr,
    /// Gives the engine's version.
    pub version: &'static CStr,
    /// Says in a line what the engine is.
    pub about: &'static CStr,
    /// Gives the level that is not [`Level::Commit`].
    pub weaker: Level,
}

/// An engine with an open store. One thread writes at a time.
pub trait Engine: Sized + Send + Sync + 'static {
    /// Describes the engine.
    const DECLARED: Declared;

    /// Opens the store in a folder, or makes one there. A cache may take `cache_bytes`.
    fn open(dir: &Path, level: Level, cache_bytes: Option<u64>) -> Result<Self>;

    /// Returns what was set, a setting a line.
    fn settings(&self) -> String;

    /// Calls `found` with the value of a key, and returns whether the key exists.
    fn get(&self, key: &[u8], found: &mut dyn FnMut(&[u8])) -> Result<bool>;

    /// Carries out writes, all or none of them.
    fn write(&self, writes: Vec<Write>) -> Result<()>;

    /// Calls `row` with keys and values in order until it returns false.
    fn scan(
        &self,
        range: (Bound<&[u8]>, Bound<&[u8]>),
        row: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<()>;

    /// Closes the store. All that was written is then durable.
    fn close(self) -> Result<()>;
}

/// Returns the table of an engine's functions, as `assay_driver.h` has it.
pub fn table<E: Engine>() -> *const c_void {
    (&raw const *functions::Table::<E>::STATIC).cast()
}

/// Exports an engine, once in a library.
#[macro_export]
macro_rules! export {
    ($engine:ty) => {
        /// Returns the table of the engine's functions.
        #[unsafe(no_mangle)]
        pub extern "C" fn assay_plugin() -> *const ::std::ffi::c_void {
            $crate::table::<$engine>()
        }
    };
}
