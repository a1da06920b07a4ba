//! Generated queries find in tables of Lode what they find in the same rows in memory.

use std::sync::LazyLock;

use datafusion::prelude::SessionContext;
use lode::{Database, KeyKind, Schema, Type};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use tokio::runtime::Runtime;

use crate::support::{TABLES, WORDS, database, over_lode, over_memory, rows, runtime};

struct Both {
    runtime: Runtime,
    lode: SessionContext,
    memory: SessionContext,
    _db: Database,
}

static BOTH: LazyLock<Both> = LazyLock::new(|| {
    let db = database();
    let lode = over_lode(&db);
    let memory = over_memory(&db);
    Both { runtime: runtime(), lode, memory, _db: db }
});

/// A value for a column, in SQL: one that is there, one that is not, or one that no row can have.
fn literal(kind: Type) -> BoxedStrategy<String> {
    match kind {
        Type::I32 => (-12..14i64).prop_map(|number| number.to_string()).boxed(),
        Type::I64 => prop_oneof![
            (-7..15i64).prop_map(|number| number.to_string()),
            (2_900..3_100i64).prop_map(|number| number.to_string()),
            Just("2.5".to_string()),
        ]
        .boxed(),
        Type::U8 | Type::U64 => (-1..300i64).prop_map(|number| number.to_string()).boxed(),
        Type::Bool => select(vec!["true", "false"]).prop_map(String::from).boxed(),
        Type::F64 => select(vec!["0.0", "-0.0", "1.5", "CAST('NaN' AS DOUBLE)", "-2.0"])
            .prop_map(String::from)
            .boxed(),
        Type::Timestamp => (-6..40i64)
            .prop_map(|second| format!("to_timestamp_micros({second} * 1000000)"))
            .boxed(),
        _ => prop_oneof![
            select(WORDS.to_vec()).prop_map(|word| format!("'{word}'")),
            Just("'longer than any'".to_string()),
        ]
        .boxed(),
    }
}

/// A condition on a column.
fn condition(name: &'static str, kind: Type) -> BoxedStrategy<String> {
    let comparison = (select(vec!["=", "<", "<=", ">", ">=", "<>"]), literal(kind));
    let list = proptest::collection::vec(literal(kind), 1..5);
    let range = (literal(kind), literal(kind));
    let one = prop_oneof![
        6 => comparison.clone().prop_map(move |(sign, value)| format!("{name} {sign} {value}")),
        1 => comparison.prop_map(move |(sign, value)| format!("{value} {sign} {name}")),
        2 => list.prop_map(move |list| format!("{name} IN ({})", list.join(", "))),
        2 => range.prop_map(move |(low, high)| format!("{name} BETWEEN {low} AND {high}")),
        1 => Just(format!("{name} IS NOT NULL")),
    ];
    let is_bool = kind == Type::Bool;
    let by_itself = one.clone().prop_map(move |one| if is_bool { name.into() } else { one });
    prop_oneof![
        8 => one.clone(),
        1 => by_itself.prop_map(|one| format!("NOT ({one})")),
        1 => (one.clone(), one).prop_map(|(one, other)| format!("({one} OR {other})")),
    ]
    .boxed()
}

/// Returns the text after `SELECT`: the table with conditions; and the most rows, if not all.
fn query() -> impl Strategy<Value = (String, Option<usize>)> {
    select(TABLES.to_vec()).prop_flat_map(|(table, columns)| {
        let conditions =
            select(columns.to_vec()).prop_flat_map(|(name, kind)| condition(name, kind));
        let conditions = proptest::collection::vec(conditions, 0..4);
        let names = columns.iter().map(|(name, _)| *name).collect::<Vec<_>>();
        let limit = prop_oneof![3 => Just(None), 1 => (0..30usize).prop_map(Some)];
        (subsequence(names, 0..=columns.len()), conditions, limit).prop_map(
            move |(names, conditions, limit)| {
                let shown = if names.is_empty() { "1".to_string() } else { names.join(", ") };
                let conditions = if conditions.is_empty() {
                    String::new()
                } else {
                    format!(" WHERE {}", conditions.join(" AND "))
                };
                (format!("SELECT {shown} FROM {table}{conditions}"), limit)
            },
        )
    })
}

