//! `assay list`

use std::collections::BTreeMap;

use assay_driver::{Concurrency, Driver, InsertRule, Parameter, Transactions, Values};
use comfy_table::{ContentArrangement, Table, presets};
use program_support::exit::Outcome;
use program_support::output::{print, say};
use serde::Serialize;

use crate::cli::ListArgs;
use crate::planning::engines;
use crate::plugins;
use crate::plugins::known::{KNOWN, Known};

/// Shows every engine and what it declares.
pub(crate) fn list(args: &ListArgs) -> Outcome {
    let drivers = if args.engine.is_empty() {
        for why in plugins::find_all()? {
            say(&format!("warning: {why}"));
        }
        assay_drivers::all()
    } else {
        engines::chosen(&args.engine)?.drivers
    };
    let listing = Listing::of(&drivers, args.engine.is_empty());
    if args.json {
        let json = serde_json::to_string_pretty(&listing).expect("a listing is plain data");
        print(&(json + "\n"))
    } else {
        print(&listing.text())
    }
}

/// The listing, as `--json` prints it.
#[derive(Serialize)]
struct Listing {
    engines: Vec<Listed>,
    /// Engines that `assay plugin build` would build.
    not_built: Vec<NotBuilt>,
    not_in_this_build: Vec<NotInThisBuild>,
}

#[derive(Serialize)]
struct Listed {
    id: &'static str,
    about: &'static str,
    /// The engine's version; none if the engine is not available.
    version: Option<String>,
    not_available: Option<String>,
    key_kinds: Vec<String>,
    /// The durability levels of each storage mode, weakest first.
    durability: Vec<Levels>,
    transactions: Transactions,
    insert_rule: InsertRule,
    concurrency: Concurrency,
    parameters: Vec<Shown>,
}

#[derive(Serialize)]
struct Levels {
    storage: String,
    levels: Vec<String>,
}

/// A parameter of an engine. Its values are words, of which the first is the default, or a range in
/// words.
#[derive(Serialize)]
struct Shown {
    name: &'static str,
    values: &'static [&'static str],
    #[serde(skip_serializing_if = "Option::is_none")]
    range: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    default: Option<&'static str>,
    about: &'static str,
}

#[derive(Serialize)]
struct NotBuilt {
    id: &'static str,
    command: String,
}

#[derive(Serialize)]
struct NotInThisBuild {
    id: &'static str,
    feature: &'static str,
}

impl Listing {
    /// Returns the listing of these engines; with `whole` also of those that are not available.
    fn of(drivers: &[Box<dyn Driver>], whole: bool) -> Self {
        let is_there = |id: &str| drivers.iter().any(|driver| driver.profile().id == id);
        let to_build: &[Known] = if whole { &KNOWN } else { &[] };
        let to_build = to_build.iter().filter(|known| !is_there(known.id));
        let left_out = if whole { assay_drivers::left_out() } else { Vec::new() };
        let left_out = left_out.into_iter();
        Self {
            engines: drivers.iter().map(|driver| Listed::of(driver.as_ref())).collect(),
            not_built: to_build
                .map(|known| NotBuilt { id: known.id, command: known.command() })
                .collect(),
            not_in_this_build: left_out
                .map(|engine| NotInThisBuild { id: engine.id, feature: engine.feature })
                .collect(),
        }
    }

    /// Returns the listing as text for people, in 80 columns.
    fn text(&self) -> String {
        let engines = self.engines.iter().map(|engine| [engine.id.to_string(), engine.text()]);
        let parameters = self.engines.iter().flat_map(|engine| {
            engine.parameters.iter().map(|shown| [engine.id.to_string(), shown.text(engine.id)])
        });
        let unavailable = self.engines.iter().filter_map(|engine| {
            let why = engine.not_available.as_ref()?;
            Some([engine.id.to_string(), format!("not available: {why}")])
        });
        let not_built = self
            .not_built
            .iter()
            .map(|engine| [engine.id.to_string(), format!("not built: {}", engine.command)]);
        let mut by_feature: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for engine in &self.not_in_this_build {
            by_feature.entry(engine.feature).or_default().push(engine.id);
        }
        let features = by_feature.into_iter().map(|(feature, engines)| {
            [engines.join(", "), format!("cargo build --release --features {feature}")]
        });
        let sections = [
            ("", engines.collect::<Vec<_>>()),
            ("\n parameters (the first word is the default)\n", parameters.collect()),
            ("\n not here\n", unavailable.chain(not_built).collect()),
            ("\n not in this build\n", features.collect()),
        ];
        let filled = sections.into_iter().filter(|(_, rows)| !rows.is_empty());
        filled.map(|(title, rows)| title.to_string() + &two_columns(rows)).collect()
    }
}

