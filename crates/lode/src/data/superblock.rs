//! The superblocks: so few bytes that the disk writes them whole. Each has two copies, 128 KiB
//! apart, so that damage to the slots around one does not lose it.

use super::map::PageMap;
use super::{PageNumber, Ref, SLOT_BYTES, checksum, read_twice};
use crate::codec::{Reader, Writer};
use crate::error::{Error, Result};
use crate::io::File;

const MAGIC: &[u8; 8] = b"LodeData";

/// The format of the files.
pub(super) const FORMAT: u32 = 1;

/// The slots of the copies of the superblock with an even generation; the copies of the other one
/// are in the slots after them.
pub(super) const COPIES_AT: [u32; 2] = [0, 8];

/// Bytes of a superblock; its checksum comes after them.
const BYTES: usize = 480;

/// The most lanes of the log.
const LANES: usize = 16;

const _: () = assert!(BYTES + 8 <= 512, "a disk writes a superblock whole");
const _: () = assert!(COPIES_AT[0] + 2 <= COPIES_AT[1], "generations do not share a slot");

/// A place in a lane of the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LanePlace {
    pub segment: u64,
    pub at: u64,
    /// The checksum and the order of the frame before.
    pub chain: u32,
    pub order: u64,
}

impl LanePlace {
    /// Bytes that a number has in the places of all lanes but the first.
    const NUMBER_BYTES: usize = 6;

    fn write(&self, writer: &mut Writer) {
        for number in [self.segment, self.at, self.order] {
            let all = number.to_le_bytes();
            let (bytes, rest) = all.split_at(Self::NUMBER_BYTES);
            debug_assert_eq!(rest, [0; 2], "no lane has the number {number}");
            writer.bytes(bytes);
        }
        writer.u32(self.chain).bytes(&[0; 2]);
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let mut number = || {
            let mut bytes = [0; 8];
            bytes[..Self::NUMBER_BYTES].copy_from_slice(reader.bytes(Self::NUMBER_BYTES)?);
            Ok(u64::from_le_bytes(bytes))
        };
        let segment = number()?;
        let at = number()?;
        let order = number()?;
        let chain = reader.u32()?;
        reader.bytes(2)?;
        Ok(Self { segment, at, chain, order })
    }
}

/// A superblock: the current state of the database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Superblock {
    /// Counts checkpoints; of two superblocks the one with the higher number counts.
    pub generation: u64,
    /// The database, so that files of different ones are not mixed up.
    pub database: u64,
    /// The root of the page map.
    pub map: Ref,
    /// Pages of the catalogue, from number 0 on, and the number of their bytes that are the
    /// catalogue; the bits of the used slots come after it.
    pub catalogue_pages: u32,
    pub catalogue_bytes: u64,
    /// Slots of the file.
    pub slots: u32,
    /// The places from which recovery reads the lanes of the log; all zeros for one that there is
    /// not.
    pub lanes: [LanePlace; LANES],
    /// The known end of the first lane as far as it is synced: a segment, and a position in it.
    pub synced_segment: u64,
    pub synced_at: u64,
    /// True if nothing was written after this checkpoint, when the database was closed.
    pub is_clean: bool,
    /// True if it was made while the log was being replayed: nothing was promised after it, so the
    /// segment may be missing.
    pub is_recovering: bool,
    /// True in a backup that has not all pages yet.
    pub is_unfinished_backup: bool,
    /// The database that this is a backup of; 0 if it is none, or was opened for writing since.
    pub backup_of: u64,
}

const CLEAN: u32 = 1;
const RECOVERING: u32 = 2;
const UNFINISHED_BACKUP: u32 = 4;

