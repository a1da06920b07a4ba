//! Functions of PostgreSQL that tools call.

use std::sync::PoisonError;

use regex_lite::RegexBuilder;
use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Error, Result};

use crate::catalogue::fill::TYPES;
use crate::catalogue::{About, Lookup, SharedLookup, Start};
use crate::refusal::INTERRUPTED;
use crate::sql::quoted_if_needed;
use crate::sql::settings::{Changed, VERSION};
use crate::types::array::put_json;
use crate::types::time::{DAY_US, now_us};

const FLAGS: FunctionFlags = FunctionFlags::SQLITE_UTF8;

/// The largest compiled regular expression, and the longest text for one, in bytes: nothing
/// interrupts one match.
const MOST_PATTERN_BYTES: usize = 16 << 10;
const MOST_MATCHED_BYTES: usize = 1 << 20;

/// Functions that have one value, whatever their arguments are: with how many they take, from and
/// to.
const CONSTANT: [(&str, i32, i32, Option<i64>); 49] = [
    ("array_to_string", 2, 3, None),
    ("pg_table_is_visible", 1, 1, Some(1)),
    ("pg_type_is_visible", 1, 1, Some(1)),
    ("pg_function_is_visible", 1, 1, Some(1)),
    ("pg_is_in_recovery", 0, 0, Some(0)),
    ("pg_is_other_temp_schema", 1, 1, Some(0)),
    ("pg_my_temp_schema", 0, 0, Some(0)),
    ("pg_relation_is_publishable", 1, 1, Some(0)),
    ("has_table_privilege", 2, 3, Some(1)),
    ("has_schema_privilege", 2, 3, Some(1)),
    ("has_database_privilege", 2, 3, Some(1)),
    ("has_column_privilege", 3, 4, Some(1)),
    ("has_any_column_privilege", 2, 3, Some(1)),
    ("has_sequence_privilege", 2, 3, Some(1)),
    ("has_function_privilege", 2, 3, Some(1)),
    ("has_type_privilege", 2, 3, Some(1)),
    ("has_language_privilege", 2, 3, Some(1)),
    ("has_tablespace_privilege", 2, 3, Some(1)),
    ("has_server_privilege", 2, 3, Some(1)),
    ("has_foreign_data_wrapper_privilege", 2, 3, Some(1)),
    ("pg_has_role", 2, 3, Some(1)),
    ("pg_opclass_is_visible", 1, 1, Some(1)),
    ("pg_operator_is_visible", 1, 1, Some(1)),
    ("pg_collation_is_visible", 1, 1, Some(1)),
    ("pg_stat_get_numscans", 1, 1, Some(0)),
    // There are no locks that could be released.
    ("pg_advisory_unlock_all", 0, 0, None),
    ("pg_get_expr", 2, 3, None),
    ("pg_get_viewdef", 1, 2, None),
    ("pg_get_serial_sequence", 2, 2, None),
    ("obj_description", 1, 2, None),
    ("col_description", 2, 2, None),
    ("shobj_description", 2, 2, None),
    ("pg_get_statisticsobjdef_columns", 1, 1, None),
    ("pg_get_partkeydef", 1, 1, None),
    ("pg_get_ruledef", 1, 2, None),
    ("pg_get_triggerdef", 1, 2, None),
    ("pg_get_function_result", 1, 1, None),
    ("pg_tablespace_location", 1, 1, None),
    ("pg_relation_size", 1, 2, None),
    ("pg_total_relation_size", 1, 1, None),
    ("pg_table_size", 1, 1, None),
    ("pg_indexes_size", 1, 1, None),
    ("pg_database_size", 1, 1, None),
    ("pg_get_functiondef", 1, 1, None),
    ("pg_get_function_arguments", 1, 1, None),
    ("pg_get_function_identity_arguments", 1, 1, None),
    ("pg_postmaster_start_time", 0, 0, None),
    ("inet_server_addr", 0, 0, None),
    ("inet_server_port", 0, 0, None),
];

/// Functions that lock what programs agree on, or say that they do: refused, with one argument or
/// two.
const LOCKS: [&str; 10] = [
    "pg_advisory_lock",
    "pg_advisory_lock_shared",
    "pg_advisory_unlock",
    "pg_advisory_unlock_shared",
    "pg_advisory_xact_lock",
    "pg_advisory_xact_lock_shared",
    "pg_try_advisory_lock",
    "pg_try_advisory_lock_shared",
    "pg_try_advisory_xact_lock",
    "pg_try_advisory_xact_lock_shared",
];

