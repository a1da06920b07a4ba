//! Axes that the drawing library does not have.

use std::ops::Range;

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};

use crate::format::quantity;

/// A logarithmic axis, labelled at powers of ten; if there are few of them, also between them.
pub(super) struct Factors {
    least: f64,
    most: f64,
}

impl Factors {
    /// Returns an axis from a positive value to a greater one.
    pub(super) fn new(least: f64, most: f64) -> Self {
        Self { least, most: most.max(least * 1.001) }
    }

    fn labelled(&self, digits: &[f64]) -> Vec<f64> {
        let powers = self.least.log10().floor() as i32..=self.most.log10().ceil() as i32;
        let values = powers.flat_map(|power| digits.iter().map(move |d| d * 10f64.powi(power)));
        values.filter(|value| (self.least..=self.most).contains(value)).collect()
    }
}

impl Ranged for Factors {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, ends: (i32, i32)) -> i32 {
        let (from, to) = ends;
        let share =
            (value.max(f64::MIN_POSITIVE) / self.least).ln() / (self.most / self.least).ln();
        from + (f64::from(to - from) * share).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        match self.labelled(&[1.0]) {
            powers if powers.len() < 3 => self.labelled(&[1.0, 2.0, 5.0]),
            powers => {
                let step = powers.len().div_ceil(8);
                powers.into_iter().step_by(step).collect()
            }
        }
    }

    fn range(&self) -> Range<f64> {
        self.least..self.most
    }
}

impl ValueFormatter<f64> for Factors {
    fn format(value: &f64) -> String {
        quantity(*value)
    }
}

/// An axis by the nines of a share, from no nine on: 90 % is one, 99 % are two.
pub(super) struct Nines {
    most: f64,
}

impl Nines {
    /// The labels: half of the operations, 90 %, 99 %, and so on.
    const LABELS: [(f64, &str); 7] = [
        (std::f64::consts::LOG10_2, "50 %"),
        (1.0, "90 %"),
        (2.0, "99 %"),
        (3.0, "99.9 %"),
        (4.0, "99.99 %"),
        (5.0, "99.999 %"),
        (6.0, "99.9999 %"),
    ];

    pub(super) fn until(most: f64) -> Self {
        Self { most }
    }

    pub(super) fn label(value: f64) -> String {
        let label = Self::LABELS.iter().find(|(nines, _)| (nines - value).abs() < 0.01);
        label.map_or_else(String::new, |(_, label)| (*label).to_string())
    }
}

impl Ranged for Nines {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, ends: (i32, i32)) -> i32 {
        let (left, right) = ends;
        left + (f64::from(right - left) * value / self.most).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        let labelled = Self::LABELS.iter().map(|(nines, _)| *nines);
        labelled.filter(|nines| *nines <= self.most).collect()
    }

    fn range(&self) -> Range<f64> {
        0.0..self.most
    }
}

impl ValueFormatter<f64> for Nines {
    fn format(value: &f64) -> String {
        Self::label(*value)
    }
}

#[cfg(test)]
mod tests {
    use plotters::coord::ranged1d::LightPoints;

    use super::*;

    #[test]
    fn factors_are_labelled_at_powers_or_between() {
        assert_eq!(
            Factors::new(0.9, 2e4).key_points(LightPoints::new(10, 10)),
            [1.0, 10.0, 100.0, 1e3, 1e4]
        );
        assert_eq!(
            Factors::new(3.0, 60.0).key_points(LightPoints::new(10, 10)),
            [5.0, 10.0, 20.0, 50.0]
        );
        assert_eq!(Factors::new(1e-3, 1e17).key_points(LightPoints::new(10, 10)).len(), 7);
        assert_eq!(Factors::new(1.0, 100.0).map(&10.0, (0, 200)), 100);
    }

    #[test]
    fn each_nine_is_as_far_from_the_next() {
        let axis = Nines::until(3.1);
        let labels: Vec<_> =
            axis.key_points(LightPoints::new(10, 10)).into_iter().map(Nines::label).collect();
        assert_eq!(labels, ["50 %", "90 %", "99 %", "99.9 %"]);
        assert_eq!(axis.map(&2.0, (0, 310)) - axis.map(&1.0, (0, 310)), 100);
    }
}
