//! Histograms of latencies as texts: HdrHistogram's own compressed form (V2, deflated) in base64,
//! as its other tools read it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::ZlibDecoder;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use std::io::Read;

/// A longer text is none of ours: a histogram of three digits over an hour has some kilobytes.
const TEXT_MOST_BYTES: usize = 1 << 20;
/// A histogram that unpacks to more is none of ours either.
const UNPACKED_MOST_BYTES: u64 = 4 << 20;
/// Bytes of the head of the compressed form: its cookie, and the length of what follows.
const OUTER_HEAD_BYTES: usize = 8;
/// Bytes of the head of the form inside, up to its counts.
const INNER_HEAD_BYTES: usize = 40;
/// The most significant digits.
const MOST_DIGITS: u32 = 3;

/// Writes a histogram as a text.
pub(crate) fn encode(histogram: &Histogram<u64>) -> String {
    let mut packed = Vec::new();
    V2DeflateSerializer::new()
        .serialize(histogram, &mut packed)
        .expect("memory takes a histogram of these bounds");
    STANDARD.encode(packed)
}

/// Reads a histogram; none if the text is no histogram like ours. What it takes is bounded, since a
/// run file comes from anywhere.
pub(crate) fn decode(text: &str) -> Option<Histogram<u64>> {
    if text.len() > TEXT_MOST_BYTES {
        return None;
    }
    let packed = STANDARD.decode(text).ok()?;
    let mut inner = Vec::new();
    let unpacked = ZlibDecoder::new(packed.get(OUTER_HEAD_BYTES..)?);
    unpacked.take(UNPACKED_MOST_BYTES + 1).read_to_end(&mut inner).ok()?;
    if is_bounded(&inner) {
        Deserializer::new().deserialize(&mut inner.as_slice()).ok()
    } else {
        None
    }
}

/// Returns true if a compressed histogram needs no more memory than it has bytes for.
fn is_bounded(inner: &[u8]) -> bool {
    let number = |at: usize| Some(u32::from_be_bytes(inner.get(at..at + 4)?.try_into().ok()?));
    let payload_bytes = number(4).map(|bytes| bytes as usize);
    inner.len() as u64 <= UNPACKED_MOST_BYTES
        && payload_bytes.is_some()
        && payload_bytes == inner.len().checked_sub(INNER_HEAD_BYTES)
        && number(12).is_some_and(|digits| digits <= MOST_DIGITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(values: impl IntoIterator<Item = u64>) -> Histogram<u64> {
        let mut histogram = Histogram::new_with_bounds(1, 3_600_000_000_000, 3).expect("bounds");
        values.into_iter().for_each(|value| histogram.saturating_record(value));
        histogram
    }

    #[test]
    fn a_histogram_comes_back() {
        let all = histogram((1..100_000).map(|at| at * 37));
        let text = encode(&all);
        assert!(text.len() < 8_000, "{} bytes", text.len());
        assert_eq!(decode(&text).expect("it is one"), all);
        assert!(decode(&encode(&histogram([]))).expect("an empty one").is_empty());
    }

    #[test]
    fn what_is_no_histogram_of_ours_is_none() {
        let text = encode(&histogram([5, 70_000]));
        let mut precise = Histogram::<u64>::new_with_bounds(1, 1 << 60, 5).expect("bounds");
        precise.saturating_record(7);
        let half = &text[..text.len() / 2];
        for other in ["", "AAAA", "no base64!", half, &encode(&precise)] {
            assert!(decode(other).is_none(), "{other}");
        }
        assert!(decode(&"A".repeat(TEXT_MOST_BYTES + 4)).is_none());
        // A payload that says it is larger than what there is.
        let mut inner = Vec::new();
        let packed = STANDARD.decode(&text).expect("base64");
        ZlibDecoder::new(&packed[OUTER_HEAD_BYTES..]).read_to_end(&mut inner).expect("zlib");
        assert!(is_bounded(&inner));
        inner[4] = 0x7f;
        assert!(!is_bounded(&inner) && !is_bounded(&inner[..10]));
    }
}
