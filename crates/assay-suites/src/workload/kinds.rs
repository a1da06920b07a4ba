//! Files of common kinds of workloads, with comments, to start from.

use crate::options::words;

/// A common kind of workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sample {
    /// Documents of a web application.
    Documents,
    /// Documents that are also found by a secondary index.
    Indexed,
    /// A cache in front of a service.
    Cache,
    /// A queue, first in, first out.
    Queue,
    /// Readings of sensors.
    Timeseries,
    /// Large values.
    Blobs,
    /// Sessions of users.
    Sessions,
    /// Numbers that are counted up.
    Counters,
    /// Data that is loaded once and then only read.
    Bulk,
    /// A store that ages.
    Age,
    /// YCSB's workload A.
    YcsbA,
    /// YCSB's workload B.
    YcsbB,
    /// YCSB's workload C.
    YcsbC,
    /// YCSB's workload D.
    YcsbD,
    /// YCSB's workload E.
    YcsbE,
    /// YCSB's workload F.
    YcsbF,
}

words!(Sample {
    Documents = "documents",
    Indexed = "indexed",
    Cache = "cache",
    Queue = "queue",
    Timeseries = "timeseries",
    Blobs = "blobs",
    Sessions = "sessions",
    Counters = "counters",
    Bulk = "bulk",
    Age = "age",
    YcsbA = "ycsb-a",
    YcsbB = "ycsb-b",
    YcsbC = "ycsb-c",
    YcsbD = "ycsb-d",
    YcsbE = "ycsb-e",
    YcsbF = "ycsb-f",
});

/// The lines of [`Sample::Age`] that [`ageing`] may change, in their order.
const AGEING: [&str; 3] = ["count = ", "window = ", "limit = "];

/// Returns the file of a store that ages, with other numbers of records, and of seconds of a window
/// and of all windows.
pub(super) fn ageing(numbers: [Option<u64>; AGEING.len()]) -> String {
    let mut wanted = AGEING.iter().zip(numbers).peekable();
    let mut text = String::new();
    for line in Sample::Age.text().lines() {
        match wanted.next_if(|(name, _)| line.starts_with(**name)) {
            Some((name, Some(number))) => text += &format!("{name}{number}"),
            _ => text += line,
        }
        text.push('\n');
    }
    text
}

impl Sample {
    /// Returns the text of the file.
    pub fn text(self) -> &'static str {
        match self {
            Self::Documents => include_str!("kinds/documents.toml"),
            Self::Indexed => include_str!("kinds/indexed.toml"),
            Self::Cache => include_str!("kinds/cache.toml"),
            Self::Queue => include_str!("kinds/queue.toml"),
            Self::Timeseries => include_str!("kinds/timeseries.toml"),
            Self::Blobs => include_str!("kinds/blobs.toml"),
            Self::Sessions => include_str!("kinds/sessions.toml"),
            Self::Counters => include_str!("kinds/counters.toml"),
            Self::Bulk => include_str!("kinds/bulk.toml"),
            Self::Age => include_str!("kinds/age.toml"),
            Self::YcsbA => include_str!("../ycsb/files/a.toml"),
            Self::YcsbB => include_str!("../ycsb/files/b.toml"),
            Self::YcsbC => include_str!("../ycsb/files/c.toml"),
            Self::YcsbD => include_str!("../ycsb/files/d.toml"),
            Self::YcsbE => include_str!("../ycsb/files/e.toml"),
            Self::YcsbF => include_str!("../ycsb/files/f.toml"),
        }
    }
}
