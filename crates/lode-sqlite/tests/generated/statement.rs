//! Statements.

use crate::expression::{any_for, condition, fitting};
use crate::random::Random;
use crate::schema::{Table, is_small_whole};

/// A statement, and whether its rows come in an order that it says.
pub struct Statement {
    pub text: String,
    pub is_ordered: bool,
}

impl Statement {
    fn unordered(text: String) -> Self {
        Self { text, is_ordered: false }
    }
}

/// ` WHERE …`, or nothing.
fn filter(table: (&str, &Table), random: &mut Random) -> String {
    if random.percent(85) {
        format!(" WHERE {}", condition(table, 2, random))
    } else {
        String::new()
    }
}

/// The columns of the key in an order, all of them.
fn order(name: &str, table: &Table, random: &mut Random) -> String {
    let is_descending = random.percent(50);
    let is_mixed = random.percent(15);
    let keys = table.keys().into_iter().enumerate().map(|(at, key)| {
        let suffix = if is_descending ^ (is_mixed && at % 2 == 1) { " DESC" } else { "" };
        format!("{name}.{key}{suffix}")
    });
    keys.collect::<Vec<_>>().join(", ")
}

fn limit(random: &mut Random) -> String {
    match random.below(4) {
        0 => format!(" LIMIT {}", random.below(6)),
        1 => format!(" LIMIT {} OFFSET {}", random.below(6), random.below(4)),
        _ => String::new(),
    }
}

fn names(table: &Table) -> Vec<&str> {
    table.schema.columns().iter().map(|column| &column.name[..]).collect()
}

/// Some columns, or all.
fn some_columns(name: &str, table: &Table, random: &mut Random) -> String {
    if random.percent(30) {
        return format!("{name}.*");
    }
    let names = names(table);
    let count = random.below(names.len()) + 1;
    let chosen = (0..count).map(|_| format!("{name}.{}", random.one_of(&names)));
    chosen.collect::<Vec<_>>().join(", ")
}

/// A query.
pub fn query(tables: &[Table], random: &mut Random) -> Statement {
    let one = random.one_of(tables);
    let other = random.one_of(tables);
    let name = &one.name;
    let a = ("a", one);
    let b = ("b", other);
    let key = |table: &Table, random: &mut Random| random.one_of(&table.keys()).to_string();
    match random.below(18) {
        16.. => {
            // Correlated: the inner table is looked at for each row of the outer one.
            let mut pair = || {
                (random.one_of(&names(other)).to_string(), random.one_of(&names(one)).to_string())
            };
            let ((b1, a1), (b2, a2)) = (pair(), pair());
            let more =
                if random.percent(30) { format!("AND b.{b2} = a.{a2}") } else { String::new() };
            Statement::unordered(format!(
                "SELECT a.*, (SELECT count(*) FROM {} b WHERE b.{b1} = a.{a1} {more}) FROM {name} \
                 a{}",
                other.name,
                filter(a, random)
            ))
        }
        0..5 => {
            let columns = some_columns("a", one, random);
            let condition = filter(a, random);
            let order = order("a", one, random);
            let limit = limit(random);
            Statement {
                text: format!("SELECT {columns} FROM {name} a{condition} ORDER BY {order}{limit}"),
                is_ordered: true,
            }
        }
        5 => {
            // Part of the key in order: so the values of that are.
            let first = key(one, random);
            let condition = filter(a, random);
            let limit = limit(random);
            Statement {
                text: format!(
                    "SELECT a.{first} FROM {name} a{condition} ORDER BY a.{first}{limit}"
                ),
                is_ordered: true,
            }
        }
        6 => Statement::unordered(format!(
            "SELECT {}, typeof(a.{}) FROM {name} a{}",
            some_columns("a", one, random),
            random.one_of(&names(one)),
            filter(a, random)
        )),
        7 => {
            let columns = one.schema.columns().iter();
            let sums: Vec<_> = columns
                .map(|column| {
                    if is_small_whole(column.kind) {
                        format!("sum(a.{0}), count(a.{0})", column.name)
                    } else {
                        format!("min(a.{0}), max(a.{0})", column.name)
                    }
                })
                .collect();
            Statement::unordered(format!(
                "SELECT count(*), {} FROM {name} a{}",
                sums.join(", "),
                filter(a, random)
            ))
        }
        8 => {
            let by = random.one_of(&names(one)).to_string();
            Statement::unordered(format!(
                "SELECT a.{by}, count(*) AS n FROM {name} a{} GROUP BY a.{by} HAVING n > {}",
                filter(a, random),
                random.below(3)
            ))
        }
        9 => Statement::unordered(format!(
            "SELECT DISTINCT a.{} FROM {name} a{}",
            random.one_of(&names(one)),
            filter(a, random)
        )),
        10..12 => {
            let left = random.one_of(&names(one)).to_string();
            // Mostly no key, so that indexes are built.
            let right = random.one_of(&names(other)).to_string();
            let collation = random.one_of(&["", "", "", " COLLATE NOCASE", " COLLATE RTRIM"]);
            let join = random.one_of(&["JOIN", "LEFT JOIN", "CROSS JOIN"]);
            let sign = random.one_of(&["=", "=", "=", "<", ">="]);
            let condition = condition(a, 1, random);
            Statement::unordered(format!(
                "SELECT a.{left}, b.{right}, b.* FROM {name} a {join} {} b ON b.{right} {sign} \
                 a.{left}{collation} AND {} WHERE {condition}",
                other.name,
                crate::expression::condition(b, 1, random)
            ))
        }
        12 => {
            let left = key(one, random);
            let right = random.one_of(&names(other)).to_string();
            let condition = condition(b, 1, random);
            Statement::unordered(format!(
                "SELECT a.* FROM {name} a WHERE a.{left} {}IN (SELECT b.{right} FROM {} b WHERE \
                 {condition} AND b.{right} IS NOT NULL)",
                random.one_of(&["", "NOT "]),
                other.name
            ))
        }
        13 => {
            let left = random.one_of(&names(one)).to_string();
            let right = key(other, random);
            Statement::unordered(format!(
                "SELECT a.{left}, (SELECT count(*) FROM {0} b WHERE b.{right} <= a.{left}) FROM \
                 {name} a WHERE {1}EXISTS (SELECT 1 FROM {0} b WHERE b.{right} = a.{left})",
                other.name,
                random.one_of(&["", "NOT "])
            ))
        }
        14 => {
            let left = random.one_of(&names(one)).to_string();
            let right = key(other, random);
            let condition = condition(a, 1, random);
            let second = filter(b, random);
            Statement::unordered(format!(
                "SELECT a.{left} FROM {name} a WHERE {condition} {} SELECT b.{right} FROM {} \
                 b{second}",
                random.one_of(&["UNION", "UNION ALL", "EXCEPT", "INTERSECT"]),
                other.name
            ))
        }
        _ => {
            let order = order("a", one, random);
            Statement::unordered(format!(
                "WITH c AS (SELECT a.*, row_number() OVER (ORDER BY {order}) AS place FROM {name} \
                 a{}) SELECT count(*), max(place), min(c.{}) FROM c WHERE place <= {}",
                filter(a, random),
                key(one, random),
                random.below(9)
            ))
        }
    }
}

