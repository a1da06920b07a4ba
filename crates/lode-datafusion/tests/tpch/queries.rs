//! The 22 queries of TPC-H, with the parameters that its specification validates answers with.

const QUERIES: [&str; 22] = [
    include_str!("queries/q01.sql"),
    include_str!("queries/q02.sql"),
    include_str!("queries/q03.sql"),
    include_str!("queries/q04.sql"),
    include_str!("queries/q05.sql"),
    include_str!("queries/q06.sql"),
    include_str!("queries/q07.sql"),
    include_str!("queries/q08.sql"),
    include_str!("queries/q09.sql"),
    include_str!("queries/q10.sql"),
    include_str!("queries/q11.sql"),
    include_str!("queries/q12.sql"),
    include_str!("queries/q13.sql"),
    include_str!("queries/q14.sql"),
    include_str!("queries/q15.sql"),
    include_str!("queries/q16.sql"),
    include_str!("queries/q17.sql"),
    include_str!("queries/q18.sql"),
    include_str!("queries/q19.sql"),
    include_str!("queries/q20.sql"),
    include_str!("queries/q21.sql"),
    include_str!("queries/q22.sql"),
];

/// The queries for data of a scale factor, with their numbers.
pub fn queries(scale: f64) -> impl Iterator<Item = (usize, String)> {
    // One of them asks for more than this part of a sum.
    let fraction = format!("{:.10}", 0.0001 / scale);
    (1..).zip(QUERIES).map(move |(number, query)| (number, query.replace("{fraction}", &fraction)))
}
