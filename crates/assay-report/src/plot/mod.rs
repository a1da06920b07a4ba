//! The published pictures: for each storage mode one of the small data sets (up to 100k rows)
//! and one of the large, with a panel for each phase and in it a group of bars for each size.
//!
//! Every picture is written as SVG and as PNG, each to a temporary name first.

mod bars;
mod font;
mod lines;
mod style;

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use assay_core::chart::LineChart;
use assay_core::driver::Storage;
use assay_core::plan::{Cell, PageCache};
use assay_core::run_file::RunFile;
use assay_core::whole_file::folder_of;
use plotters::backend::{BitMapBackend, DrawingBackend, SVGBackend};
use plotters::coord::Shift;
use plotters::drawing::{DrawingArea, IntoDrawingArea};

use crate::blocks::{Block, Line, Rate, blocks};
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
#[derive(PartialEq, Eq)]
struct Bar {
    engine: String,
    threads: u32,
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

/// Draws the pictures of all runs together into `folder` and answers their paths.
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
        for kind in ["svg", "png"] {
            let path = folder.join(format!("{name}-{}.{kind}", picture.name));
            write(&path, kind, bars::size(picture), &Drawing::Bars(picture), logarithmic)?;
            paths.push(path);
        }
    }
    Ok(paths)
}

/// Draws line charts into `folder` and answers their paths.
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
        for kind in ["svg", "png"] {
            let path = folder.join(format!("{name}-{}.{kind}", chart.name));
            write(&path, kind, lines::SIZE, &Drawing::Lines(chart), logarithmic)?;
            paths.push(path);
        }
    }
    Ok(paths)
}

/// A picture as SVG text.
pub struct Svg {
    /// What it shows.
    pub title: String,
    /// The text.
    pub text: String,
}

/// The pictures that [`draw`] would write of one run, as texts; none if nothing was measured.
///
/// # Errors
/// When the drawing library fails.
pub fn svgs(run: &RunFile) -> Result<Vec<Svg>, PlotError> {
    font::register();
    let blocks = blocks(run);
    let pictures = pictures(&blocks);
    pictures
        .iter()
        .map(|picture| {
            let text = svg(bars::size(picture), &Drawing::Bars(picture), false)?;
            Ok(Svg { title: picture.title.clone(), text })
        })
        .collect()
}

