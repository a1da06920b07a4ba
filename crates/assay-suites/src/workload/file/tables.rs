//! The tables of a file as they are written, before they are checked.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

use super::words::{ColumnsWord, Number, RateWord, Real, ThreadsWord};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    pub(super) title: Spanned<String>,
    pub(super) survives: Option<Survives>,
    pub(super) records: RecordsTable,
    #[serde(default)]
    pub(super) phase: Vec<Spanned<PhaseTable>>,
}

/// The event that acknowledged writes survive.
#[derive(Clone, Copy, Deserialize)]
pub(super) enum Survives {
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
pub(super) struct RecordsTable {
    pub(super) count: Spanned<Number>,
    #[serde(default)]
    pub(super) order: Order,
    #[serde(default)]
    pub(super) bulk: bool,
    pub(super) key: KeyTable,
    pub(super) value: Spanned<SizesTable>,
    pub(super) compressible: Option<Spanned<Real>>,
    #[serde(default)]
    pub(super) columns: BTreeMap<Spanned<String>, ColumnTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ColumnTable {
    #[serde(rename = "type")]
    pub(super) kind: Spanned<ColumnWord>,
    pub(super) bytes: Option<Spanned<Number>>,
    pub(super) distinct: Spanned<Number>,
    #[serde(default)]
    pub(super) index: bool,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ColumnWord {
    U32,
    U64,
    Text,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Order {
    #[default]
    Random,
    Sequential,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct KeyTable {
    #[serde(rename = "type")]
    pub(super) kind: Spanned<KeyWord>,
    pub(super) bytes: Option<Spanned<Number>>,
    #[serde(default)]
    pub(super) made: MadeWord,
    #[serde(default)]
    pub(super) leading: BTreeMap<Spanned<String>, LeadingTable>,
}

/// A column of a key before the number.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LeadingTable {
    #[serde(rename = "type")]
    pub(super) kind: Spanned<ColumnWord>,
    pub(super) bytes: Option<Spanned<Number>>,
    pub(super) distinct: Spanned<Number>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum KeyWord {
    U64,
    Text,
    Bytes,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum MadeWord {
    Dense,
    Sparse,
    #[default]
    Hashed,
    Time,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum SizesTable {
    Constant(Number),
    Uniform([Number; 2]),
    Lognormal(LognormalTable),
    Zipf(ZipfTable),
    Histogram(Vec<(Number, Real)>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LognormalTable {
    pub(super) median: Number,
    pub(super) p99: Number,
    pub(super) max: Number,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ZipfTable {
    pub(super) min: Number,
    pub(super) max: Number,
    pub(super) exponent: Real,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PhaseTable {
    pub(super) name: Spanned<String>,
    pub(super) threads: Option<Spanned<ThreadsWord>>,
    pub(super) operations: Option<Spanned<Number>>,
    pub(super) seconds: Option<Spanned<Number>>,
    #[serde(rename = "do")]
    pub(super) task: Option<Spanned<TaskWord>>,
    pub(super) until: Option<Spanned<UntilWord>>,
    pub(super) window: Option<Spanned<Number>>,
    pub(super) limit: Option<Spanned<Number>>,
    pub(super) mix: Option<Spanned<Mix>>,
    pub(super) choose: Option<Spanned<ChoiceTable>>,
    pub(super) scan: Option<Spanned<ScanTable>>,
    pub(super) find: Option<Spanned<FindTable>>,
    pub(super) transaction: Option<Spanned<Number>>,
    pub(super) rate: Option<Spanned<RateWord>>,
    pub(super) background: Option<Spanned<BackgroundTable>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BackgroundTable {
    pub(super) mix: Spanned<Mix>,
    pub(super) choose: Option<Spanned<ChoiceTable>>,
    pub(super) scan: Option<Spanned<ScanTable>>,
    pub(super) find: Option<Spanned<FindTable>>,
    pub(super) rate: Spanned<Number>,
}

/// The task of a phase, in place of the operations of a mix.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum TaskWord {
    Reopen,
    Recover,
    DeleteHalf,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum UntilWord {
    Steady,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScanTable {
    pub(super) rows: SizesTable,
    pub(super) columns: Option<Spanned<ColumnsWord>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FindTable {
    pub(super) by: String,
}

#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
#[derive(Default)]
pub(super) struct Mix {
    pub(super) read: Real,
    pub(super) missing: Real,
    pub(super) update: Real,
    pub(super) insert: Real,
    pub(super) delete: Real,
    pub(super) upsert: Real,
    pub(super) read_modify_write: Real,
    pub(super) increment: Real,
    pub(super) scan: Real,
    pub(super) find: Real,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ChoiceTable {
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
pub(super) struct HotspotTable {
    pub(super) keys: Real,
    pub(super) operations: Real,
}
