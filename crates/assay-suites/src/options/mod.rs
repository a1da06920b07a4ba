//! The options of suites: each suite declares its own in one type, which is the schema of the
//! command line, of plan files and of run files.
//!
//! The type derives [`Args`], so name, kind, default, range and help line of an option are in one
//! place. An option has one name: words are joined by hyphens on the command line, by underscores
//! in run files, and plan files take both. The command line's parser reads plan files and run
//! files, too. So all three have one default and one range, and refuse a value with the same words.

pub mod count;
mod threads;

use assay_core::timing::Clock;
use clap::{Args, Command};
use program_support::command_line;
use serde::Serialize;
use serde_json::Value;

pub use threads::Threads;

/// The heading of options that say how something is measured.
pub const MEASURING: &str = "Measuring";

/// The options of a cell: its share of those of a command.
#[derive(Clone, Debug)]
pub struct Part<O> {
    /// Records in the store at its fullest.
    pub rows: u64,
    /// Threads that work at once.
    pub threads: u32,
    /// The options, in which each list that makes several cells has one value.
    pub options: O,
}

impl<O> Part<O> {
    /// Returns a part of one thread.
    pub(crate) fn of(rows: u64, options: O) -> Self {
        Self { rows, threads: 1, options }
    }
}

/// Returns options in the form of cells.
pub fn plain(options: &impl Serialize) -> Value {
    serde_json::to_value(options).expect("options are plain data")
}

/// Returns the default of every option.
pub(crate) fn defaults<O: Args>() -> O {
    read(&Value::Object(serde_json::Map::new())).expect("defaults are in range")
}

/// Reads options in the form of cells.
pub(crate) fn read<O: Args>(options: &Value) -> Result<O, String> {
    let mut line = Vec::new();
    let options = options.as_object().ok_or("they have no names")?;
    for (name, value) in options {
        add_words(&mut line, name, value)?;
    }
    let command = Command::new("options").no_binary_name(true).disable_help_flag(true);
    let mut command = O::augment_args(command);
    command
        .try_get_matches_from_mut(line)
        .and_then(|matches| O::from_arg_matches(&matches))
        .map_err(|error| command_line::one_line(&error.render().to_string()))
}

/// Adds an option of a file in the form of a command line.
///
/// # Errors
/// If the value is none that an option can have.
pub fn add_words(words: &mut Vec<String>, name: &str, value: &Value) -> Result<(), String> {
    let name = name.replace('_', "-");
    match value {
        Value::Bool(true) => words.push(format!("--{name}")),
        Value::Bool(false) => {}
        Value::String(text) => words.push(format!("--{name}={text}")),
        // The number stays as written: with a fraction it is no count.
        Value::Number(number) => words.push(format!("--{name}={number}")),
        Value::Array(values) => {
            for value in values {
                match value {
                    Value::String(_) | Value::Number(_) => add_words(words, &name, value)?,
                    _ => return Err(format!("{name}: a list has texts or numbers")),
                }
            }
        }
        Value::Null | Value::Object(_) => {
            return Err(format!("{name}: not a text, a number, true, false or a list"));
        }
    }
    Ok(())
}

/// Names the values of an option that is one of several words.
macro_rules! words {
    ($type:ident { $($variant:ident = $word:literal,)+ }) => {
        impl clap::ValueEnum for $type {
            fn value_variants<'a>() -> &'a [Self] {
                &[$(Self::$variant,)+]
            }

            fn to_possible_value(&self) -> Option<clap::builder::PossibleValue> {
                let word = match self { $(Self::$variant => $word,)+ };
                Some(clap::builder::PossibleValue::new(word))
            }
        }

        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
                out.serialize_str(match self { $(Self::$variant => $word,)+ })
            }
        }
    };
}
pub(crate) use words;

/// The clock, for suites whose operations can be prepared before a round.
#[derive(Args, Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Continuous {
    /// Never stop the clock in a round: prepare all its operations before and check all results
    /// after, which needs memory for both
    #[arg(long, help_heading = MEASURING)]
    pub continuous: bool,
}

impl Continuous {
    /// Returns the clock of the rounds.
    pub fn clock(self) -> Clock {
        if self.continuous { Clock::Continuous } else { Clock::Stops }
    }
}

/// Repeats, for suites with rounds that can be done again.
#[derive(Args, Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct MostRepeats {
    /// Repeat at most this many rounds of a phase that other processes disturbed; never rounds that
    /// fill or empty a store, or start with a cold page cache
    #[arg(long, value_name = "COUNT", value_parser = count::parse_repeats,
          default_value = "5", help_heading = MEASURING)]
    pub repeats: u32,
}

#[cfg(test)]
mod tests;
