//! Customers from a file: lines of `|`-separated fields, as TPC-H's generator writes
//! `customer.tbl`; and a generator of such files.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;

use assay_core::random::{Words, derive, draw, mix};
use assay_core::tape::Records;
use assay_driver::schema::{ColumnType, Schema, write_bytes};

use super::customers::{TEXTS, schema, slot_mut};

/// The most bytes of a text in a file: TPC-H's longest is 117.
const MOST_TEXT_BYTES: usize = 120;

/// The fields of a line.
const FIELDS: [&str; 8] = [
    "c_custkey",
    "c_name",
    "c_address",
    "c_nationkey",
    "c_phone",
    "c_acctbal",
    "c_mktsegment",
    "c_comment",
];

/// The reason why a file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum TblError {
    /// The file cannot be read.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: String,
        /// The operating system's error.
        source: io::Error,
    },
    /// A line is not a customer.
    #[error(
        "{path}, line {line}: {wrong}; a customer has the fields {}, each followed by |",
        FIELDS.join(", ")
    )]
    Line {
        /// The file.
        path: String,
        /// The number of the line, from 1.
        line: u64,
        /// The fault of the line.
        wrong: String,
    },
    /// The file has no lines.
    #[error("{0}: no customers in it; make a file with `assay generate customer`")]
    Empty(String),
}

/// The most bytes of a line: a customer has some hundred.
const LINE_MOST_BYTES: u64 = 64 << 10;

/// The customers of a file, in the order of their keys. A packed record has room for the longest
/// text of each column; engines can store only the bytes that a text has.
pub struct Table {
    schema: Schema,
    records: Vec<u8>,
}

impl Table {
    /// Reads a file whole.
    pub fn read(path: &Path) -> Result<Self, TblError> {
        let name = path.display().to_string();
        let io = |source| TblError::Io { path: name.clone(), source };
        let mut lines = BufReader::new(File::open(path).map_err(io)?);
        let mut customers: Vec<Customer> = Vec::new();
        let mut text = Vec::new();
        let mut number = 0;
        loop {
            text.clear();
            if (&mut lines).take(LINE_MOST_BYTES + 1).read_until(b'\n', &mut text).map_err(io)? == 0
            {
                break;
            }
            number += 1;
            let bad = |wrong: String| TblError::Line { path: name.clone(), line: number, wrong };
            if text.len() as u64 > LINE_MOST_BYTES {
                return Err(bad(format!("longer than {LINE_MOST_BYTES} bytes")));
            }
            let line = str::from_utf8(&text).map_err(|_| bad("not UTF-8".into()))?;
            customers.push(Customer::read(line.trim_end_matches(['\n', '\r'])).map_err(bad)?);
        }
        customers.sort_by_key(|customer| customer.key);
        if let Some(pair) = customers.windows(2).find(|pair| pair[0].key == pair[1].key) {
            let wrong = format!("c_custkey {} is there twice", pair[0].key);
            return Err(TblError::Line { path: name, line: number, wrong });
        }
        if customers.is_empty() {
            return Err(TblError::Empty(name));
        }
        let longest = |at: usize| customers.iter().map(|c| c.texts[at].len()).max().unwrap_or(0);
        let most = std::array::from_fn(|at| longest(at).max(1) as u32);
        let schema = schema(most).with_varied_texts();
        let records = customers.iter().flat_map(|customer| customer.packed(&schema)).collect();
        Ok(Self { schema, records })
    }

    /// Returns the number of customers.
    pub fn rows(&self) -> u64 {
        (self.records.len() / self.schema.record_size()) as u64
    }

    /// Returns a hash of all records, which identifies a store that was loaded from them.
    pub fn hash(&self) -> u64 {
        xxhash_rust::xxh3::xxh3_64(&self.records)
    }

    fn record(&self, row: u64) -> &[u8] {
        let size = self.schema.record_size();
        &self.records[row as usize * size..][..size]
    }
}

/// The customer of one line.
struct Customer {
    key: i32,
    nation: i32,
    texts: [Box<str>; TEXTS],
}

impl Customer {
    fn read(line: &str) -> Result<Self, String> {
        let fields: Vec<_> = line.strip_suffix('|').unwrap_or(line).split('|').collect();
        let &[key, name, address, nation, phone, balance, segment, comment] = fields.as_slice()
        else {
            return Err(format!("{} fields, expected {}", fields.len(), FIELDS.len()));
        };
        let integer = |name: &str, field: &str| {
            field
                .parse::<i32>()
                .map_err(|_| format!("{name} is {field:?}, expected an integer of 32 bits"))
        };
        let long = FIELDS.iter().zip(&fields).find(|(_, field)| field.len() > MOST_TEXT_BYTES);
        if let Some((name, field)) = long {
            let got = field.len();
            return Err(format!("{name} has {got} bytes, expected at most {MOST_TEXT_BYTES}"));
        }
        Ok(Self {
            key: integer(FIELDS[0], key)?,
            nation: integer(FIELDS[3], nation)?,
            texts: [name, address, phone, balance, segment, comment].map(Box::from),
        })
    }

