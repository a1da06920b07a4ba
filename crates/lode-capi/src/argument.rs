//! Arguments from C: pointers with lengths, and places to write to.

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::path::Path;

use crate::failure::{Failure, Result};
use crate::status::lode_status;

/// Reads bytes from C: `bytes!(pointer, size)`.
macro_rules! bytes {
    ($pointer:ident, $size:ident) => {
        // SAFETY: the header asks for a pointer to that many bytes, which no thread changes before
        // the call ends.
        unsafe { $crate::argument::slice($pointer.cast::<u8>(), $size, stringify!($pointer)) }?
    };
}

/// Reads an array from C: `array!(pointer, count)`.
macro_rules! array {
    ($pointer:ident, $count:ident) => {
        // SAFETY: the header asks for a pointer to that many elements, which no thread changes
        // before the call ends.
        unsafe { $crate::argument::slice($pointer, $count, stringify!($pointer)) }?
    };
}

/// Reads a text from C: `text!(pointer, size)`.
macro_rules! text {
    ($pointer:ident, $size:ident) => {
        $crate::argument::utf8($crate::argument::bytes!($pointer, $size), stringify!($pointer))?
    };
}

/// Takes a place for a result: `out!(pointer)`.
macro_rules! out {
    ($pointer:ident) => {
        // SAFETY: the header asks for a pointer to a place for a result.
        unsafe { $crate::argument::Out::new($pointer, stringify!($pointer)) }?
    };
}

/// Takes a place for a result that may be null: `optional_out!(pointer)`.
macro_rules! optional_out {
    ($pointer:ident) => {
        // SAFETY: the header asks for null, or a pointer to a place for a result.
        unsafe { $crate::argument::Out::optional($pointer) }
    };
}

/// Takes room for a number of elements: `room!(pointer, count)`.
macro_rules! room {
    ($pointer:ident, $count:ident) => {
        // SAFETY: the header asks for a pointer to room for that many elements, which no other code
        // uses before the call ends.
        unsafe { $crate::argument::Room::new($pointer.cast(), $count, stringify!($pointer)) }?
    };
}

/// Reads a structure of any version from C: `structure!(pointer, size)`.
macro_rules! structure {
    ($pointer:ident, $size:ident) => {
        // SAFETY: the header asks for null, or a pointer to that many bytes.
        unsafe { $crate::argument::read_structure($pointer, $size, stringify!($pointer)) }?
    };
}

pub(crate) use {array, bytes, optional_out, out, room, structure, text};

/// The reason why a pointer cannot be that of an array.
#[derive(Clone, Copy)]
enum NoArray {
    Null,
    NotAligned,
    TooMany,
}

/// Checks that `count` elements at a pointer can be an array.
#[inline(always)]
fn expect_array<T>(pointer: *const T, count: usize, name: &'static str) -> Result<()> {
    if pointer.is_null() {
        return Err(no_array(NoArray::Null, count, name));
    }
    if !pointer.is_aligned() {
        return Err(no_array(NoArray::NotAligned, count, name));
    }
    if count > isize::MAX as usize / size_of::<T>().max(1) {
        return Err(no_array(NoArray::TooMany, count, name));
    }
    Ok(())
}

#[cold]
#[inline(never)]
fn no_array(why: NoArray, count: usize, name: &str) -> Failure {
    Failure::argument(match why {
        NoArray::Null => format!("{name} is null; pass a pointer to what it is for"),
        NoArray::NotAligned => format!("{name} is not aligned for its type"),
        NoArray::TooMany => format!("{name} cannot have {count} elements"),
    })
}

/// Returns the elements at a pointer, which may be null if there are none.
///
/// # Safety
/// The pointer is null, or there are `count` elements at it, unchanged for the lifetime.
#[allow(unsafe_code)]
#[inline(always)]
pub(crate) unsafe fn slice<'a, T>(
    pointer: *const T,
    count: usize,
    name: &'static str,
) -> Result<&'a [T]> {
    if count == 0 {
        return Ok(&[]);
    }
    expect_array(pointer, count, name)?;
    // SAFETY: the pointer was checked, as far as it can be; the rest is the caller's promise.
    Ok(unsafe { std::slice::from_raw_parts(pointer, count) })
}

/// Returns bytes as a text.
pub(crate) fn utf8<'a>(bytes: &'a [u8], name: &str) -> Result<&'a str> {
    str::from_utf8(bytes).map_err(|error| {
        let at = error.valid_up_to();
        let message = format!("{name} is not UTF-8 from byte {at} on; texts of Lode are UTF-8");
        Failure::new(lode_status::LODE_NOT_UTF8, message)
    })
}

