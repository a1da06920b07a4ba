//! Checking what a file says of phases.

use std::ops::Range;

use assay_core::ageing::STEADY_WINDOWS;
use assay_core::latency::Rates;
use toml::Spanned;

use super::columns::VALUE;
use super::reader::{Read, Reader};
use super::tables::{
    BackgroundTable, ChoiceTable, FindTable, HotspotTable, Mix, PhaseTable, ScanTable, TaskWord,
};
use super::words::{ColumnsWord, RateWord, Real};
use crate::workload::choice::Choice;
use crate::workload::sizes::Sizes;
use crate::workload::spec::{
    Background, Kind, LEAST_VALUE_BYTES, MOST_COUNT, MOST_SCANNED, MOST_SECONDS, MOST_THREADS,
    MOST_TOGETHER, Phase, Records, Task, Until,
};

/// The seconds of a window, and the most of all of them, if the file does not say.
const WINDOW: u64 = 10;
const LIMIT: u64 = 1_800;

/// The seconds of writes after which a process is killed, if the file does not say.
const KILLED_AFTER: u64 = 1;

/// The seconds for which the space after a delete is looked at, if the file does not say.
const LOOKS: u64 = 30;

impl Reader<'_> {
    pub(super) fn phase(&self, table: &Spanned<PhaseTable>, records: &Records) -> Read<Phase> {
        let span = table.span();
        let table = table.get_ref();
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
        if let Some(task) = &table.task {
            return self.task(task, table, threads);
        }
        let until = self.until(table, span.clone())?;
        let Some(mix_table) = &table.mix else {
            return Err(self.fault(span, "the phase has no mix; add mix = { … }, or do = …"));
        };
        let mix = self.mix(mix_table, records)?;
        let span = mix_table.span();
        let (scanned, scanned_columns) =
            self.scan(table.scan.as_ref(), span.clone(), &mix, records)?;
        let found_by = self.found_by(table.find.as_ref(), span, &mix, records)?;
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
        let background = table.background.as_ref();
        let background = background.map(|it| self.background(it, records)).transpose()?;
        Ok(Phase {
            name: name.clone(),
            threads,
            task: Task::Operations,
            until,
            mix,
            choose,
            scanned,
            scanned_columns,
            found_by,
            together,
            rates,
            background,
        })
    }

    /// Reads how many records a scan asks for, and which columns; `span` is that of the mix.
    fn scan(
        &self,
        table: Option<&Spanned<ScanTable>>,
        span: Range<usize>,
        mix: &[f64],
        records: &Records,
    ) -> Read<(Sizes, Option<Vec<usize>>)> {
        let scans = mix[Kind::Scan as usize] > 0.0;
        let Some(table) = table else {
            let what = "a mix with scan needs scan = { rows = { … } }";
            let none = (Sizes::Constant(1), None);
            return if scans { Err(self.fault(span, what)) } else { Ok(none) };
        };
        if !scans {
            return Err(self.fault(table.span(), "the mix has no scan; leave it out"));
        }
        let ScanTable { rows, columns } = table.get_ref();
        let rows = self.sizes(rows, table.span(), "rows", 1..=MOST_SCANNED)?;
        let Some(columns) = columns else { return Ok((rows, None)) };
        let ColumnsWord::Named(names) = columns.get_ref() else { return Ok((rows, None)) };
        let mut places = names.iter().map(|name| {
            let of_columns = records.columns.iter().position(|column| column.name == *name);
            let place = of_columns.or((name == VALUE).then_some(records.columns.len()));
            place.ok_or_else(|| {
                let what = format!(
                    "[records] has no column {name:?}; name its columns, or {VALUE:?} (keys are \
                     always read)"
                );
                self.fault(columns.span(), what)
            })
        });
        let mut places = places.try_fold(Vec::new(), |mut places, place| {
            let place = place?;
            if places.contains(&place) {
                return Err(self.fault(columns.span(), "a column is named twice; name it once"));
            }
            places.push(place);
            Ok(places)
        })?;
        places.sort_unstable();
        let are_all = places.len() > records.columns.len();
        Ok((rows, (!are_all).then_some(places)))
    }

    /// Reads the column that a phase finds records by; `span` is that of its mix.
    fn found_by(
        &self,
        table: Option<&Spanned<FindTable>>,
        span: Range<usize>,
        mix: &[f64],
        records: &Records,
    ) -> Read<Option<usize>> {
        let finds = mix[Kind::Find as usize] > 0.0;
        let Some(table) = table else {
            let what = "a mix with find needs find = { by = \"…\" }, a column with an index";
            return if finds { Err(self.fault(span, what)) } else { Ok(None) };
        };
        if !finds {
            return Err(self.fault(table.span(), "the mix has no find; leave it out"));
        }
        let by = &table.get_ref().by;
        let place = records.columns.iter().position(|column| column.name == *by);
        match place.filter(|place| records.columns[*place].is_indexed) {
            Some(place) => Ok(Some(place)),
            None => {
                let what = format!("[records] has no column {by:?} with index = true; add one");
                Err(self.fault(table.span(), what))
            }
        }
    }

    /// Reads what another thread does during a phase.
    fn background(&self, table: &Spanned<BackgroundTable>, records: &Records) -> Read<Background> {
        let table = table.get_ref();
        let mix = self.mix(&table.mix, records)?;
        let span = table.mix.span();
        let (scanned, scanned_columns) =
            self.scan(table.scan.as_ref(), span.clone(), &mix, records)?;
        Ok(Background {
            choose: self.choose(table.choose.as_ref())?,
            scanned,
            scanned_columns,
            found_by: self.found_by(table.find.as_ref(), span, &mix, records)?,
            rate: self.between(&table.rate, "rate", 1, MOST_COUNT)?,
            mix,
        })
    }

    /// Reads a phase that does something else than operations of a mix.
    fn task(&self, task: &Spanned<TaskWord>, table: &PhaseTable, threads: Vec<u32>) -> Read<Phase> {
        let word = *task.get_ref();
        let is_recover = matches!(word, TaskWord::Recover);
        let others = [
            table.operations.as_ref().map(Spanned::span),
            table.seconds.as_ref().filter(|_| !is_recover).map(Spanned::span),
            table.until.as_ref().map(Spanned::span),
            table.window.as_ref().map(Spanned::span),
            table.mix.as_ref().map(Spanned::span),
            table.choose.as_ref().map(Spanned::span),
            table.scan.as_ref().map(Spanned::span),
            table.find.as_ref().map(Spanned::span),
            table.transaction.as_ref().map(Spanned::span),
            table.rate.as_ref().map(Spanned::span),
            table.background.as_ref().map(Spanned::span),
        ];
        if let Some(span) = others.into_iter().flatten().next() {
            let what = "a phase with do has no operations of its own; leave this out";
            return Err(self.fault(span, what));
        }
        let mut mix = [0.0; Kind::ALL.len()];
        let (task, until, threads) = match word {
            TaskWord::Reopen | TaskWord::Recover => {
                let of_others = table.limit.as_ref().map(Spanned::span);
                let of_others = of_others.or(table.threads.as_ref().map(Spanned::span));
                if let Some(span) = of_others {
                    return Err(self.fault(span, "a store is opened once; leave this out"));
                }
                if is_recover {
                    mix[Kind::Update as usize] = 1.0;
                    let seconds = match &table.seconds {
                        Some(seconds) => self.between(seconds, "seconds", 1, MOST_SECONDS)?,
                        None => KILLED_AFTER,
                    };
                    (Task::Recover, Until::Seconds(seconds), vec![1])
                } else {
                    (Task::Reopen, Until::Operations(0), vec![1])
                }
            }
            TaskWord::DeleteHalf => {
                mix[Kind::Delete as usize] = 1.0;
                let looks = match &table.limit {
                    Some(limit) => self.between(limit, "limit", 0, MOST_SECONDS)?,
                    None => LOOKS,
                };
                (Task::DeleteHalf, Until::Half { looks }, threads)
            }
        };
        Ok(Phase {
            name: table.name.get_ref().clone(),
            threads,
            task,
            until,
            mix,
            choose: Choice::Uniform,
            scanned: Sizes::Constant(1),
            scanned_columns: None,
            found_by: None,
            together: 1,
            rates: None,
            background: None,
        })
    }

    /// Reads the end of a phase.
    fn until(&self, table: &PhaseTable, span: Range<usize>) -> Read<Until> {
        let ends = [
            table.operations.as_ref().map(|count| ("operations", count.span())),
            table.seconds.as_ref().map(|seconds| ("seconds", seconds.span())),
            table.until.as_ref().map(|until| ("until", until.span())),
        ];
        let mut ends = ends.into_iter().flatten();
        let Some((first, _)) = ends.next() else {
            let what =
                "the phase has no end; add operations = …, seconds = … or until = \"steady\"";
            return Err(self.fault(span, what));
        };
        if let Some((_, second)) = ends.next() {
            let what = format!("the phase has {first} too; leave one of them out");
            return Err(self.fault(second, what));
        }
        let of_steady = table.window.as_ref().or(table.limit.as_ref());
        if let Some(number) = of_steady.filter(|_| table.until.is_none()) {
            let what = "window and limit are for until = \"steady\"; leave this out";
            return Err(self.fault(number.span(), what));
        }
        if let Some(count) = &table.operations {
            return Ok(Until::Operations(self.between(count, "operations", 1, MOST_COUNT)?));
        }
        if let Some(seconds) = &table.seconds {
            return Ok(Until::Seconds(self.between(seconds, "seconds", 1, MOST_SECONDS)?));
        }
        let all = STEADY_WINDOWS as u64;
        let window = match &table.window {
            Some(window) => self.between(window, "window", 1, MOST_SECONDS / all)?,
            None => WINDOW,
        };
        let limit = match &table.limit {
            None => LIMIT.max(all * window),
            Some(limit) if (all * window..=MOST_SECONDS).contains(&limit.get_ref().0) => {
                limit.get_ref().0
            }
            Some(limit) => {
                let what = format!(
                    "limit must be between {} and {MOST_SECONDS}: {all} windows of {window} s \
                     or more",
                    all * window
                );
                return Err(self.fault(limit.span(), what));
            }
        };
        Ok(Until::Steady { window, limit })
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
            Kind::Find => mix.find.0,
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
