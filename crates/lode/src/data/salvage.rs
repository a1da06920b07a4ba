//! Opening a data file that is damaged, to read what is left of it.

use super::map::PageMap;
use super::slots::Slots;
use super::{DataFile, State, Superblock};
use crate::error::{Error, Result};
use crate::io::File;

/// A damaged data file, and what could be read of its head.
pub(crate) struct Damaged {
    pub data: DataFile,
    /// The superblock whose page map counts.
    pub superblock: Superblock,
    pub catalogue: Vec<u8>,
    /// The faults that had the file opened in another way than usual.
    pub faults: Vec<String>,
}

impl DataFile {
    /// Opens a data file to read what is left of it. Where both copies of a node of the newest page
    /// map are lost, the node of the checkpoint before is taken; and so is its catalogue, if the
    /// newest is lost. A page that was written since has another checksum there, unless it was left
    /// where it is.
    ///
    /// # Errors
    /// The fault of the newest catalogue, if no other can be read either; `Corrupt` without a
    /// superblock; `UnfinishedBackup`; `Version`.
    pub(crate) fn open_damaged(file: Box<dyn File>) -> Result<Damaged> {
        let newest_first = Superblock::read_all(&*file)?;
        let superblock = newest_first[0];
        if superblock.is_unfinished_backup {
            return Err(Error::UnfinishedBackup);
        }
        let mut map = PageMap::open(superblock.map);
        let mut faults = Vec::new();
        if let Some(older) = newest_first.get(1) {
            faults = map.mend(&*file, &mut PageMap::open(older.map));
        }
        let data = Self::new(file, State::new(map, Slots::default()));
        let mut first_error = None;
        for of in &newest_first {
            match data.catalogue_of(of) {
                Ok(catalogue) => return Ok(Damaged { data, superblock, catalogue, faults }),
                Err(error) => {
                    faults.push(format!("{error}; the list of tables is of the one before"));
                    first_error.get_or_insert(error);
                }
            }
        }
        Err(first_error.expect("a data file that is opened has a superblock"))
    }

    /// Reads the catalogue of a checkpoint.
    fn catalogue_of(&self, superblock: &Superblock) -> Result<Vec<u8>> {
        let mut map = PageMap::open(superblock.map);
        let bytes = superblock.load_catalogue(&*self.file, &mut map)?;
        Ok(superblock.split_catalogue(&bytes)?.0.to_vec())
    }
}