/// Returns bytes as a path of the operating system: any bytes on Unix, UTF-8 on others.
pub(crate) fn path<'a>(bytes: &'a [u8], name: &str) -> Result<&'a Path> {
    if bytes.is_empty() {
        return Err(Failure::argument(format!("{name} is empty; name a directory")));
    }
    #[cfg(unix)]
    let path = std::os::unix::ffi::OsStrExt::from_bytes(bytes);
    #[cfg(not(unix))]
    let path = std::ffi::OsStr::new(utf8(bytes, name)?);
    Ok(Path::new::<std::ffi::OsStr>(path))
}

/// Types of which all bytes may be zero.
///
/// # Safety
/// A value of zeros only, and one of any other bytes, is valid.
#[allow(unsafe_code)]
pub(crate) unsafe trait Plain: Copy {}

/// Reads a structure that an earlier or a later version of the header may have: missing fields are
/// zero, and more fields than this version knows have to be. `None` for null.
///
/// # Safety
/// The pointer is null, or there are `size` bytes at it.
#[allow(unsafe_code)]
pub(crate) unsafe fn read_structure<T: Plain>(
    pointer: *const T,
    size: usize,
    name: &'static str,
) -> Result<Option<T>> {
    if pointer.is_null() {
        return Ok(None);
    }
    // SAFETY: as the caller promises.
    let bytes = unsafe { slice(pointer.cast::<u8>(), size, name) }?;
    if bytes.is_empty() {
        return Err(Failure::argument(format!("{name}_size is 0; pass sizeof of the structure")));
    }
    let (known, more) = bytes.split_at(bytes.len().min(size_of::<T>()));
    if more.iter().any(|byte| *byte != 0) {
        return Err(Failure::argument(format!(
            "{name} has fields that this version of Lode does not know; leave them zero, or use a \
             later version"
        )));
    }
    let mut structure = MaybeUninit::<T>::zeroed();
    // SAFETY: `known` has at most as many bytes as the structure, in other memory; and any bytes
    // are a valid structure, which `Plain` promises.
    Ok(Some(unsafe {
        structure.as_mut_ptr().cast::<u8>().copy_from_nonoverlapping(known.as_ptr(), known.len());
        structure.assume_init()
    }))
}

/// A place for a result.
pub(crate) struct Out<T> {
    pointer: *mut T,
}

impl<T: Copy> Out<T> {
    /// Takes a place for a result.
    ///
    /// # Safety
    /// The pointer is null, or a `T` can be written to it.
    #[allow(unsafe_code)]
    #[inline(always)]
    pub(crate) unsafe fn new(pointer: *mut T, name: &'static str) -> Result<Self> {
        expect_array(pointer, 1, name)?;
        Ok(Self { pointer })
    }

    /// Takes a place for a result that the caller may not want.
    ///
    /// # Safety
    /// The pointer is null, or a `T` can be written to it.
    #[allow(unsafe_code)]
    #[inline]
    pub(crate) unsafe fn optional(pointer: *mut T) -> Self {
        Self { pointer }
    }

    /// Writes the result, if there is a place for it.
    #[inline]
    pub(crate) fn set(&self, value: T) {
        if !self.pointer.is_null() {
            // SAFETY: whoever made this promised that it can be written.
            #[allow(unsafe_code)]
            unsafe {
                self.pointer.write_unaligned(value);
            }
        }
    }
}

/// Room for a number of elements, which may have any content before.
pub(crate) struct Room<T> {
    pointer: *mut T,
    count: usize,
}

impl<T: Copy> Room<T> {
    /// Takes room, which may be null if it is for no elements.
    ///
    /// # Safety
    /// The pointer is null, or `count` elements can be written to it.
    #[allow(unsafe_code)]
    #[inline(always)]
    pub(crate) unsafe fn new(pointer: *mut T, count: usize, name: &'static str) -> Result<Self> {
        if count > 0 {
            expect_array(pointer, count, name)?;
        }
        Ok(Self { pointer, count })
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Returns the start of the room, to read what was written.
    pub(crate) fn start(&self) -> *const T {
        self.pointer
    }

    /// Returns true if the room overlaps memory that is read.
    #[inline]
    pub(crate) fn overlaps<U>(&self, read: &[U]) -> bool {
        let start = self.pointer.addr();
        let end = start.wrapping_add(self.count * size_of::<T>());
        let read = read.as_ptr_range();
        start < read.end.addr() && read.start.addr() < end
    }

    /// Refuses room that overlaps memory that is read.
    ///
    /// # Errors
    /// `LODE_BAD_ARGUMENT`.
    #[inline]
    pub(crate) fn expect_apart<U>(&self, read: &[U], name: &str) -> Result<()> {
        if self.overlaps(read) {
            let message = format!("{name} overlaps what is read; give it memory of its own");
            return Err(Failure::argument(message));
        }
        Ok(())
    }

    /// Writes elements into the room from `at` on. They may come from the room itself.
    #[inline]
    pub(crate) fn put(&self, at: usize, elements: &[T]) {
        assert!(at <= self.count && elements.len() <= self.count - at, "the room was checked");
        if elements.is_empty() {
            return;
        }
        // SAFETY: there is room for `count` elements, as whoever made this promised.
        #[allow(unsafe_code)]
        unsafe {
            self.pointer.add(at).copy_from(elements.as_ptr(), elements.len());
        }
    }
}

impl Room<u8> {
    /// Returns the part of the room from `at` on with `size` bytes, to be written to.
    ///
    /// # Safety
    /// Nothing else refers to that memory as long as the slice exists.
    #[allow(unsafe_code)]
    #[inline]
    pub(crate) unsafe fn part<'a>(&self, at: usize, size: usize) -> &'a mut [u8] {
        assert!(at <= self.count && size <= self.count - at, "the room was checked");
        if size == 0 {
            return &mut [];
        }
        // SAFETY: there is room for `count` bytes. They come from C, so they have some content. The
        // caller promises that nothing else refers to them.
        unsafe { std::slice::from_raw_parts_mut(self.pointer.add(at), size) }
    }

