//! Deletion vectors: which rows of a file are deleted ("Deletion Vectors" and "Deletion Vector
//! Format" in the protocol).

use std::io::{self, Read};

use arrow_array::{BooleanArray, RecordBatch};
use arrow_buffer::BooleanBuffer;
use arrow_select::filter::filter_record_batch;
use roaring::{RoaringBitmap, RoaringTreemap};

use crate::actions::DeletionVector;
use crate::error::Result;
use crate::files::{Files, Spot};
use crate::id::Id;

/// The first bytes of a vector.
const MAGIC: [u8; 4] = 1_681_511_377u32.to_le_bytes();

/// The first bytes of a vector in an older layout, in which the protocol has an example.
const OLDER_MAGIC: [u8; 4] = 1_681_511_376u32.to_be_bytes();

/// The first byte of a file of vectors.
const FILE_VERSION: u8 = 1;

/// Bytes of a size or of a checksum, next to a vector in a file.
const NUMBER_BYTES: u64 = 4;

/// The characters of a UUID in base 85.
const UUID_LENGTH: usize = 20;

/// The rows of a file that are deleted, by their places in it.
pub(crate) struct DeletedRows {
    places: RoaringTreemap,
    /// The number of rows of the file that were looked at.
    seen: u64,
}

impl DeletedRows {
    /// Reads a vector. `table_file` is the file whose rows it deletes, for errors.
    pub(crate) fn read(files: &Files, table_file: &str, vector: &DeletionVector) -> Result<Self> {
        let damaged =
            |why: String| files.damaged(format!("file {table_file}: its deletion vector: {why}"));
        let bytes = match name(vector).map_err(damaged)? {
            None => inline(vector).map_err(damaged)?,
            Some(name) => {
                // A relative name is not percent-encoded.
                let spot = match vector.storage_type.as_str() {
                    "u" => Spot::Below(name.clone()),
                    _ => files.spot(&name)?,
                };
                stored(files, &spot, vector)?.map_err(|why| damaged(format!("{name}: {why}")))?
            }
        };
        let places = decoded(&bytes, vector).map_err(damaged)?;
        Ok(Self { places, seen: 0 })
    }

    /// Returns the last row that is deleted.
    pub(crate) fn last(&self) -> Option<u64> {
        self.places.max()
    }

    /// Returns the places of the rows that are deleted.
    pub(crate) fn into_places(self) -> RoaringTreemap {
        self.places
    }

    /// Returns the rows of the next batch of the file that are not deleted.
    pub(crate) fn keep(&mut self, batch: &RecordBatch) -> lode_arrow::Result<RecordBatch> {
        let first = self.seen;
        self.seen += batch.num_rows() as u64;
        let is_kept = |row: usize| !self.places.contains(first + row as u64);
        let kept = BooleanArray::from(BooleanBuffer::collect_bool(batch.num_rows(), is_kept));
        Ok(filter_record_batch(batch, &kept)?)
    }
}

/// A file of deletion vectors, as it is written.
pub(crate) struct VectorFile {
    id: Id,
    bytes: Vec<u8>,
}

impl VectorFile {
    pub(crate) fn new() -> Self {
        Self { id: Id::random(), bytes: vec![FILE_VERSION] }
    }

    /// Adds the vector that deletes the rows at some places of a file; returns what the log has of
    /// it.
    pub(crate) fn add(&mut self, places: &RoaringTreemap) -> DeletionVector {
        let mut vector = MAGIC.to_vec();
        places.serialize_into(&mut vector).expect("a vector takes everything");
        let offset = self.bytes.len() as u32;
        let size = vector.len() as u32;
        self.bytes.extend(size.to_be_bytes());
        self.bytes.extend(&vector);
        self.bytes.extend(crc32fast::hash(&vector).to_be_bytes());
        DeletionVector {
            storage_type: "u".into(),
            path_or_inline_dv: z85::encode(self.id.to_bytes()),
            offset: Some(offset),
            size_in_bytes: size,
            cardinality: places.len(),
        }
    }

    /// Returns the name of the file and its bytes; `None` if it has no vector.
    pub(crate) fn finish(self) -> Option<(String, Vec<u8>)> {
        let has_vectors = self.bytes.len() > 1;
        has_vectors.then(|| (file_name(self.id), self.bytes))
    }
}

/// Returns the name of the file of a vector; `None` if it is in the log itself.
fn name(vector: &DeletionVector) -> Result<Option<String>, String> {
    let text = &vector.path_or_inline_dv;
    match vector.storage_type.as_str() {
        "i" => Ok(None),
        "p" => Ok(Some(text.clone())),
        "u" => {
            let relative = || {
                let (prefix, id) = text.split_at_checked(text.len().checked_sub(UUID_LENGTH)?)?;
                let id = Id::of_bytes(&base85(id).ok()?)?;
                let folder = if prefix.is_empty() { "" } else { "/" };
                Some(format!("{prefix}{folder}{}", file_name(id)))
            };
            relative().map(Some).ok_or_else(|| format!("{text:?} names no file"))
        }
        other => Err(format!("there is no storage type {other:?}")),
    }
}

/// Returns the name of a file of vectors.
fn file_name(id: Id) -> String {
    format!("deletion_vector_{id}.bin")
}

fn base85(text: &str) -> Result<Vec<u8>, String> {
    z85::decode(text).map_err(|error| format!("it is not in base 85: {error}"))
}