/// Line charts as texts; those without points are left out.
///
/// # Errors
/// When the drawing library fails.
pub fn line_svgs(charts: &[LineChart]) -> Result<Vec<Svg>, PlotError> {
    font::register();
    let has_points = |chart: &&LineChart| chart.lines.iter().any(|line| !line.points.is_empty());
    charts
        .iter()
        .filter(has_points)
        .map(|chart| {
            let text = svg(lines::SIZE, &Drawing::Lines(chart), false)?;
            Ok(Svg { title: chart.title.clone(), text })
        })
        .collect()
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

/// Sorts blocks into pictures: those of a suite, a storage mode and a class of sizes.
fn pictures(blocks: &[Block<'_>]) -> Vec<Picture> {
    let mut all_engines = Vec::new();
    for line in blocks.iter().flat_map(|block| &block.lines) {
        if !all_engines.contains(&line.cell().engine) {
            all_engines.push(line.cell().engine.clone());
        }
    }
    let class = |cell: &Cell| match cell.rows <= SMALL_ROWS {
        true => "small",
        false => "large",
    };
    let key = |cell: &Cell| {
        let mut variant = format!("{} · for {}", format::work(cell), cell.durability_wanted);
        if cell.page_cache == PageCache::Cold {
            variant += " · page cache cold";
        }
        (cell.suite.clone(), cell.storage, class(cell), variant)
    };
    let mut keys = Vec::new();
    for block in blocks {
        if !keys.contains(&key(block.cell)) {
            keys.push(key(block.cell));
        }
    }
    keys.iter()
        .filter_map(|wanted| {
            let (suite, storage, class, variant) = wanted;
            let mut of_picture: Vec<_> =
                blocks.iter().filter(|block| key(block.cell) == *wanted).collect();
            of_picture.sort_by_key(|block| block.cell.rows);
            let mut name = format!("{}-{class}", published_name(*storage));
            // Pictures of one storage mode and class that differ in something else are numbered.
            let namesakes: Vec<_> =
                keys.iter().filter(|key| (key.1, key.2) == (*storage, *class)).collect();
            if namesakes.len() > 1 {
                let number = namesakes.iter().position(|key| *key == wanted).unwrap_or(0) + 1;
                name += &format!("-{number}");
            }
            picture(
                &of_picture,
                &all_engines,
                format!("{suite} · {storage} · {class} data sets · {variant}"),
                name,
            )
        })
        .collect()
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
    all_engines: &[String],
    title: String,
    name: String,
) -> Option<Picture> {
    let (mut bars, mut phases) = (Vec::<Bar>::new(), Vec::<&str>::new());
    for block in blocks {
        for phase in block.phases() {
            if !phases.contains(&phase) {
                phases.push(phase);
            }
        }
        for line in block.lines.iter().filter(|line| line.trouble().is_none()) {
            let cell = line.cell();
            let is_it = |bar: &Bar| (&bar.engine, bar.threads) == (&cell.engine, cell.threads);
            if !bars.iter().any(is_it) {
                let threads = match cell.threads {
                    1 => String::new(),
                    threads => format!(", {threads} threads"),
                };
                let level = match cell.durability == cell.durability_wanted {
                    true => String::new(),
                    false => format!(" (at {})", cell.durability),
                };
                bars.push(Bar {
                    engine: cell.engine.clone(),
                    threads: cell.threads,
                    label: cell.engine.clone() + &threads + &level,
                    colour: all_engines.iter().position(|e| *e == cell.engine).unwrap_or(0),
                });
            }
        }
    }
    let panels: Vec<_> = phases
        .into_iter()
        .map(|phase| Panel {
            phase: phase.to_string(),
            groups: blocks
                .iter()
                .map(|block| Group {
                    label: format!("{} rows", format::rows(block.cell.rows)),
                    figures: bars.iter().map(|bar| figure(block, bar, phase)).collect(),
                })
                .collect(),
        })
        .collect();
    (!bars.is_empty() && !panels.is_empty()).then_some(Picture { title, name, bars, panels })
}

/// What a bar shows of a phase.
fn figure(block: &Block<'_>, bar: &Bar, phase: &str) -> Figure {
    let is_it = |line: &&Line<'_>| {
        let cell = line.cell();
        (&cell.engine, cell.threads) == (&bar.engine, bar.threads)
    };
    let Some(line) = block.lines.iter().find(is_it) else { return Figure::Absent };
    match line.rate(phase) {
        Some(rate) => Figure::Rate(rate),
        None if line.is_without_time(phase) => Figure::NoTime,
        None => Figure::Absent,
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

/// Writes the pixels of a picture, three bytes (red, green, blue) each and row by row, as PNG.
fn encode_png(file: &File, (width, height): (u32, u32), pixels: &[u8]) -> Result<(), String> {
    let mut encoder = png::Encoder::new(BufWriter::new(file), width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header().map_err(|e| e.to_string())?;
    writer.write_image_data(pixels).map_err(|e| e.to_string())?;
    writer.finish().map_err(|e| e.to_string())
}

fn write(
    path: &Path,
    kind: &str,
    size: (u32, u32),
    drawing: &Drawing<'_>,
    logarithmic: bool,
) -> Result<(), PlotError> {
    let io = |source| PlotError::Io { path: path.display().to_string(), source };
    let folder = folder_of(path);
    std::fs::create_dir_all(folder).map_err(io)?;
    let temporary = tempfile::Builder::new()
        .prefix(".assay-plot")
        .suffix(&format!(".{kind}"))
        .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644))
        .tempfile_in(folder)
        .map_err(io)?;
    let drawn = match kind {
        "svg" => {
            let area = SVGBackend::new(temporary.path(), size).into_drawing_area();
            drawing.on(&area, logarithmic)
        }
        _ => {
            let mut pixels = vec![0; size.0 as usize * size.1 as usize * 3];
            let area = BitMapBackend::with_buffer(&mut pixels, size).into_drawing_area();
            let drawn = drawing.on(&area, logarithmic);
            drop(area);
            drawn.and_then(|()| encode_png(temporary.as_file(), size, &pixels))
        }
    };
    drawn.map_err(|why| PlotError::Draw { path: path.display().to_string(), why })?;
    temporary.persist(path).map_err(|e| io(e.error))?;
    Ok(())
}