    /// Writes a structure, as much of it as there is room for: an earlier header has fewer fields.
    /// Further fields, of a later header, become zero.
    pub(crate) fn put_structure<T: Plain>(&self, structure: &T) {
        let known = self.count.min(size_of::<T>());
        // SAFETY: there is room for `count` bytes, of which the structure has the first; it is in
        // other memory.
        #[allow(unsafe_code)]
        unsafe {
            self.pointer.copy_from_nonoverlapping((&raw const *structure).cast(), known);
            self.pointer.add(known).write_bytes(0, self.count - known);
        }
    }

    /// Copies bytes to the start of the room, and says how many they are.
    ///
    /// # Errors
    /// `LODE_TOO_SMALL` when there is not enough room.
    pub(crate) fn fill(&self, bytes: &[u8], size: &Out<usize>, name: &str) -> Result<()> {
        size.set(bytes.len());
        if bytes.len() > self.count {
            return Err(Failure::too_small(name, self.count, bytes.len()));
        }
        self.put(0, bytes);
        Ok(())
    }
}

/// Returns an untyped pointer to bytes.
pub(crate) fn address(bytes: &[u8]) -> *const c_void {
    bytes.as_ptr().cast()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[repr(C)]
    struct Two {
        one: u64,
        other: u64,
    }

    // SAFETY: numbers may have any bytes.
    #[allow(unsafe_code)]
    unsafe impl Plain for Two {}

    #[allow(unsafe_code)]
    fn read(words: &[u64], size: usize) -> Result<Option<Two>> {
        // SAFETY: each test gives at most as many bytes as there are words.
        unsafe { read_structure(words.as_ptr().cast::<Two>(), size, "two") }
    }

    #[test]
    fn structures_of_other_versions_are_read() {
        let two = |one, other| Some(Two { one, other });
        assert_eq!(read(&[7, 8], 16).expect("this version"), two(7, 8));
        assert_eq!(read(&[7, 8], 8).expect("an earlier one"), two(7, 0));
        assert_eq!(read(&[7, 8, 0], 24).expect("a later one"), two(7, 8));
        let refused = read(&[7, 8, 1], 24).expect_err("a field that is not known");
        assert_eq!(refused.status(), lode_status::LODE_BAD_ARGUMENT);
        assert!(read(&[7, 8], 0).is_err());
    }

    #[test]
    #[allow(unsafe_code)]
    fn arrays_that_cannot_be_are_refused() {
        let word = 7u64;
        let pointer = &raw const word;
        // SAFETY: nothing is read from pointers that cannot be.
        unsafe {
            assert_eq!(slice(std::ptr::null::<u64>(), 0, "p").ok(), Some(&[][..]));
            assert!(slice(std::ptr::null::<u64>(), 1, "p").is_err());
            assert!(slice(pointer, usize::MAX / 8, "p").is_err());
            assert!(slice(pointer, usize::MAX, "p").is_err());
            assert!(slice(pointer.wrapping_byte_add(1), 1, "p").is_err());
            assert_eq!(slice(pointer, 1, "p").ok(), Some(&[7][..]));
            assert!(Out::new(std::ptr::null_mut::<u64>(), "p").is_err());
            assert!(Room::<u8>::new(std::ptr::null_mut(), 1, "p").is_err());
        }
        let refused = utf8(b"ab\xff", "name").expect_err("no text");
        assert_eq!(refused.status(), lode_status::LODE_NOT_UTF8);
        assert!(path(b"", "path").is_err());
    }
}
