//! Records as lines of JSON: one object a record, with its columns in the order of the schema.
//!
//! Reading what was written gives the same record. What JSON has no form for (a float that is no
//! number, other than the usual one; text that is no UTF-8; a truth value that is neither 0 nor 1)
//! is written as `{"hex": "…"}`: the bytes that the column has in a packed record. The only thing
//! that is lost is what is in the bytes of a column that is null, which means nothing.

mod read;
mod write;

#[cfg(test)]
mod tests;

pub(crate) use read::{Fault, read};
pub(crate) use write::Writer;

/// The key of an object that holds bytes.
const HEX: &str = "hex";

/// The words for the floats that JSON has no numbers for.
const NAN: &str = "NaN";
const INFINITE: &str = "inf";
const MINUS_INFINITE: &str = "-inf";