/// Adds the functions to the connection of a session.
pub(super) fn add_functions(
    connection: &Connection,
    about: About,
    lookup: &SharedLookup,
    start: &Start,
    is_off: impl Fn() -> bool + Send + 'static,
) -> Result<()> {
    for (name, least, most, value) in CONSTANT {
        for count in least..=most {
            connection.create_scalar_function(name, count, FLAGS, move |_| Ok(value))?;
        }
    }
    for name in LOCKS {
        for count in 1..=2 {
            connection.create_scalar_function(name, count, FLAGS, move |_| {
                let line = format!("{name}: advisory locks are not supported");
                Err::<Option<i64>, _>(Error::UserFunctionError(line.into()))
            })?;
        }
    }
    let version = format!("PostgreSQL {VERSION} (Lode {})", env!("CARGO_PKG_VERSION"));
    let texts = [
        ("version", version),
        ("current_user", about.user.clone()),
        ("session_user", about.user.clone()),
        ("current_role", about.user.clone()),
        ("current_schema", "public".into()),
        ("current_catalog", "lode".into()),
        ("current_database", "lode".into()),
    ];
    for (name, text) in texts {
        connection.create_scalar_function(name, 0, FLAGS, move |_| Ok(text.clone()))?;
    }
    let About { user: owner, number, settings } = about;
    connection.create_scalar_function("pg_get_userbyid", 1, FLAGS, move |_| Ok(owner.clone()))?;
    connection.create_scalar_function("pg_backend_pid", 0, FLAGS, move |_| Ok(number))?;
    add_settings(connection, &settings)?;
    connection.create_scalar_function("pg_encoding_to_char", 1, FLAGS, |_| Ok("UTF8"))?;
    connection.create_scalar_function("quote_ident", 1, FLAGS, |context| {
        Ok(context.get::<Option<String>>(0)?.map(|name| quoted_if_needed(&name)))
    })?;
    add_moments(connection, start)?;
    add_types(connection)?;
    add_classes(connection, lookup)?;
    connection.create_scalar_function("regexp", 2, FLAGS, move |context| matches(context, &is_off))
}

/// Adds functions for the time, in microseconds since 1970. SQLite calls those that have the names
/// of its words.
fn add_moments(connection: &Connection, start: &Start) -> Result<()> {
    for name in ["now", "current_timestamp", "localtimestamp", "transaction_timestamp"] {
        let start = start.clone();
        connection.create_scalar_function(name, 0, FLAGS, move |_| Ok(start.us()))?;
    }
    let start = start.clone();
    connection.create_scalar_function("current_date", 0, FLAGS, move |_| {
        Ok(start.us() - start.us().rem_euclid(DAY_US))
    })?;
    connection.create_scalar_function("clock_timestamp", 0, FLAGS, |_| Ok(now_us()))
}

/// Adds what gives settings, and all of them as an object of JSON.
fn add_settings(connection: &Connection, settings: &Changed) -> Result<()> {
    for count in 1..=2 {
        let settings = settings.clone();
        connection.create_scalar_function("current_setting", count, FLAGS, move |context| {
            let Some(name) = context.get::<Option<String>>(0)? else { return Ok(None) };
            let value = settings.value(&name);
            if value.is_none() && (count == 1 || !context.get::<bool>(1)?) {
                let line = format!("unrecognized configuration parameter \"{name}\"");
                return Err(Error::UserFunctionError(line.into()));
            }
            Ok(value)
        })?;
    }
    let changed = settings.clone();
    connection.create_scalar_function("set_config", 3, FLAGS, move |context| {
        let refused = |line: String| Error::UserFunctionError(line.into());
        let (name, value): (String, Option<String>) = (context.get(0)?, context.get(1)?);
        if context.get::<Option<bool>>(2)?.unwrap_or(false) {
            return Err(refused("set_config for a transaction is not supported".into()));
        }
        changed.set(&name, &value.unwrap_or_default()).map_err(refused)
    })?;
    let settings = settings.clone();
    connection.create_scalar_function("settings_json", 0, FLAGS, move |_| {
        let quoted = |text: &str| {
            let mut quoted = String::new();
            put_json(&mut quoted, text);
            quoted
        };
        let all = settings.all().into_iter();
        let pairs = all.map(|(name, value)| format!("{}:{}", quoted(name), quoted(&value)));
        Ok(format!("{{{}}}", pairs.collect::<Vec<_>>().join(",")))
    })
}

/// Returns true if the second argument matches the pattern in the first. The statement ends if
/// `is_off` says so.
fn matches(context: &Context<'_>, is_off: &dyn Fn() -> bool) -> Result<Option<bool>> {
    let refused = |why: String| Err(Error::UserFunctionError(why.into()));
    if is_off() {
        return refused(INTERRUPTED.into());
    }
    let pattern = context.get_raw(0);
    let text = context.get_raw(1);
    if pattern == ValueRef::Null || text == ValueRef::Null {
        return Ok(None);
    }
    // SQLite keeps it from row to row if the pattern is a constant or a parameter.
    let compiled = context.get_or_create_aux(0, |pattern| {
        let pattern = pattern.as_str().map_err(|error| error.to_string())?;
        let compiled = RegexBuilder::new(pattern).size_limit(MOST_PATTERN_BYTES).build();
        compiled.map_err(|error| error.to_string())
    })?;
    let text = match text {
        ValueRef::Text(text) => String::from_utf8_lossy(text),
        ValueRef::Integer(number) => number.to_string().into(),
        ValueRef::Real(number) => number.to_string().into(),
        ValueRef::Blob(_) | ValueRef::Null => return Ok(Some(false)),
    };
    if text.len() > MOST_MATCHED_BYTES {
        return refused(format!("~ takes texts of at most {MOST_MATCHED_BYTES} bytes"));
    }
    Ok(Some(compiled.is_match(&text)))
}

