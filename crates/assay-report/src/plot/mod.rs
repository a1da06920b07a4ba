//! The published pictures: for each storage mode one of the small data sets (up to 100k rows) and
//! one of the large. A picture has a panel for each phase, and in it a group of bars for each size.
//!
//! Every picture is written as SVG and as PNG, each to a temporary name first.

mod bars;
mod font;
mod lines;
mod style;
mod text;

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use assay_core::chart::LineChart;
use assay_core::plan::{Cell, PageCache};
use assay_core::run_file::RunFile;
use assay_driver::Storage;
use plotters::backend::{BitMapBackend, DrawingBackend, SVGBackend};
use plotters::coord::Shift;
use plotters::drawing::{DrawingArea, IntoDrawingArea};
use program_support::whole_file;

use crate::blocks::{Block, Distinct, Line, Rate, blocks};
use crate::format;

/// The largest data set that counts as small.
const SMALL_ROWS: u64 = 100_000;

/// Why there is no picture.
#[derive(Debug, thiserror::Error)]
pub enum PlotError {
    /// No cell was measured.
    #[error("there is nothing to draw: no cell of the run file was measured")]
    Nothing,
    /// The picture cannot be written.
    #[error("{path}: {source}; choose another directory with --output")]
    Io {
        /// The file.
        path: String,
        /// What the operating system said.
        source: io::Error,
    },
    /// The drawing library failed.
    #[error("{path}: cannot draw: {why}")]
    Draw {
        /// The file.
        path: String,
        /// What it said.
        why: String,
    },
}

/// What a picture shows.
struct Picture {
    title: String,
    name: String,
    bars: Vec<Bar>,
    panels: Vec<Panel>,
}

/// One bar of every group.
struct Bar {
    /// The engine, and its level where that is not the one that the picture is for.
    label: String,
    /// The engine's place among all engines of the runs, which decides its colour, so that it
    /// has the same one in every picture.
    colour: usize,
}

/// One phase.
struct Panel {
    phase: String,
    groups: Vec<Group>,
}

/// One size, with what there is of each bar.
struct Group {
    label: String,
    figures: Vec<Figure>,
}

/// What a bar shows.
enum Figure {
    Rate(Rate),
    /// It was measured, but the clock saw no time pass.
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

/// Draws the pictures of all runs together into `folder` and returns their paths.
///
/// # Errors
/// When there is nothing to draw, or a file cannot be written.
pub fn draw(
    runs: &[RunFile],
    folder: &Path,
    name: &str,
    logarithmic: bool,
) -> Result<Vec<PathBuf>, PlotError> {
    let blocks: Vec<_> = runs.iter().flat_map(blocks).collect();
    let pictures = pictures(&blocks);
    if pictures.is_empty() {
        return Err(PlotError::Nothing);
    }
    font::register();
    let mut paths = Vec::new();
    for picture in &pictures {
        for kind in FileKind::ALL {
            let path = folder.join(format!("{name}-{}.{kind}", picture.name));
            write(&path, kind, bars::size(picture), &Drawing::Bars(picture), logarithmic)?;
            paths.push(path);
        }
    }
    Ok(paths)
}

/// Draws line charts into `folder` and returns their paths.
///
/// # Errors
/// When there is nothing to draw, or a file cannot be written.
pub fn draw_lines(
    charts: &[LineChart],
    folder: &Path,
    name: &str,
    logarithmic: bool,
) -> Result<Vec<PathBuf>, PlotError> {
    if charts.iter().all(|chart| chart.lines.iter().all(|line| line.points.is_empty())) {
        return Err(PlotError::Nothing);
    }
    font::register();
    let mut paths = Vec::new();
    for chart in charts {
        for kind in FileKind::ALL {
            let path = folder.join(format!("{name}-{}.{kind}", chart.name));
            write(&path, kind, lines::SIZE, &Drawing::Lines(chart), logarithmic)?;
            paths.push(path);
        }
    }
    Ok(paths)
}

fn svg(size: (u32, u32), drawing: &Drawing<'_>, logarithmic: bool) -> Result<String, PlotError> {
    let mut text = String::new();
    let area = SVGBackend::with_string(&mut text, size).into_drawing_area();
    drawing
        .on(&area, logarithmic)
        .map_err(|why| PlotError::Draw { path: "a picture".into(), why })?;
    drop(area);
    Ok(text)
}

/// What the blocks of one picture have in common.
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
        let class = match cell.rows <= SMALL_ROWS {
            true => "small",
            false => "large",
        };
        Self { suite: &cell.suite, storage: cell.storage, class, variant }
    }
}

