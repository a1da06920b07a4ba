//! The published pictures: for each storage mode one of the small data sets (up to 100k rows) and
//! one of the large. A picture has a panel for each phase, and in it a group of bars for each size;
//! if engines are far apart, dots on logarithmic axes. Other pictures are line charts.
//!
//! Every picture is written as SVG and as PNG, each to a temporary name first.

mod axes;
mod bars;
mod dots;
mod font;
mod frame;
mod legend;
mod lines;
mod style;
mod text;

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use assay_core::chart::{LineChart, Sheet};
use assay_core::engine::EngineRef;
use assay_core::estimate::Spread;
use assay_core::plan::{Cell, PageCache};
use assay_core::run_file::RunFile;
use assay_driver::Storage;
use plotters::backend::{BitMapBackend, DrawingBackend, SVGBackend};
use plotters::coord::Shift;
use plotters::drawing::{DrawingArea, IntoDrawingArea};
use program_support::whole_file;

use self::lines::Charts;
use crate::blocks::{Block, Distinct, Line, Rate, blocks};
use crate::format;
use crate::marks::{self, PhaseMarks};
use crate::palette::{Look, looks};

/// The largest data set that counts as small.
const SMALL_ROWS: u64 = 100_000;

/// The most pictures; more are refused.
const MOST_PICTURES: usize = 500;
/// The most engines, sizes and phases of a picture.
const MOST_SHOWN: usize = 40;

/// The reason why a picture was not made.
#[derive(Debug, thiserror::Error)]
pub enum PlotError {
    /// No cell was measured.
    #[error("there is nothing to draw: no cell of the run file was measured")]
    Nothing,
    /// More pictures than anyone looks at.
    #[error("these runs make {count} pictures, and {MOST_PICTURES} are the most; name fewer runs")]
    TooMany {
        /// The number of pictures.
        count: usize,
    },
    /// The picture cannot be written.
    #[error("{path}: {source}; choose another directory with --output")]
    Io {
        /// The file.
        path: String,
        /// The operating system's error.
        source: io::Error,
    },
    /// The drawing library failed.
    #[error("{path}: cannot draw: {why}")]
    Draw {
        /// The file.
        path: String,
        /// The library's message.
        why: String,
    },
}

/// The content of a picture.
struct Picture {
    suite: String,
    title: String,
    name: String,
    bars: Vec<Bar>,
    panels: Vec<Panel>,
}

/// One bar of every group.
struct Bar {
    /// The engine, with its marks' short texts.
    label: String,
    /// The look of the engine in every picture.
    look: Look,
}

/// The panel of one phase.
struct Panel {
    phase: String,
    groups: Vec<Group>,
}

impl Panel {
    /// Returns the figures that the panel has.
    fn rates(&self) -> impl Iterator<Item = &Rate> + Clone {
        self.groups.iter().flat_map(|group| &group.figures).filter_map(Figure::rate)
    }

    /// Returns the panel's caption: the phase, and the meaning of its whiskers.
    fn caption(&self) -> String {
        let has = |kind: fn(&Spread) -> bool| self.rates().any(|rate| kind(&rate.estimate.spread));
        let has_intervals = has(|spread| matches!(spread, Spread::Interval(_)));
        let has_ranges = has(|spread| matches!(spread, Spread::Range(_)));
        let whiskers = match (has_intervals, has_ranges) {
            (true, false) => " · whiskers: 95 % intervals",
            (false, true) => " · whiskers: range of rounds",
            (true, true) => " · whiskers: 95 % intervals or ranges of rounds",
            (false, false) => "",
        };
        format!("{}, operations a second{whiskers}", self.phase)
    }
}

/// One size, with the figure of each bar.
struct Group {
    label: String,
    figures: Vec<Figure>,
}

/// The figure of a bar.
enum Figure {
    Rate(Rate),
    /// The phase was measured, but the clock saw no time pass.
    NoTime,
    Absent,
}

impl Figure {
    fn rate(&self) -> Option<&Rate> {
        match self {
            Self::Rate(rate) => Some(rate),
            Self::NoTime | Self::Absent => None,
        }
    }
}

/// The place of pictures, and how they are drawn.
pub struct Place<'p> {
    /// The directory.
    pub folder: &'p Path,
    /// The start of all files' names.
    pub name: &'p str,
    /// True if all axes are logarithmic.
    pub is_logarithmic: bool,
}

