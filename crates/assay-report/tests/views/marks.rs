//! Every view shows every mark: the tests walk the list of marks.

use assay_core::chart::{Axes, Line, LineChart};
use assay_core::durability::{Holding, Verdicts};
use assay_core::engine::OWN_ENGINES;
use assay_core::isolation;
use assay_core::plan::Cell;
use assay_core::run_file::{CellResult, NOTE_BLIND_WRITES, NOTE_STRONGER, RunFile, Status};
use assay_core::usage::Usage;
use assay_driver::{Durability, Storage};
use assay_report::html::{self, Part};
use assay_report::marks::Mark;
use assay_report::site::{self, SitePage, SiteRun, Tests};
use assay_report::table::{self, View};
use assay_report::{markdown, plot, rows};

use super::{cell, phase, result, run};

/// A run of two engines that did the same work; only the figures of the first, `subject`, differ in
/// what a mark says.
fn with_mark(mark: Mark) -> RunFile {
    let insert = || vec![phase("insert", 1, &[1_000])];
    let of = |engine: &str| result(cell(engine, 1), Status::Measured, insert());
    let mut subject = of("subject");
    let mut other = of("other");
    match mark {
        Mark::OwnEngine => subject.cell.engine = OWN_ENGINES[0].into(),
        Mark::Stronger => subject.cell.durability = Durability::Commit,
        Mark::Weaker => subject.cell.durability = Durability::None,
        Mark::Refuted => subject.refuted = Some("subject at periodic: refuted".into()),
        Mark::BlindWrites => note(&mut subject, &format!("{NOTE_BLIND_WRITES}all of them")),
        Mark::OtherSettings => {
            subject.cell.engine_options.insert("page_size".into(), "8192".into());
        }
        Mark::Noted => note(&mut subject, "a note of its own"),
        Mark::FewerOperations => {
            subject.cell.options = serde_json::json!({ "insert": 10 });
            subject.measurement.phases[0].rounds[0].operations = 10;
            other.measurement.phases[0].rounds[0].operations = 1_000;
        }
        Mark::Disturbed => use_machine(&mut subject, 1, 3),
        Mark::LittleTimed => use_machine(&mut subject, 2, 0),
    }
    RunFile { cells: vec![subject, other], planned_cells: 2, ..run() }
}

fn note(result: &mut CellResult, text: &str) {
    result.measurement.notes.push(text.into());
}

/// Lets rounds take some times their time on the clock, and wait for a processor for some tenths.
fn use_machine(result: &mut CellResult, walls: u64, waited_tenths: u64) {
    for round in result.measurement.phases.iter_mut().flat_map(|phase| &mut phase.rounds) {
        let wall_ns = round.time_ns * walls;
        let waited_ns = wall_ns / 10 * waited_tenths;
        round.usage = Some(Usage { wall_ns, waited_ns, processors: 1, ..Usage::default() });
    }
}

/// A few words of what the mark says.
fn words(mark: Mark) -> &'static str {
    match mark {
        Mark::OwnEngine => "the authors' own engine",
        Mark::Stronger => "at commit, its weakest level",
        Mark::Weaker => "at none, its strongest level",
        Mark::Refuted => "subject at periodic: refuted",
        Mark::BlindWrites => "blind writes: all of them",
        Mark::OtherSettings => "with page_size=8192, not its default",
        Mark::Noted => "a note of its own",
        Mark::FewerOperations => "of fewer operations than the others",
        Mark::Disturbed => "had less than 95 % of a processor",
        Mark::LittleTimed => "less than 80 % of the wall time",
    }
}

fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn about(_: &str) -> Option<&'static str> {
    None
}

fn index(run: RunFile) -> String {
    let runs = [SiteRun { run, charts: Vec::new(), file: "runs/a.json".into() }];
    let tests = Tests {
        crashes: &Verdicts::default(),
        crashes_file: "",
        isolation: &isolation::Verdicts::default(),
        isolation_file: "",
    };
    let pages = site::pages(&runs, tests, &about).expect("pages");
    let index = pages.into_iter().find(|page: &SitePage| page.file == "index.html");
    index.expect("an index").text.replace("&#39;", "'")
}

/// Returns the sign that is expected for a mark; for a note with a number, the number.
fn sign(mark: Mark) -> &'static str {
    if mark == Mark::Noted { "[1]" } else { mark.sign() }
}

#[test]
fn the_table_shows_every_mark() {
    for mark in Mark::ALL {
        let text = table::render(&with_mark(mark), View { width: 300, ..View::PLAIN });
        assert_eq!(text.matches(sign(mark)).count(), 2, "{mark:?}, once and in the legend: {text}");
        assert!(text.contains(words(mark)), "{mark:?}: {text}");
    }
}

