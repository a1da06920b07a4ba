//! Numbers as texts that have their order: a prefix that all share, then hexadecimal digits.

/// Bytes of the digits.
const DIGITS: usize = 16;

/// The text that the prefix repeats.
const PREFIX: &[u8] = b"assay:";

/// Writes a number into an area of [`DIGITS`] bytes or more.
pub(super) fn write(number: u64, area: &mut [u8]) {
    let (prefix, digits) = area.split_at_mut(area.len() - DIGITS);
    for (byte, letter) in prefix.iter_mut().zip(PREFIX.iter().cycle()) {
        *byte = *letter;
    }
    for (at, digit) in digits.iter_mut().enumerate() {
        let nibble = number >> (4 * (DIGITS - 1 - at)) & 15;
        *digit = b"0123456789abcdef"[nibble as usize];
    }
}

/// Returns the number at the end of an area, whatever its prefix is.
pub(super) fn read(area: &[u8]) -> Option<u64> {
    let digits = area.last_chunk::<DIGITS>()?;
    u64::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()
}
