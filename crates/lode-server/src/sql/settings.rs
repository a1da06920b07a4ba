//! The settings of a session, which drivers set and ask for.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::refusal::{INVALID_SETTING, NO_SETTING, Refusal};

/// The version of PostgreSQL that clients are told, for what they send to depend on it.
pub(crate) const VERSION: &str = "15.0";

/// The values that a setting takes.
#[derive(Clone, Copy)]
enum Takes {
    /// Any text: it changes nothing here.
    Any,
    /// These only, as the server does nothing else.
    Only(&'static [&'static str]),
    /// A number of milliseconds, perhaps with a unit.
    Time,
    /// `on` or `off`.
    Switch,
    /// None: it can only be read.
    Nothing,
}

/// A setting that is known.
struct Setting {
    name: &'static str,
    default: &'static str,
    takes: Takes,
    /// True if clients are told of its value.
    is_reported: bool,
}

const fn setting(name: &'static str, default: &'static str, takes: Takes) -> Setting {
    Setting { name, default, takes, is_reported: false }
}

const fn reported(name: &'static str, default: &'static str, takes: Takes) -> Setting {
    Setting { name, default, takes, is_reported: true }
}

const NONE: Takes = Takes::Only(&["0"]);
const LEVELS: &[&str] = &["serializable", "repeatable read", "read committed", "read uncommitted"];

const SETTINGS: [Setting; 26] = [
    reported("application_name", "", Takes::Any),
    setting("bytea_output", "hex", Takes::Only(&["hex"])),
    reported("client_encoding", "UTF8", Takes::Only(&["utf8", "utf-8", "unicode"])),
    setting("client_min_messages", "notice", Takes::Any),
    reported("datestyle", "ISO, MDY", Takes::Only(&["iso", "iso, mdy", "iso, ymd", "iso, dmy"])),
    setting("default_transaction_isolation", "serializable", Takes::Only(LEVELS)),
    setting("default_transaction_read_only", "off", Takes::Switch),
    // Floats always have as many digits as they need.
    setting("extra_float_digits", "1", Takes::Any),
    setting("idle_in_transaction_session_timeout", "0", NONE),
    reported("integer_datetimes", "on", Takes::Nothing),
    reported("intervalstyle", "postgres", Takes::Any),
    setting("is_superuser", "off", Takes::Nothing),
    setting("jit", "off", Takes::Any),
    setting("lock_timeout", "0", NONE),
    setting("max_identifier_length", "63", Takes::Nothing),
    setting("row_security", "off", Takes::Any),
    setting("search_path", "public", Takes::Any),
    reported("server_encoding", "UTF8", Takes::Nothing),
    reported("server_version", VERSION, Takes::Nothing),
    setting("server_version_num", "150000", Takes::Nothing),
    reported("standard_conforming_strings", "on", Takes::Only(&["on", "true", "1"])),
    setting("statement_timeout", "0", Takes::Time),
    setting("synchronize_seqscans", "on", Takes::Any),
    reported("timezone", "UTC", Takes::Only(&["utc", "gmt", "etc/utc", "z", "0"])),
    setting("transaction_isolation", "serializable", Takes::Only(LEVELS)),
    setting("transaction_read_only", "off", Takes::Switch),
];

/// The settings of one session.
#[derive(Default)]
pub(crate) struct Settings {
    changed: BTreeMap<&'static str, String>,
}

fn find(name: &str) -> Result<&'static Setting, Refusal> {
    SETTINGS.iter().find(|known| known.name.eq_ignore_ascii_case(name)).ok_or_else(|| {
        Refusal::new(NO_SETTING, format!("unrecognized configuration parameter \"{name}\""))
    })
}

