//! The content of a file: its size, and the written pages. All other bytes are zeros.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use xxhash_rust::xxh3::Xxh3;

pub(crate) const PAGE_BYTES: usize = 4096;

type Page = [u8; PAGE_BYTES];

/// A sparse file. Copies share their pages until one of them writes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Image {
    size_bytes: u64,
    pages: BTreeMap<u64, Arc<Page>>,
}

impl Image {
    /// Returns the size of the file.
    pub fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// Returns the bytes that the pages take.
    pub fn allocated_bytes(&self) -> u64 {
        (self.pages.len() * PAGE_BYTES) as u64
    }

    /// Returns true if the file has a page for its bytes, so that it is no hole.
    pub(crate) fn has(&self, page: u64) -> bool {
        self.pages.contains_key(&page)
    }

    /// Returns at most `len` bytes from `offset` on, not past the end.
    pub fn read(&self, offset: u64, len: usize) -> Vec<u8> {
        let left = usize::try_from(self.size_bytes.saturating_sub(offset)).unwrap_or(usize::MAX);
        let mut bytes = vec![0; len.min(left)];
        for (page, at, range) in pieces(offset, bytes.len()) {
            if let Some(found) = self.pages.get(&page) {
                let len = range.len();
                bytes[range].copy_from_slice(&found[at..at + len]);
            }
        }
        bytes
    }

    /// Adds size and content to a digest; a page of zeros is as a hole.
    pub(crate) fn digest(&self, hasher: &mut Xxh3) {
        hasher.update(&self.size_bytes.to_le_bytes());
        for (page, content) in &self.pages {
            if content.iter().any(|byte| *byte != 0) {
                hasher.update(&page.to_le_bytes());
                hasher.update(&content[..]);
            }
        }
        hasher.update(&u64::MAX.to_le_bytes());
    }

    /// Writes the image to an empty file of a real disk, with its holes.
    pub(crate) fn write_to(&self, file: &File) -> io::Result<()> {
        file.set_len(self.size_bytes)?;
        for (page, content) in &self.pages {
            let offset = page * PAGE_BYTES as u64;
            let left = usize::try_from(self.size_bytes.saturating_sub(offset));
            let len = left.unwrap_or(PAGE_BYTES).min(PAGE_BYTES);
            file.write_all_at(&content[..len], offset)?;
        }
        Ok(())
    }

    /// Writes `bytes` at `offset`, and grows the file if need be.
    pub fn write(&mut self, offset: u64, bytes: &[u8]) {
        for (page, at, range) in pieces(offset, bytes.len()) {
            let page = self.pages.entry(page).or_insert_with(|| Arc::new([0; PAGE_BYTES]));
            let len = range.len();
            Arc::make_mut(page)[at..at + len].copy_from_slice(&bytes[range]);
        }
        if !bytes.is_empty() {
            self.size_bytes = self.size_bytes.max(offset + bytes.len() as u64);
        }
    }

    /// Fills a range with zeros, as far as the file reaches; its size stays.
    pub fn zero(&mut self, offset: u64, len: u64) {
        let end = offset.saturating_add(len).min(self.size_bytes);
        let mut at = offset;
        while at < end {
            let page = at / PAGE_BYTES as u64;
            let from = (at % PAGE_BYTES as u64) as usize;
            let count = (PAGE_BYTES - from).min(usize::try_from(end - at).unwrap_or(PAGE_BYTES));
            if count == PAGE_BYTES {
                self.pages.remove(&page);
            } else if let Some(found) = self.pages.get_mut(&page) {
                Arc::make_mut(found)[from..from + count].fill(0);
            }
            at += count as u64;
        }
    }

    /// Cuts the file off, or grows it by zeros.
    pub fn resize(&mut self, size_bytes: u64) {
        if size_bytes < self.size_bytes {
            let first_gone = size_bytes.div_ceil(PAGE_BYTES as u64);
            self.pages.split_off(&first_gone);
            let rest = first_gone * PAGE_BYTES as u64 - size_bytes;
            self.zero(size_bytes, rest);
        }
        self.size_bytes = size_bytes;
    }
}

/// Returns the pages of a range: number, place in the page, and the range's bytes in it.
fn pieces(offset: u64, len: usize) -> impl Iterator<Item = (u64, usize, std::ops::Range<usize>)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        (done < len).then(|| {
            let position = offset + done as u64;
            let at = (position % PAGE_BYTES as u64) as usize;
            let count = (PAGE_BYTES - at).min(len - done);
            let range = done..done + count;
            done += count;
            (position / PAGE_BYTES as u64, at, range)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Clone, Debug)]
    enum Step {
        Write(u64, Vec<u8>),
        Zero(u64, u64),
        Resize(u64),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let place = 0..20_000u64;
        let step = prop_oneof![
            (place.clone(), prop::collection::vec(any::<u8>(), 0..9_000))
                .prop_map(|(offset, bytes)| Step::Write(offset, bytes)),
            (place.clone(), 0..9_000u64).prop_map(|(offset, len)| Step::Zero(offset, len)),
            place.prop_map(Step::Resize),
        ];
        prop::collection::vec(step, 1..30)
    }

    proptest! {
        #[test]
        fn it_is_a_file(steps in steps()) {
            let mut image = Image::default();
            let mut model = Vec::new();
            for step in steps {
                match step {
                    Step::Write(offset, bytes) => {
                        image.write(offset, &bytes);
                        let end = offset as usize + bytes.len();
                        if !bytes.is_empty() {
                            model.resize(model.len().max(end), 0);
                            model[offset as usize..end].copy_from_slice(&bytes);
                        }
                    }
                    Step::Zero(offset, len) => {
                        image.zero(offset, len);
                        let end = model.len().min((offset + len) as usize);
                        let from = (offset as usize).min(end);
                        model[from..end].fill(0);
                    }
                    Step::Resize(size) => {
                        image.resize(size);
                        model.resize(size as usize, 0);
                    }
                }
                prop_assert_eq!(image.size_bytes(), model.len() as u64);
                prop_assert_eq!(&image.read(0, 40_000), &model);
                prop_assert_eq!(&image.read(4_000, 5_000)[..],
                    &model[model.len().min(4_000)..model.len().min(9_000)]);
            }
        }
    }
}
