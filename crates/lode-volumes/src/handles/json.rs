//! Export and import as lines of JSON, one object a line:
//!
//! ```json
//! {"path":"/app/ui","properties":{"scale":{"f64":1.5},"theme":{"text":"dark"}}}
//! ```
//!
//! The value of a property is an object with its type as name. Blobs are hexadecimal digits. Floats
//! that are no numbers are `"inf"`, `"-inf"`, `"nan"`, or `"nan:"` and their bits in hexadecimal
//! digits. A property that expires has `"expires_at"` next to its value, in microseconds since the
//! start of 1970. An entry with much in it has several lines.

use std::io::{BufRead, Write};

use serde_json::{Map, Value as Json, json};

use crate::clock::Moment;
use crate::error::{Error, Result};
use crate::handles::entry::Entry;
use crate::handles::listing::Property;
use crate::handles::snapshot::EntryAt;
use crate::handles::volume::Volume;
use crate::kind::Kind;
use crate::name::names_of;
use crate::value::{Value, ValueRef};

/// Bytes of values after which a line ends.
const LINE_BYTES: usize = 4 << 20;

/// The most bytes of a line to import: some more than a line that was exported can have.
const MOST_LINE_BYTES: usize = 64 << 20;

const EXPIRES_AT: &str = "expires_at";

impl EntryAt {
    /// Writes this entry and all below it as lines of JSON, with paths that start at this entry.
    /// Returns the number of entries.
    ///
    /// ```
    /// use lode_volumes::Volume;
    ///
    /// let volume = Volume::in_memory()?;
    /// volume.create_entry("/app/ui")?.set("theme", "dark")?;
    /// let mut lines = Vec::new();
    /// let app = volume.snapshot()?.entry("/app")?.expect("it was created");
    /// assert_eq!(app.export(&mut lines)?, 2);
    /// assert_eq!(
    ///     String::from_utf8_lossy(&lines),
    ///     "{\"path\":\"/\",\"properties\":{}}\n\
    ///      {\"path\":\"/ui\",\"properties\":{\"theme\":{\"text\":\"dark\"}}}\n",
    /// );
    ///
    /// let copy = Volume::in_memory()?;
    /// assert_eq!(copy.import("/", &mut &lines[..])?, 2);
    /// assert!(copy.entry("/ui")?.is_some());
    /// # Ok::<(), lode_volumes::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Stream` when `lines` cannot be written; and [those of reading](crate::Snapshot#errors).
    pub fn export(&self, lines: &mut dyn Write) -> Result<u64> {
        let mut count = 0;
        for entry in self.walk() {
            let entry = entry?;
            let path = match self.path() {
                "/" => entry.path(),
                top => match &entry.path()[top.len()..] {
                    "" => "/",
                    below => below,
                },
            };
            export_entry(&entry, path, lines)?;
            count += 1;
        }
        Ok(count)
    }
}

fn export_entry(entry: &EntryAt, path: &str, lines: &mut dyn Write) -> Result<()> {
    let mut all = entry.properties();
    let mut is_first = true;
    loop {
        let mut properties = Map::new();
        let mut bytes = 0;
        while bytes < LINE_BYTES
            && let Some(Property { name, value, expires }) = all.next_property()?
        {
            bytes += value.as_ref().size_bytes();
            properties.insert(name, to_json(value.as_ref(), expires));
        }
        if properties.is_empty() && !is_first {
            return Ok(());
        }
        is_first = false;
        let line = json!({ "path": path, "properties": properties });
        writeln!(lines, "{line}").map_err(|error| Error::stream("write an entry", error))?;
    }
}

fn to_json(value: ValueRef<'_>, expires: Moment) -> Json {
    let shown = match value {
        ValueRef::I8(number) => json!(number),
        ValueRef::I16(number) => json!(number),
        ValueRef::I32(number) => json!(number),
        ValueRef::I64(number) => json!(number),
        ValueRef::U8(number) => json!(number),
        ValueRef::U16(number) => json!(number),
        ValueRef::U32(number) => json!(number),
        ValueRef::U64(number) => json!(number),
        ValueRef::F32(number) if number.is_nan() && number.to_bits() != f32::NAN.to_bits() => {
            json!(format!("nan:{:08x}", number.to_bits()))
        }
        // Digits of 64 bits, so that no rounding happens on the way back.
        ValueRef::F32(number) => float(number.into()),
        ValueRef::F64(number) => float(number),
        ValueRef::Text(text) => json!(text),
        ValueRef::Blob(_) => json!(value.to_string()),
    };
    let mut object = Map::new();
    object.insert(value.kind().word().into(), shown);
    if expires != Moment::NEVER {
        object.insert(EXPIRES_AT.into(), json!(expires.0));
    }
    Json::Object(object)
}

