//! Workloads at random: whatever a file can say.

use std::fmt::Write as _;

use assay_suites::workload::spec::Kind;
use proptest::prelude::*;
use proptest::sample::select;

use crate::liar::Kill;

/// A workload, and how its processes are killed.
#[derive(Clone, Debug)]
pub(super) struct Any {
    pub(super) text: String,
    /// The number of threads of the cell, in phases that have a list of them.
    pub(super) threads: u32,
    pub(super) kill: Kill,
}

/// The records of a workload.
#[derive(Clone, Debug)]
pub(super) struct AnyRecords {
    count: String,
    order: String,
    key: &'static str,
    made: &'static str,
    leading: &'static str,
    /// None: numbers, which can be incremented.
    value: Option<(String, &'static str)>,
    /// The type of each column, its number of values, and true if it has an index.
    columns: Vec<(&'static str, u32, bool)>,
}

/// A phase, without its name.
#[derive(Clone, Debug)]
pub(super) enum AnyPhase {
    Operations(AnyOperations),
    Task(String),
}

/// A phase of operations. What the records do not allow is left out when it is written.
#[derive(Clone, Debug)]
pub(super) struct AnyOperations {
    pub(super) mix: Vec<u32>,
    pub(super) threads: &'static str,
    pub(super) end: End,
    pub(super) choose: &'static str,
    pub(super) reads: Reads,
    pub(super) together: u32,
    pub(super) rate: &'static str,
    pub(super) background: Option<Box<AnyBackground>>,
}

/// The records and columns that scans and finds read.
#[derive(Clone, Debug)]
pub(super) struct Reads {
    scanned: String,
    /// None: a scan does not say which columns; else all, or these, as far as records have them.
    columns: Option<Option<Vec<usize>>>,
    found_by: usize,
}

/// The background of a phase.
#[derive(Clone, Debug)]
pub(super) struct AnyBackground {
    pub(super) mix: Vec<u32>,
    pub(super) choose: &'static str,
    pub(super) reads: Reads,
    pub(super) rate: u32,
}

impl Reads {
    /// Returns the reads with scans of all columns, each of `scanned` records.
    pub(super) fn of_all_columns(&self, scanned: &str) -> Self {
        Self { scanned: scanned.into(), columns: None, found_by: self.found_by }
    }
}

/// The end of a phase of operations.
#[derive(Clone, Debug)]
pub(super) enum End {
    Operations(u32),
    /// The lines of one that depends on the clock. Its rate is low, for it takes no less time then.
    Clock(&'static str),
}

/// The list of numbers of threads of phases that have one, and the cells' choices.
const THREADS: [u32; 3] = [1, 2, 3];

fn size(least: u32) -> impl Strategy<Value = String> {
    let of = |text: fn(u32, u32) -> String| {
        (least..least + 40, 1..60_u32).prop_map(move |(a, b)| text(a, b))
    };
    prop_oneof![
        of(|a, _| format!("{{ constant = {a} }}")),
        of(|a, b| format!("{{ uniform = [{a}, {}] }}", a + b)),
        of(|a, b| format!(
            "{{ lognormal = {{ median = {a}, p99 = {}, max = {} }} }}",
            a + b,
            a + 3 * b
        )),
        of(|a, b| format!("{{ zipf = {{ min = {a}, max = {}, exponent = 1.1 }} }}", a + b)),
        of(|a, b| format!("{{ histogram = [[{a}, 3], [{}, 1]] }}", a + b)),
    ]
}

/// Returns any records, at least `least` of them.
pub(super) fn any_records(least: u32) -> impl Strategy<Value = AnyRecords> {
    let count = prop_oneof![
        8 => (least..least + 300).prop_map(|count| count.to_string()),
        1 => Just(format!("\"{}k\"", 1 + least / 1_000)),
    ];
    let order = select(vec![
        "",
        "order = \"random\"",
        "order = \"sequential\"",
        "bulk = true",
        "order = \"sequential\"\nbulk = true",
    ]);
    let key = select(vec![
        "type = \"u64\"",
        "type = \"text\", bytes = 16",
        "type = \"text\", bytes = 21",
        "type = \"bytes\", bytes = 8",
        "type = \"bytes\", bytes = 13",
    ]);
    let made = select(vec!["dense", "sparse", "hashed", "time"]);
    let leading = select(vec![
        "",
        "",
        ", leading = { a = { type = \"u32\", distinct = 5 } }",
        ", leading = { a = { type = \"text\", bytes = 18, distinct = 1 }, \
         b = { type = \"u64\", distinct = 40 } }",
        ", leading = { a = { type = \"u32\", distinct = 3 }, b = { type = \"u32\", distinct = 4 }, \
         c = { type = \"text\", bytes = 16, distinct = 2 } }",
    ]);
    let compressible = select(vec!["", "compressible = 0.5", "compressible = 1"]);
    let value = prop_oneof![1 => Just(None), 2 => (size(8), compressible).prop_map(Some)];
    let kind = select(vec!["type = \"u32\"", "type = \"u64\"", "type = \"text\", bytes = 17"]);
    let columns = proptest::collection::vec((kind, 1..40_u32, any::<bool>()), 0..5);
    (count, order, key, made, leading, value, columns).prop_map(
        |(count, order, key, made, leading, value, columns)| AnyRecords {
            count,
            order: order.into(),
            key,
            made,
            leading,
            value,
            columns,
        },
    )
}

fn any_mix(most: usize) -> impl Strategy<Value = Vec<u32>> {
    let share = prop_oneof![2 => Just(0), 3 => 1..4_u32];
    proptest::collection::vec(share, most)
}

/// The most operations a second of a background that inserts records with an index.
const RATE_OF_INDEXED: u32 = 3_000;

fn any_choice() -> impl Strategy<Value = &'static str> {
    select(vec![
        "",
        "choose = \"uniform\"",
        "choose = \"latest\"",
        "choose = \"oldest\"",
        "choose = \"sequential\"",
        "choose = { zipfian = 1.0 }",
        "choose = { exponential = 0.05 }",
        "choose = { hotspot = { keys = 0.5, operations = 0.5 } }",
    ])
}

fn any_reads() -> impl Strategy<Value = Reads> {
    let columns = proptest::collection::btree_set(0..5_usize, 0..4);
    let columns = columns.prop_map(|places| places.into_iter().rev().collect());
    let columns = proptest::option::of(proptest::option::weighted(0.8, columns));
    let all = (size(1), columns, 0..4_usize);
    all.prop_map(|(scanned, columns, found_by)| Reads { scanned, columns, found_by })
}

/// Returns the operations of a phase; of one in 60 until the clock says so.
pub(super) fn any_operations() -> impl Strategy<Value = AnyOperations> {
    let end = prop_oneof![
        110 => (1..700_u32).prop_map(End::Operations),
        2 => Just(End::Clock("seconds = 1\n")),
        1 => Just(End::Clock("until = \"steady\"\nwindow = 1\nlimit = 5\n")),
    ];
    let threads = select(vec!["", "threads = 1\n", "threads = 3\n", "threads = [1, 2, 3]\n"]);
    let rate = select(vec![
        "",
        "",
        "rate = \"closed\"\n",
        "rate = 100000\n",
        "rate = [[1, 200000], [2, 50000]]\n",
    ]);
    let all = Kind::ALL.len();
    let background = (any_mix(all), any_choice(), any_reads(), select(vec![1, 2_000, 1_000_000]));
    let background = background.prop_map(|(mix, choose, reads, rate)| AnyBackground {
        mix,
        choose,
        reads,
        rate,
    });
    (
        any_mix(all),
        threads,
        end,
        any_choice(),
        any_reads(),
        select(vec![0, 1, 7, 1_000]),
        rate,
        proptest::option::weighted(0.3, background.prop_map(Box::new)),
    )
        .prop_map(|(mix, threads, end, choose, reads, together, rate, background)| {
            AnyOperations { mix, threads, end, choose, reads, together, rate, background }
        })
}

fn any_phase() -> impl Strategy<Value = AnyPhase> {
    let task = select(vec![
        "do = \"reopen\"\n",
        "do = \"recover\"\n",
        "do = \"recover\"\n",
        "do = \"recover\"\nseconds = 3\n",
        "do = \"delete-half\"\nlimit = 0\n",
        "do = \"delete-half\"\nlimit = 0\nthreads = 2\n",
    ]);
    prop_oneof![
        3 => any_operations().prop_map(AnyPhase::Operations),
        1 => task.prop_map(|task| AnyPhase::Task(task.into())),
    ]
}

pub(super) fn any_kill() -> impl Strategy<Value = Kill> {
    let lost = prop_oneof![2 => Just(0), 2 => 1..60_usize, 1 => 1..2_000_usize];
    (0..60_u64, any::<bool>(), lost).prop_map(|(updates, last_counts, lost)| Kill {
        updates,
        last_counts,
        lost,
    })
}

/// Returns any workload.
pub(super) fn any_workload() -> impl Strategy<Value = Any> {
    let survives = select(vec![
        "",
        "survives = \"nothing\"\n",
        "survives = \"killed process\"\n",
        "survives = \"power cut but for the last moment\"\n",
        "survives = \"power cut but for the last moment\"\n",
        "survives = \"power cut\"\n",
    ]);
    let phases = proptest::collection::vec(any_phase(), 1..6);
    (survives, any_records(0), phases, select(THREADS.to_vec()), any_kill()).prop_map(
        |(survives, records, phases, threads, kill)| {
            let text = records.workload(survives, &phases);
            Any { text, threads, kill }
        },
    )
}

/// Writes the shares of a mix that records allow.
fn mix(shares: &[u32], may: impl Fn(Kind) -> bool) -> String {
    let allowed =
        Kind::ALL.into_iter().zip(shares).filter(|(kind, share)| **share > 0 && may(*kind));
    let shares: Vec<_> =
        allowed.map(|(kind, share)| format!("{} = {share}", kind.name())).collect();
    match &shares[..] {
        [] => "{ read = 1 }".into(),
        shares => format!("{{ {} }}", shares.join(", ")),
    }
}

impl AnyRecords {
    /// Returns the records as numbers, which can be incremented.
    pub(super) fn of_numbers(self) -> Self {
        Self { value: None, ..self }
    }

    /// Returns the records without an index.
    pub(super) fn without_an_index(self) -> Self {
        Self { columns: Vec::new(), ..self }
    }

    /// Returns the records with an index of a column.
    pub(super) fn with_an_index(self) -> Self {
        Self { columns: vec![("type = \"u64\"", 9, true)], ..self }
    }

    /// Returns the file of a workload on these records.
    pub(super) fn workload(&self, survives: &str, phases: &[AnyPhase]) -> String {
        // Hashed keys are scanned where it is known how many records there can be.
        let is_open = |phase: &AnyPhase| match phase {
            AnyPhase::Operations(it) => {
                let inserts =
                    |mix: &[u32]| mix[Kind::Insert as usize] + mix[Kind::Upsert as usize] > 0;
                it.background.as_ref().is_some_and(|behind| inserts(&behind.mix))
                    || matches!(it.end, End::Clock(_)) && inserts(&it.mix)
            }
            AnyPhase::Task(_) => false,
        };
        let is_open = phases.iter().any(is_open);
        let made = if is_open && self.made == "hashed" { "sparse" } else { self.made };
        let Self { count, order, key, leading, .. } = self;
        let (value, compressible) = match &self.value {
            None => ("{ constant = 8 }", ""),
            Some((value, compressible)) => (value.as_str(), *compressible),
        };
        let columns = self.columns.iter().enumerate().map(|(at, (kind, distinct, index))| {
            format!("c{at} = {{ {kind}, distinct = {distinct}, index = {index} }}")
        });
        let columns = columns.collect::<Vec<_>>().join(", ");
        let mut text = format!(
            "title = \"Any\"\n{survives}[records]\ncount = {count}\n{order}\n\
             key = {{ {key}, made = \"{made}\"{leading} }}\nvalue = {value}\n{compressible}\n\
             columns = {{ {columns} }}\n"
        );
        for (at, phase) in phases.iter().enumerate() {
            let _ = write!(text, "[[phase]]\nname = \"p{at}\"\n");
            match phase {
                AnyPhase::Task(task) => text += task,
                AnyPhase::Operations(operations) => self.write(operations, &mut text),
            }
        }
        text
    }

    fn write(&self, phase: &AnyOperations, text: &mut String) {
        let indexed: Vec<_> =
            (0..).zip(&self.columns).filter(|(_, column)| column.2).map(|(at, _)| at).collect();
        let may = |kind| match kind {
            Kind::Increment => self.value.is_none(),
            Kind::Find => !indexed.is_empty(),
            _ => true,
        };
        let AnyOperations { threads, choose, .. } = phase;
        let mix_of = mix(&phase.mix, may);
        let reads = self.reads(&mix_of, &phase.reads, &indexed).join("\n");
        let _ = write!(text, "mix = {mix_of}\n{threads}{choose}\n{reads}\n");
        let _ = match phase.end {
            End::Operations(count) => write!(text, "operations = {count}\n{}", phase.rate),
            End::Clock(lines) => writeln!(text, "{lines}rate = 500"),
        };
        if phase.together > 0 {
            let _ = writeln!(text, "transaction = {}", phase.together);
        }
        if let Some(background) = &phase.background {
            let AnyBackground { mix: shares, choose, reads, rate } = &**background;
            let behind = mix(shares, may);
            // No value of a column may have too many records, were they all inserted.
            let inserts = !indexed.is_empty() && behind.contains("insert");
            let rate = if inserts { RATE_OF_INDEXED.min(*rate) } else { *rate };
            let mut parts = vec![format!("mix = {behind}"), format!("rate = {rate}")];
            parts.extend(self.reads(&behind, reads, &indexed));
            parts.extend(Some(choose.to_string()).filter(|choose| !choose.is_empty()));
            let _ = writeln!(text, "background = {{ {} }}", parts.join(", "));
        }
    }

    /// Returns what scans and finds of a mix read; `indexed` are columns with an index.
    fn reads(&self, mix: &str, reads: &Reads, indexed: &[usize]) -> Vec<String> {
        let mut lines = Vec::new();
        if mix.contains("scan") {
            let columns = match &reads.columns {
                None => String::new(),
                Some(None) => ", columns = \"all\"".into(),
                Some(Some(places)) => {
                    let name = |place: &usize| match place {
                        place if *place < self.columns.len() => format!("\"c{place}\""),
                        _ => "\"value\"".into(),
                    };
                    let mut names: Vec<_> = places.iter().map(name).collect();
                    names.dedup();
                    format!(", columns = [{}]", names.join(", "))
                }
            };
            lines.push(format!("scan = {{ rows = {}{columns} }}", reads.scanned));
        }
        if mix.contains("find") {
            let by = indexed[reads.found_by % indexed.len()];
            lines.push(format!("find = {{ by = \"c{by}\" }}"));
        }
        lines
    }
}