impl Listed {
    fn of(driver: &dyn Driver) -> Self {
        let profile = driver.profile();
        let (version, not_available) = match driver.version() {
            Ok(version) => (Some(version), None),
            Err(why) => (None, Some(why)),
        };
        let text = ToString::to_string;
        Self {
            id: profile.id,
            about: profile.about,
            version,
            not_available,
            key_kinds: profile.key_kinds.iter().map(text).collect(),
            durability: profile
                .levels
                .iter()
                .map(|(storage, levels)| Levels {
                    storage: storage.to_string(),
                    levels: levels.iter().map(ToString::to_string).collect(),
                })
                .collect(),
            transactions: profile.transactions,
            insert_rule: profile.insert_rule,
            concurrency: profile.concurrency,
            parameters: profile.parameters.iter().map(Shown::of).collect(),
        }
    }

    fn text(&self) -> String {
        let mut by_levels: Vec<(String, Vec<&str>)> = Vec::new();
        for Levels { storage, levels } in &self.durability {
            let levels = levels.join(", ");
            match by_levels.iter_mut().find(|(same, _)| *same == levels) {
                Some((_, storages)) => storages.push(storage),
                None => by_levels.push((levels, vec![storage])),
            }
        }
        let levels =
            by_levels.into_iter().map(|(levels, on)| format!("{}: {levels}", on.join(", ")));
        let levels: Vec<_> = levels.collect();
        let version = self.version.as_deref().unwrap_or("not available");
        let keys = self.key_kinds.join(" or ");
        let about = self.about;
        format!("{version} · {about}\n{keys} keys · {}\n{}", levels.join(" · "), self.habits())
    }

    /// Returns the engine's habits that a reader of the figures should know.
    fn habits(&self) -> String {
        let transactions = match self.transactions {
            Transactions::None => "no transactions",
            Transactions::Batches => "batches",
            Transactions::Full => "transactions",
        };
        let inserts = match self.insert_rule {
            InsertRule::Refuses => "duplicates refused",
            InsertRule::Replaces => "duplicates replaced",
        };
        let concurrency = match self.concurrency {
            Concurrency::OneConnection => "one connection",
            Concurrency::OneWriter => "one writer, many readers",
            Concurrency::Concurrent => "many writers",
        };
        format!("{transactions} · {inserts} · {concurrency}")
    }
}

impl Shown {
    fn of(parameter: &Parameter) -> Self {
        let default = match parameter.values {
            Values::Words(words) => words.first().copied(),
            Values::Bytes { default, .. } | Values::PowerOfTwo { default, .. } => Some(default),
            Values::Text => None,
        };
        let values = parameter.word_list();
        let range = values.is_empty().then(|| parameter.values.to_string());
        Self { name: parameter.name, values, range, default, about: parameter.about }
    }

    fn text(&self, engine: &str) -> String {
        let name = self.name;
        let about = self.about;
        match (&self.range, self.default) {
            (None, _) => format!("--set {engine}.{name}={}\n{about}", self.values.join("|")),
            (Some(range), Some(default)) => {
                format!("--set {engine}.{name}=BYTES\n{about}; {range} [default: {default}]")
            }
            (Some(_), None) => format!("--set {engine}.{name}=TEXT\n{about}"),
        }
    }
}

/// Returns names and texts in two columns; texts are broken between words.
fn two_columns(rows: Vec<[String; 2]>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_content_arrangement(ContentArrangement::Dynamic).set_width(80);
    table.add_rows(rows);
    table.lines().map(|line| line.trim_end().to_string() + "\n").collect()
}
