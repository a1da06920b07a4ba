//! Values and conditions.

use lode::{Column, Type};

use crate::random::Random;
use crate::schema::Table;

const WORDS: [&str; 14] =
    ["", "a", "A", "ab", "Ab", "b", "bern", "é", "zz", "5", "05", "-1", "7.5", "a b"];
const BLOBS: [&str; 8] = ["", "00", "0000", "61", "6162", "ff", "ffff", "616263"];

/// A value that a column can hold, as a literal.
pub fn fitting(column: &Column, random: &mut Random) -> String {
    if column.nullable && random.percent(20) {
        return "NULL".into();
    }
    let near = (random.below(24) as i64).to_string();
    let ends: &[&str] = match column.kind {
        Type::U8 => &["0", "255"],
        Type::U16 => &["0", "65535"],
        Type::U32 => &["0", "4294967295"],
        Type::U64 => &["0", "9223372036854775807"],
        Type::I8 => &["-128", "127", "-1"],
        Type::I16 => &["-32768", "32767", "-1"],
        Type::I32 => &["-2147483648", "2147483647", "-1"],
        Type::I64 | Type::Timestamp => &["-9223372036854775808", "9223372036854775807", "-1"],
        Type::F32 => &["-0.5", "0.0", "3.5", "16777216.0", "-1e30", "9e999", "-9e999"],
        Type::F64 => &["-0.5", "0.0", "0.1", "9007199254740993.0", "1e300", "9e999", "-9e999"],
        Type::Bool => return random.below(2).to_string(),
        Type::Text(most) | Type::VarText(most) => {
            let words: Vec<_> = WORDS.iter().filter(|word| word.len() <= most as usize).collect();
            return format!("'{}'", random.one_of(&words));
        }
        Type::Bytes(size) => {
            let is_it = |blob: &&&str| blob.len() == 2 * size as usize;
            return format!(
                "x'{}'",
                random.one_of(&BLOBS.iter().filter(is_it).collect::<Vec<_>>())
            );
        }
        Type::VarBytes(most) => {
            let is_it = |blob: &&&str| blob.len() <= 2 * most as usize;
            return format!(
                "x'{}'",
                random.one_of(&BLOBS.iter().filter(is_it).collect::<Vec<_>>())
            );
        }
        other => unreachable!("no column is {other:?}"),
    };
    // 1e30 is no float of 32 bits.
    match (column.kind, random.percent(75)) {
        (_, true) => near,
        (Type::F32, false) => (*random.one_of(&ends[..4])).into(),
        (_, false) => (*random.one_of(ends)).into(),
    }
}

/// A value of any type, as a literal.
pub fn any(random: &mut Random) -> String {
    match random.below(10) {
        0..3 => (random.below(24) as i64 - 3).to_string(),
        3 => {
            (*random.one_of(&["9223372036854775807", "-9223372036854775808", "256", "-129"])).into()
        }
        4 => (*random.one_of(&["2.5", "7.0", "-0.5", "9e999", "-1e300", "9.3e18", "1e-9", "0.0"]))
            .into(),
        5..8 => format!("'{}'", random.one_of(&WORDS)),
        8 => format!("x'{}'", random.one_of(&BLOBS)),
        _ => "NULL".into(),
    }
}

/// A value of any type that both store in a column, or refuse: for columns of text no real number,
/// which only SQLite turns into text; for floats of 32 bits none of 64.
pub fn any_for(column: &Column, random: &mut Random) -> String {
    let takes_any_real = !matches!(column.kind, Type::Text(_) | Type::VarText(_) | Type::F32);
    loop {
        let value = any(random);
        let is_short = value.parse::<i16>().is_ok();
        if takes_any_real || value.starts_with(['\'', 'x']) || is_short {
            return value;
        }
    }
}

/// A column of a table, with the table's name in this statement.
fn column(table: (&str, &Table), random: &mut Random) -> String {
    let columns = table.1.schema.columns();
    // Mostly of the key, where there is most to go wrong.
    let column = if random.percent(60) {
        random.below(table.1.schema.key_columns())
    } else {
        random.below(columns.len())
    };
    format!("{}.{}", table.0, columns[column].name)
}

/// A condition on the rows of a table.
pub fn condition(table: (&str, &Table), depth: usize, random: &mut Random) -> String {
    if depth > 0 && random.percent(55) {
        let one = condition(table, depth - 1, random);
        let other = condition(table, depth - 1, random);
        return match random.below(10) {
            0..6 => format!("({one} AND {other})"),
            6..9 => format!("({one} OR {other})"),
            _ => format!("NOT ({one} AND {other})"),
        };
    }
    let at = if random.percent(60) {
        random.below(table.1.schema.key_columns())
    } else {
        random.below(table.1.schema.columns().len())
    };
    let found = &table.1.schema.columns()[at];
    let left = format!("{}.{}", table.0, found.name);
    let mut value = || if random.percent(70) { fitting(found, random) } else { any(random) };
    let first = value();
    let second = value();
    let third = value();
    match random.below(26) {
        0..6 => format!("{left} = {first}"),
        6..11 => format!("{left} {} {first}", random.one_of(&["<", "<=", ">", ">="])),
        11..13 => format!("{first} {} {left}", random.one_of(&["<", "<=", ">", ">=", "="])),
        13..15 => format!("{left} BETWEEN {first} AND {second}"),
        15..18 => format!("{left} IN ({first}, {second}, {third})"),
        18 => format!("{left} IS {first}"),
        19 => format!("{left} IS NOT NULL"),
        20 => format!("{left} <> {first}"),
        21 => format!("{left} LIKE '{}%'", random.one_of(&WORDS)),
        22 => format!("{left} GLOB '{}*'", random.one_of(&WORDS)),
        23 => format!("{left} = {first} COLLATE NOCASE"),
        24 => format!("{left} {} {}", random.one_of(&["=", "<"]), column(table, random)),
        _ => format!("{left} {} CAST({first} AS TEXT)", random.one_of(&["=", "<", ">="])),
    }
}
