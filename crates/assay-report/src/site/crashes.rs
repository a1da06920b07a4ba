//! The page of crash tests: engines by level, the broken rounds, and all figures.

use std::collections::BTreeSet;

use assay_core::durability::{Crash, Enumerated, Failure, Promise, Verdict, Verdicts};
use assay_driver::Durability;

use super::frame::{self, Cell, table};
use super::{CRASHES, SitePage};
use crate::html::Link;
use crate::markup::{self, name, text};

/// The number of broken rounds that are listed of each level; the file of verdicts has all.
const LISTED: usize = 3;

/// A way in which a store was ended, at a level.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Column {
    level: Durability,
    crash: Crash,
    is_strict: bool,
    /// The features of the rounds beyond one thread.
    beyond: String,
}

impl Column {
    fn of(verdict: &Verdict) -> Self {
        Self {
            level: verdict.durability,
            crash: verdict.crash,
            is_strict: verdict.strict_directories,
            beyond: verdict.beyond(),
        }
    }

    fn crash_words(&self) -> &'static str {
        match (self.crash, self.is_strict) {
            (Crash::Process, _) => "killed process",
            (Crash::Power, false) => "power cut",
            (Crash::Power, true) => "power cut, strict directories",
            (Crash::Copy, _) => "copied while open",
        }
    }

    fn words(&self) -> String {
        format!("{}{}", self.crash_words(), self.beyond)
    }

    fn with_level(&self) -> String {
        format!("{}<small>{}</small>", self.level, self.words())
    }

    /// Returns the fault, and the crash after it.
    fn with_fault(&self) -> String {
        let beyond = self.beyond.trim_start_matches(" with ");
        format!("{beyond}<small>{}</small>", self.crash_words())
    }
}

/// Returns the page of some verdicts, which are in `file`.
pub(super) fn page(verdicts: &Verdicts, file: &str, links: &[Link]) -> SitePage {
    let all = &verdicts.verdicts;
    let (faulty, good): (Vec<_>, Vec<_>) =
        all.iter().cloned().partition(|verdict| verdict.faults.is_some());
    let body = format!(
        "<header><h1>What survives a crash</h1>{}</header>\n<main>\n\
         <section><h2>Engine by level</h2>\n{}</section>\n{}\
         <section><h2>Broken promises</h2>\n{}</section>\n\
         <section><h2>All rounds</h2>\n{}</section>\n\
         <section><h2>Settings</h2>\n{}</section>\n</main>\n",
        facts(all, file),
        matrix("Engine by level", &good, Column::with_level) + MATRIX_NOTE + &enumerated(&good),
        faults(&faulty),
        findings(all, file),
        figures(all),
        settings(all)
    );
    SitePage { file: CRASHES.into(), text: frame::page("What survives a crash", links, &body) }
}

fn facts(all: &[Verdict], file: &str) -> String {
    let rounds: u64 = all.iter().map(|verdict| u64::from(verdict.rounds)).sum();
    let days: BTreeSet<_> =
        all.iter().map(|verdict| verdict.tested.strftime("%Y-%m-%d").to_string()).collect();
    format!(
        "<p class=\"facts\">{rounds} rounds · {} · <a href=\"{}\">the verdicts as JSON</a></p>",
        Vec::from_iter(days).join(", "),
        text(file)
    )
}

const MATRIX_NOTE: &str = "\
<p class=\"note\">A killed process leaves what the operating system was given. A power cut takes, \
of what was not synchronised, all, nothing, a prefix, or sectors by themselves, in turns. With \
strict directories a name survives only if its directory was synchronised; else any \
synchronisation commits all names before it, as on ext4. A cell says in how many rounds the \
promise was broken, and between what their share lies with a confidence of 95 %: rounds without a \
loss prove nothing beyond that. Where a level promises nothing, it says after how many rounds \
something was missing or the store was damaged. The file system of the power cuts is simulated: a \
disk that lies about its cache can lose more. A store that is copied while open is copied file by \
file; a copy may be of any moment, or refused. Mixtures are no fault of the engine.</p>\n";

/// Returns what enumerated states are; nothing if there are none.
fn enumerated(all: &[Verdict]) -> String {
    if all.iter().all(|verdict| verdict.enumerated.is_none()) {
        return String::new();
    }
    "<p class=\"note\">Enumerated states are those that cuts before each operation of one short \
     history may leave. If a cut may leave more of whole pages than were tried, the cell says \
     so; torn pages are some of all.</p>\n"
        .into()
}