/// Draws the pictures of all runs together and returns their paths. A picture has bars; if figures
/// are more than 30 times apart, dots on logarithmic axes. The bars of suites that `publishes_bars`
/// are drawn anyway, and dots in addition.
///
/// # Errors
/// If there is nothing to draw, or a file cannot be written.
pub fn draw(
    runs: &[RunFile],
    place: &Place<'_>,
    publishes_bars: &dyn Fn(&str) -> bool,
) -> Result<Vec<PathBuf>, PlotError> {
    let blocks: Vec<_> = runs.iter().flat_map(blocks).collect();
    let pictures = pictures(&blocks, &looks(runs));
    if pictures.is_empty() {
        return Err(PlotError::Nothing);
    }
    at_most(pictures.len())?;
    font::register();
    let mut paths = Vec::new();
    for picture in &pictures {
        let is_wide = place.is_logarithmic || picture.panels.iter().any(dots::are_far_apart);
        let name = &picture.name;
        match (is_wide, publishes_bars(&picture.suite)) {
            (false, _) => paths.extend(write(place, name, &Drawing::Bars(picture))?),
            (true, false) => paths.extend(write(place, name, &Drawing::Dots(picture))?),
            (true, true) => {
                paths.extend(write(place, name, &Drawing::Bars(picture))?);
                let name = format!("{name}-factors");
                paths.extend(write(place, &name, &Drawing::Dots(picture))?);
            }
        }
    }
    Ok(paths)
}

/// Draws line charts, each alone, and sheets of several; returns their paths. Lines of engines have
/// the colours of the engines in `runs`.
///
/// # Errors
/// If there is nothing to draw, or a file cannot be written.
pub fn draw_lines(
    runs: &[RunFile],
    charts: &[LineChart],
    sheets: &[Sheet],
    place: &Place<'_>,
) -> Result<Vec<PathBuf>, PlotError> {
    if charts.iter().all(|chart| chart.lines.iter().all(|line| line.points.is_empty())) {
        return Err(PlotError::Nothing);
    }
    at_most(charts.len() + sheets.len())?;
    font::register();
    let looks = looks(runs);
    let says = marked_engines(runs);
    let are_logarithmic = place.is_logarithmic;
    let charts_of =
        |title, charts| Charts { title, charts, looks: &looks, says: &says, are_logarithmic };
    let mut paths = Vec::new();
    for chart in charts {
        let drawing = Drawing::Lines(charts_of(&chart.title, std::slice::from_ref(chart)));
        paths.extend(write(place, &chart.name, &drawing)?);
    }
    for Sheet { name, title, charts } in sheets {
        let drawing = Drawing::Lines(charts_of(title, charts));
        paths.extend(write(place, name, &drawing)?);
    }
    Ok(paths)
}

fn at_most(count: usize) -> Result<(), PlotError> {
    if count > MOST_PICTURES { Err(PlotError::TooMany { count }) } else { Ok(()) }
}

fn svg(drawing: &Drawing<'_>) -> Result<String, String> {
    let mut text = String::new();
    let area = SVGBackend::with_string(&mut text, drawing.size()).into_drawing_area();
    drawing.on(&area)?;
    drop(area);
    Ok(text)
}

/// The properties that the blocks of one picture have in common.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Key<'b> {
    suite: &'b str,
    storage: Storage,
    class: &'static str,
    variant: String,
}

impl<'b> Key<'b> {
    fn of(cell: &'b Cell) -> Self {
        let mut variant = format!("{} · for {}", format::work(cell), cell.durability_wanted);
        if cell.page_cache == PageCache::Cold {
            variant += " · page cache cold";
        }
        let class = if cell.rows <= SMALL_ROWS { "small" } else { "large" };
        Self { suite: &cell.suite, storage: cell.storage, class, variant }
    }
}

