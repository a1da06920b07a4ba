//! Checking what a file says of phases.

use assay_core::latency::Rates;
use toml::Spanned;

use super::reader::{Read, Reader};
use super::tables::{ChoiceTable, HotspotTable, Mix, PhaseTable};
use super::words::{RateWord, Real};
use crate::workload::choice::Choice;
use crate::workload::sizes::Sizes;
use crate::workload::spec::{
    Kind, LEAST_VALUE_BYTES, MOST_COUNT, MOST_SCANNED, MOST_SECONDS, MOST_THREADS, MOST_TOGETHER,
    Phase, Records, Until,
};

impl Reader<'_> {
    pub(super) fn phase(&self, table: &Spanned<PhaseTable>, records: &Records) -> Read<Phase> {
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
        let rates = match table.rate.as_ref().map(|rate| (rate.span(), rate.get_ref())) {
            None | Some((_, RateWord::Closed)) => None,
            Some((span, RateWord::Steps(steps))) => {
                let fits = |(seconds, rate): &(u64, u64)| {
                    (1..=MOST_SECONDS).contains(seconds) && (1..=MOST_COUNT).contains(rate)
                };
                if steps.is_empty() || !steps.iter().all(fits) {
                    let what = format!(
                        "rate must be \"closed\", operations a second between 1 and \
                         {MOST_COUNT}, or [[seconds, operations a second], …]"
                    );
                    return Err(self.fault(span, what));
                }
                Some(Rates::along(steps.iter().copied()))
            }
        };
        let choose = self.choose(table.choose.as_ref())?;
        Ok(Phase { name: name.clone(), threads, until, mix, choose, scanned, together, rates })
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
