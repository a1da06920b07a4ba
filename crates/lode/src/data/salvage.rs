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
    /// Opens a data file to read what is left of it. If the newest catalogue is lost, all is as of
    /// the checkpoint before, whose pages have other checksums if they were overwritten since.
    ///
    /// # Errors
    /// The fault of the newest catalogue, if no other can be read either; `Corrupt` without a
    /// superblock; `UnfinishedBackup`; `Version`.
    pub(crate) fn open_damaged(file: Box<dyn File>) -> Result<Damaged> {
        let (newest_first, is_one_lost) = Superblock::read_all(&*file)?;
        if newest_first[0].is_unfinished_backup {
            return Err(Error::UnfinishedBackup);
        }
        let mut faults = Vec::new();
        if is_one_lost {
            let why = "a superblock is lost; if it was the newer one, so is what was written since";
            faults.push(why.into());
        }
        let mut first_error = None;
        for superblock in newest_first {
            let mut map = PageMap::open(superblock.map);
            match superblock.load_whole_catalogue(&*file, &mut map) {
                Ok(catalogue) => {
                    let data = Self::new(file, State::new(map, Slots::default()));
                    return Ok(Damaged { data, superblock, catalogue, faults });
                }
                Err(error) => {
                    faults.push(format!("{error}; all is as of the one before"));
                    first_error.get_or_insert(error);
                }
            }
        }
        Err(first_error.expect("a data file that is opened has a superblock"))
    }
}
