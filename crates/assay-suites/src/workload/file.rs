//! The file of a workload, in TOML. What it says is honoured; what it cannot say is refused by its
//! name, with line and column.

use std::ops::Range;

use assay_driver::Durability;
use serde::Deserialize;
use serde::de::{self, Deserializer, Visitor};
use toml::Spanned;

use super::choice::Choice;
use super::sizes::Sizes;
use super::spec::{
    BYTES_KEY_BYTES, Key, KeyType, Kind, LEAST_VALUE_BYTES, MOST_COUNT, MOST_SCANNED, MOST_SECONDS,
    MOST_THREADS, MOST_TOGETHER, MOST_VALUE_BYTES, Made, Phase, Records, Spec, TEXT_KEY_BYTES,
    Until,
};
use crate::options::count;

/// A fault of a file: what is wrong, and where.
#[derive(Debug, thiserror::Error)]
#[error("{}{what}", place(*line, *column))]
pub struct Fault {
    line: usize,
    column: usize,
    what: String,
}

fn place(line: usize, column: usize) -> String {
    format!("line {line}, column {column}: ")
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    title: Spanned<String>,
    survives: Option<Survives>,
    records: RecordsTable,
    #[serde(default)]
    phase: Vec<Spanned<PhaseTable>>,
}

/// What acknowledged writes survive.
#[derive(Clone, Copy, Deserialize)]
enum Survives {
    #[serde(rename = "nothing")]
    Nothing,
    #[serde(rename = "killed process")]
    KilledProcess,
    #[serde(rename = "power cut but for the last moment")]
    PowerCutButForTheLastMoment,
    #[serde(rename = "power cut")]
    PowerCut,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RecordsTable {
    count: Spanned<Number>,
    #[serde(default)]
    order: Order,
    #[serde(default)]
    bulk: bool,
    key: KeyTable,
    value: Spanned<SizesTable>,
    compressible: Option<Spanned<Real>>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Order {
    #[default]
    Random,
    Sequential,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KeyTable {
    #[serde(rename = "type")]
    kind: Spanned<KeyWord>,
    bytes: Option<Spanned<Number>>,
    #[serde(default)]
    made: MadeWord,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum KeyWord {
    U64,
    Text,
    Bytes,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum MadeWord {
    Dense,
    Sparse,
    #[default]
    Hashed,
    Time,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum SizesTable {
    Constant(Number),
    Uniform([Number; 2]),
    Lognormal(LognormalTable),
    Zipf(ZipfTable),
    Histogram(Vec<(Number, Real)>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LognormalTable {
    median: Number,
    p99: Number,
    max: Number,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ZipfTable {
    min: Number,
    max: Number,
    exponent: Real,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PhaseTable {
    name: Spanned<String>,
    threads: Option<Spanned<ThreadsWord>>,
    operations: Option<Spanned<Number>>,
    seconds: Option<Spanned<Number>>,
    mix: Spanned<Mix>,
    choose: Option<Spanned<ChoiceTable>>,
    scan: Option<Spanned<ScanTable>>,
    transaction: Option<Spanned<Number>>,
    rate: Option<Spanned<RateWord>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScanTable {
    rows: SizesTable,
}

#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
#[derive(Default)]
struct Mix {
    read: Real,
    missing: Real,
    update: Real,
    insert: Real,
    delete: Real,
    upsert: Real,
    read_modify_write: Real,
    increment: Real,
    scan: Real,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum ChoiceTable {
    Uniform,
    Zipfian(Real),
    Latest,
    Hotspot(HotspotTable),
    Exponential(Real),
    Sequential,
    Oldest,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HotspotTable {
    keys: Real,
    operations: Real,
}

/// A count or a number of bytes: digits, or a text of digits with k or m.
#[derive(Clone, Copy)]
struct Number(u64);

/// A number with or without a fraction.
#[derive(Clone, Copy, Default)]
struct Real(f64);

/// One number of threads, or a list.
struct ThreadsWord(Vec<u64>);

/// Operations a second; none: `"closed"`.
struct RateWord(Option<u64>);

struct NumberVisitor;

impl Visitor<'_> for NumberVisitor {
    type Value = Number;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a count such as 500, \"10k\" or \"2m\"")
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Number, E> {
        Ok(Number(number))
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Number, E> {
        let of_sign = |_| de::Error::invalid_value(de::Unexpected::Signed(number), &self);
        u64::try_from(number).map(Number).map_err(of_sign)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Number, E> {
        count::parse(text).map(Number).map_err(|why| E::custom(format!("{text:?}: {why}")))
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(NumberVisitor)
    }
}

struct RealVisitor;

impl Visitor<'_> for RealVisitor {
    type Value = Real;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a number")
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Real, E> {
        Ok(Real(number as f64))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Real, E> {
        Ok(Real(number))
    }
}

impl<'de> Deserialize<'de> for Real {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(RealVisitor)
    }
}

struct ThreadsVisitor;

impl<'de> Visitor<'de> for ThreadsVisitor {
    type Value = ThreadsWord;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a number of threads, or a list such as [1, 4]")
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<ThreadsWord, E> {
        NumberVisitor.visit_i64(number).map(|number| ThreadsWord(vec![number.0]))
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, mut from: A) -> Result<ThreadsWord, A::Error> {
        let mut list = Vec::new();
        while let Some(Number(threads)) = from.next_element()? {
            list.push(threads);
        }
        Ok(ThreadsWord(list))
    }
}

impl<'de> Deserialize<'de> for ThreadsWord {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(ThreadsVisitor)
    }
}

struct RateVisitor;

impl Visitor<'_> for RateVisitor {
    type Value = RateWord;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("\"closed\", or operations a second")
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<RateWord, E> {
        NumberVisitor.visit_i64(number).map(|number| RateWord(Some(number.0)))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<RateWord, E> {
        match text {
            "closed" => Ok(RateWord(None)),
            _ => NumberVisitor
                .visit_str(text)
                .map(|number| RateWord(Some(number.0)))
                .map_err(|_: E| E::invalid_value(de::Unexpected::Str(text), &self)),
        }
    }
}

impl<'de> Deserialize<'de> for RateWord {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(RateVisitor)
    }
}

/// Reads the text of a file.
///
/// # Errors
/// The first fault, with its line and column.
pub fn parse(text: &str) -> Result<Spec, Fault> {
    let reader = Reader { text };
    let file: File = toml::from_str(text).map_err(|error| {
        let said = error.message().lines().collect::<Vec<_>>().join(", ");
        reader.fault(error.span().unwrap_or(0..0), said)
    })?;
    reader.spec(file)
}

struct Reader<'t> {
    text: &'t str,
}

type Read<T> = Result<T, Fault>;

impl Reader<'_> {
    /// Returns a fault at a place of the text.
    fn fault(&self, span: Range<usize>, what: impl Into<String>) -> Fault {
        let before = &self.text[..span.start.min(self.text.len())];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        Fault {
            line: 1 + before.matches('\n').count(),
            column: 1 + before[line_start..].chars().count(),
            what: what.into(),
        }
    }

    /// Returns a number between two others.
    fn between(&self, number: &Spanned<Number>, what: &str, least: u64, most: u64) -> Read<u64> {
        let Number(value) = *number.get_ref();
        match (least..=most).contains(&value) {
            true => Ok(value),
            false => {
                Err(self.fault(number.span(), format!("{what} must be between {least} and {most}")))
            }
        }
    }

    fn spec(&self, file: File) -> Read<Spec> {
        let title = file.title.get_ref().trim();
        if title.is_empty() || title.chars().count() > 80 || title.chars().any(char::is_control) {
            let what = "title must be a line of 1 to 80 characters";
            return Err(self.fault(file.title.span(), what));
        }
        let survives = file.survives.map(|survives| match survives {
            Survives::Nothing => Durability::None,
            Survives::KilledProcess => Durability::Process,
            Survives::PowerCutButForTheLastMoment => Durability::Periodic,
            Survives::PowerCut => Durability::Commit,
        });
        let records = self.records(&file.records)?;
        if file.phase.is_empty() {
            let end = self.text.len()..self.text.len();
            return Err(self.fault(end, "there is no [[phase]]; a workload has at least one"));
        }
        let mut phases: Vec<Phase> = Vec::new();
        for table in &file.phase {
            let phase = self.phase(table, &records)?;
            if phases.iter().any(|other| other.name == phase.name) {
                let name = &table.get_ref().name;
                return Err(self.fault(name.span(), "another phase has this name"));
            }
            let list = phases.iter().find(|other| other.threads.len() > 1);
            if let (Some(threads), Some(list)) = (&table.get_ref().threads, list)
                && phase.threads.len() > 1
                && phase.threads != list.threads
            {
                let what = format!(
                    "threads must be the list of phase {:?}, or one number: a cell takes one \
                     number of a list for all its phases",
                    list.name
                );
                return Err(self.fault(threads.span(), what));
            }
            phases.push(phase);
        }
        let spec = Spec { title: title.into(), survives, records, phases };
        if spec.scans() && spec.records.key.made == Made::Hashed && spec.most_rows().is_none() {
            let timed = file.phase.iter().find_map(|table| table.get_ref().seconds.as_ref());
            let what =
                "a workload that scans hashed keys and inserts needs operations, not seconds";
            return Err(self.fault(timed.map_or(0..0, Spanned::span), what));
        }
        Ok(spec)
    }

    fn records(&self, table: &RecordsTable) -> Read<Records> {
        let count = self.between(&table.count, "count", 0, MOST_COUNT)?;
        let key_bytes = |bytes: &Option<Spanned<Number>>, (least, most)| match bytes {
            Some(bytes) => self.between(bytes, "bytes of a key", least, most).map(|n| n as u32),
            None => Err(self.fault(table.key.kind.span(), "a key of this type needs its bytes")),
        };
        let kind = match (table.key.kind.get_ref(), &table.key.bytes) {
            (KeyWord::U64, None) => KeyType::U64,
            (KeyWord::U64, Some(bytes)) => {
                return Err(self.fault(bytes.span(), "a u64 has 8 bytes; leave bytes out"));
            }
            (KeyWord::Text, bytes) => KeyType::Text(key_bytes(bytes, TEXT_KEY_BYTES)?),
            (KeyWord::Bytes, bytes) => KeyType::Bytes(key_bytes(bytes, BYTES_KEY_BYTES)?),
        };
        let made = match table.key.made {
            MadeWord::Dense => Made::Dense,
            MadeWord::Sparse => Made::Sparse,
            MadeWord::Hashed => Made::Hashed,
            MadeWord::Time => Made::Time,
        };
        let limits = (LEAST_VALUE_BYTES, MOST_VALUE_BYTES);
        let value = self.sizes(table.value.get_ref(), table.value.span(), "bytes", limits)?;
        let compressible = match &table.compressible {
            None => 0.0,
            Some(share) => {
                let Real(value) = *share.get_ref();
                if !(0.0..=1.0).contains(&value) {
                    return Err(self.fault(share.span(), "compressible must be between 0 and 1"));
                }
                value
            }
        };
        Ok(Records {
            count,
            in_order: matches!(table.order, Order::Sequential),
            bulk: table.bulk,
            key: Key { kind, made },
            value,
            compressible,
        })
    }

    fn sizes(
        &self,
        table: &SizesTable,
        span: Range<usize>,
        what: &str,
        (least, most): (u64, u64),
    ) -> Read<Sizes> {
        let fault = |what: String| Err(self.fault(span.clone(), what));
        let exponents = 0.0..=10.0;
        let sizes = match table {
            SizesTable::Constant(size) => Sizes::Constant(size.0),
            SizesTable::Uniform([first, last]) if first.0 > last.0 => {
                return fault("uniform = [least, most]: the least is more than the most".into());
            }
            SizesTable::Uniform([first, last]) => Sizes::Uniform(first.0, last.0),
            SizesTable::Lognormal(LognormalTable { median, p99, max }) => {
                if !(least <= median.0 && median.0 < p99.0 && p99.0 <= max.0) {
                    return fault(format!(
                        "lognormal needs {least} ≤ median < p99 ≤ max ({median}, {p99}, {max})",
                        median = median.0,
                        p99 = p99.0,
                        max = max.0,
                    ));
                }
                let (median, p99) = (median.0 as f64, p99.0 as f64);
                Sizes::Lognormal { median, p99, least, most: max.0 }
            }
            SizesTable::Zipf(ZipfTable { min, max, exponent }) => {
                if min.0 >= max.0 || exponent.0 <= 0.0 || !exponents.contains(&exponent.0) {
                    return fault(
                        "zipf needs min < max, and an exponent above 0, at most 10".into(),
                    );
                }
                Sizes::Zipf { least: min.0, most: max.0, exponent: exponent.0 }
            }
            SizesTable::Histogram(pairs) => {
                let is_share = |share: f64| share.is_finite() && share >= 0.0;
                let all: f64 = pairs.iter().map(|(_, share)| share.0).sum();
                let wrong = !(all.is_finite() && all > 0.0);
                if wrong || !pairs.iter().all(|(_, share)| is_share(share.0)) {
                    return fault(format!(
                        "histogram = [[{what}, share], …]: shares are 0 or more, and not all 0"
                    ));
                }
                let mut sum = 0.0;
                let summed =
                    pairs.iter().filter(|(_, share)| share.0 > 0.0).map(|(size, share)| {
                        sum += share.0 / all;
                        (size.0, sum)
                    });
                Sizes::Histogram(summed.collect())
            }
        };
        match least <= sizes.least() && sizes.most() <= most {
            true => Ok(sizes),
            false => fault(format!("{what} must be between {least} and {most}")),
        }
    }

    fn phase(&self, table: &Spanned<PhaseTable>, records: &Records) -> Read<Phase> {
        let (span, table) = (table.span(), table.get_ref());
        let name = table.name.get_ref();
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if name.is_empty() || name.len() > 32 || !name.chars().all(is_plain) {
            let what = "name must be 1 to 32 lower-case letters, digits and hyphens";
            return Err(self.fault(table.name.span(), what));
        }
        if name == crate::phases::LOAD {
            return Err(self.fault(table.name.span(), "load is the name of the records' own phase"));
        }
        let threads = match &table.threads {
            None => vec![1],
            Some(threads) => {
                let list = &threads.get_ref().0;
                let mut once = list.clone();
                once.sort_unstable();
                once.dedup();
                let fits = list.iter().all(|count| (1..=MOST_THREADS).contains(count));
                if list.is_empty() || !fits || once.len() < list.len() {
                    let what = format!("threads must be between 1 and {MOST_THREADS}, each once");
                    return Err(self.fault(threads.span(), what));
                }
                list.iter().map(|count| *count as u32).collect()
            }
        };
        let until = match (&table.operations, &table.seconds) {
            (Some(count), None) => {
                Until::Operations(self.between(count, "operations", 1, MOST_COUNT)?)
            }
            (None, Some(seconds)) => {
                Until::Seconds(self.between(seconds, "seconds", 1, MOST_SECONDS)?)
            }
            (None, None) => {
                let what = "the phase has no end; add operations = … or seconds = …";
                return Err(self.fault(span, what));
            }
            (Some(_), Some(seconds)) => {
                let what = "the phase has operations too; leave one of them out";
                return Err(self.fault(seconds.span(), what));
            }
        };
        let mix = self.mix(&table.mix, records)?;
        let scans = mix[Kind::Scan as usize] > 0.0;
        let scanned = match &table.scan {
            Some(scan) if scans => {
                self.sizes(&scan.get_ref().rows, scan.span(), "rows", (1, MOST_SCANNED))?
            }
            Some(scan) => return Err(self.fault(scan.span(), "the mix has no scan; leave it out")),
            None if scans => {
                let what = "a mix with scan needs scan = { rows = { … } }";
                return Err(self.fault(table.mix.span(), what));
            }
            None => Sizes::Constant(1),
        };
        let together = match &table.transaction {
            None => 1,
            Some(count) => self.between(count, "transaction", 1, MOST_TOGETHER)?,
        };
        if let Some(count) = table.transaction.as_ref().filter(|_| together > 1 && threads != [1]) {
            // Engines may refuse to commit what another transaction has read or written.
            let what = "a phase with transactions has one thread, so that none is refused";
            return Err(self.fault(count.span(), what));
        }
        let rate = match &table.rate {
            Some(rate) => match rate.get_ref().0 {
                None => None,
                Some(rate @ 1..=MOST_COUNT) => Some(rate),
                Some(_) => {
                    let what = format!("rate must be \"closed\", or between 1 and {MOST_COUNT}");
                    return Err(self.fault(rate.span(), what));
                }
            },
            None => None,
        };
        let choose = self.choose(table.choose.as_ref())?;
        Ok(Phase { name: name.clone(), threads, until, mix, choose, scanned, together, rate })
    }

    fn mix(&self, table: &Spanned<Mix>, records: &Records) -> Read<[f64; Kind::ALL.len()]> {
        let mix = table.get_ref();
        let shares = Kind::ALL.map(|kind| match kind {
            Kind::Read => mix.read.0,
            Kind::Missing => mix.missing.0,
            Kind::Update => mix.update.0,
            Kind::Insert => mix.insert.0,
            Kind::Delete => mix.delete.0,
            Kind::Upsert => mix.upsert.0,
            Kind::ReadModifyWrite => mix.read_modify_write.0,
            Kind::Increment => mix.increment.0,
            Kind::Scan => mix.scan.0,
        });
        let all: f64 = shares.iter().sum();
        let is_share = |share: &f64| share.is_finite() && *share >= 0.0;
        if !shares.iter().all(is_share) || !all.is_finite() {
            return Err(self.fault(table.span(), "shares of a mix are numbers from 0 on"));
        }
        if all == 0.0 {
            let what = "the mix has no operation; give one of them a share above 0";
            return Err(self.fault(table.span(), what));
        }
        let is_number = records.value == Sizes::Constant(LEAST_VALUE_BYTES);
        if mix.increment.0 > 0.0 && !(is_number && records.compressible == 0.0) {
            let what = "increment is for values that are numbers: value = { constant = 8 }";
            return Err(self.fault(table.span(), what));
        }
        Ok(shares.map(|share| share / all))
    }

    fn choose(&self, table: Option<&Spanned<ChoiceTable>>) -> Read<Choice> {
        let Some(table) = table else { return Ok(Choice::Uniform) };
        let fault = |what: &str| Err(self.fault(table.span(), what));
        let is_share = |share: &Real| share.0 > 0.0 && share.0 < 1.0;
        Ok(match table.get_ref() {
            ChoiceTable::Uniform => Choice::Uniform,
            ChoiceTable::Latest => Choice::Latest,
            ChoiceTable::Sequential => Choice::Sequential,
            ChoiceTable::Oldest => Choice::Oldest,
            ChoiceTable::Zipfian(Real(exponent)) if *exponent > 0.0 && *exponent <= 10.0 => {
                Choice::Zipfian(*exponent)
            }
            ChoiceTable::Zipfian(_) => return fault("zipfian must be above 0, at most 10"),
            ChoiceTable::Hotspot(HotspotTable { keys, operations })
                if is_share(keys) && is_share(operations) =>
            {
                Choice::Hotspot { keys: keys.0, operations: operations.0 }
            }
            ChoiceTable::Hotspot(_) => {
                return fault("hotspot needs keys and operations, shares above 0 and below 1");
            }
            ChoiceTable::Exponential(mean) if mean.0 > 0.0 && mean.0 <= 10.0 => {
                Choice::Exponential(mean.0)
            }
            ChoiceTable::Exponential(_) => {
                return fault("exponential must be above 0, at most 10: the mean age as a share");
            }
        })
    }
}