/// Sorts blocks into pictures: those of a suite, a storage mode and a class of sizes.
fn pictures(blocks: &[Block<'_>], looks: &HashMap<&EngineRef, Look>) -> Vec<Picture> {
    let mut keys = Distinct::default();
    let mut of_key: HashMap<Key<'_>, Vec<&Block<'_>>> = HashMap::new();
    for block in blocks {
        let key = Key::of(block.cell);
        keys.add(key.clone());
        of_key.entry(key).or_default().push(block);
    }
    // Pictures of one storage mode and class that differ in something else are numbered.
    let mut namesakes: HashMap<_, usize> = HashMap::new();
    for key in &keys.in_order {
        *namesakes.entry((key.storage, key.class)).or_default() += 1;
    }
    let mut numbers: HashMap<_, usize> = HashMap::new();
    let mut pictures = Vec::new();
    for key in &keys.in_order {
        let Key { suite, storage, class, variant } = key;
        let mut of_picture = of_key.remove(key).unwrap_or_default();
        of_picture.sort_by_key(|block| block.cell.rows);
        let number = numbers.entry((*storage, *class)).or_default();
        *number += 1;
        let mut name = format!("{}-{class}", published_name(*storage));
        if namesakes[&(*storage, *class)] > 1 {
            name += &format!("-{number}");
        }
        let title = format!("{suite} · {storage} · {class} data sets · {variant}");
        let titled = Titled { suite: (*suite).into(), title, name };
        pictures.extend(picture(&of_picture, looks, titled));
    }
    pictures
}

/// Returns a storage mode's name in the published pictures.
fn published_name(storage: Storage) -> &'static str {
    match storage {
        Storage::Memory => "inmem",
        Storage::Ramdisk => "ramdisk",
        Storage::Disk => "ondisk",
    }
}

/// The title of a picture.
struct Titled {
    suite: String,
    title: String,
    name: String,
}

fn picture(
    blocks: &[&Block<'_>],
    looks: &HashMap<&EngineRef, Look>,
    Titled { suite, title, name }: Titled,
) -> Option<Picture> {
    let mut lines = Distinct::default();
    let mut phases = Distinct::default();
    let mut bars = Vec::new();
    let sizes = blocks.len();
    let blocks = &blocks[..sizes.min(MOST_SHOWN)];
    for block in blocks {
        block.phases().into_iter().for_each(|phase| phases.add(phase));
        for line in block.lines.iter().filter(|line| line.trouble().is_none()) {
            let cell = line.cell();
            lines.add(bar_of(line));
            if lines.in_order.len() > bars.len() {
                let threads = match cell.threads {
                    1 => String::new(),
                    threads => format!(", {threads} threads"),
                };
                bars.push(Bar {
                    label: text::short(&cell.engine) + &threads,
                    look: looks.get(&cell.engine).copied().unwrap_or_default(),
                });
            }
        }
    }
    let cut = |what: &str, count: usize| {
        if count > MOST_SHOWN {
            format!(" · {MOST_SHOWN} of {count} {what}")
        } else {
            String::new()
        }
    };
    let title = title
        + &cut("engines", bars.len())
        + &cut("sizes", sizes)
        + &cut("phases", phases.in_order.len());
    bars.truncate(MOST_SHOWN);
    // For each bar, its line in each block: the first if there are several.
    let found: Vec<HashMap<_, &Line<'_>>> = blocks
        .iter()
        .map(|block| block.lines.iter().rev().map(|line| (bar_of(line), line)).collect())
        .collect();
    let shown = &lines.in_order[..bars.len()];
    for (bar, line) in bars.iter_mut().zip(shown) {
        let lines = blocks.iter().zip(&found).map(|(block, found)| (*block, found.get(line)));
        let lines: Vec<_> = lines.filter_map(|(block, line)| Some((block, *line?))).collect();
        bar.label += &marked(&lines, &phases.in_order);
    }
    let groups = |phase: &str| {
        let groups = blocks.iter().zip(&found).map(|(block, found)| Group {
            label: format!("{} rows", format::rows(block.cell.rows)),
            figures: shown.iter().map(|bar| figure(found.get(bar), phase)).collect(),
        });
        groups.collect()
    };
    let panels = phases.in_order.iter().take(MOST_SHOWN);
    let panels: Vec<_> =
        panels.map(|phase| Panel { phase: text::short(phase), groups: groups(phase) }).collect();
    (!bars.is_empty() && !panels.is_empty()).then_some(Picture { suite, title, name, bars, panels })
}

/// Returns the short texts of the marks of engines, in parentheses, by engine.
fn marked_engines(runs: &[RunFile]) -> HashMap<&EngineRef, String> {
    let mut words: HashMap<&EngineRef, Distinct<String>> = HashMap::new();
    for line in runs.iter().flat_map(blocks).flat_map(|block| block.lines) {
        let of_engine = words.entry(&line.trials[0].cell.engine).or_default();
        marks::of_line(&line).iter().for_each(|mark| of_engine.add(text::short(mark.short())));
    }
    words.into_iter().map(|(engine, words)| (engine, in_parentheses(&words))).collect()
}

fn in_parentheses(words: &Distinct<String>) -> String {
    if words.in_order.is_empty() {
        String::new()
    } else {
        format!(" ({})", words.in_order.join(", "))
    }
}

/// Returns the short texts of a bar's marks, in parentheses: those of its lines, and those that
/// most of its figures have.
fn marked(lines: &[(&Block<'_>, &Line<'_>)], phases: &[&str]) -> String {
    let mut all = Distinct::default();
    let of_lines = lines.iter().flat_map(|(_, line)| marks::of_line(line));
    of_lines.for_each(|marked| all.add(marked));
    let figures = lines.iter().flat_map(|(block, line)| {
        let marks =
            |phase: &&str| Some(PhaseMarks::of(block, phase).of_figure(line, &line.rate(phase)?));
        phases.iter().filter_map(marks).collect::<Vec<_>>()
    });
    let figures: Vec<_> = figures.collect();
    marks::of_most(&figures).into_iter().for_each(|marked| all.add(marked));
    let mut words = Distinct::default();
    all.in_order.iter().for_each(|marked| words.add(text::short(marked.short())));
    in_parentheses(&words)
}

/// Returns the figure of a bar in a phase.
fn figure(line: Option<&&Line<'_>>, phase: &str) -> Figure {
    let Some(line) = line else { return Figure::Absent };
    match line.rate(phase) {
        Some(rate) => Figure::Rate(rate),
        None if line.is_without_time(phase) => Figure::NoTime,
        None => Figure::Absent,
    }
}

/// Returns the key by which lines belong to one bar.
fn bar_of<'b>(line: &Line<'b>) -> (&'b EngineRef, u32) {
    let cell = &line.trials[0].cell;
    (&cell.engine, cell.threads)
}

