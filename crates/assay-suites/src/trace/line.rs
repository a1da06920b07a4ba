//! A line of a trace: one operation, or the fault that makes it none.

/// The most bytes of a value.
pub(super) const MOST_VALUE_BYTES: u64 = 4_000_000;
/// The most records that a scan asks for.
pub(super) const MOST_SCANNED: u64 = 100_000;
/// The most operations of a trace, and of a line that stands for several.
pub(super) const MOST_OPERATIONS: u64 = 1_000_000_000;
/// The latest time, in nanoseconds.
const LATEST_NS: u64 = 9_000_000_000_000_000_000;

/// The number of nanoseconds of a second.
pub(super) const SECOND_NS: u64 = 1_000_000_000;

/// A kind of operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Reads a record.
    Read,
    /// Writes a record that is absent; one that is there is read.
    Insert,
    /// Replaces the value of a record.
    Update,
    /// Writes a record, whether or not it is there.
    Upsert,
    /// Deletes a record.
    Delete,
    /// Reads a record, and replaces its value.
    ReadModifyWrite,
    /// Reads a number of records in the order of keys.
    Scan,
}

impl Act {
    /// Every kind.
    pub const ALL: [Self; 7] = [
        Self::Read,
        Self::Insert,
        Self::Update,
        Self::Upsert,
        Self::Delete,
        Self::ReadModifyWrite,
        Self::Scan,
    ];

    /// Returns the name, which is that of the same kind in workloads.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Insert => "insert",
            Self::Update => "update",
            Self::Upsert => "upsert",
            Self::Delete => "delete",
            Self::ReadModifyWrite => "read_modify_write",
            Self::Scan => "scan",
        }
    }

    /// Returns true if it writes.
    pub fn writes(self) -> bool {
        !matches!(self, Self::Read | Self::Scan)
    }

    /// Returns true if it writes a value.
    pub(super) fn has_value(self) -> bool {
        self.writes() && self != Self::Delete
    }

    /// Returns true if it is for records that are there.
    pub(super) fn updates(self) -> bool {
        matches!(self, Self::Update | Self::ReadModifyWrite)
    }
}

/// A line of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Line<'l> {
    /// The time in nanoseconds; none if the trace has no times.
    pub(crate) time_ns: Option<u64>,
    /// The operation.
    pub(crate) act: Act,
    /// The bytes that name the record.
    pub(crate) key: &'l [u8],
    /// The table of the record, for traces of several.
    pub(crate) table: u64,
    /// The number of bytes that the key had.
    pub(crate) key_bytes: u64,
    /// The bytes of the value; of a scan, the number of records.
    pub(crate) size: u64,
    /// The number of times that the operation was done.
    pub(crate) count: u64,
}

/// A fault of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Broken {
    /// The column of the fault, from 1.
    pub(crate) column: usize,
    /// The fault.
    pub(crate) what: String,
}

impl Broken {
    pub(super) fn new(column: usize, what: impl Into<String>) -> Self {
        Self { column, what: what.into() }
    }
}

/// A field of a line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field<'l> {
    /// The column at which it starts, from 1.
    pub(super) column: usize,
    pub(super) text: &'l [u8],
}

/// Returns the fields of a line.
pub(super) fn fields(line: &[u8], separator: u8) -> impl Iterator<Item = Field<'_>> {
    let mut column = 1;
    line.split(move |byte| *byte == separator).map(move |text| {
        let field = Field { column, text };
        column += text.len() + 1;
        field
    })
}

impl<'l> Field<'l> {
    /// Returns a fault of this field, which it quotes.
    pub(super) fn fault(self, what: &str) -> Broken {
        const QUOTED: usize = 24;
        let shown = String::from_utf8_lossy(&self.text[..self.text.len().min(QUOTED)]);
        let more = if self.text.len() > QUOTED { "…" } else { "" };
        Broken::new(self.column, format!("{shown:?}{more}: {what}"))
    }

    /// Returns the number that the field is.
    pub(super) fn number(self, name: &str, most: u64) -> Result<u64, Broken> {
        if self.text.is_empty() || !self.text.iter().all(u8::is_ascii_digit) {
            return Err(self.fault(&format!("{name} must be a number")));
        }
        let next = |number: u64, digit: &u8| {
            number.checked_mul(10)?.checked_add(u64::from(digit - b'0')).filter(|all| *all <= most)
        };
        self.text
            .iter()
            .try_fold(0, next)
            .ok_or_else(|| self.fault(&format!("{name} must be at most {most}")))
    }

    /// Returns the number of bytes of a value.
    pub(super) fn value_bytes(self) -> Result<u64, Broken> {
        self.number("bytes of a value", MOST_VALUE_BYTES)
    }

    /// Returns the time that the field is, in units of some nanoseconds.
    pub(super) fn time_ns(self, unit_ns: u64) -> Result<u64, Broken> {
        Ok(self.number("a time", LATEST_NS / unit_ns)? * unit_ns)
    }

    /// Returns the time that the field is, in seconds with up to nine digits of a fraction.
    pub(super) fn decimal_ns(self) -> Result<u64, Broken> {
        let at = self.text.iter().position(|byte| *byte == b'.');
        let (whole, fraction) = match at {
            Some(at) => (&self.text[..at], &self.text[at + 1..]),
            None => (self.text, &b"0"[..]),
        };
        let seconds = Field { text: whole, ..self }.time_ns(SECOND_NS)?;
        if fraction.len() > 9 {
            return Err(self.fault("a time has at most nine digits after the point"));
        }
        let part = Field { text: fraction, ..self }.number("a time", SECOND_NS)?;
        Ok(seconds + part * 10_u64.pow(9 - fraction.len() as u32))
    }

    /// Returns the key that the field is.
    pub(super) fn key(self) -> Result<&'l [u8], Broken> {
        if self.text.is_empty() { Err(Broken::new(self.column, "no key")) } else { Ok(self.text) }
    }
}