/// Returns a table with a row for each engine, and a column for each level and kind of crash, under
/// what `head` returns.
fn matrix(title_of_all: &str, all: &[Verdict], head: fn(&Column) -> String) -> String {
    let columns: Vec<_> = all.iter().map(Column::of).collect::<BTreeSet<_>>().into_iter().collect();
    let mut heads = vec![Cell::words("engine")];
    heads.extend(columns.iter().map(|column| Cell::plain(head(column))));
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    for engine in engines(all) {
        let of_engine: Vec<_> = all.iter().filter(|verdict| title(verdict) == engine).collect();
        let (id, rest) = engine.split_once(' ').unwrap_or((&engine, ""));
        let mut row = vec![Cell::plain(format!("{}<small>{}</small>", name(id), text(rest)))];
        for column in &columns {
            let verdict = of_engine.iter().find(|verdict| Column::of(verdict) == *column);
            row.push(verdict.map_or_else(
                || Cell { class: "none", html: "<span title=\"no such level\">–</span>".into() },
                |verdict| cell(verdict),
            ));
        }
        rows.push(row);
    }
    table(title_of_all, &heads, &rows)
}

const FAULTS_NOTE: &str = "\
<p class=\"note\">Before the crash some operations of the disk failed, or took longer. A cell says \
in how many rounds the promise was broken: by what was left, a wrong answer, or a writer that \
hung. On this file system a map of a file shows a refused write until the file is read again; so \
killed processes of engines that write by maps may look worse than on others.</p>\n";

/// Returns the section of disks that failed, with a table for each level; nothing if none did.
fn faults(all: &[Verdict]) -> String {
    let levels: BTreeSet<_> = all.iter().map(|verdict| verdict.durability).collect();
    let of_level = |level: Durability| {
        let at = |verdict: &&Verdict| verdict.durability == level;
        let here: Vec<_> = all.iter().filter(at).cloned().collect();
        let title_of_all = format!("On a disk that fails, at {level}");
        let matrix = matrix(&title_of_all, &here, Column::with_fault);
        format!("<h3>At {level}</h3>\n{matrix}")
    };
    let tables: Vec<_> = levels.into_iter().map(of_level).collect();
    if tables.is_empty() {
        return String::new();
    }
    let tables = tables.concat();
    format!("<section><h2>On a disk that fails</h2>\n{tables}{FAULTS_NOTE}</section>\n")
}

/// Returns an engine's name with its version and chosen settings, so that each is a separate row.
fn title(verdict: &Verdict) -> String {
    let options = verdict.engine_options.iter().map(|(name, value)| format!(" {name}={value}"));
    let options: Vec<_> = options.collect();
    format!("{} {}{}", verdict.engine, verdict.engine_version, options.concat())
}

fn engines(all: &[Verdict]) -> Vec<String> {
    all.iter().map(title).collect::<BTreeSet<_>>().into_iter().collect()
}

fn cell(verdict: &Verdict) -> Cell {
    let rounds = verdict.judged_rounds();
    let bounds = share(verdict);
    let broken = verdict.failures.len();
    match verdict.promise {
        Promise::Nothing if broken == 0 => Cell {
            class: "open",
            html: format!("no promise<small>{} of {rounds}</small>", damaged(verdict)),
        },
        Promise::Copy if broken > 0 => {
            Cell { class: "open", html: format!("no<small>{broken} of {rounds} mixed</small>") }
        }
        Promise::Copy => Cell {
            class: "held",
            html: format!("whole<small>{} of {rounds} refused</small>", verdict.refused_rounds),
        },
        _ if broken > 0 => Cell {
            class: "broken",
            html: format!(
                "<a href=\"#{}\">{broken} of {rounds}</a><small>{bounds}</small>",
                anchor(verdict)
            ),
        },
        _ => Cell { class: "held", html: format!("0 of {rounds}<small>{bounds}</small>") },
    }
}

/// Returns the bounds of the share of crashes that break a promise; of states, that they are some.
fn share(verdict: &Verdict) -> String {
    match verdict.enumerated {
        Some(Enumerated { bounded: 0, .. }) => "states".into(),
        Some(Enumerated { bounded, operations, .. }) => {
            format!("states; more of {bounded} of {operations} cuts")
        }
        None => verdict.bounds().to_string(),
    }
}

/// Returns the number of rounds after which something was missing, or the store was damaged.
fn damaged(verdict: &Verdict) -> u32 {
    let Verdict { lost_rounds, torn_rounds, refused_rounds, unusable_rounds, .. } = verdict;
    let returned_rounds = verdict.faults.map_or(0, |faults| faults.returned_rounds);
    lost_rounds + torn_rounds + refused_rounds + unusable_rounds + returned_rounds
}

fn anchor(verdict: &Verdict) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let name = format!("{}-{}-{}", title(verdict), verdict.durability, verdict.crash);
    let strict = if verdict.strict_directories { "-strict" } else { "" };
    name.chars().chain(verdict.beyond().chars()).map(plain).collect::<String>() + strict
}

