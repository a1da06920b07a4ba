//! One colour and mark for each engine, in every picture and on the page.
//!
//! There are eight colours: more than eight cannot be told apart. Engines beyond the eighth repeat
//! the colours with another mark and another line.

use std::collections::HashMap;

use assay_core::engine::EngineRef;
use assay_core::run_file::RunFile;

/// Colours on white, as red, green and blue. Each differs from the others, and from the paper, also
/// for people who do not see red, or green; the tests below check by how much.
pub(crate) const ON_WHITE: [[u8; 3]; 8] = [
    [0x16, 0x92, 0xfe],
    [0xc5, 0x02, 0x53],
    [0x14, 0x3f, 0x1b],
    [0xa3, 0x7b, 0x35],
    [0x41, 0x01, 0xe3],
    [0x45, 0x9d, 0xa6],
    [0xad, 0x08, 0xae],
    [0x31, 0x30, 0x60],
];

/// The colours on a dark page.
pub(crate) const ON_DARK: [[u8; 3]; 8] = [
    [0x39, 0xa0, 0xf2],
    [0xd0, 0x46, 0x07],
    [0x1c, 0xf9, 0x8b],
    [0xe9, 0xc0, 0x0c],
    [0x9c, 0x34, 0xfe],
    [0x55, 0xf2, 0xfe],
    [0xad, 0x4c, 0x97],
    [0xa0, 0x73, 0x57],
];

/// The number of marks. They differ in shape and in the dashes of their line.
pub(crate) const MARKS: usize = 4;

/// The colour and mark of an engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Look {
    /// The index of the colour, of eight.
    pub(crate) colour: usize,
    /// The index of the mark, one for each eight engines.
    pub(crate) mark: usize,
}

impl Look {
    /// Returns the look of the engine at this place.
    pub(crate) fn of(place: usize) -> Self {
        Self { colour: place % ON_WHITE.len(), mark: place / ON_WHITE.len() }
    }
}

/// Returns the looks of all engines, in the order of the runs.
pub(crate) fn looks<'r>(
    runs: impl IntoIterator<Item = &'r RunFile>,
) -> HashMap<&'r EngineRef, Look> {
    let mut looks = HashMap::new();
    for result in runs.into_iter().flat_map(RunFile::results) {
        let next = looks.len();
        looks.entry(&result.cell.engine).or_insert_with(|| Look::of(next));
    }
    looks
}

#[cfg(test)]
mod tests {
    use super::*;

    type Rgb = [f64; 3];

    /// Matrices of how people without red or without green cones see a colour: G. M. Machado, M. M.
    /// Oliveira, L. A. F. Fernandes, "A Physiologically-based Model for Simulation of Color Vision
    /// Deficiency", 2009, severity 1.
    const SIGHTS: [[Rgb; 3]; 3] = [
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ],
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ],
    ];

    fn linear(colour: [u8; 3]) -> Rgb {
        colour.map(|part| match f64::from(part) / 255.0 {
            dark if dark <= 0.04045 => dark / 12.92,
            bright => ((bright + 0.055) / 1.055).powf(2.4),
        })
    }

    fn times(matrix: &[Rgb; 3], colour: Rgb) -> Rgb {
        matrix.map(|row| row.iter().zip(colour).map(|(a, b)| a * b).sum())
    }

    /// Returns a colour in CIELAB under D65.
    fn lab(linear: Rgb) -> Rgb {
        let to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]];
        let [x, y, z] = times(&to_xyz, linear);
        let root = |t: f64| if t > 0.008856 { t.cbrt() } else { 7.787 * t + 16.0 / 116.0 };
        let [x, y, z] = [root(x / 0.9505), root(y), root(z / 1.089)];
        [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
    }

    fn difference(one: [u8; 3], other: [u8; 3], sight: &[Rgb; 3]) -> f64 {
        let seen = |colour| lab(times(sight, linear(colour)).map(|part| part.clamp(0.0, 1.0)));
        let parts = seen(one).into_iter().zip(seen(other)).map(|(a, b)| (a - b).powi(2));
        parts.sum::<f64>().sqrt()
    }

    fn contrast(one: [u8; 3], other: [u8; 3]) -> f64 {
        let luminance = |colour| {
            let [red, green, blue] = linear(colour);
            0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05
        };
        let one = luminance(one);
        let other = luminance(other);
        one.max(other) / one.min(other)
    }

    /// Checks the difference of colours: 2 is just visible side by side; 20 is another colour.
    #[test]
    fn all_colours_are_told_apart_by_those_who_do_not_see_red_or_green() {
        for palette in [ON_WHITE, ON_DARK] {
            for (at, one) in palette.iter().enumerate() {
                for other in &palette[at + 1..] {
                    for sight in &SIGHTS {
                        let apart = difference(*one, *other, sight);
                        assert!(apart > 20.0, "{one:x?} {other:x?} {apart}");
                    }
                }
            }
        }
    }

    /// Checks the contrast with the paper, for which WCAG 2.2 asks 3:1.
    #[test]
    fn all_colours_stand_out_from_the_paper() {
        for (palette, paper) in [(ON_WHITE, [0xff; 3]), (ON_DARK, [0x15, 0x19, 0x1d])] {
            for colour in palette {
                assert!(contrast(colour, paper) >= 3.0, "{colour:x?}");
            }
        }
    }
}
