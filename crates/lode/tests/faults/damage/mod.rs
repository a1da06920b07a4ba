//! Files that are not as they were written: what comes of it is an error that says so, or the right
//! content; never another content, a panic or a hang.
//!
//! Each part of a test prints what it needs to be found again. `LODE_FLIPS=n` asks for `n` bits
//! beyond those that are always turned over.

mod bits;
mod blocks;
mod files;
mod forged;
mod frames;
mod judge;
mod lanes;
mod mixed;
mod pages;
mod superblocks;
mod unreadable;

use lode::simulation::{self, Simulated};
use lode::{Database, Durability, Error};

use crate::common::content::options;
use crate::common::known::Known;

/// Opens what is on a disk.
fn open(disk: &Simulated, random: u64) -> Result<Database, Error> {
    simulation::open(&options(Durability::Commit), disk, random)
}

impl Known {
    fn close(&mut self) {
        self.db.take().expect("it is open").close().expect("nothing is wrong with the disk");
        self.states = vec![self.content.clone()];
    }
}

/// The last place of a file that is not zero.
fn end_of(bytes: &[u8]) -> usize {
    bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1)
}