#[test]
fn csv_has_every_mark() {
    for mark in Mark::ALL {
        let text = rows::csv(&with_mark(mark)).expect("text");
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let heads = reader.headers().expect("heads").clone();
        let at = |name| heads.iter().position(|head| head == name).expect("a column");
        let lines: Vec<_> = reader.records().map(|line| line.expect("a line")).collect();
        let marked: Vec<_> = lines
            .iter()
            .filter(|line| line[at("marks")].split(' ').any(|m| m == mark.id()))
            .collect();
        assert_eq!(marked.len(), 1, "{mark:?}: {text}");
        assert!(marked[0][at("marks_say")].contains(words(mark)), "{mark:?}: {text}");
    }
}

#[test]
fn markdown_shows_every_mark() {
    for mark in Mark::ALL {
        let text = markdown::markdown(&with_mark(mark)).replace('\\', "");
        assert_eq!(text.matches(sign(mark)).count(), 2, "{mark:?}: {text}");
        assert!(text.contains(words(mark)), "{mark:?}: {text}");
    }
}

#[test]
fn the_page_has_every_mark_in_its_data() {
    for mark in Mark::ALL {
        let part = Part { run: with_mark(mark), charts: Vec::new(), file: None };
        let page = html::render(&[part], &[], &about).expect("a page");
        let (_, rest) = page.split_once("id=\"data\">").expect("data");
        let (json, _) = rest.split_once("</script>").expect("its end");
        let data: serde_json::Value = serde_json::from_str(json).expect("JSON");
        let place = Mark::ALL.iter().position(|known| *known == mark).expect("its place");
        let found = |of: &serde_json::Value| {
            let marks = of["marks"].as_array().cloned().unwrap_or_default();
            let own = marks.into_iter().filter(|pair| pair[0] == place);
            own.map(|pair| pair[1].as_u64().expect("a text") as usize).collect::<Vec<_>>()
        };
        let line = &data["lines"][0];
        let texts = [found(line), found(&line["phases"][0])].concat();
        assert_eq!(texts.len(), 1, "{mark:?}: {line}");
        let text = data["texts"][texts[0]].as_str().expect("its words");
        assert!(text.contains(words(mark)), "{mark:?}: {text}");
        let other = &data["lines"][1];
        assert_eq!(found(other).len() + found(&other["phases"][0]).len(), 0, "{mark:?}: {other}");
        assert_eq!(data["marks"][place]["sign"], mark.sign());
    }
}

#[test]
fn the_index_of_a_site_shows_every_mark() {
    for mark in Mark::ALL {
        let text = index(with_mark(mark));
        let (table, _) = text.split_once("What was measured").expect("the section");
        assert!(table.matches(sign(mark)).count() >= 2, "{mark:?}: {table}");
        assert!(table.contains(words(mark)), "{mark:?}: {table}");
    }
}

#[test]
fn pictures_say_every_mark() {
    for mark in Mark::ALL {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let place = plot::Place { folder: folder.path(), name: "run", is_logarithmic: false };
        let paths = plot::draw(&[with_mark(mark)], &place, &|_| true).expect("pictures");
        let svg = std::fs::read_to_string(&paths[0]).expect("the SVG").replace("&apos;", "'");
        assert!(svg.contains(short(mark)), "{mark:?}: {svg}");
    }
}

/// Line charts have no place for signs of figures.
#[test]
fn line_charts_say_every_mark_of_engines() {
    for mark in Mark::ALL.into_iter().filter(|mark| !mark.is_of_figures()) {
        let run = with_mark(mark);
        let (engine, points) = (run.cells[0].cell.engine.clone(), vec![(1.0, 1.0), (2.0, 2.0)]);
        let line = Line { label: engine.to_string(), engine: Some(engine), points };
        let chart = LineChart {
            name: "chart".into(),
            title: "chart".into(),
            x_label: "x".into(),
            y_label: "y".into(),
            axes: Axes::Linear,
            lines: vec![line],
        };
        let folder = tempfile::tempdir().expect("a temporary directory");
        let place = plot::Place { folder: folder.path(), name: "run", is_logarithmic: false };
        let paths = plot::draw_lines(&[run], &[chart], &[], &place).expect("a picture");
        let svg = std::fs::read_to_string(&paths[0]).expect("the SVG").replace("&apos;", "'");
        assert!(svg.contains(short(mark)), "{mark:?}: {svg}");
    }
}

