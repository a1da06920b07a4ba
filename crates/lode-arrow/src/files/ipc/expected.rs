//! Checks of the layout that a file claims, for one that the library reads as it is meant: the
//! library does not look at all of it, and panics at some.

use std::collections::HashSet;

use arrow_ipc::{Endianness, Field, Int, Schema, Type};

use super::claims::message_of;
use crate::error::{Error, Result};

/// Refuses a file whose values have another order of bytes, or columns of types that are not known.
pub(super) fn expect_readable(schema: &Schema<'_>) -> Result<()> {
    if schema.endianness() != Endianness::Little {
        return Err(Error::Format(
            "its values have their bytes in the other order (big-endian), which Lode does not read"
                .into(),
        ));
    }
    schema.fields().iter().flatten().try_for_each(|field| expect_known(&field))
}

/// Refuses a column of a type that is not known.
fn expect_known(field: &Field<'_>) -> Result<()> {
    let no = |what: String| {
        let name = field.name().unwrap_or_default();
        Err(Error::Format(format!("column {name} has {what}, which Lode does not read").into()))
    };
    let strange = |int: Option<Int<'_>>| {
        int.map(|int| int.bitWidth()).filter(|bits| ![8, 16, 32, 64].contains(bits))
    };
    let indices = field.dictionary().and_then(|dictionary| dictionary.indexType());
    if let Some(bits) = strange(field.type_as_int()).or_else(|| strange(indices)) {
        return no(format!("integers of {bits} bits"));
    }
    let bits = field.type_as_decimal().map(|decimal| decimal.bitWidth());
    if let Some(bits) = bits.filter(|bits| ![32, 64, 128, 256].contains(bits)) {
        return no(format!("decimals of {bits} bits"));
    }
    match field.type_type() {
        Type::NONE => no("no type".into()),
        kind if kind.variant_name().is_none() => no(format!("type {}, which is not known", kind.0)),
        _ => field.children().iter().flatten().try_for_each(|child| expect_known(&child)),
    }
}

/// The dictionaries of a file. Batches before a dictionary that replaces another would be read with
/// the new one: the format allows only dictionaries that are added to.
#[derive(Default)]
pub(super) struct Dictionaries {
    ids: HashSet<i64>,
}

impl Dictionaries {
    /// Adds the dictionary that a message describes.
    pub(super) fn add(&mut self, metadata: &[u8]) -> Result<()> {
        let message = message_of(metadata);
        let batch = message.and_then(|message| message.header_as_dictionary_batch());
        match batch {
            Some(batch) if !self.ids.insert(batch.id()) && !batch.isDelta() => {
                Err(Error::Format("it replaces a dictionary, which Lode does not read".into()))
            }
            _ => Ok(()),
        }
    }
}
