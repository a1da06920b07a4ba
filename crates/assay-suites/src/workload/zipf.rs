//! Numbers by Zipf's law, for any exponent and any number of items, without a table.
//!
//! Rejection-inversion: Hörmann, Derflinger: Rejection-Inversion to Generate Variates from Monotone
//! Discrete Distributions, ACM TOMACS 6(3), 1996. YCSB's own rule, which `ycsb` keeps, is another
//! one: it approximates the law, and takes exponents below 1 only.

use assay_core::random::mix;

use super::sizes::open_uniform;

/// Numbers from `0..items`: the chance of number *i* is proportional to 1/(*i*+1)^exponent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Zipf {
    items: u64,
    exponent: f64,
    /// The area at the first and at the last item.
    first: f64,
    last: f64,
    /// The distance from an item within which none is rejected.
    sure: f64,
}

impl Zipf {
    /// Returns numbers below `items`, which is at least one; the exponent is above 0.
    pub(super) fn new(items: u64, exponent: f64) -> Self {
        let first = area(1.5, exponent) - 1.0;
        let last = area(items as f64 + 0.5, exponent);
        let sure = 2.0 - area_back(area(2.5, exponent) - weight(2.0, exponent), exponent);
        Self { items, exponent, first, last, sure }
    }

    /// Returns the number that random bits stand for.
    pub(super) fn number(&self, bits: u64) -> u64 {
        let mut at = bits;
        loop {
            let point = self.last + open_uniform(at) * (self.first - self.last);
            let x = area_back(point, self.exponent);
            let item = libm::round(x).clamp(1.0, self.items as f64);
            let is_in = item - x <= self.sure
                || point >= area(item + 0.5, self.exponent) - weight(item, self.exponent);
            if is_in {
                return item as u64 - 1;
            }
            at = mix(bits, at);
        }
    }
}

/// Returns the weight of an item, from 1.
fn weight(item: f64, exponent: f64) -> f64 {
    libm::exp(-exponent * libm::log(item))
}

/// Returns the integral of the weights up to a point.
fn area(x: f64, exponent: f64) -> f64 {
    let log = libm::log(x);
    growth((1.0 - exponent) * log) * log
}

/// Returns the point up to which the integral is this.
fn area_back(area: f64, exponent: f64) -> f64 {
    let t = (area * (1.0 - exponent)).max(-1.0);
    libm::exp(shrinkage(t) * area)
}

/// Returns (e^x − 1) / x, also near 0.
fn growth(x: f64) -> f64 {
    if x.abs() > 1e-8 { libm::expm1(x) / x } else { 1.0 + x / 2.0 * (1.0 + x / 3.0) }
}

/// Returns ln(1 + x) / x, also near 0.
fn shrinkage(x: f64) -> f64 {
    if x.abs() > 1e-8 { libm::log1p(x) / x } else { 1.0 - x * (0.5 - x / 3.0) }
}