/// Adds what gives names of types for their numbers, and numbers for names.
fn add_types(connection: &Connection) -> Result<()> {
    let name = |oid: i64| {
        let found = TYPES.iter().find(|known| i64::from(known.oid) == oid);
        found.map_or("???", |known| known.words)
    };
    connection.create_scalar_function("format_type", 2, FLAGS, move |context| {
        let kind = context.get::<Option<i64>>(0)?;
        let modifier = context.get::<Option<i64>>(1)?.filter(|modifier| *modifier >= 4);
        Ok(kind.map(|kind| match (name(kind), modifier.map(|modifier| modifier - 4)) {
            ("numeric", Some(size)) => format!("numeric({},{})", size >> 16, size & 0xffff),
            (name, _) => name.into(),
        }))
    })?;
    for function in ["regtype", "to_regtype"] {
        connection.create_scalar_function(function, 1, FLAGS, move |context| {
            let text = match context.get_raw(0) {
                ValueRef::Integer(oid) => return Ok(Value::Text(name(oid).into())),
                other => other.as_str_or_null()?.unwrap_or_default().to_string(),
            };
            let is_it = |known: &&crate::catalogue::fill::TypeRow| {
                known.name.eq_ignore_ascii_case(&text) || known.words.eq_ignore_ascii_case(&text)
            };
            let found = TYPES.iter().find(is_it);
            Ok(found.map_or(Value::Null, |known| Value::Integer(known.oid.into())))
        })?;
    }
    Ok(())
}

/// A function that finds the definition of a number, or of a column of it, from 1 on.
type Find = fn(&Lookup, i64, i64) -> Option<String>;

/// Adds what gives names of tables for their numbers, and numbers for names.
fn add_classes(connection: &Connection, lookup: &SharedLookup) -> Result<()> {
    for function in ["regclass", "to_regclass"] {
        let lookup = lookup.clone();
        connection.create_scalar_function(function, 1, FLAGS, move |context| {
            let numbers = &lookup.lock().unwrap_or_else(PoisonError::into_inner).numbers;
            let text = match context.get_raw(0) {
                ValueRef::Integer(number) => {
                    let found = numbers.iter().find(|(_, known)| **known == number);
                    let name = found.map_or_else(|| number.to_string(), |(name, _)| name.clone());
                    return Ok(Value::Text(name));
                }
                other => other.as_str_or_null()?.unwrap_or_default(),
            };
            if let Ok(number) = text.parse() {
                return Ok(Value::Integer(number));
            }
            let name = text.rsplit('.').next().unwrap_or_default().trim_matches('"');
            let found = numbers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
            Ok(found.map_or(Value::Null, |(_, number)| Value::Integer(*number)))
        })?;
    }
    let index: Find = |lookup, number, column| {
        let (statement, columns) = lookup.indexes.get(&number)?;
        match usize::try_from(column).ok()?.checked_sub(1) {
            None => Some(statement.clone()),
            Some(at) => columns.get(at).map(|name| quoted_if_needed(name)),
        }
    };
    let constraint: Find = |lookup, number, _| lookup.constraints.get(&number).cloned();
    let functions = [
        ("pg_get_indexdef", 1, index),
        ("pg_get_indexdef", 3, index),
        ("pg_get_constraintdef", 1, constraint),
        ("pg_get_constraintdef", 2, constraint),
    ];
    for (name, arguments, find) in functions {
        let lookup = lookup.clone();
        connection.create_scalar_function(name, arguments, FLAGS, move |context| {
            let Some(number) = context.get::<Option<i64>>(0)? else { return Ok(None) };
            let column = if arguments == 3 { context.get::<Option<i64>>(1)? } else { None };
            let lookup = lookup.lock().unwrap_or_else(PoisonError::into_inner);
            Ok(find(&lookup, number, column.unwrap_or(0)))
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;
    use crate::refusal::{CANCELED, Refusal};

    #[test]
    fn matching_ends_with_its_statement() {
        let connection = Connection::open_in_memory().expect("memory");
        let is_off = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&is_off);
        let asked = move || asked.load(Ordering::SeqCst);
        let about = About { user: "ada".into(), number: 7, settings: Changed::default() };
        let (lookup, start) = (SharedLookup::default(), Start::default());
        add_functions(&connection, about, &lookup, &start, asked).expect("functions");
        let ask =
            || connection.query_row("SELECT 'b' REGEXP 'a|b'", [], |row| row.get::<_, bool>(0));
        assert_eq!(ask(), Ok(true));
        is_off.store(true, Ordering::SeqCst);
        let refusal = Refusal::of_sqlite(&ask().expect_err("it is to end"));
        assert_eq!(refusal.code, CANCELED, "{refusal:?}");
    }
}
