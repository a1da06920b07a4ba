//! Open file descriptions, and which of them still have to hear of a failed synchronisation: Linux
//! tells each that was open then, once (`errseq_t`, since 4.13). After a write with `O_DSYNC` the
//! kernel asks for a synchronisation of the whole file, which belongs to the write.

use std::collections::HashMap;

use crate::volume::Ino;

/// An open file description.
#[derive(Clone, Copy, Debug)]
struct Description {
    ino: Ino,
    /// True if a synchronisation of its file failed and it has not heard of that.
    is_owed: bool,
    /// True if a write with `O_DSYNC` was synchronised, which the kernel will ask for once more.
    is_written: bool,
}

/// The open file descriptions by their numbers.
#[derive(Debug, Default)]
pub(crate) struct Descriptions {
    open: HashMap<u64, Description>,
    last: u64,
}

impl Descriptions {
    /// Adds a description of a file and returns its number.
    pub(crate) fn open(&mut self, ino: Ino) -> u64 {
        self.last += 1;
        self.open.insert(self.last, Description { ino, is_owed: false, is_written: false });
        self.last
    }

    pub(crate) fn close(&mut self, number: u64) {
        self.open.remove(&number);
    }

    /// Notes that a synchronisation of a file failed.
    pub(crate) fn fail(&mut self, ino: Ino) {
        let of_file = self.open.values_mut().filter(|description| description.ino == ino);
        of_file.for_each(|description| description.is_owed = true);
    }

    /// Reports failures to a description. Returns true if some were new to it.
    pub(crate) fn hear(&mut self, number: u64) -> bool {
        let description = self.open.get_mut(&number);
        description.is_some_and(|description| std::mem::take(&mut description.is_owed))
    }

    /// Notes that a write with `O_DSYNC` was synchronised.
    pub(crate) fn write(&mut self, number: u64) {
        if let Some(description) = self.open.get_mut(&number) {
            description.is_written = true;
        }
    }

    /// Returns true if a synchronisation belongs to the write before it.
    pub(crate) fn ends_write(&mut self, number: u64) -> bool {
        let description = self.open.get_mut(&number);
        description.is_some_and(|description| std::mem::take(&mut description.is_written))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_description_that_was_open_hears_of_a_failure_once() {
        let mut all = Descriptions::default();
        let [one, two, other, closed] = [2, 2, 3, 2].map(|ino| all.open(ino));
        all.close(closed);
        all.fail(2);
        all.fail(2);
        let late = all.open(2);
        let mut hears = |number| [all.hear(number), all.hear(number)];
        assert_eq!((hears(one), hears(two)), ([true, false], [true, false]));
        assert_eq!([other, closed, late].map(|number| hears(number)[0]), [false; 3]);
    }
}
