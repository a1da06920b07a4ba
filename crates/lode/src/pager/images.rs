//! The memory of page images: separate frames, which are given back to the operating system when
//! images go.

use std::sync::{Arc, Mutex, OnceLock};

use super::lock;
use super::memory::ImageFrames;
use super::page::{Image, PageMut, PageRef};

/// Images that keep their memory after they have gone, for the next ones: 1 MiB.
const MOST_WARM: usize = 64;

/// Memory for page images.
pub(super) struct Images {
    /// `None` if the operating system has no addresses for it; then images are on the heap.
    frames: OnceLock<Option<ImageFrames>>,
    count: u32,
    free: Mutex<Free>,
}

/// The frames that have no image.
#[derive(Default)]
struct Free {
    /// The first one that was never used.
    next: u32,
    /// The frames that still have memory, and those that have lost it.
    warm: Vec<u32>,
    cold: Vec<u32>,
}

impl Images {
    /// Creates memory for `count` images, which is asked for when the first one needs it.
    pub(super) fn new(count: u32) -> Self {
        Self { frames: OnceLock::new(), count, free: Mutex::default() }
    }

    fn frames(&self) -> Option<&ImageFrames> {
        self.frames.get_or_init(|| ImageFrames::new(self.count).ok()).as_ref()
    }

    fn take(&self) -> Option<u32> {
        let mut free = lock(&self.free);
        if let Some(frame) = free.warm.pop() {
            return Some(frame);
        }
        if let Some(frame) = free.cold.pop() {
            return Some(frame);
        }
        let next = free.next;
        free.next += u32::from(next < self.count);
        (next < self.count).then_some(next)
    }

    fn give(&self, frame: u32) {
        let mut free = lock(&self.free);
        debug_assert!(frame < free.next, "image frame {frame} was taken before");
        let all = free.warm.len() + free.cold.len();
        debug_assert!(all < free.next as usize, "an image frame is given back once");
        if free.warm.len() < MOST_WARM {
            return free.warm.push(frame);
        }
        drop(free);
        self.frames().into_iter().for_each(|frames| frames.give_back(frame));
        lock(&self.free).cold.push(frame);
    }
}

/// An image of a page.
pub(super) enum PageImage {
    /// An image in a frame of this memory.
    Frame(Arc<Images>, u32),
    /// An image on the heap.
    Alone(Image),
}

impl PageImage {
    /// Copies a page.
    pub(super) fn of(images: &Arc<Images>, words: PageRef<'_>) -> Self {
        let Some((frames, frame)) = images.frames().zip(images.take()) else {
            return Self::Alone(Image::of(words));
        };
        PageMut::new(frames.words(frame)).copy_from(words);
        Self::Frame(Arc::clone(images), frame)
    }

    /// Returns the content of the image.
    pub(super) fn words(&self) -> PageRef<'_> {
        match self {
            Self::Frame(images, frame) => {
                images.frames().expect("they were there when it was made").words(*frame)
            }
            Self::Alone(image) => image.words(),
        }
    }
}

impl Drop for PageImage {
    fn drop(&mut self) {
        if let Self::Frame(images, frame) = self {
            images.give(*frame);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_keep_what_was_copied_and_their_frames_are_used_again() {
        const COUNT: u32 = 100;
        let images = Arc::new(Images::new(COUNT));
        for round in 0..3 {
            let copies: Vec<_> = (0..u64::from(COUNT) + 10)
                .map(|number| {
                    let mut page = Image::empty();
                    page.words_mut().set(7, number + round);
                    PageImage::of(&images, page.words())
                })
                .collect();
            let alone = copies.iter().filter(|copy| matches!(copy, PageImage::Alone(_))).count();
            assert_eq!(alone, 10, "what has no frame lies by itself");
            for (number, copy) in (0..).zip(&copies) {
                assert_eq!(copy.words().get(7), number + round);
            }
        }
    }
}