/// Levels that no crash test has looked at have no sign: a sentence names their engines, once.
#[test]
fn every_view_names_engines_whose_level_no_crash_test_has_looked_at() {
    let of = |engine: &str, storage| {
        let cell = Cell { storage, ..cell(engine, 1) };
        let held = Some(Holding { words: "0 of 24".into(), most: 0.12 });
        let phases = vec![phase("insert", 1, &[1_000])];
        CellResult { held, ..result(cell, Status::Measured, phases) }
    };
    let with = |storage, untested: &[&str]| {
        let mut cells = vec![of("one", storage), of("two", storage), of("three", storage)];
        for result in cells.iter_mut().filter(|of| untested.contains(&of.cell.engine.id.as_str())) {
            result.held = None;
        }
        RunFile { cells, planned_cells: 3, ..run() }
    };
    let views = |run: &RunFile| {
        let texts = [
            table::render(run, View { width: 300, ..View::PLAIN }),
            markdown::markdown(run),
            index(run.clone()),
        ];
        texts.map(|text| plain(&text))
    };
    let words = "no crash test has looked at the level of ";
    let engines = ["two, three (", "two, three (", "two at periodic, three at periodic ("];
    let some = views(&with(Storage::Disk, &["two", "three"]));
    for (text, engines) in some.iter().zip(engines) {
        assert!(text.contains(&format!("{words}{engines}")), "{engines}: {text}");
    }
    for text in views(&with(Storage::Disk, &["one", "two", "three"])) {
        assert!(text.contains(&format!("{words}any engine here")), "{text}");
    }
    // What was looked at, and what promises nothing, is not named.
    let silent = [with(Storage::Disk, &[]), with(Storage::Memory, &["one", "two"])];
    for text in silent.iter().flat_map(views) {
        assert!(!text.contains("no crash test"), "{text}");
    }
    let mut refuted = with(Storage::Disk, &["one"]);
    refuted.cells[0].refuted = Some("one at periodic: refuted".into());
    for text in views(&refuted) {
        assert!(!text.contains("no crash test"), "{text}");
    }
}

fn short(mark: Mark) -> &'static str {
    match mark {
        Mark::Stronger => "at commit",
        Mark::Weaker => "at none",
        other => other.short(),
    }
}

#[test]
fn every_sign_and_name_is_of_one_mark() {
    for (at, mark) in Mark::ALL.iter().enumerate() {
        for other in &Mark::ALL[at + 1..] {
            assert_ne!(mark.sign(), other.sign());
            assert_ne!(mark.id(), other.id());
        }
    }
}

/// A mark that most figures of a column have says nothing of one of them, so it is shown once.
#[test]
fn signs_on_figures_are_exceptions() {
    let of = |disturbed: usize| {
        let line = |at: usize| {
            let own = cell(&format!("engine-{at}"), 1);
            let mut own = result(own, Status::Measured, vec![phase("insert", 1, &[1_000])]);
            use_machine(&mut own, 1, if at < disturbed { 3 } else { 0 });
            own
        };
        RunFile { cells: (0..6).map(line).collect(), planned_cells: 6, ..run() }
    };
    let few = table::render(&of(3), View::PLAIN);
    assert!(few.matches("M!").count() == 3 && !few.contains("/s!"), "{few}");
    let most = table::render(&of(4), View::PLAIN);
    assert!(most.contains("insert/s!") && !most.contains("M!"), "{most}");
    assert!(
        plain(&most).contains("(at the head of a column: so are most of its figures)"),
        "{most}"
    );
    let markdown = markdown::markdown(&of(4));
    assert!(markdown.contains("insert/s! |") && !markdown.contains("M!"), "{markdown}");
    assert_eq!(markdown.matches("95 % of a processor").count(), 1, "said once: {markdown}");
    let rows = rows::csv(&of(4)).expect("text");
    assert_eq!(rows.matches(",disturbed,").count(), 4, "a row stands alone: {rows}");
}

/// LMDB's case: at the level that was asked for, and dearer than that level.
#[test]
fn a_level_that_does_more_than_it_promises_is_marked_as_stronger() {
    let mut run = with_mark(Mark::Noted);
    run.cells[0].measurement.notes =
        vec![format!("{NOTE_STRONGER}periodic: every commit syncs its data")];
    let text = plain(&table::render(&run, View::PLAIN));
    assert!(text.contains("▲ stronger than periodic: every commit syncs its data"), "{text}");
    assert!(index(run).contains("stronger than periodic: every commit syncs its data"));
}

/// The index says whose engine is the authors' own, where it is behind, and can hide it.
#[test]
fn the_index_says_where_the_authors_own_engine_is_behind() {
    let at = |engine: &str, storage, ns| {
        let cell = Cell { storage, ..cell(engine, 1) };
        result(cell, Status::Measured, vec![phase("insert", 1, &[ns])])
    };
    let run = RunFile {
        cells: vec![
            at(OWN_ENGINES[0], Storage::Memory, 1_990),
            at("rival", Storage::Memory, 990),
            at(OWN_ENGINES[0], Storage::Disk, 990),
            at("rival", Storage::Disk, 9_990),
        ],
        planned_cells: 4,
        ..run()
    };
    let text = index(run.clone());
    let said = "is behind another in 1 of 2 columns, by this many times: somesuite · memory \
                (<bdi>rival</bdi>: 2.00×).";
    assert!(text.contains(said), "{text}");
    assert!(text.contains("<small>the authors' own</small>"), "{text}");
    let (with, without) = text.split_once("class=\"without-own\"").expect("a table without it");
    assert!(with.contains("id=\"hide-own\"") && with.contains(">10×<"), "{with}");
    let (table, _) = without.split_once("What was measured").expect("the section");
    assert!(!table.contains(OWN_ENGINES[0]) && table.matches(">1.0×<").count() == 2, "{table}");
    let alone = RunFile { cells: run.cells[..1].to_vec(), ..run };
    assert!(index(alone).contains("is first in every column"));
}
