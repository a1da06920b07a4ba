//! Checking what a file says of the workload and its records.

use std::ops::{Range, RangeInclusive};

use assay_driver::Durability;
use toml::Spanned;

use super::Fault;
use super::tables::{
    File, KeyWord, LognormalTable, MadeWord, Order, RecordsTable, SizesTable, Survives, ZipfTable,
};
use super::words::{Number, Real};
use crate::workload::sizes::Sizes;
use crate::workload::spec::{
    BYTES_KEY_BYTES, Background, Key, KeyType, Kind, LEAST_VALUE_BYTES, MOST_COUNT, MOST_SCANNED,
    MOST_VALUE_BYTES, Made, Phase, Records, Spec, TEXT_KEY_BYTES,
};

/// The text of a file that is being read.
pub(super) struct Reader<'t> {
    pub(super) text: &'t str,
}

pub(super) type Read<T> = Result<T, Fault>;

impl Reader<'_> {
    /// Returns a fault at a place of the text.
    pub(super) fn fault(&self, span: Range<usize>, what: impl Into<String>) -> Fault {
        let before = &self.text[..span.start.min(self.text.len())];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        Fault {
            line: 1 + before.matches('\n').count(),
            column: 1 + before[line_start..].chars().count(),
            what: what.into(),
        }
    }

    /// Returns a number between two others.
    pub(super) fn between(
        &self,
        number: &Spanned<Number>,
        what: &str,
        least: u64,
        most: u64,
    ) -> Read<u64> {
        let Number(value) = *number.get_ref();
        if (least..=most).contains(&value) {
            Ok(value)
        } else {
            Err(self.fault(number.span(), format!("{what} must be between {least} and {most}")))
        }
    }

    pub(super) fn spec(&self, file: File) -> Read<Spec> {
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
        for column in spec.records.columns.iter().filter(|column| column.is_indexed) {
            let alike = spec.alike(column);
            if let Some(table) = file.records.columns.get(column.name.as_str())
                && alike > MOST_SCANNED
            {
                let what = format!(
                    "each value would have {alike} records, and a find returns at most \
                     {MOST_SCANNED}"
                );
                return Err(self.fault(table.distinct.span(), what));
            }
        }
        if spec.scans() && spec.records.key.made == Made::Hashed && spec.most_rows().is_none() {
            let inserts =
                |mix: &[f64]| mix[Kind::Insert as usize] + mix[Kind::Upsert as usize] > 0.0;
            let phases = file.phase.iter().map(Spanned::get_ref).zip(&spec.phases);
            let timed = phases.into_iter().find_map(|(table, phase)| {
                let behind = table.background.as_ref().map(Spanned::span);
                let inserts_behind = |it: &Background| inserts(&it.mix);
                if phase.background.as_ref().is_some_and(inserts_behind) {
                    return behind;
                }
                if !inserts(&phase.mix) {
                    return None;
                }
                let seconds = table.seconds.as_ref().map(Spanned::span);
                seconds.or(table.until.as_ref().map(Spanned::span))
            });
            let what = "a workload that scans hashed keys and inserts needs operations, not \
                        seconds or a background";
            return Err(self.fault(timed.unwrap_or(0..0), what));
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
        let limits = LEAST_VALUE_BYTES..=MOST_VALUE_BYTES;
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
        let columns = self.columns(&table.columns)?;
        let leading = self.leading(&table.key.leading, count)?;
        Ok(Records {
            columns,
            count,
            in_order: matches!(table.order, Order::Sequential),
            bulk: table.bulk,
            key: Key { leading, kind, made },
            value,
            compressible,
        })
    }

    pub(super) fn sizes(
        &self,
        table: &SizesTable,
        span: Range<usize>,
        what: &str,
        within: RangeInclusive<u64>,
    ) -> Read<Sizes> {
        let least = *within.start();
        let most = *within.end();
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
                let median = median.0 as f64;
                let p99 = p99.0 as f64;
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
        if least <= sizes.least() && sizes.most() <= most {
            Ok(sizes)
        } else {
            fault(format!("{what} must be between {least} and {most}"))
        }
    }
}
