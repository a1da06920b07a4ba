//! The buffer that a payload is copied to.

/// A buffer of the caller.
pub(crate) trait Buffer {
    /// Returns room for `size` bytes; `None` if the buffer has not as much.
    fn of_size(&mut self, size: usize) -> Option<&mut [u8]>;
}

impl Buffer for Vec<u8> {
    fn of_size(&mut self, size: usize) -> Option<&mut [u8]> {
        self.resize(size, 0);
        Some(self)
    }
}

impl Buffer for [u8] {
    #[inline(always)]
    fn of_size(&mut self, size: usize) -> Option<&mut [u8]> {
        (self.len() == size).then_some(self)
    }
}
