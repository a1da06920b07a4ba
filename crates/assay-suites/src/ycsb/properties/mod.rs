//! YCSB's properties: files in the syntax of Java's `Properties` and `NAME=VALUE` of the command
//! line, of which a later one wins. Each is honoured, or refused by its name.

mod known;

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use java_properties::{LineContent, PropertiesIter};
use program_support::exit::{Failure, Outcome};
use program_support::{given_file, printable};
use serde::{Serialize, Serializer};

use super::core_workload::Draft;
use super::options::Options;
use known::Rule;

/// The most bytes of a property file.
const MOST_BYTES: u64 = 1 << 20;

/// A property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Property {
    name: String,
    value: String,
}

impl FromStr for Property {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((name, value)) if !name.trim().is_empty() => {
                Ok(Self { name: name.trim().into(), value: value.trim().into() })
            }
            _ => Err("not NAME=VALUE, such as recordcount=1000".into()),
        }
    }
}

impl Serialize for Property {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_str(self)
    }
}

impl fmt::Display for Property {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.name, self.value)
    }
}

/// A property that cannot be honoured.
#[derive(Clone, Debug)]
pub(super) struct Wrong {
    property: &'static str,
    what: String,
}

impl Wrong {
    /// Returns a fault of a property, with what to do about it.
    pub(super) fn new(property: &'static str, what: impl Into<String>) -> Self {
        Self { property, what: what.into() }
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.property, self.what)
    }
}

/// A property, and where it was found.
struct Found {
    place: String,
    property: Property,
}

impl Found {
    fn refused(&self, why: &str) -> Failure {
        let Property { name, value } = &self.property;
        let said = format!("{name}={value}");
        Failure::Usage(format!("{}{}: {why}", self.place, printable::excerpt(&said)))
    }
}

/// Reads the properties of files and of the command line, and moves each to the option that it is.
/// Those that are no option stay as the cell's properties.
pub(super) fn take(options: &mut Options) -> Outcome {
    let mut all: Vec<Found> = Vec::new();
    for path in &options.property_file {
        all.extend(read_file(path)?);
    }
    let of_line = options.property.iter().cloned();
    all.extend(of_line.map(|property| Found { place: "-p ".into(), property }));
    // A later one wins, at the place of the earlier one.
    let mut found: Vec<Found> = Vec::new();
    for later in all {
        match found.iter_mut().find(|one| one.property.name == later.property.name) {
            Some(earlier) => *earlier = later,
            None => found.push(later),
        }
    }
    options.property.clear();
    for one in &found {
        let Property { name, value } = &one.property;
        let refused = |why: String| one.refused(&why);
        match known::rule(name).map_err(refused)? {
            Rule::Is(set) => set(options, value).map_err(refused)?,
            Rule::Says(say) => {
                for workload in &options.workload {
                    say(&mut Draft::of(*workload), value).map_err(refused)?;
                }
                options.property.push(one.property.clone());
            }
            Rule::Only(values, _) if values.contains(&value.as_str()) => {}
            Rule::Only(_, why) => return Err(refused(why.into())),
        }
    }
    name(options);
    // What two of them say together.
    let mut each = options.clone();
    for &workload in &options.workload {
        each.workload = vec![workload];
        super::core_workload::CoreWorkload::of(&each).map_err(|wrong| {
            let is_it = |one: &&Found| one.property.name == wrong.property;
            match found.iter().find(is_it) {
                Some(one) => one.refused(&wrong.what),
                None => Failure::Usage(wrong.to_string()),
            }
        })?;
    }
    options.property_file.clear();
    Ok(())
}

/// Names the workload of files after the first of them.
fn name(options: &mut Options) {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || ['-', '_', '.'].contains(&c);
    let stem = options.property_file.first().map(|path: &PathBuf| {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let plain = stem.len() <= 64 && stem.chars().all(is_plain);
        if plain { stem.into_owned() } else { "properties".into() }
    });
    options.name = options.name.take().or(stem);
}

/// Reads a file of properties, which is in Latin-1.
fn read_file(path: &Path) -> Outcome<Vec<Found>> {
    given_file::check_readable(path, "-P")?;
    let name = path.display();
    let content = given_file::read(path, MOST_BYTES)
        .map_err(|e| Failure::Refused(format!("{name}: {e}; name a file of properties with -P")))?;
    let mut found = Vec::new();
    for line in PropertiesIter::new(content.as_slice()) {
        let line = line.map_err(|error| {
            let said = printable::excerpt(&error.to_string()).into_owned();
            Failure::Usage(format!("{name}: {said}; write NAME=VALUE"))
        })?;
        let place = format!("{name}, line {}: ", line.line_number());
        if let LineContent::KVPair(name, value) = line.consume_content() {
            let property = Property { name, value: value.trim().into() };
            found.push(Found { place, property });
        }
    }
    Ok(found)
}

/// Changes a workload as a property of a cell says.
pub(super) fn say(draft: &mut Draft, property: &Property) -> Result<(), Wrong> {
    let (name, rule) = known::entry(&property.name)
        .ok_or_else(|| Wrong::new("property", format!("{property} is none of the workload")))?;
    match rule {
        Rule::Says(say) => say(draft, &property.value).map_err(|why| Wrong::new(name, why)),
        _ => Err(Wrong::new(name, "is an option of the cell")),
    }
}