/// Sorts blocks into pictures: those of a suite, a storage mode and a class of sizes.
fn pictures(blocks: &[Block<'_>]) -> Vec<Picture> {
    let mut colours = HashMap::new();
    for line in blocks.iter().flat_map(|block| &block.lines) {
        let next = colours.len();
        colours.entry(line.cell().engine.as_str()).or_insert(next);
    }
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
        pictures.extend(picture(&of_picture, &colours, title, name));
    }
    pictures
}

/// A storage mode as the published pictures name it.
fn published_name(storage: Storage) -> &'static str {
    match storage {
        Storage::Memory => "inmem",
        Storage::Ramdisk => "ramdisk",
        Storage::Disk => "ondisk",
    }
}

fn picture(
    blocks: &[&Block<'_>],
    colours: &HashMap<&str, usize>,
    title: String,
    name: String,
) -> Option<Picture> {
    let (mut lines, mut phases) = (Distinct::default(), Distinct::default());
    let mut bars = Vec::new();
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
                let level = match cell.durability == cell.durability_wanted {
                    true => String::new(),
                    false => format!(" (at {})", cell.durability),
                };
                bars.push(Bar {
                    label: text::short(&cell.engine) + &threads + &level,
                    colour: colours.get(cell.engine.as_str()).copied().unwrap_or(0),
                });
            }
        }
    }
    // The line of each bar in each block: of several, the first.
    let found: Vec<HashMap<_, &Line<'_>>> = blocks
        .iter()
        .map(|block| block.lines.iter().rev().map(|line| (bar_of(line), line)).collect())
        .collect();
    let groups = |phase: &str| {
        let groups = blocks.iter().zip(&found).map(|(block, found)| Group {
            label: format!("{} rows", format::rows(block.cell.rows)),
            figures: lines.in_order.iter().map(|bar| figure(found.get(bar), phase)).collect(),
        });
        groups.collect()
    };
    let panels = phases.in_order.iter();
    let panels: Vec<_> =
        panels.map(|phase| Panel { phase: text::short(phase), groups: groups(phase) }).collect();
    (!bars.is_empty() && !panels.is_empty()).then_some(Picture { title, name, bars, panels })
}

/// What a bar shows of a phase.
fn figure(line: Option<&&Line<'_>>, phase: &str) -> Figure {
    let Some(line) = line else { return Figure::Absent };
    match line.rate(phase) {
        Some(rate) => Figure::Rate(rate),
        None if line.is_without_time(phase) => Figure::NoTime,
        None => Figure::Absent,
    }
}

/// By what a line is known as one of a bar.
fn bar_of<'b>(line: &Line<'b>) -> (&'b str, u32) {
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

/// As the ending of a file's name.
impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Svg => "svg",
            Self::Png => "png",
        })
    }
}

/// What is drawn.
enum Drawing<'d> {
    Bars(&'d Picture),
    Lines(&'d LineChart),
}

impl Drawing<'_> {
    fn on<DB: DrawingBackend>(
        &self,
        area: &DrawingArea<DB, Shift>,
        logarithmic: bool,
    ) -> Result<(), String>
    where
        DB::ErrorType: 'static,
    {
        match self {
            Self::Bars(picture) => bars::draw(area, picture, logarithmic),
            Self::Lines(chart) => lines::draw(area, chart, logarithmic),
        }
        .map_err(|e| e.to_string())
    }
}

/// The pixels of a picture, three bytes (red, green, blue) each and row by row, as PNG.
fn encode_png((width, height): (u32, u32), pixels: &[u8]) -> Result<Vec<u8>, String> {
    let mut content = Vec::new();
    let mut encoder = png::Encoder::new(&mut content, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header().map_err(|e| e.to_string())?;
    writer.write_image_data(pixels).map_err(|e| e.to_string())?;
    writer.finish().map_err(|e| e.to_string())?;
    Ok(content)
}

fn png(size: (u32, u32), drawing: &Drawing<'_>, logarithmic: bool) -> Result<Vec<u8>, String> {
    let mut pixels = vec![0; size.0 as usize * size.1 as usize * 3];
    let area = BitMapBackend::with_buffer(&mut pixels, size).into_drawing_area();
    drawing.on(&area, logarithmic)?;
    drop(area);
    encode_png(size, &pixels)
}

fn write(
    path: &Path,
    kind: FileKind,
    size: (u32, u32),
    drawing: &Drawing<'_>,
    logarithmic: bool,
) -> Result<(), PlotError> {
    let name = || path.display().to_string();
    let content = match kind {
        FileKind::Svg => svg(size, drawing, logarithmic)?.into_bytes(),
        FileKind::Png => {
            png(size, drawing, logarithmic).map_err(|why| PlotError::Draw { path: name(), why })?
        }
    };
    whole_file::write(path, &content).map_err(|source| PlotError::Io { path: name(), source })
}