/// Returns the bytes of a vector in the log. They are filled up to whole groups of four.
fn inline(vector: &DeletionVector) -> Result<Vec<u8>, String> {
    let mut bytes = base85(&vector.path_or_inline_dv)?;
    let wanted = vector.size_in_bytes as usize;
    if bytes.len() != wanted.next_multiple_of(4) {
        return Err(format!("it has {} bytes and not {wanted}", bytes.len()));
    }
    bytes.truncate(wanted);
    Ok(bytes)
}

/// Returns the bytes of a vector in a file, which have their size before them and their checksum
/// after them.
fn stored(files: &Files, spot: &Spot, vector: &DeletionVector) -> Result<Result<Vec<u8>, String>> {
    let at = u64::from(vector.offset.unwrap_or(0));
    let size = u64::from(vector.size_in_bytes);
    let end = at + NUMBER_BYTES + size + NUMBER_BYTES;
    let (Some(version), Some(found)) =
        (files.read_range(spot, 0..1)?, files.read_range(spot, at..end)?)
    else {
        return Ok(Err("it is not there, or it is cut off".into()));
    };
    if version != [FILE_VERSION] {
        return Ok(Err(format!("it has format {}, which is not known", version[0])));
    }
    let number = |at: usize| Some(u32::from_be_bytes(*found.get(at..)?.first_chunk()?));
    let checksum_at = NUMBER_BYTES as usize + size as usize;
    let bytes = &found[NUMBER_BYTES as usize..checksum_at];
    Ok(match (number(0), number(checksum_at)) {
        (Some(said), _) if u64::from(said) != size => {
            Err(format!("its size at {at} is {said} and not {size}"))
        }
        (_, Some(sum)) if crc32fast::hash(bytes) == sum => Ok(bytes.to_vec()),
        _ => Err(format!("its checksum at {at} is wrong")),
    })
}

/// Returns the rows that the bytes of a vector list.
fn decoded(bytes: &[u8], vector: &DeletionVector) -> Result<RoaringTreemap, String> {
    let damaged = |error: io::Error| format!("its bitmap is damaged: {error}");
    let (places, rest) = match bytes.split_first_chunk() {
        // An empty one may have no bytes.
        None if bytes.is_empty() => (RoaringTreemap::new(), bytes),
        Some((&MAGIC, mut rest)) => {
            (RoaringTreemap::deserialize_from(&mut rest).map_err(damaged)?, rest)
        }
        Some((&OLDER_MAGIC, mut rest)) => (older(&mut rest).map_err(damaged)?, rest),
        _ => return Err("its bytes are not those of a deletion vector".into()),
    };
    if !rest.is_empty() {
        return Err(format!("{} bytes are left after its bitmap", rest.len()));
    }
    match (places.len(), vector.cardinality) {
        (found, said) if found == said => Ok(places),
        (found, said) => Err(format!("it deletes {found} rows and not {said}")),
    }
}

/// Reads the older layout: how many bitmaps there are, and each of them after its size. The first
/// is of the lowest rows.
fn older(bytes: &mut &[u8]) -> io::Result<RoaringTreemap> {
    let number = |bytes: &mut &[u8]| {
        let mut number = [0; 4];
        bytes.read_exact(&mut number).map(|()| u32::from_be_bytes(number))
    };
    let mut bitmaps = Vec::new();
    for key in 0..number(bytes)? {
        let size = number(bytes)? as usize;
        let (mut bitmap, rest) =
            bytes.split_at_checked(size).ok_or(io::ErrorKind::UnexpectedEof)?;
        bitmaps.push((key, RoaringBitmap::deserialize_from(&mut bitmap)?));
        *bytes = rest;
    }
    Ok(RoaringTreemap::from_bitmaps(bitmaps))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vector(storage_type: &str, text: &str) -> DeletionVector {
        DeletionVector {
            storage_type: storage_type.into(),
            path_or_inline_dv: text.into(),
            offset: None,
            size_in_bytes: 40,
            cardinality: 6,
        }
    }

    #[test]
    fn the_examples_of_the_protocol_say_what_it_says() {
        let inline_text = "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L";
        let vector_of_six = vector("i", inline_text);
        let bytes = inline(&vector_of_six).expect("bytes");
        let places = decoded(&bytes, &vector_of_six).expect("rows");
        assert_eq!(places.iter().collect::<Vec<_>>(), [3, 4, 7, 11, 18, 29]);
        let relative = name(&vector("u", "ab^-aqEH.-t@S}K{vb[*k^")).expect("a file");
        let wanted = "ab/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin";
        assert_eq!(relative.as_deref(), Some(wanted));
        let relative = name(&vector("u", "^-aqEH.-t@S}K{vb[*k^")).expect("a file");
        assert_eq!(relative.as_deref(), Some(&wanted[3..]));
    }

    #[test]
    fn a_vector_that_is_not_whole_is_refused() {
        let text = "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L";
        let whole = vector("i", text);
        let why = |vector: &DeletionVector| {
            let bytes = inline(vector).and_then(|bytes| decoded(&bytes, vector).map(|_| ()));
            bytes.expect_err("it is refused")
        };
        let seven = DeletionVector { cardinality: 7, ..whole.clone() };
        assert_eq!(why(&seven), "it deletes 6 rows and not 7");
        let longer = DeletionVector { size_in_bytes: 44, ..whole.clone() };
        assert_eq!(why(&longer), "it has 40 bytes and not 44");
        let other = DeletionVector { path_or_inline_dv: format!("0{}", &text[1..]), ..whole };
        assert_eq!(why(&other), "its bytes are not those of a deletion vector");
        assert_eq!(name(&vector("x", "")), Err("there is no storage type \"x\"".into()));
        assert_eq!(name(&vector("u", "short")), Err("\"short\" names no file".into()));
    }
}