fn float(number: f64) -> Json {
    match number {
        number if number.is_finite() => json!(number),
        number if number.to_bits() == f64::NAN.to_bits() => json!("nan"),
        number if number.is_nan() => json!(format!("nan:{:016x}", number.to_bits())),
        number => json!(if number > 0.0 { "inf" } else { "-inf" }),
    }
}

/// The content of one line about an entry.
struct Line<'l> {
    path: &'l str,
    properties: Vec<(&'l str, Value, Moment)>,
}

impl Volume {
    /// Reads lines of JSON, such as [`EntryAt::export`] writes, and makes the entries that they
    /// name below the entry of a path. That entry and those on the way are linked if they are not
    /// there; properties that are there are replaced, and others stay. What has expired is left
    /// out. Each line happens as a whole; blank lines are skipped. Returns the number of lines.
    ///
    /// # Errors
    /// `Line` at the first line that is not a valid entry: all before it are imported, and stay.
    /// `Stream` when `lines` cannot be read; and as [every write](crate::Entry#errors).
    pub fn import(&self, path: &str, lines: &mut dyn BufRead) -> Result<u64> {
        let mut way = Way::new(self.create_entry(path)?);
        let mut text = Vec::new();
        let mut number = 0;
        let mut count = 0;
        loop {
            text.clear();
            number += 1;
            let mut limited = std::io::Read::take(&mut *lines, MOST_LINE_BYTES as u64 + 1);
            let read = limited.read_until(b'\n', &mut text);
            if read.map_err(|error| Error::stream("read a line", error))? == 0 {
                return Ok(count);
            }
            let wrong = |why: String| Error::Line { line: number, why };
            if text.len() > MOST_LINE_BYTES {
                return Err(wrong(format!("it has more than {MOST_LINE_BYTES} bytes")));
            }
            if text.trim_ascii().is_empty() {
                continue;
            }
            let json: Json =
                serde_json::from_slice(&text).map_err(|error| wrong(error.to_string()))?;
            let line = parse(&json).map_err(wrong)?;
            self.import_line(&mut way, &line).map_err(|error| {
                if error.is_bad_input() { wrong(error.to_string()) } else { error }
            })?;
            count += 1;
        }
    }

    fn import_line(&self, way: &mut Way, line: &Line<'_>) -> Result<()> {
        // A fault of a line is found before anything of the line happens.
        let names = names_of(line.path)?;
        for (name, value, _) in &line.properties {
            crate::name::expect_name(name)?;
            value.as_ref().expect_fits()?;
        }
        let entry = way.create_entry(&names)?;
        if line.properties.is_empty() {
            return Ok(());
        }
        let now = self.core().time.now();
        self.update(|batch| {
            let there = line.properties.iter().filter(|(_, _, expires)| *expires > now);
            for (name, value, expires) in there {
                batch.set_until(&entry, name, value.as_ref(), *expires)?;
            }
            Ok(())
        })
    }
}

/// The way from the top of an import to the entry of the line before. Most lines name an entry
/// below one of it, so only what is new of a path is looked up.
struct Way {
    top: Entry,
    /// Names, and the entries under them, each below the one before.
    steps: Vec<(Box<str>, Entry)>,
    /// The number of unlinks and renames in the volume when the way started.
    version: u64,
}

impl Way {
    fn new(top: Entry) -> Self {
        let version = top.core().version();
        Self { top, steps: Vec::new(), version }
    }

    /// Returns the entry under a path, which is linked if it is not there, as are those above it.
    fn create_entry(&mut self, names: &[&str]) -> Result<Entry> {
        let version = self.top.core().version();
        if self.version != version {
            self.version = version;
            self.steps.clear();
        }
        let is_same = |((known, _), name): &(&(Box<str>, Entry), &&str)| **known == ***name;
        let same = self.steps.iter().zip(names).take_while(is_same).count();
        self.steps.truncate(same);
        for name in &names[same..] {
            let next = self.last().create_entry(name)?;
            self.steps.push(((*name).into(), next));
        }
        Ok(self.last().clone())
    }

    fn last(&self) -> &Entry {
        self.steps.last().map_or(&self.top, |(_, entry)| entry)
    }
}

/// Reads an entry; the error says what is wrong with it.
fn parse(json: &Json) -> Result<Line<'_>, String> {
    let object = json.as_object().ok_or("an entry is an object")?;
    if let Some(unknown) = object.keys().find(|key| !["path", "properties"].contains(&&key[..])) {
        return Err(format!("an entry has path and properties, not {unknown:?}"));
    }
    let path = object.get("path").and_then(Json::as_str);
    let path = path.ok_or("an entry needs a path, which is a text")?;
    let properties = match object.get("properties") {
        None => Vec::new(),
        Some(properties) => {
            let properties = properties.as_object().ok_or("properties are an object")?;
            let parsed = properties.iter().map(|(name, property)| {
                let (value, expires) =
                    parse_property(property).map_err(|why| format!("property {name:?}: {why}"))?;
                Ok((&name[..], value, expires))
            });
            parsed.collect::<Result<_, String>>()?
        }
    };
    Ok(Line { path, properties })
}

