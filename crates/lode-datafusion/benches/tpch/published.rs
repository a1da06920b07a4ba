//! The answers that TPC-H publishes for scale factor 1.

use tpchgen::q_and_a::answers_sf1::answer;

/// Compares the sorted rows of an answer with the published ones, whose decimals have two digits
/// after their points.
///
/// # Panics
/// If they differ.
pub fn compare(number: usize, rows: &[Vec<String>]) {
    let published = answer(number as i32).expect("all 22 are published");
    // The first line has the names of columns.
    let lines = published.trim().lines().skip(1);
    let mut wanted: Vec<Vec<String>> =
        lines.map(|line| line.split('|').map(cell).collect()).collect();
    let mut found: Vec<Vec<String>> =
        rows.iter().map(|row| row.iter().map(|value| cell(value)).collect()).collect();
    wanted.sort();
    found.sort();
    assert_eq!(found.len(), wanted.len(), "rows of query {number}");
    for (found, wanted) in found.iter().zip(&wanted) {
        let is_same = found.len() == wanted.len()
            && found.iter().zip(wanted).all(|(found, wanted)| is_same(found, wanted));
        assert!(is_same, "query {number}: {found:?} is not {wanted:?}");
    }
}

/// A value without the spaces around it and the time of a day.
fn cell(value: &str) -> String {
    let value = value.trim();
    value.strip_suffix("T00:00:00Z").unwrap_or(value).to_string()
}

/// Returns true if two values are the same, to two digits after the point if they have one.
fn is_same(found: &str, wanted: &str) -> bool {
    match (found.parse::<f64>(), wanted.parse::<f64>()) {
        (Ok(found), Ok(wanted)) => (found - wanted).abs() <= 0.01,
        _ => found == wanted,
    }
}