/// The number of queries in a run; more in one for all cases.
fn count() -> u32 {
    if std::env::var_os("LODE_THOROUGH").is_some() { 1_000 } else { 300 }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(count()))]

    #[test]
    fn queries_find_what_is_there((query, limit) in query()) {
        let Both { runtime, lode, memory, .. } = &*BOTH;
        let mut wanted = rows(runtime, memory, &query);
        wanted.sort();
        let mut found = rows(runtime, lode, &query);
        found.sort();
        prop_assert_eq!(&found, &wanted, "{}", &query);
        if let Some(limit) = limit {
            let found = rows(runtime, lode, &format!("{query} LIMIT {limit}"));
            prop_assert_eq!(found.len(), wanted.len().min(limit), "{} LIMIT {}", &query, limit);
            for row in &found {
                prop_assert!(wanted.binary_search(row).is_ok(), "{} LIMIT {}", &query, limit);
            }
        }
    }
}

#[test]
fn rows_come_in_the_order_of_keys_without_sorting() {
    let Both { runtime, lode, memory, .. } = &*BOTH;
    for query in [
        "SELECT * FROM call ORDER BY caller, time",
        "SELECT time FROM call WHERE caller = 3 ORDER BY time LIMIT 7",
        "SELECT * FROM call WHERE caller IN (5, -3) ORDER BY caller, time",
        "SELECT text, id FROM word WHERE text >= 'a' ORDER BY text, id",
    ] {
        assert_eq!(rows(runtime, lode, query), rows(runtime, memory, query), "{query}");
        let plan = crate::support::plan(runtime, lode, query);
        assert!(!plan.contains("SortExec"), "{query}\n{plan}");
    }
    let query = "SELECT at, level FROM sample ORDER BY at, level";
    assert!(crate::support::plan(runtime, lode, query).contains("SortExec"), "zeros are floats");
}

#[test]
fn a_condition_that_is_always_true_takes_no_other_with_it() {
    let Both { runtime, lode, memory, .. } = &*BOTH;
    let query = "SELECT name FROM flag WHERE is_set IN (true, false) AND name > ''";
    let found = rows(runtime, lode, query);
    let wanted = rows(runtime, memory, query);
    assert_eq!((found.len(), wanted.len()), (8, 8));
}

/// Finds both zeros in the key of `sample`: two keys in Lode, and one value here.
#[test]
fn a_key_of_floats_makes_no_group_needless() {
    let Both { runtime, lode, memory, .. } = &*BOTH;
    for query in [
        "SELECT DISTINCT at, level FROM sample",
        "SELECT at, level, count(*) FROM sample GROUP BY at, level",
        "SELECT count(*) FROM sample GROUP BY at, level, seconds",
        "SELECT DISTINCT caller, time FROM call",
    ] {
        let [mut found, mut wanted] = [lode, memory].map(|context| rows(runtime, context, query));
        found.sort();
        wanted.sort();
        assert_eq!(found, wanted, "{query}");
    }
}

#[test]
fn parts_have_each_record_once() {
    const RECORDS: u64 = 60_000;
    let db = Database::in_memory().expect("memory");
    let runtime = runtime();
    let schema = Schema::build("number").key("id", Type::U64).column("twice", Type::U64);
    let schema = schema.finish().expect("a schema");
    let numbers = db.create_table(&schema, KeyKind::Tree).expect("a table");
    for id in 0..RECORDS {
        let record = [id.to_le_bytes(), (2 * id).to_le_bytes()].concat();
        assert!(numbers.insert(&record).expect("there is room"));
    }
    let context = over_lode(&db);
    let query = "SELECT count(*), sum(id), sum(twice) FROM number";
    assert!(crate::support::plan(&runtime, &context, query).contains("partitions=3"));
    let sum = RECORDS * (RECORDS - 1) / 2;
    let wanted = format!("| {RECORDS} | {sum} | {} |", 2 * sum);
    assert_eq!(rows(&runtime, &context, query), [wanted]);
}