/// A statement that writes.
pub fn write(tables: &[Table], random: &mut Random) -> Statement {
    let table = random.one_of(tables);
    let name = &table.name;
    let columns = table.schema.columns();
    let conflict = *random.one_of(&["", "", "", " OR REPLACE", " OR IGNORE"]);
    Statement::unordered(match random.below(12) {
        0..6 => {
            let rows = (0..=random.below(4)).map(|_| {
                let values = columns.iter().map(|column| fitting(column, random));
                format!("({})", values.collect::<Vec<_>>().join(", "))
            });
            let rows = rows.collect::<Vec<_>>().join(", ");
            format!("INSERT{conflict} INTO {name} VALUES {rows}")
        }
        6 => {
            // What may not fit; so one row, and nothing that ignores.
            let values = columns.iter().map(|column| {
                if random.percent(15) { any_for(column, random) } else { fitting(column, random) }
            });
            format!("INSERT INTO {name} VALUES ({})", values.collect::<Vec<_>>().join(", "))
        }
        7 => {
            // The rows of a table into itself, moved on by a number.
            let Some(first) = columns.iter().find(|column| is_small_whole(column.kind)) else {
                return write(&tables[..1], random);
            };
            let chosen = columns.iter().map(|column| {
                if column.name == first.name {
                    format!("{} + {}", column.name, random.below(5))
                } else {
                    column.name.clone()
                }
            });
            let chosen = chosen.collect::<Vec<_>>().join(", ");
            let order = order(name, table, random);
            format!(
                "INSERT{conflict} INTO {name} SELECT {chosen} FROM {name}{} ORDER BY {order} \
                 LIMIT 3",
                filter((name, table), random)
            )
        }
        8..10 => {
            let others = &columns[table.schema.key_columns()..];
            if others.is_empty() {
                return write(&tables[..1], random);
            }
            let column = random.one_of(others);
            let value = if is_small_whole(column.kind) && random.percent(40) {
                format!("{} + {}", column.name, random.below(9))
            } else {
                fitting(column, random)
            };
            format!("UPDATE {name} SET {} = {value}{}", column.name, filter((name, table), random))
        }
        10 => {
            // Another key for at most one row.
            let keys = &columns[..table.schema.key_columns()];
            let set: Vec<_> =
                keys.iter().map(|key| format!("{} = {}", key.name, fitting(key, random))).collect();
            let is: Vec<_> =
                keys.iter().map(|key| format!("{} = {}", key.name, fitting(key, random))).collect();
            let set = set.join(", ");
            format!("UPDATE{conflict} {name} SET {set} WHERE {}", is.join(" AND "))
        }
        _ => format!("DELETE FROM {name}{}", filter((name, table), random)),
    })
}
