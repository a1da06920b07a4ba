//! Lists: the children and the properties of an entry, one after another.

use std::ffi::c_char;

use crate::argument::{address, optional_out, out, text};
use crate::failure::{Result, guarded};
use crate::objects::{
    OpenEntry, OpenLinks, OpenProperties, lode_entry, lode_links, lode_properties,
};
use crate::status::lode_status::{self, LODE_END, LODE_OK};
use crate::value::{lode_type, lode_value};

use super::property::{number_of, value_of};

impl OpenEntry {
    /// Returns the names of the children that start with a prefix.
    fn links(&self, prefix: &str) -> Result<OpenLinks> {
        let names: Box<dyn Iterator<Item = _> + Send> = match self {
            Self::Volume(entry) => Box::new(entry.links_with_prefix(prefix)?),
            Self::Storage(_, entry) => {
                let mut names = entry.links()?;
                names.retain(|name| name.starts_with(prefix));
                Box::new(names.into_iter().map(Ok))
            }
        };
        Ok(OpenLinks { names, last: String::new() })
    }

    fn properties(&self) -> Result<OpenProperties> {
        let properties: Box<dyn Iterator<Item = _> + Send> = match self {
            Self::Volume(entry) => Box::new(entry.properties()?),
            Self::Storage(_, entry) => Box::new(entry.properties()?.into_iter().map(Ok)),
        };
        Ok(OpenProperties { properties, last: None })
    }
}

/// Opens a list of the children of an entry, as they are now, in the order of their names' bytes.
/// It is written to `links`, and freed with `lode_free_links`.
///
/// `prefix` is UTF-8 of `prefix_size` bytes: the list has the names that start with it. Null and 0
/// are all names.
///
/// Returns `LODE_GONE`; in a storage `LODE_MOUNTS_CHANGED`, and failures of reading.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_open_links(
    entry: lode_entry,
    prefix: *const c_char,
    prefix_size: usize,
    links: *mut lode_links,
) -> lode_status {
    guarded(|| {
        let (out, prefix) = (out!(links), text!(prefix, prefix_size));
        out.set(lode_links::new(entry.share()?.links(prefix)?)?);
        Ok(LODE_OK)
    })
}

/// Reads the next name of a list of children. Writes a pointer to it to `name`, and its bytes to
/// `name_size`. It is memory of the list, and stays until the next call with it. No zero ends it.
///
/// Returns `LODE_END` after the last; `LODE_SNAPSHOT_TOO_OLD`, `LODE_CLOSED`, `LODE_CORRUPT`,
/// `LODE_IO`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_next_link(
    links: lode_links,
    name: *mut *const c_char,
    name_size: *mut usize,
) -> lode_status {
    guarded(|| {
        let (out, size) = (out!(name), out!(name_size));
        let mut open = links.lock()?;
        let Some(next) = open.names.next() else { return Ok(LODE_END) };
        open.last = next?;
        out.set(address(open.last.as_bytes()).cast());
        size.set(open.last.len());
        Ok(LODE_OK)
    })
}

/// Frees a list of children.
#[unsafe(no_mangle)]
pub extern "C" fn lode_free_links(links: lode_links) -> lode_status {
    guarded(|| links.take().map(|_| LODE_OK))
}

/// Opens a list of the properties of an entry, as they are now, in the order of their names' bytes.
/// It is written to `properties`, and freed with `lode_free_properties`. Fails as
/// `lode_open_links` does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_open_properties(
    entry: lode_entry,
    properties: *mut lode_properties,
) -> lode_status {
    guarded(|| {
        let out = out!(properties);
        out.set(lode_properties::new(entry.share()?.properties()?)?);
        Ok(LODE_OK)
    })
}

/// Reads the next property of a list. Writes a pointer to its name to `name`, the bytes of that to
/// `name_size`, its type to `type` and its value to `value`; the last two may be null. The name, a
/// text and bytes are memory of the list, and stay until the next call with it.
///
/// Returns as `lode_next_link`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_next_property(
    properties: lode_properties,
    name: *mut *const c_char,
    name_size: *mut usize,
    r#type: *mut lode_type,
    value: *mut lode_value,
) -> lode_status {
    guarded(|| {
        let (out, size) = (out!(name), out!(name_size));
        let kind = r#type;
        let (kind, place) = (optional_out!(kind), optional_out!(value));
        let mut open = properties.lock()?;
        let Some(next) = open.properties.next() else { return Ok(LODE_END) };
        let (name, value) = open.last.insert(next?);
        out.set(address(name.as_bytes()).cast());
        size.set(name.len());
        kind.set(number_of(value.kind()));
        place.set(value_of(value.as_ref()));
        Ok(LODE_OK)
    })
}

/// Frees a list of properties.
#[unsafe(no_mangle)]
pub extern "C" fn lode_free_properties(properties: lode_properties) -> lode_status {
    guarded(|| properties.take().map(|_| LODE_OK))
}
