//! A store as it ages: windows of a phase, with what they cost in space and writes.
//!
//! Windows are steady by the rule of SNIA's Solid State Storage Performance Test Specification
//! (version 2.0.2, "Steady State"). Values of five windows range within 20 % of their mean. The
//! line that fits them best changes by at most 10 % of it.

use serde::{Deserialize, Serialize};

/// The windows of the rule.
pub const STEADY_WINDOWS: usize = 5;
/// The most that values of steady windows range, as a share of their mean.
const RANGE: f64 = 0.2;
/// The most that the line through them changes from first to last, as a share of their mean.
const SLOPE: f64 = 0.1;

/// A part of a phase, and what the store and its process were like at its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// The number of operations.
    pub operations: u64,
    /// The time on the clock; of a window without operations, the time that was waited.
    pub time_ns: u64,
    /// Bytes of keys and values in the records that are there at the end.
    pub live_bytes: u64,
    /// Bytes of keys and values that were inserted, replaced or deleted.
    pub changed_bytes: u64,
    /// Disk space of the store's files at the end; absent in memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store_bytes: Option<u64>,
    /// Bytes that were written to a device; absent where the kernel does not count them, and for
    /// stores that are on none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written_bytes: Option<u64>,
    /// The resident set of the process at the end.
    pub memory_bytes: u64,
}

impl Window {
    /// Returns the operations a second; none without time.
    pub fn rate(&self) -> Option<f64> {
        (self.time_ns > 0).then(|| self.operations as f64 * 1e9 / self.time_ns as f64)
    }

    /// Returns the space amplification at the end: bytes on disk for a byte that is live.
    pub fn space_amplification(&self) -> Option<f64> {
        let store = self.store_bytes.filter(|_| self.live_bytes > 0)?;
        Some(store as f64 / self.live_bytes as f64)
    }
}

/// Returns the write amplification of windows: bytes written to the device for a byte that changed.
pub fn write_amplification(windows: &[Window]) -> Option<f64> {
    let changed: u64 = windows.iter().map(|window| window.changed_bytes).sum();
    let written = windows.iter().map(|window| window.written_bytes).sum::<Option<u64>>()?;
    (changed > 0 && !windows.is_empty()).then(|| written as f64 / changed as f64)
}

/// Returns true if the last windows are steady in throughput, in space on disk and in memory.
pub fn is_steady(windows: &[Window]) -> bool {
    let Some(last) = windows.last_chunk::<STEADY_WINDOWS>() else { return false };
    let throughput = last.map(|window| window.rate().unwrap_or(0.0));
    let space = last.map(|window| window.store_bytes.unwrap_or(0) as f64);
    let memory = last.map(|window| window.memory_bytes as f64);
    [throughput, space, memory].iter().all(are_steady)
}

/// Returns true if values are steady by the rule.
fn are_steady(values: &[f64; STEADY_WINDOWS]) -> bool {
    let count = STEADY_WINDOWS as f64;
    let mean = values.iter().sum::<f64>() / count;
    let most = values.iter().copied().fold(f64::MIN, f64::max);
    let least = values.iter().copied().fold(f64::MAX, f64::min);
    let middle = (count - 1.0) / 2.0;
    let place = |at: usize| at as f64 - middle;
    let products = values.iter().enumerate().map(|(at, value)| place(at) * (value - mean));
    let squares: f64 = (0..STEADY_WINDOWS).map(|at| place(at) * place(at)).sum();
    let slope = products.sum::<f64>() / squares;
    most - least <= RANGE * mean && (slope * (count - 1.0)).abs() <= SLOPE * mean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_steady_within_a_fifth_and_a_slope_of_a_tenth() {
        assert!(are_steady(&[100.0; 5]));
        assert!(are_steady(&[90.0, 110.0, 100.0, 90.0, 110.0]));
        assert!(!are_steady(&[89.0, 110.0, 100.0, 90.0, 111.0]), "they range over more");
        // The line through these changes by 9 and by 11.
        assert!(are_steady(&[95.5, 97.75, 100.0, 102.25, 104.5]));
        assert!(!are_steady(&[94.5, 97.25, 100.0, 102.75, 105.5]));
        assert!(are_steady(&[0.0; 5]), "nothing stays nothing");
    }

    #[test]
    fn windows_are_steady_if_all_three_are() {
        let window = |rate: u64, store_bytes: u64, memory_bytes: u64| Window {
            operations: rate,
            time_ns: 1_000_000_000,
            store_bytes: Some(store_bytes),
            memory_bytes,
            ..Window::default()
        };
        let steady = [window(100, 1_000, 10); 5];
        assert!(is_steady(&steady));
        assert!(!is_steady(&steady[..4]), "four windows are too few");
        for other in [window(200, 1_000, 10), window(100, 2_000, 10), window(100, 1_000, 20)] {
            let mut windows = steady;
            windows[4] = other;
            assert!(!is_steady(&windows), "{other:?}");
            // What was before the last five does not count.
            assert!(is_steady(&[&[other][..], &steady[..]].concat()));
        }
    }

    #[test]
    fn amplifications_are_bytes_for_a_byte() {
        let window = Window {
            live_bytes: 100,
            changed_bytes: 50,
            store_bytes: Some(250),
            written_bytes: Some(200),
            ..Window::default()
        };
        assert_eq!(window.space_amplification(), Some(2.5));
        assert_eq!(write_amplification(&[window, window]), Some(4.0));
        let in_memory = Window { store_bytes: None, written_bytes: None, ..window };
        assert_eq!(in_memory.space_amplification(), None);
        assert_eq!(write_amplification(&[window, in_memory]), None);
        assert_eq!(write_amplification(&[]), None);
    }
}