impl Superblock {
    fn to_bytes(self) -> Vec<u8> {
        let mut writer = Writer::default();
        writer.bytes(MAGIC).u32(FORMAT).u32(SLOT_BYTES as u32);
        writer.u64(self.generation).u64(self.database);
        let [location, sum] = self.map.to_words();
        writer.u64(location).u64(sum);
        writer.u64(self.catalogue_bytes).u32(self.catalogue_pages).u32(self.slots);
        let [first, others @ ..] = &self.lanes;
        writer.u64(first.segment).u64(first.at);
        let flag = |is_set: bool, flag: u32| if is_set { flag } else { 0 };
        let flags = flag(self.is_clean, CLEAN)
            | flag(self.is_recovering, RECOVERING)
            | flag(self.is_unfinished_backup, UNFINISHED_BACKUP);
        writer.u32(first.chain).u32(flags);
        writer.u64(self.synced_segment).u64(self.synced_at).u64(self.backup_of);
        writer.u64(first.order);
        others.iter().for_each(|lane| lane.write(&mut writer));
        debug_assert_eq!(writer.0.len(), BYTES);
        let sum = checksum(&writer.0, 0);
        writer.u64(sum);
        writer.0
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let corrupt = |why| Error::corrupt("a superblock of file data", why);
        let (front, sum) = bytes.split_at(BYTES);
        if !front.starts_with(MAGIC) {
            return Err(corrupt("it does not begin as one of Lode"));
        }
        let mut reader = Reader::new(&front[MAGIC.len()..], "a superblock");
        let format = reader.u32()?;
        let place_bytes = reader.u32()?;
        // Before the checksum: its position in another format is not known.
        if format != FORMAT {
            return Err(Error::Version { found: format, known: FORMAT });
        }
        if sum != checksum(front, 0).to_le_bytes() {
            return Err(corrupt("its checksum does not fit"));
        }
        if place_bytes as usize != SLOT_BYTES {
            return Err(corrupt("its pages have another size"));
        }
        let mut superblock = Self {
            generation: reader.u64()?,
            database: reader.u64()?,
            map: Ref::from_words(reader.u64()?, reader.u64()?),
            catalogue_bytes: reader.u64()?,
            catalogue_pages: reader.u32()?,
            slots: reader.u32()?,
            ..Self::default()
        };
        let first = &mut superblock.lanes[0];
        (first.segment, first.at, first.chain) = (reader.u64()?, reader.u64()?, reader.u32()?);
        let flags = reader.u32()?;
        superblock.is_clean = flags & CLEAN != 0;
        superblock.is_recovering = flags & RECOVERING != 0;
        superblock.is_unfinished_backup = flags & UNFINISHED_BACKUP != 0;
        superblock.synced_segment = reader.u64()?;
        superblock.synced_at = reader.u64()?;
        superblock.backup_of = reader.u64()?;
        superblock.lanes[0].order = reader.u64()?;
        for lane in &mut superblock.lanes[1..] {
            *lane = LanePlace::read(&mut reader)?;
        }
        if superblock.is_plausible() {
            Ok(superblock)
        } else {
            Err(corrupt("it has numbers that none has"))
        }
    }

    /// Returns true if its numbers are in bounds, so that computing with them is safe. The checksum
    /// proves that they were written, but not by which program.
    fn is_plausible(&self) -> bool {
        /// More than any log will have, in segments or bytes of one, and more than checkpoints.
        const MOST: u64 = 1 << 48;
        let lanes = self.lanes.iter().flat_map(|lane| [lane.segment, lane.at, lane.order]);
        let others = [self.synced_segment, self.synced_at, self.generation, self.catalogue_bytes];
        let mut numbers = lanes.chain(others);
        numbers.all(|number| number < MOST)
            && self.catalogue_pages <= self.slots.min(PageNumber::FIRST_OF_TABLES.get())
    }

    /// Reads the newest superblock that is whole.
    ///
    /// # Errors
    /// `Version` if two copies are of another format, or one, and none of this format is whole. A
    /// single one may be damaged. `Io` if one cannot be read, and its other copy is not whole.
    pub(crate) fn read(file: &dyn File) -> Result<Self> {
        let mut newest = None::<Self>;
        let mut wrong = None;
        let mut other_formats = 0;
        for generation in 0..2 {
            let copies = Self::copies_of(generation).map(|at| Self::read_copy(file, at));
            let copies: Vec<_> = copies.collect();
            let has_whole = copies.iter().any(Result::is_ok);
            for copy in copies {
                match copy {
                    Ok(found) if newest.is_none_or(|other| found.generation > other.generation) => {
                        newest = Some(found);
                    }
                    Ok(_) => {}
                    Err(Error::Io { .. }) if has_whole => {}
                    Err(error @ Error::Io { .. }) => return Err(error),
                    Err(error @ Error::Version { .. }) => {
                        other_formats += 1;
                        wrong = Some(error);
                    }
                    Err(error) => wrong = wrong.filter(|_| other_formats > 0).or(Some(error)),
                }
            }
        }
        match (newest, wrong) {
            (Some(newest), _) if other_formats < 2 => Ok(newest),
            (_, wrong) => Err(wrong.expect("one of them is not whole, or of another format")),
        }
    }