fn findings(all: &[Verdict], file: &str) -> String {
    let of = |is_strict: bool| {
        let refuted = all.iter().filter(|verdict| verdict.is_refuted());
        let found = refuted.filter(|verdict| verdict.strict_directories == is_strict);
        found.map(|verdict| finding(verdict, file)).collect::<Vec<_>>()
    };
    let usual = of(false);
    let strict = of(true);
    let mut out = if usual.is_empty() {
        "<p>None in these rounds, where any synchronisation commits names.</p>\n".into()
    } else {
        usual.concat()
    };
    if !strict.is_empty() {
        out += &format!(
            "<p class=\"note\">Under the strict rule, where a name survives only if its directory \
             was synchronised, {} more:</p>\n{}",
            strict.len(),
            strict.concat()
        );
    }
    out
}

fn finding(verdict: &Verdict, file: &str) -> String {
    let broken = match verdict.enumerated {
        Some(_) => verdict.summary(),
        None => format!(
            "Broken in {} of {} rounds, which puts its share at {}",
            verdict.failures.len(),
            verdict.judged_rounds(),
            verdict.bounds()
        ),
    };
    let mut out = format!(
        "<h3 id=\"{}\">{} at {}: {}</h3>\n<p>{broken}. {}.</p>\n<ul>\n",
        anchor(verdict),
        name(&title(verdict)),
        verdict.durability,
        Column::of(verdict).words(),
        promise(verdict.promise)
    );
    for failure in verdict.failures.iter().take(LISTED) {
        out += &broken_round(failure);
    }
    out += "</ul>\n";
    if verdict.failures.len() > LISTED {
        let more = verdict.failures.len() - LISTED;
        out += &format!(
            "<p class=\"note\">And {more} more, in <a href=\"{0}\">{0}</a>.</p>\n",
            text(file)
        );
    }
    out
}

fn promise(promise: Promise) -> &'static str {
    match promise {
        Promise::Nothing => "The level promises nothing, but no level answers wrongly or hangs",
        Promise::Prefix => "The level promises a moment of the history, no older than it says",
        Promise::Everything => "The level promises every acknowledged commit",
        Promise::Copy => "Nothing is promised of copies",
    }
}

fn broken_round(failure: &Failure) -> String {
    let image = failure.image.as_ref();
    let opened = image.map(|image| markup::command(&format!("assay crash --open {image}")));
    format!(
        "<li>{}{}{}</li>\n",
        text(&failure.to_string()),
        markup::command(&failure.command),
        opened.unwrap_or_default()
    )
}

fn figures(all: &[Verdict]) -> String {
    let words = ["engine", "level", "crash"].map(Cell::words);
    let numbers = ["rounds", "commits", "lost", "torn", "refused", "unusable", "broken"];
    let heads: Vec<_> = words.into_iter().chain(numbers.map(Cell::plain)).collect();
    let row = |verdict: &&Verdict| {
        let lost = match verdict.lost_rounds {
            0 => "0".into(),
            rounds => {
                let age = verdict.lost_age_most_ms.map(|age| format!(", {age} ms"));
                let most = verdict.lost_commits_most;
                format!("{rounds}<small>at most {most}{}</small>", age.unwrap_or_default())
            }
        };
        let broken = match verdict.promise {
            Promise::Nothing if verdict.failures.is_empty() => "no promise".into(),
            _ => format!("{}<small>{}</small>", verdict.failures.len(), share(verdict)),
        };
        let words =
            [name(&title(verdict)), verdict.durability.to_string(), Column::of(verdict).words()];
        let numbers = [
            verdict.rounds.to_string(),
            verdict.acknowledged.to_string(),
            lost,
            verdict.torn_rounds.to_string(),
            verdict.refused_rounds.to_string(),
            verdict.unusable_rounds.to_string(),
            broken,
        ];
        words.map(Cell::words).into_iter().chain(numbers.map(Cell::plain)).collect::<Vec<_>>()
    };
    let rows: Vec<_> = sorted(all).iter().map(row).collect();
    table("All rounds", &heads, &rows)
        + "<p class=\"note\">Lost: rounds in which acknowledged commits were missing, at most how \
           many, and how old the oldest of them was. Torn: no moment of the history was left. \
           Refused: the store could not be opened. Unusable: it took no more commits.</p>\n"
}

fn sorted(all: &[Verdict]) -> Vec<&Verdict> {
    let mut all: Vec<_> = all.iter().collect();
    all.sort_by_key(|verdict| (title(verdict), Column::of(verdict)));
    all
}

fn settings(all: &[Verdict]) -> String {
    let mut seen = BTreeSet::new();
    for verdict in all {
        let Verdict { durability, settings, .. } = verdict;
        let settings = text(&settings.join(" · "));
        seen.insert((title(verdict), *durability, settings));
    }
    let row = |(title, level, settings): (String, Durability, String)| {
        vec![Cell::plain(name(&title)), Cell::words(level.to_string()), Cell::words(settings)]
    };
    let rows: Vec<_> = seen.into_iter().map(row).collect();
    table("Settings", &["engine", "level", "settings"].map(Cell::words), &rows)
}
