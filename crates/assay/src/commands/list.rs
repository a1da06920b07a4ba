//! `assay list`

use std::collections::BTreeMap;
use std::fmt::Write;

use assay_core::driver::{Concurrency, Driver, InsertRule, Profile, Transactions};
use comfy_table::{Table, presets};

use crate::Outcome;
use crate::cli::ListArgs;
use crate::engines;
use crate::output::print;

/// Shows every engine and what it declares.
pub fn list(args: &ListArgs) -> Outcome {
    let named = engines::named(&args.engine)?;
    let drivers = if named.is_empty() { assay_drivers::all() } else { named };
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
    text.push_str(&not_here(&drivers));
    if args.engine.is_empty() {
        text.push_str(&not_in_this_build());
    }
    print(&text)
}

/// A line for each engine whose library is missing, with how to get it.
fn not_here(drivers: &[Box<dyn Driver>]) -> String {
    let mut text = String::new();
    for driver in drivers {
        if let Err(why) = driver.version() {
            let heading = if text.is_empty() { "\n not here\n" } else { "" };
            let _ = writeln!(text, "{heading}  {}  not available: {why}", driver.profile().id);
        }
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
