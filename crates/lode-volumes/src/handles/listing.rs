//! Lists: the children and the properties of an entry, one after another.

use std::sync::Arc;

use lode::{Cursor, Snapshot};

use crate::clock::Moment;
use crate::core::Core;
use crate::error::Result;
use crate::tables::Id;
use crate::value::Value;

/// The names of the children of an entry, in the order of their bytes, as they were when this was
/// made. See [`Entry::links`](crate::Entry::links).
pub struct Links {
    cursor: Cursor,
    prefix: Box<str>,
}

impl Links {
    pub(crate) fn new(core: &Core, at: Option<&Snapshot>, entry: Id, prefix: &str) -> Self {
        // No name has as many bytes, so the range ends where it starts.
        let from = &prefix[..prefix.floor_char_boundary(crate::name::MOST_NAME_BYTES)];
        Self { cursor: core.tables.children(at, entry, from), prefix: prefix.into() }
    }
}

impl Iterator for Links {
    type Item = Result<String>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.cursor.next_row() {
            Err(error) => Some(Err(error.into())),
            Ok(None) => None,
            Ok(Some(row)) => match row.get("name") {
                Some(lode::Value::Text(name)) if name.starts_with(&*self.prefix) => {
                    Some(Ok(name.into()))
                }
                // Names with the prefix stand together.
                _ => None,
            },
        }
    }
}

/// The properties of an entry, in the order of their names' bytes, as they were when this was made.
/// See [`Entry::properties`](crate::Entry::properties).
///
/// ```
/// use lode_volumes::Volume;
///
/// let root = Volume::in_memory()?.root();
/// root.set("b", 2u8)?;
/// root.set("a", "one")?;
/// let mut lines = Vec::new();
/// for property in root.properties()? {
///     let (name, value) = property?;
///     lines.push(format!("{name} = {value}"));
/// }
/// assert_eq!(lines, ["a = one", "b = 2"]);
/// # Ok::<(), lode_volumes::Error>(())
/// ```
pub struct Properties {
    core: Arc<Core>,
    cursor: Cursor,
    now: Moment,
}

/// A property with all that belongs to it.
pub(crate) struct Property {
    pub name: String,
    pub value: Value,
    pub expires: Moment,
}

impl Properties {
    pub(crate) fn new(core: &Arc<Core>, at: Option<&Snapshot>, entry: Id, now: Moment) -> Self {
        let cursor = core.tables.properties_of(at, entry, "");
        Self { core: Arc::clone(core), cursor, now }
    }

    /// Returns the next property that has not expired.
    pub(crate) fn next_property(&mut self) -> Result<Option<Property>> {
        while let Some(row) = self.cursor.next_row()? {
            let Some(lode::Value::Text(name)) = row.get("name") else { continue };
            let stored = self.core.unpack(row.payload(), name)?;
            if !self.core.has_expired_at(stored.expires, self.now) {
                let value = stored.value.to_value();
                let expires = stored.expires;
                return Ok(Some(Property { name: name.into(), value, expires }));
            }
        }
        Ok(None)
    }

    /// Returns only the names.
    pub(crate) fn names(mut self) -> Result<Vec<String>> {
        let mut names = Vec::new();
        while let Some(row) = self.cursor.next_row()? {
            if let Some(lode::Value::Text(name)) = row.get("name")
                && let Some(lode::Value::Timestamp(expires)) = row.get("expires_at")
                && !self.core.has_expired_at(Moment(expires), self.now)
            {
                names.push(name.into());
            }
        }
        Ok(names)
    }
}

impl Iterator for Properties {
    type Item = Result<(String, Value)>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.next_property().transpose()?;
        Some(next.map(|property| (property.name, property.value)))
    }
}