    /// Reads all superblocks that are whole, the newest first. Returns true, too, if of one of the
    /// two no copy is whole, though it was written.
    ///
    /// # Errors
    /// Those of [`read`](Self::read), if no copy is whole.
    pub(super) fn read_all(file: &dyn File) -> Result<(Vec<Self>, bool)> {
        let mut found = Vec::<Self>::new();
        let mut wrong = None;
        let mut is_one_lost = false;
        for generation in 0..2 {
            let before = found.len();
            for copy in Self::copies_of(generation).map(|at| Self::read_copy(file, at)) {
                match copy {
                    Ok(superblock) => found.push(superblock),
                    // A single copy may be damaged.
                    Err(error @ Error::Version { .. }) => wrong = Some(error),
                    Err(error) => wrong = wrong.or(Some(error)),
                }
            }
            let mut places = Self::copies_of(generation);
            is_one_lost |= found.len() == before && !places.all(|at| is_blank(file, at));
        }
        found.sort_by_key(|superblock| std::cmp::Reverse(superblock.generation));
        found.dedup_by_key(|superblock| superblock.generation);
        match wrong {
            Some(error) if found.is_empty() => Err(error),
            _ => Ok((found, is_one_lost)),
        }
    }

    fn read_copy(file: &dyn File, at: u64) -> Result<Self> {
        let mut bytes = [0; BYTES + 8];
        match file.read_at(at, &mut bytes) {
            Ok(()) => Self::from_bytes(&bytes),
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
                Err(Error::corrupt("a superblock of file data", "the file ends before it"))
            }
            Err(error) => Err(Error::io("read a superblock of file data", &error)),
        }
    }

    /// Returns true if the bytes of superblocks are all zeros: none was ever written.
    pub(crate) fn is_blank(file: &dyn File) -> Result<bool> {
        for at in (0..2).flat_map(Self::copies_of) {
            let mut bytes = [0; BYTES + 8];
            match file.read_at(at, &mut bytes) {
                Ok(()) if bytes.iter().any(|byte| *byte != 0) => return Ok(false),
                Ok(()) => {}
                Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {}
                Err(error) => return Err(Error::io("read a superblock of file data", &error)),
            }
        }
        Ok(true)
    }

    /// Writes the superblock over the older one.
    pub(super) fn write(&self, file: &dyn File) -> Result<()> {
        assert!(self.is_plausible(), "a superblock that is refused is not written: {self:?}");
        let bytes = self.to_bytes();
        Self::copies_of(self.generation)
            .try_for_each(|at| file.write_at(at, &bytes))
            .map_err(|error| Error::io("write a superblock to file data", &error))
    }

    /// Returns the offsets of the copies of a generation's superblock.
    fn copies_of(generation: u64) -> impl Iterator<Item = u64> {
        COPIES_AT
            .into_iter()
            .map(move |slot| (u64::from(slot) + generation % 2) * SLOT_BYTES as u64)
    }

    /// Loads the pages that have the catalogue and the bits of used slots, one after another: the
    /// superblock may claim more than the file has.
    pub(super) fn load_catalogue(&self, file: &dyn File, map: &mut PageMap) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let mut page_bytes = vec![0; SLOT_BYTES];
        for page in PageNumber::default().run(self.catalogue_pages) {
            let at = map.get(file, page)?;
            let what = || format!("page {page} of the catalogue");
            if !at.is_some() {
                return Err(Error::corrupt(what(), "it is nowhere in file data"));
            }
            read_twice(file, at, page.word(), &mut page_bytes, what)?;
            bytes.extend_from_slice(&page_bytes);
        }
        Ok(bytes)
    }

    /// Reads the catalogue by a page map that may be damaged.
    pub(super) fn load_whole_catalogue(
        &self,
        file: &dyn File,
        map: &mut PageMap,
    ) -> Result<Vec<u8>> {
        let bytes = self.load_catalogue(file, map)?;
        Ok(self.split_catalogue(&bytes)?.0.to_vec())
    }

    /// Splits `bytes` into the catalogue and the bits of used slots.
    pub(super) fn split_catalogue(self, bytes: &[u8]) -> Result<(&[u8], &[u8])> {
        let corrupt = || Error::corrupt("the catalogue", "it is shorter than it should be");
        let size = usize::try_from(self.catalogue_bytes).map_err(|_| corrupt())?;
        let (catalogue, rest) = bytes.split_at_checked(size).ok_or_else(corrupt)?;
        let used = rest.get(..(self.slots as usize).div_ceil(64) * 8).ok_or_else(corrupt)?;
        Ok((catalogue, used))
    }
}

/// Returns true if the bytes of a superblock are all zeros, or behind the end of the file.
fn is_blank(file: &dyn File, at: u64) -> bool {
    let mut bytes = [0; BYTES + 8];
    match file.read_at(at, &mut bytes) {
        Ok(()) => bytes.iter().all(|byte| *byte == 0),
        Err(error) => error.kind() == std::io::ErrorKind::UnexpectedEof,
    }
}
