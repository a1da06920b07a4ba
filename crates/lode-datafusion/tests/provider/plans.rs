//! Checks what is pushed down, as `EXPLAIN` says it.

use crate::support::{database, over_lode, plan, runtime};

/// The conditions on keys that a scan fulfils, and whether DataFusion looks at the rows again.
fn pushed(query: &str) -> (String, bool) {
    let plan = plan(&runtime(), &over_lode(&database()), query);
    let scan = plan.lines().find(|line| line.contains("LodeScan")).unwrap_or_default();
    let key = scan.split_once("key=[").and_then(|(_, rest)| rest.split_once(']'));
    (key.map_or(String::new(), |(key, _)| key.to_string()), plan.contains("FilterExec"))
}

#[test]
fn conditions_on_the_key_are_carried_out_by_lode() {
    for (from, key, is_filtered) in [
        ("call WHERE caller = 7", "caller = 7", false),
        ("call WHERE 7 >= caller", "caller <= 7", false),
        ("call WHERE caller = 7 AND time = 1", "caller = 7 AND time = 1", true),
        (
            "call WHERE caller = 7 AND time > 1 AND time <= 9",
            "caller = 7 AND time > 1 AND time <= 9",
            true,
        ),
        (
            "call WHERE caller IN (9, 7, 8, 6) AND time < 1",
            "caller IN (6, 7, 8, 9) AND time < 1",
            true,
        ),
        ("call WHERE caller BETWEEN 3 AND 4", "caller >= 3 AND caller <= 4", false),
        ("call WHERE caller > 3 AND caller > 5", "caller > 5", false),
        ("call WHERE caller > 3 AND time = 1", "caller > 3", true),
        ("call WHERE time = 1", "", true),
        ("call WHERE caller = 7 AND seconds = 1", "caller = 7", true),
        ("call WHERE caller > 2.5", "", true),
        ("call WHERE caller <> 2", "", true),
        ("word WHERE text = 'a'", "text = 'a'", false),
        ("word WHERE text > 'longer than any'", "", true),
        ("flag WHERE NOT is_set AND name = 'a'", "is_set = false AND name = 'a'", true),
        ("pair WHERE \"left\" = 1 AND \"right\" = 'a'", "left = 1 AND right = 'a'", true),
        ("pair WHERE \"left\" = 1", "", true),
        ("item WHERE id IN (1, 2, 3, 4)", "id IN (1, 2, 3, 4)", false),
        ("item WHERE id > 1", "", true),
        ("item WHERE id IN (1, 2, 3, 4) AND id > 2", "id IN (3, 4)", true),
        ("sample WHERE level = 1.5", "", true),
    ] {
        let found = pushed(&format!("SELECT seconds FROM {from}"));
        assert_eq!(found, (key.to_string(), is_filtered), "{from}");
    }
}

#[test]
fn a_long_list_is_read_from_its_first_value_to_its_last() {
    let list: Vec<_> = (0..1_001).map(|id: i64| (id * 2).to_string()).collect();
    let list = list.join(", ");
    let found = pushed(&format!("SELECT seconds FROM call WHERE caller IN ({list})"));
    assert_eq!(found, ("caller >= 0 AND caller <= 2000".to_string(), true));
    let found = pushed(&format!("SELECT seconds FROM item WHERE id IN ({list})"));
    assert_eq!(found, (String::new(), true));
}

#[test]
fn only_the_columns_the_rows_and_the_parts_that_are_needed_are_read() {
    let runtime = runtime();
    let context = over_lode(&database());
    for (query, scan) in [
        ("SELECT time FROM call", "table=call, columns=[time], partitions=3"),
        ("SELECT seconds, caller FROM call", "columns=[caller, seconds], partitions=3"),
        ("SELECT * FROM call LIMIT 5", "columns=[caller, time, seconds], limit=5, partitions=1"),
        (
            "SELECT time FROM call WHERE caller = 1 LIMIT 5",
            "key=[caller = 1], limit=5, partitions=1",
        ),
        ("SELECT id FROM item", "columns=[id], partitions=1"),
    ] {
        let plan = plan(&runtime, &context, query);
        assert!(plan.contains(scan), "{query}\n{plan}");
    }
    let filtered = plan(&runtime, &context, "SELECT time FROM call WHERE seconds = 1 LIMIT 5");
    assert!(!filtered.contains("limit=5"), "rows are left out later\n{filtered}");
}
