//! The settings of a session, which drivers set and ask for.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::refusal::{INVALID_SETTING, NO_SETTING, READ_ONLY, Refusal};

/// The version of PostgreSQL that is reported to clients, since their requests depend on it.
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
    /// True if its value is reported to clients.
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

const SETTINGS: [Setting; 27] = [
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
    setting("max_index_keys", "32", Takes::Nothing),
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
    setting("transaction_read_only", "off", Takes::Nothing),
];

/// The values of a session's settings that differ from the defaults, for whoever reads them.
#[derive(Clone, Default)]
pub(crate) struct Changed(Arc<Mutex<BTreeMap<&'static str, String>>>);

impl Changed {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<&'static str, String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the value of a setting, if that is known.
    pub(crate) fn value(&self, name: &str) -> Option<String> {
        find(name).ok().map(|setting| self.of(setting))
    }

    /// Changes a setting that changes nothing here, and returns its value.
    pub(crate) fn set(&self, name: &str, value: &str) -> Result<String, String> {
        let setting = find(name).map_err(|refusal| refusal.line)?;
        if setting.is_reported || !matches!(setting.takes, Takes::Any) {
            return Err(format!("set_config is not supported for {name}; write SET {name} = …"));
        }
        self.lock().insert(setting.name, value.into());
        Ok(value.into())
    }

    fn of(&self, setting: &Setting) -> String {
        self.lock().get(setting.name).cloned().unwrap_or_else(|| setting.default.into())
    }

    /// Returns all settings with their values.
    pub(crate) fn all(&self) -> Vec<(&'static str, String)> {
        SETTINGS.iter().map(|setting| (shown(setting.name), self.of(setting))).collect()
    }
}

/// The settings of one session.
#[derive(Default)]
pub(crate) struct Settings {
    changed: Changed,
    /// The settings with which the session has started.
    initial: BTreeMap<&'static str, String>,
    bounds: Bounds,
}

/// The bounds that the operator of the server sets.
#[derive(Clone, Copy, Default)]
pub(crate) struct Bounds {
    /// The most milliseconds of a statement.
    pub most_ms: Option<u64>,
    /// True if nothing can be written.
    pub reads_only: bool,
}

/// A setting whose value clients are to be told: its name and the value.
type Told = Option<(&'static str, String)>;

fn find(name: &str) -> Result<&'static Setting, Refusal> {
    SETTINGS.iter().find(|known| known.name.eq_ignore_ascii_case(name)).ok_or_else(|| {
        Refusal::new(NO_SETTING, format!("unrecognized configuration parameter \"{name}\""))
    })
}

impl Settings {
    /// Makes settings within bounds.
    pub(crate) fn within(bounds: Bounds) -> Self {
        let settings = Self { bounds, ..Self::default() };
        if let Some(most_ms) = bounds.most_ms {
            settings.changed.lock().insert("statement_timeout", most_ms.to_string());
        }
        if bounds.reads_only {
            settings.changed.lock().insert("default_transaction_read_only", "on".into());
        }
        settings
    }

    /// Notes that the session starts with the values of now.
    pub(crate) fn start(&mut self) {
        self.initial = self.changed.lock().clone();
    }

    /// Returns the values, which stay those of the session.
    pub(crate) fn changed(&self) -> Changed {
        self.changed.clone()
    }

    /// Refuses to write where nothing can be written.
    pub(crate) fn expect_writable(&self, reads_only: bool) -> Result<(), Refusal> {
        if self.bounds.reads_only && !reads_only {
            let line = "the server was started with --read-only: all transactions only read";
            return Err(Refusal::new(READ_ONLY, line));
        }
        Ok(())
    }

    /// Sets a value, or that of the start. Returns what clients are to be told.
    pub(crate) fn set(&mut self, name: &str, value: Option<&str>) -> Result<Told, Refusal> {
        let setting = find(name)?;
        let Some(value) = value else {
            match self.initial.get(setting.name) {
                Some(value) => self.changed.lock().insert(setting.name, value.clone()),
                None => self.changed.lock().remove(setting.name),
            };
            let told = (shown(setting.name), self.changed.of(setting));
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
            Takes::Time => match (milliseconds(value), self.bounds.most_ms) {
                (Some(time_ms), Some(most_ms)) if time_ms == 0 || time_ms > most_ms => {
                    return wrong(&format!("the server allows 1 to {most_ms} ms"));
                }
                (Some(time_ms), _) => kept = time_ms.to_string(),
                (None, _) => return wrong("it takes milliseconds"),
            },
            Takes::Switch => match switch(value) {
                Some(is_on) => {
                    self.expect_writable(is_on)?;
                    kept = on_or_off(is_on).into();
                }
                None => return wrong("it takes on or off"),
            },
            Takes::Nothing => {
                let line = format!("parameter \"{name}\" cannot be changed");
                return Err(Refusal::new("55P02", line));
            }
        }
        self.changed.lock().insert(setting.name, kept.clone());
        Ok(setting.is_reported.then_some((shown(setting.name), kept)))
    }

    /// Returns a value.
    pub(crate) fn get(&self, name: &str) -> Result<String, Refusal> {
        Ok(self.changed.of(find(name)?))
    }

    /// Sets all values of the start.
    pub(crate) fn reset(&mut self) {
        self.changed.lock().clone_from(&self.initial);
    }

    /// Returns the settings that are reported to clients at the start.
    pub(crate) fn reported(&self) -> impl Iterator<Item = (&'static str, String)> {
        let reported = SETTINGS.iter().filter(|setting| setting.is_reported);
        reported.map(|setting| (shown(setting.name), self.changed.of(setting)))
    }

    /// Returns the most time for a statement, if it is limited.
    pub(crate) fn statement_timeout(&self) -> Option<Duration> {
        let time_ms = self.changed.lock().get("statement_timeout")?.parse().ok()?;
        (time_ms > 0).then(|| Duration::from_millis(time_ms))
    }

    /// Returns true if transactions read only unless they say otherwise.
    pub(crate) fn reads_only(&self) -> bool {
        self.changed.lock().get("default_transaction_read_only").is_some_and(|value| value == "on")
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

/// Returns the text of a switch.
pub(crate) fn on_or_off(is_on: bool) -> &'static str {
    if is_on { "on" } else { "off" }
}

/// Returns the switch that a text means.
pub(crate) fn switch(value: &str) -> Option<bool> {
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
        assert_eq!(settings.get("statement_timeout"), Ok("2000".into()));
        assert_eq!(settings.statement_timeout(), Some(Duration::from_secs(2)));
        settings.reset();
        assert_eq!(settings.statement_timeout(), None);
    }

    #[test]
    fn settings_come_back_to_those_of_the_start_within_bounds() {
        let bounds = Bounds { most_ms: Some(2_000), reads_only: true };
        let mut settings = Settings::within(bounds);
        settings.set("application_name", Some("test")).expect("it is set");
        settings.start();
        settings.set("application_name", Some("other")).expect("it is set");
        settings.set("statement_timeout", Some("1s")).expect("it is less");
        for value in ["0", "2001", "3s"] {
            let refused = settings.set("statement_timeout", Some(value)).expect_err(value);
            assert_eq!(refused.code, INVALID_SETTING, "{value}");
        }
        let refused = settings.set("default_transaction_read_only", Some("off"));
        assert_eq!(refused.expect_err("it only reads").code, READ_ONLY);
        let told = settings.set("application_name", None);
        assert_eq!(told, Ok(Some(("application_name", "test".into()))));
        settings.reset();
        assert_eq!(settings.get("statement_timeout"), Ok("2000".into()));
        assert!(settings.reads_only());
    }
}
