//! `lode volume set`, `rm`, `link` and `expire`.

use std::io::{self, Read};
use std::str::FromStr;

use lode_volumes::{Kind, MOST_VALUE_BYTES, Options, Value};
use program_support::exit::{Failure, Outcome};

use super::Opened;
use crate::cli::volume::{Deadline, ExpireArgs, LinkArgs, RmArgs, SetArgs};

/// Sets a property.
pub(crate) fn set(args: &SetArgs, options: &Options) -> Outcome {
    // A value that is not valid opens nothing.
    let value = match &args.value {
        Some(text) => parse(args.kind, text).map_err(Failure::Usage)?,
        None => read(args.kind)?,
    };
    let opened = Opened::to_write(&args.dir, options)?;
    let set = opened.entry(&args.path).and_then(|entry| {
        let set = entry.update(|batch| {
            batch.set(&args.name, &value)?;
            match args.expire {
                Some(after) => batch.expire_property(&args.name, after).map(drop),
                None => Ok(()),
            }
        });
        set.map_err(|error| opened.failure(&error))
    });
    opened.close_after(set)
}

/// Reads the value of a type.
fn parse(kind: Kind, text: &str) -> Result<Value, String> {
    Ok(match kind {
        Kind::I8 => Value::I8(number(kind, text)?),
        Kind::I16 => Value::I16(number(kind, text)?),
        Kind::I32 => Value::I32(number(kind, text)?),
        Kind::I64 => Value::I64(number(kind, text)?),
        Kind::U8 => Value::U8(number(kind, text)?),
        Kind::U16 => Value::U16(number(kind, text)?),
        Kind::U32 => Value::U32(number(kind, text)?),
        Kind::U64 => Value::U64(number(kind, text)?),
        Kind::F32 => Value::F32(float(kind, text)?),
        Kind::F64 => Value::F64(float(kind, text)?),
        Kind::Text => Value::Text(text.into()),
        Kind::Blob => Value::Blob(hex(text)?.into()),
    })
}

fn number<N: FromStr>(kind: Kind, text: &str) -> Result<N, String> {
    text.parse().map_err(|_| format!("{text:?} is no {kind}; write a number that fits"))
}

/// Reads a float. Digits beyond the largest one, which read as infinity, are refused.
fn float<N: FromStr + Into<f64> + Copy>(kind: Kind, text: &str) -> Result<N, String> {
    let number: N = number(kind, text)?;
    let is_beyond = number.into().is_infinite() && text.bytes().any(|byte| byte.is_ascii_digit());
    if is_beyond {
        Err(format!("{text:?} is no {kind}; write a number that fits"))
    } else {
        Ok(number)
    }
}

fn hex(text: &str) -> Result<Vec<u8>, String> {
    let digits: Option<Vec<_>> = text.chars().map(|digit| digit.to_digit(16)).collect();
    let pairs = digits.filter(|digits| digits.len().is_multiple_of(2));
    let pairs = pairs.ok_or("a blob is written in hexadecimal digits, two a byte, such as 00ff")?;
    Ok(pairs.chunks_exact(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect())
}

/// Reads a text or a blob from standard input.
fn read(kind: Kind) -> Outcome<Value> {
    if !matches!(kind, Kind::Text | Kind::Blob) {
        return Err(Failure::Usage(format!("a value of type {kind} is missing; write it")));
    }
    let mut bytes = Vec::new();
    // One more byte shows that the value is too long.
    let mut input = io::stdin().lock().take(MOST_VALUE_BYTES as u64 + 1);
    input
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::Refused(format!("standard input: {error}")))?;
    if bytes.len() > MOST_VALUE_BYTES {
        let most = format!("standard input: a property can have at most {MOST_VALUE_BYTES} bytes");
        return Err(Failure::Usage(most));
    }
    if kind == Kind::Blob {
        return Ok(Value::Blob(bytes.into()));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Failure::Usage(format!("standard input: byte {at} is no UTF-8; use --type blob"))
    })?;
    Ok(Value::Text(text.into()))
}

/// Removes a property, or an entry.
pub(crate) fn rm(args: &RmArgs, options: &Options) -> Outcome {
    let opened = Opened::to_write(&args.dir, options)?;
    let removed = match &args.name {
        Some(name) => rm_property(args, name, &opened),
        None => rm_entry(args, &opened),
    };
    opened.close_after(removed)
}

fn rm_property(args: &RmArgs, name: &str, opened: &Opened) -> Outcome {
    let removed = opened.entry(&args.path)?.remove_property(name);
    if removed.map_err(|error| opened.failure(&error))? {
        Ok(())
    } else {
        Err(opened.no_property(&args.path, name))
    }
}

fn rm_entry(args: &RmArgs, opened: &Opened) -> Outcome {
    let (above, name) = split(&args.path)
        .ok_or_else(|| opened.usage("the root cannot be removed; name an entry below it"))?;
    let parent = opened.entry(above)?;
    let removed = if args.recursive { parent.unlink_all(name) } else { parent.unlink(name) };
    removed.map_err(|error| match error {
        lode_volumes::Error::NotEmpty { path } => {
            opened.usage(&format!("entry {path} has children; --recursive removes them, too"))
        }
        lode_volumes::Error::NoEntry { path } => opened.no_entry(&path),
        other => opened.failure(&other),
    })
}

/// Returns the path above an entry, and its name; `None` for the root.
fn split(path: &str) -> Option<(&str, &str)> {
    match path.trim_end_matches('/') {
        "" => None,
        path => Some(path.rsplit_once('/').unwrap_or(("", path))),
    }
}

/// Links a new entry.
pub(crate) fn link(args: &LinkArgs, options: &Options) -> Outcome {
    expect_path(&args.path)?;
    let opened = Opened::or_new(&args.dir, options)?;
    let linked = match (args.parents, split(&args.path)) {
        (_, None) => Ok(()),
        (true, Some(_)) => {
            let made = opened.volume.create_entry(&args.path);
            made.map(drop).map_err(|error| opened.failure(&error))
        }
        (false, Some((above, name))) => opened
            .entry(above)
            .and_then(|parent| parent.link(name).map(drop).map_err(|error| opened.failure(&error))),
    };
    opened.close_after(linked)
}

/// Refuses what is no path before a volume is made for it.
fn expect_path(path: &str) -> Outcome {
    let checked = lode_volumes::expect_path(path);
    checked.map_err(|error| Failure::Usage(error.to_string()))
}

/// Lets a property expire, or stay.
pub(crate) fn expire(args: &ExpireArgs, options: &Options) -> Outcome {
    let opened = Opened::to_write(&args.dir, options)?;
    let changed = opened.entry(&args.path).and_then(|entry| {
        let found = match args.when {
            Deadline::After(after) => entry.expire_property(&args.name, after),
            Deadline::Never => entry.cancel_expiration(&args.name),
        };
        if found.map_err(|error| opened.failure(&error))? {
            Ok(())
        } else {
            Err(opened.no_property(&args.path, &args.name))
        }
    });
    opened.close_after(changed)
}