impl Settings {
    /// Sets a value, or the default. Returns the name and the value if clients are to be told.
    pub(crate) fn set(
        &mut self,
        name: &str,
        value: Option<&str>,
    ) -> Result<Option<(&'static str, String)>, Refusal> {
        let setting = find(name)?;
        let Some(value) = value else {
            self.changed.remove(setting.name);
            let told = (shown(setting.name), setting.default.into());
            return Ok(setting.is_reported.then_some(told));
        };
        let wrong = |what: &str| {
            let line = format!("invalid value for parameter \"{name}\": \"{value}\"; {what}");
            Err(Refusal::new(INVALID_SETTING, line))
        };
        let mut kept = value.to_string();
        match setting.takes {
            Takes::Any => {}
            Takes::Only(known) => {
                if !known.iter().any(|known| value.eq_ignore_ascii_case(known)) {
                    return wrong(&format!("it takes {}", known.join(" or ")));
                }
            }
            Takes::Time => match milliseconds(value) {
                Some(time_ms) => kept = time_ms.to_string(),
                None => return wrong("it takes milliseconds"),
            },
            Takes::Switch => match switch(value) {
                Some(is_on) => kept = if is_on { "on" } else { "off" }.into(),
                None => return wrong("it takes on or off"),
            },
            Takes::Nothing => {
                let line = format!("parameter \"{name}\" cannot be changed");
                return Err(Refusal::new("55P02", line));
            }
        }
        self.changed.insert(setting.name, kept.clone());
        Ok(setting.is_reported.then_some((shown(setting.name), kept)))
    }

    /// Returns a value.
    pub(crate) fn get(&self, name: &str) -> Result<&str, Refusal> {
        let setting = find(name)?;
        Ok(self.changed.get(setting.name).map_or(setting.default, String::as_str))
    }

    /// Sets all defaults.
    pub(crate) fn reset(&mut self) {
        self.changed.clear();
    }

    /// Returns the settings that clients are told at the start.
    pub(crate) fn reported(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let reported = SETTINGS.iter().filter(|setting| setting.is_reported);
        reported.map(|setting| {
            let value = self.changed.get(setting.name).map_or(setting.default, String::as_str);
            (shown(setting.name), value)
        })
    }

    /// Returns the most time for a statement, if it is limited.
    pub(crate) fn statement_timeout(&self) -> Option<Duration> {
        let time_ms = self.changed.get("statement_timeout")?.parse().ok()?;
        (time_ms > 0).then(|| Duration::from_millis(time_ms))
    }

    /// Returns true if transactions read only unless they say otherwise.
    pub(crate) fn reads_only(&self) -> bool {
        self.changed.get("default_transaction_read_only").is_some_and(|value| value == "on")
    }
}

/// Returns the name as clients know it.
fn shown(name: &'static str) -> &'static str {
    match name {
        "datestyle" => "DateStyle",
        "intervalstyle" => "IntervalStyle",
        "timezone" => "TimeZone",
        other => other,
    }
}

fn switch(value: &str) -> Option<bool> {
    match &value.to_ascii_lowercase()[..] {
        "on" | "true" | "yes" | "1" => Some(true),
        "off" | "false" | "no" | "0" => Some(false),
        _ => None,
    }
}

/// Returns the time that a text means, as the setting `statement_timeout` takes it: milliseconds,
/// or a number with `ms`, `s`, `min` or `h`.
///
/// # Errors
/// A line that says what to write.
pub fn parse_time(text: &str) -> Result<Duration, String> {
    let time_ms = milliseconds(text).filter(|time_ms| *time_ms > 0);
    let time = time_ms.map(Duration::from_millis);
    time.ok_or_else(|| "write milliseconds, or a number with s, min or h".into())
}

/// Returns the milliseconds of a time with perhaps a unit.
fn milliseconds(value: &str) -> Option<u64> {
    let digits =
        value.trim_end_matches(|letter: char| letter.is_ascii_alphabetic() || letter == ' ');
    let factor = match value[digits.len()..].trim() {
        "" | "ms" => 1,
        "s" => 1_000,
        "min" => 60_000,
        "h" => 3_600_000,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_takes_what_the_server_does() {
        let mut settings = Settings::default();
        assert_eq!(settings.set("extra_float_digits", Some("3")), Ok(None));
        let told = settings.set("TimeZone", Some("utc"));
        assert_eq!(told, Ok(Some(("TimeZone", "utc".into()))));
        for (name, value, code) in [
            ("timezone", "Europe/Zurich", INVALID_SETTING),
            ("client_encoding", "LATIN1", INVALID_SETTING),
            ("no_such_thing", "1", NO_SETTING),
            ("statement_timeout", "soon", INVALID_SETTING),
            ("server_version", "9", "55P02"),
        ] {
            assert_eq!(settings.set(name, Some(value)).expect_err(name).code, code, "{name}");
        }
        assert_eq!(settings.set("statement_timeout", Some("2s")), Ok(None));
        assert_eq!(settings.get("statement_timeout"), Ok("2000"));
        assert_eq!(settings.statement_timeout(), Some(Duration::from_secs(2)));
        settings.reset();
        assert_eq!(settings.statement_timeout(), None);
    }
}
