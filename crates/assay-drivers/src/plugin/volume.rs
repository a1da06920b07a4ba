//! A plugin's own volumes.

use std::ffi::{c_int, c_void};
use std::slice;

use assay_driver::Outcome;
use assay_driver::error::{Error, Result};
use assay_driver::volume::{Property, Volume};

use super::abi::{CProperty, CVolume, OfName};
use super::connection::PluginConnection;
use super::done;

/// Types of properties, as `assay_driver.h` numbers them.
const U8: u32 = 0;
const U32: u32 = 2;
const U64: u32 = 3;
const F64: u32 = 6;
const TEXT: u32 = 7;
const BYTES: u32 = 8;
const F32: u32 = 10;

impl PluginConnection<'_> {
    fn table(&self) -> &CVolume {
        self.volume.expect("only a connection with such a table is handed out as a volume")
    }

    fn of_name(&mut self, function: OfName, record: u64, name: &str) -> c_int {
        let bytes = name.as_ptr().cast();
        let size = name.len() as u32;
        // SAFETY: the table's own function, on a live handle, with a name of that many bytes.
        unsafe { function(self.handle, record, bytes, size, &raw mut *self.error) }
    }
}

impl Volume for PluginConnection<'_> {
    fn set(&mut self, record: u64, name: &str, value: Property<'_>) -> Result<()> {
        let set = self.table().set_property.ok_or_else(|| Error::unsupported("set a property"))?;
        let mut number = [0; 8];
        let (kind, bytes) = packed(&value, &mut number);
        let c_value =
            CProperty { kind, size_bytes: bytes.len() as u32, bytes: bytes.as_ptr().cast() };
        let text = name.as_ptr().cast();
        let size = name.len() as u32;
        // SAFETY: the table's own function, on a live handle; name and value are valid during it.
        let code = unsafe {
            set(self.handle, record, text, size, &raw const c_value, &raw mut *self.error)
        };
        done("set a property", code, &mut self.error)
    }

    fn get(
        &mut self,
        record: u64,
        name: &str,
        found: &mut dyn FnMut(Property<'_>),
    ) -> Result<Outcome> {
        let get = self.table().get_property.ok_or_else(|| Error::unsupported("get a property"))?;
        let text = name.as_ptr().cast();
        let size = name.len() as u32;
        let mut context = Taker { found };
        // SAFETY: the table's own function, on a live handle; the context is what `take` expects,
        // and lives until the function is back.
        let code = unsafe {
            get(
                self.handle,
                record,
                text,
                size,
                take,
                (&raw mut context).cast(),
                &raw mut *self.error,
            )
        };
        self.outcome("get a property", code)
    }

    fn remove(&mut self, record: u64, name: &str) -> Result<Outcome> {
        let doing = "remove a property";
        let remove = self.table().remove_property.ok_or_else(|| Error::unsupported(doing))?;
        let code = self.of_name(remove, record, name);
        self.outcome(doing, code)
    }

    fn link(&mut self, parent: u64, name: &str, child: u64) -> Result<Outcome> {
        let link = self.table().link.ok_or_else(|| Error::unsupported("link"))?;
        let text = name.as_ptr().cast();
        let size = name.len() as u32;
        // SAFETY: the table's own function, on a live handle, with a name of that many bytes.
        let code = unsafe { link(self.handle, parent, text, size, child, &raw mut *self.error) };
        self.outcome("link", code)
    }

    fn unlink(&mut self, parent: u64, name: &str) -> Result<Outcome> {
        let unlink = self.table().unlink.ok_or_else(|| Error::unsupported("unlink"))?;
        let code = self.of_name(unlink, parent, name);
        self.outcome("unlink", code)
    }
}

/// Returns a value as C sees it; numbers are put into `number`.
fn packed<'v>(value: &Property<'v>, number: &'v mut [u8; 8]) -> (u32, &'v [u8]) {
    let (kind, size) = match *value {
        Property::U8(value) => {
            number[0] = value;
            (U8, 1)
        }
        Property::U32(value) => {
            number[..4].copy_from_slice(&value.to_ne_bytes());
            (U32, 4)
        }
        Property::U64(value) => {
            number.copy_from_slice(&value.to_ne_bytes());
            (U64, 8)
        }
        Property::F32(value) => {
            number[..4].copy_from_slice(&value.to_ne_bytes());
            (F32, 4)
        }
        Property::F64(value) => {
            number.copy_from_slice(&value.to_ne_bytes());
            (F64, 8)
        }
        Property::Text(text) => return (TEXT, text.as_bytes()),
        Property::Blob(bytes) => return (BYTES, bytes),
    };
    (kind, &number[..size])
}

/// Returns the value that C shows; none if it is no property.
fn typed(kind: u32, bytes: &[u8]) -> Option<Property<'_>> {
    Some(match kind {
        U8 => Property::U8(u8::from_ne_bytes(bytes.try_into().ok()?)),
        U32 => Property::U32(u32::from_ne_bytes(bytes.try_into().ok()?)),
        U64 => Property::U64(u64::from_ne_bytes(bytes.try_into().ok()?)),
        F32 => Property::F32(f32::from_ne_bytes(bytes.try_into().ok()?)),
        F64 => Property::F64(f64::from_ne_bytes(bytes.try_into().ok()?)),
        TEXT => Property::Text(str::from_utf8(bytes).ok()?),
        BYTES => Property::Blob(bytes),
        _ => return None,
    })
}

/// The receiver of a property.
struct Taker<'f> {
    found: &'f mut dyn FnMut(Property<'_>),
}

extern "C" fn take(context: *mut c_void, value: *const CProperty) {
    if value.is_null() {
        return;
    }
    // SAFETY: the context that `get` passed.
    let taker = unsafe { &mut *context.cast::<Taker<'_>>() };
    // SAFETY: a property, as assay_driver.h wants.
    let value = unsafe { &*value };
    let bytes = if value.bytes.is_null() {
        &[]
    } else {
        // SAFETY: it says that it has this number of bytes.
        unsafe { slice::from_raw_parts(value.bytes.cast::<u8>(), value.size_bytes as usize) }
    };
    // A value that is no property is no result.
    typed(value.kind, bytes).into_iter().for_each(&mut *taker.found);
}