fn parse_property(json: &Json) -> Result<(Value, Moment), String> {
    let object = json.as_object().ok_or("it is an object with its type as name")?;
    let mut found = None;
    let mut expires = Moment::NEVER;
    for (name, json) in object {
        if name == EXPIRES_AT {
            let micros = json.as_i64().filter(|micros| (0..i64::MAX).contains(micros));
            expires = Moment(micros.ok_or("expires_at is a number of microseconds since 1970")?);
            continue;
        }
        let kind: Kind = name.parse()?;
        let value = parse_value(kind, json);
        let value = value.ok_or_else(|| format!("{} is no {kind}", shortened(json)))?;
        if found.replace(value).is_some() {
            return Err("it has several types".into());
        }
    }
    Ok((found.ok_or("it has no type")?, expires))
}

fn shortened(json: &Json) -> String {
    let text = json.to_string();
    match text.char_indices().nth(64) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

fn parse_value(kind: Kind, json: &Json) -> Option<Value> {
    let signed = || json.as_i64();
    let unsigned = || json.as_u64();
    Some(match kind {
        Kind::I8 => Value::I8(signed()?.try_into().ok()?),
        Kind::I16 => Value::I16(signed()?.try_into().ok()?),
        Kind::I32 => Value::I32(signed()?.try_into().ok()?),
        Kind::I64 => Value::I64(signed()?),
        Kind::U8 => Value::U8(unsigned()?.try_into().ok()?),
        Kind::U16 => Value::U16(unsigned()?.try_into().ok()?),
        Kind::U32 => Value::U32(unsigned()?.try_into().ok()?),
        Kind::U64 => Value::U64(unsigned()?),
        Kind::F32 => Value::F32(parse_f32(json)?),
        Kind::F64 => Value::F64(parse_f64(json)?),
        Kind::Text => Value::Text(json.as_str()?.into()),
        Kind::Blob => Value::Blob(parse_hex(json.as_str()?)?.into()),
    })
}

fn parse_f32(json: &Json) -> Option<f32> {
    if let Some(bits) = json.as_str().and_then(|text| text.strip_prefix("nan:")) {
        return u32::from_str_radix(bits, 16).ok().map(f32::from_bits).filter(|f| f.is_nan());
    }
    let wide = parse_f64(json)?;
    let narrow = wide as f32;
    (narrow.is_finite() || !wide.is_finite()).then_some(narrow)
}

fn parse_f64(json: &Json) -> Option<f64> {
    let Some(text) = json.as_str() else { return json.as_f64() };
    match text {
        "inf" => Some(f64::INFINITY),
        "-inf" => Some(f64::NEG_INFINITY),
        "nan" => Some(f64::NAN),
        other => {
            let bits = u64::from_str_radix(other.strip_prefix("nan:")?, 16).ok()?;
            Some(f64::from_bits(bits)).filter(|number| number.is_nan())
        }
    }
}

/// Reads hexadecimal digits, two a byte.
fn parse_hex(digits: &str) -> Option<Vec<u8>> {
    let (pairs, []) = digits.as_bytes().as_chunks::<2>() else { return None };
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let byte = |[high, low]: &[u8; 2]| Some((digit(*high)? << 4 | digit(*low)?) as u8);
    pairs.iter().map(byte).collect()
}

#[cfg(test)]
mod tests {
    use crate::{Volume, counted};

    #[test]
    fn an_import_looks_up_each_entry_once_however_deep() {
        const DEPTH: u64 = 2_000;
        let line = |depth: u64| {
            let path = "/n".repeat(depth as usize);
            format!("{{\"path\":\"{path}\",\"properties\":{{\"x\":{{\"u8\":1}}}}}}\n")
        };
        let lines: String = (0..DEPTH).map(line).collect();
        let volume = Volume::in_memory().expect("a volume");
        let steps = counted::steps_of(|| {
            let imported = volume.import("/top", &mut lines.as_bytes());
            assert_eq!(imported.expect("an import"), DEPTH);
        });
        assert!(steps <= 8 * DEPTH, "{steps} steps");
        let deepest = volume.entry(&format!("/top{}", "/n".repeat(DEPTH as usize - 1)));
        let deepest = deepest.expect("a path").expect("an entry");
        assert!(deepest.has_property("x").expect("a name"));
        assert!(deepest.links().expect("links").next().is_none());
    }
}