/// The kinds of files that each picture is written as.
#[derive(Clone, Copy)]
enum FileKind {
    Svg,
    Png,
}

impl FileKind {
    const ALL: [Self; 2] = [Self::Svg, Self::Png];
}

/// Writes the kind as a file name's extension.
impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Svg => "svg",
            Self::Png => "png",
        })
    }
}

/// The picture or chart that is drawn.
enum Drawing<'d> {
    Bars(&'d Picture),
    Dots(&'d Picture),
    Lines(Charts<'d>),
}

impl Drawing<'_> {
    fn size(&self) -> (u32, u32) {
        match self {
            Self::Bars(picture) => bars::size(picture),
            Self::Dots(picture) => dots::size(picture),
            Self::Lines(charts) => charts.size(),
        }
    }

    fn on<DB: DrawingBackend>(&self, area: &DrawingArea<DB, Shift>) -> Result<(), String>
    where
        DB::ErrorType: 'static,
    {
        match self {
            Self::Bars(picture) => bars::draw(area, picture),
            Self::Dots(picture) => dots::draw(area, picture),
            Self::Lines(charts) => charts.draw(area),
        }
        .map_err(|e| e.to_string())
    }
}

/// Encodes the pixels of a picture, three bytes (red, green, blue) each and row by row, as PNG.
fn encode_png(width: u32, height: u32, pixels: &[u8]) -> Result<Vec<u8>, String> {
    let mut content = Vec::new();
    let mut encoder = png::Encoder::new(&mut content, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header().map_err(|e| e.to_string())?;
    writer.write_image_data(pixels).map_err(|e| e.to_string())?;
    writer.finish().map_err(|e| e.to_string())?;
    Ok(content)
}

fn png(drawing: &Drawing<'_>) -> Result<Vec<u8>, String> {
    let (width, height) = drawing.size();
    let mut pixels = vec![0; width as usize * height as usize * 3];
    let area = BitMapBackend::with_buffer(&mut pixels, (width, height)).into_drawing_area();
    drawing.on(&area)?;
    drop(area);
    encode_png(width, height, &pixels)
}

/// Writes a picture as files of all kinds.
fn write(place: &Place<'_>, name: &str, drawing: &Drawing<'_>) -> Result<Vec<PathBuf>, PlotError> {
    let file = |kind: FileKind| {
        let path = place.folder.join(format!("{}-{}.{kind}", place.name, text::file_name(name)));
        let shown = || path.display().to_string();
        let content = match kind {
            FileKind::Svg => svg(drawing).map(String::into_bytes),
            FileKind::Png => png(drawing),
        };
        let content = content.map_err(|why| PlotError::Draw { path: shown(), why })?;
        whole_file::write(&path, &content)
            .map_err(|source| PlotError::Io { path: shown(), source })?;
        Ok(path)
    };
    FileKind::ALL.into_iter().map(file).collect()
}