    /// Returns the customer as a packed record.
    fn packed(&self, schema: &Schema) -> Vec<u8> {
        let mut record = vec![0; schema.record_size()];
        let mut texts = self.texts.iter();
        for column in schema.columns() {
            let slot = slot_mut(column, 0, &mut record);
            match column.kind {
                ColumnType::I32 => {
                    let number = if column.in_key { self.key } else { self.nation };
                    slot.copy_from_slice(&number.to_le_bytes());
                }
                kind => write_bytes(kind, texts.next().expect("six texts").as_bytes(), slot),
            }
        }
        record
    }
}

impl Records for Table {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn key(&self, row: u64, key: &mut [u8]) {
        key.copy_from_slice(&self.record(row)[..key.len()]);
    }

    /// Writes a payload. A file has one version of each customer.
    fn payload(&self, row: u64, _: u32, payload: &mut [u8]) {
        payload.copy_from_slice(&self.record(row)[self.schema.key_size()..]);
    }
}

const SEGMENTS: [&str; 5] = ["AUTOMOBILE", "BUILDING", "FURNITURE", "HOUSEHOLD", "MACHINERY"];

/// Writes `rows` customers with the fields, ranges and lengths that TPC-H gives them (Standard
/// Specification 3.0.1, section 4.2.3): keys 1, 2, 3, …, in order; texts of random characters.
pub fn generate(rows: u32, seed: u64, out: &mut dyn Write) -> io::Result<()> {
    let seed = derive(seed, "customer.tbl");
    for key in 1..=rows {
        let mut words = Words::new(mix(seed, u64::from(key)));
        let mut number = |bound| draw(words.next(), 0, bound);
        let nation = number(25);
        let phone = [number(900) + 100, number(900) + 100, number(9_000) + 1_000];
        let cents = number(1_099_999) as i64 - 99_999;
        let segment = SEGMENTS[number(5) as usize];
        let address = number(31) + 10;
        let comment = number(88) + 29;
        let sign = if cents < 0 { "-" } else { "" };
        writeln!(
            out,
            "{key}|Customer#{key:09}|{}|{nation}|{}-{}-{}-{}|{sign}{}.{:02}|{segment}|{}|",
            text(mix(seed, words.next()), address),
            nation + 10,
            phone[0],
            phone[1],
            phone[2],
            cents.abs() / 100,
            cents.abs() % 100,
            text(mix(seed, words.next()), comment),
        )?;
    }
    out.flush()
}

/// Returns random characters from those that TPC-H's random strings consist of.
fn text(seed: u64, len: u64) -> String {
    const CHARACTERS: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ,";
    let mut words = Words::new(seed);
    (0..len).map(|_| char::from(CHARACTERS[(words.next() % 64) as usize])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_driver::compact::Compact;

    fn read(text: &str) -> Result<Table, TblError> {
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        std::fs::write(file.path(), text).expect("write");
        Table::read(file.path())
    }

    #[test]
    fn what_is_generated_is_read_back_in_the_order_of_keys() {
        let mut text = Vec::new();
        generate(100, 1, &mut text).expect("memory");
        let text = String::from_utf8(text).expect("ASCII");
        let reversed: Vec<_> = text.lines().rev().collect();
        let table = read(&reversed.join("\n")).expect("customers");
        assert_eq!(table.rows(), 100);
        let mut key = [0; 8];
        table.key(41, &mut key);
        assert_eq!(key, [42, 0, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn texts_keep_their_own_lengths() {
        let table = read("1|n|address|7|p|0.00|s|comment|\n2|name||7|p|0.00|s|c|\n").expect("two");
        let sizes: Vec<_> = table
            .schema()
            .payload_columns()
            .iter()
            .map(|column| column.kind.size_bytes())
            .collect();
        assert_eq!(sizes, [4, 7, 4, 1, 4, 1, 7], "the longest of each column");
        let compact = Compact::new(table.schema()).expect("texts vary");
        let mut payload = vec![0; table.schema().payload_size()];
        let mut packed = Vec::new();
        let lengths = [0, 1].map(|row| {
            table.payload(row, 0, &mut payload);
            compact.pack(&payload, &mut packed);
            packed.len()
        });
        // The lengths are six of two bytes, a number of four, and the texts themselves.
        assert_eq!(lengths, [6 * 2 + 4 + 21, 6 * 2 + 4 + 11]);
    }

    #[test]
    fn a_bad_line_is_named_with_what_was_expected() {
        let good = "1|n|a|7|p|0.00|s|c|\n";
        let error = |text: &str| read(text).err().expect("bad").to_string();
        let short = error(&format!("{good}2|n|a|7|p|0.00|s|\n"));
        assert!(short.contains("line 2: 7 fields, expected 8"), "{short}");
        let letters = error("x|n|a|7|p|0.00|s|c|\n");
        assert!(letters.contains("line 1: c_custkey is \"x\", expected an integer"), "{letters}");
        let long = error(&format!("1|{}|a|7|p|0.00|s|c|\n", "n".repeat(121)));
        assert!(long.contains("c_name has 121 bytes, expected at most 120"), "{long}");
        assert!(error(&good.repeat(2)).contains("c_custkey 1 is there twice"));
        assert!(error("").contains("no customers"));
    }
}
