//! `assay list`

use std::collections::BTreeMap;
use std::fmt::Write;

use assay_driver::{Concurrency, Driver, InsertRule, Profile, Transactions};
use comfy_table::{Table, presets};
use program_support::exit::Outcome;
use program_support::output::{print, say};

use crate::cli::ListArgs;
use crate::engines;
use crate::plugins;
use crate::plugins::known::{KNOWN, Known};

/// Shows every engine and what it declares.
pub(crate) fn list(args: &ListArgs) -> Outcome {
    let named = engines::named(&args.engine)?;
    let drivers = match named.is_empty() {
        true => {
            for why in plugins::find_all()? {
                say(&format!("warning: {why}"));
            }
            assay_drivers::all()
        }
        false => named,
    };
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["engine", "version", "keys", "storage and durability levels", "what it is"]);
    for driver in &drivers {
        table.add_row(row(driver.as_ref()));
    }
    let mut text = String::new();
    for line in table.to_string().lines() {
        let _ = writeln!(text, "{}", line.trim_end());
    }
    let options: Vec<_> = drivers
        .iter()
        .flat_map(|driver| {
            let profile = driver.profile();
            profile.options.iter().map(move |option| {
                format!(
                    "  --set {}.{}={}: {}",
                    profile.id,
                    option.name,
                    option.values.join("|"),
                    option.about
                )
            })
        })
        .collect();
    if !options.is_empty() {
        let _ = writeln!(text, "\n settings (the first value is the default)");
        options.iter().for_each(|option| {
            let _ = writeln!(text, "{option}");
        });
    }
    let to_build: &[Known] = if args.engine.is_empty() { &KNOWN } else { &[] };
    text.push_str(&not_here(&drivers, to_build));
    if args.engine.is_empty() {
        text.push_str(&not_in_this_build());
    }
    print(&text)
}

/// A line for each engine whose library is missing, and for each of those `to_build` that has no
/// plugin yet, with how to get it.
fn not_here(drivers: &[Box<dyn Driver>], to_build: &[Known]) -> String {
    let mut lines: Vec<(&str, String)> = drivers
        .iter()
        .filter_map(|driver| {
            let why = driver.version().err()?;
            Some((driver.profile().id, format!("not available: {why}")))
        })
        .collect();
    let is_there = |id: &str| drivers.iter().any(|driver| driver.profile().id == id);
    for known in to_build.iter().filter(|known| !is_there(known.id)) {
        lines.push((known.id, format!("not built: {}", known.command())));
    }
    let width = lines.iter().map(|(id, _)| id.len()).max().unwrap_or(0);
    let mut text = String::new();
    if !lines.is_empty() {
        text.push_str("\n not here\n");
    }
    for (id, why) in lines {
        let _ = writeln!(text, "  {id:width$}  {why}");
    }
    text
}

/// A line for each feature that would bring engines in.
fn not_in_this_build() -> String {
    let mut by_feature: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for engine in assay_drivers::left_out() {
        by_feature.entry(engine.feature).or_default().push(engine.id);
    }
    let mut text = String::new();
    if !by_feature.is_empty() {
        text.push_str("\n not in this build\n");
    }
    for (feature, engines) in by_feature {
        let _ =
            writeln!(text, "  {}: cargo build --release --features {feature}", engines.join(", "));
    }
    text
}

fn row(driver: &dyn Driver) -> [String; 5] {
    let profile = driver.profile();
    let version = driver.version().unwrap_or_else(|_| "not available".into());
    let keys: Vec<_> = profile.key_kinds.iter().map(ToString::to_string).collect();
    let levels: Vec<_> = profile
        .levels
        .iter()
        .map(|(storage, levels)| {
            let levels: Vec<_> = levels.iter().map(ToString::to_string).collect();
            format!("{storage}: {}", levels.join(", "))
        })
        .collect();
    [
        profile.id.into(),
        version,
        keys.join(", "),
        levels.join("\n"),
        format!("{}\n{}", profile.about, habits(profile)),
    ]
}

/// What a reader of the figures may want to know.
fn habits(profile: &Profile) -> String {
    let transactions = match profile.transactions {
        Transactions::None => "no transactions",
        Transactions::Batches => "batches",
        Transactions::Full => "transactions",
    };
    let inserts = match profile.insert_rule {
        InsertRule::Refuses => "insert refuses duplicates",
        InsertRule::Replaces => "insert replaces duplicates",
    };
    let concurrency = match profile.concurrency {
        Concurrency::OneConnection => "one connection",
        Concurrency::OneWriter => "one writer, many readers",
        Concurrency::Concurrent => "many writers",
    };
    format!("{transactions}; {inserts}; {concurrency}")
}
