//! Distributions of sizes: the bytes of values, and the records of scans.
//!
//! A size is a function of 64 random bits. Functions of real numbers come from a library of our
//! own build, so that every machine finds the same sizes.

use super::zipf::Zipf;
use assay_core::random::mix;

/// A distribution of whole numbers.
#[derive(Clone, Debug, PartialEq)]
pub enum Sizes {
    /// One size.
    Constant(u64),
    /// Every size from the first to the last as often.
    Uniform(u64, u64),
    /// Sizes whose logarithms are normally distributed, at least `least` and at most `most`.
    Lognormal {
        /// Half are at most this.
        median: f64,
        /// 99 % are at most this, but for the limits.
        p99: f64,
        /// The least size.
        least: u64,
        /// The greatest size.
        most: u64,
    },
    /// Sizes from `least` to `most`; the size at place *i* from the least is as likely as
    /// 1/(*i*+1)^`exponent`.
    Zipf {
        /// The least size, which is the likeliest.
        least: u64,
        /// The greatest size.
        most: u64,
        /// The exponent.
        exponent: f64,
    },
    /// Sizes, each with the share of all that are this or one before it.
    Histogram(Vec<(u64, f64)>),
}

/// The quantile of the standard normal distribution that 99 % are below.
const Z99: f64 = 2.326_347_874_040_841;

impl Sizes {
    /// Returns the greatest size.
    pub fn most(&self) -> u64 {
        match self {
            Self::Constant(size) => *size,
            Self::Uniform(_, most) | Self::Lognormal { most, .. } | Self::Zipf { most, .. } => {
                *most
            }
            Self::Histogram(sizes) => sizes.iter().map(|(size, _)| *size).max().unwrap_or(0),
        }
    }

    /// Returns the least size.
    pub fn least(&self) -> u64 {
        match self {
            Self::Constant(size) => *size,
            Self::Uniform(least, _) | Self::Lognormal { least, .. } | Self::Zipf { least, .. } => {
                *least
            }
            Self::Histogram(sizes) => sizes.iter().map(|(size, _)| *size).min().unwrap_or(0),
        }
    }

    /// Returns true if all sizes are equal.
    pub fn is_constant(&self) -> bool {
        self.least() == self.most()
    }

    /// Returns the size that random bits stand for.
    pub fn of(&self, bits: u64) -> u64 {
        match self {
            Self::Constant(size) => *size,
            Self::Uniform(least, most) => {
                let width = u128::from(most - least + 1);
                least + ((u128::from(bits) * width) >> 64) as u64
            }
            Self::Lognormal { median, p99, least, most } => {
                let deviation = libm::log(p99 / median) / Z99;
                let size = median * libm::exp(deviation * normal_quantile(open_uniform(bits)));
                (libm::round(size) as u64).clamp(*least, *most)
            }
            Self::Zipf { least, most, exponent } => {
                least + Zipf::new(most - least + 1, *exponent).number(bits)
            }
            Self::Histogram(sizes) => {
                let uniform = open_uniform(bits);
                let found = sizes.iter().find(|(_, share)| uniform <= *share);
                found.or(sizes.last()).map_or(0, |(size, _)| *size)
            }
        }
    }

    /// Returns the mean size, of many draws.
    pub fn mean(&self) -> f64 {
        const DRAWS: u64 = 10_000;
        match self {
            Self::Constant(size) => *size as f64,
            _ => (0..DRAWS).map(|at| self.of(mix(0, at)) as f64).sum::<f64>() / DRAWS as f64,
        }
    }
}

/// Returns a number between 0 and 1, neither included, of 64 random bits.
pub(crate) fn open_uniform(bits: u64) -> f64 {
    ((bits >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
}

/// Returns the quantile of the standard normal distribution (Wichura: Algorithm AS 241: The
/// Percentage Points of the Normal Distribution, Applied Statistics 37, 1988; function PPND7,
/// which is exact to seven digits).
fn normal_quantile(share: f64) -> f64 {
    let middle = share - 0.5;
    if middle.abs() <= 0.425 {
        let r = 0.180_625 - middle * middle;
        let above =
            ((59.109_374_720 * r + 159.291_132_02) * r + 50.434_271_938) * r + 3.387_132_717_9;
        let below = ((67.187_563_600 * r + 78.757_757_664) * r + 17.895_169_469) * r + 1.0;
        return middle * above / below;
    }
    let tail = if middle < 0.0 { share } else { 1.0 - share };
    let r = libm::sqrt(-libm::log(tail));
    let size = if r <= 5.0 {
        let r = r - 1.6;
        let above =
            ((0.170_238_210_3 * r + 1.306_728_481_6) * r + 2.756_815_390_0) * r + 1.423_437_277_7;
        let below = (0.120_211_326_75 * r + 0.737_001_642_50) * r + 1.0;
        above / below
    } else {
        let r = r - 5.0;
        let above = ((0.017_337_203_997 * r + 0.428_682_943_37) * r + 3.081_226_386_0) * r
            + 6.657_905_115_0;
        let below = (0.012_258_202_635 * r + 0.241_978_942_25) * r + 1.0;
        above / below
    };
    if middle < 0.0 { -size } else { size }
}
