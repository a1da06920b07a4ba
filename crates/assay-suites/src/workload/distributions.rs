//! The distributions, against what their definitions say: Pearson's χ² for those of few values, and
//! the distance of Kolmogorov and Smirnov for others.

use assay_core::random::{Bijection, mix};

use super::choice::{Choice, Chooser, Seeds, Spans};
use super::sizes::Sizes;
use super::zipf::Zipf;

const DRAWS: u64 = 200_000;

/// Checks that values from `0..weights.len()` come as often as they should. Rare ones count
/// together.
fn fits(weights: &[f64], draw: impl Fn(u64) -> u64, what: &str) {
    const LEAST: f64 = 10.0;
    let mut counts = vec![0.0; weights.len()];
    (0..DRAWS).for_each(|at| counts[draw(at) as usize] += 1.0);
    let all: f64 = weights.iter().sum();
    let mut chi_squared = 0.0;
    let mut classes = 0.0;
    let mut rest = (0.0, 0.0);
    for (weight, count) in weights.iter().zip(counts) {
        rest = (rest.0 + weight / all * DRAWS as f64, rest.1 + count);
        if rest.0 >= LEAST {
            chi_squared += (rest.1 - rest.0) * (rest.1 - rest.0) / rest.0;
            classes += 1.0;
            rest = (0.0, 0.0);
        }
    }
    // Its mean is the number of classes less one, its variance twice that.
    let freedom = f64::max(classes - 1.0, 1.0);
    let most = freedom + 5.0 * (2.0 * freedom).sqrt() + 5.0;
    assert!(chi_squared < most, "{what}: χ² is {chi_squared:.0} of {classes} classes");
    assert!(chi_squared > freedom - 5.0 * (2.0 * freedom).sqrt(), "{what}: {chi_squared:.0}");
}

/// Checks that values are distributed as `share_below` says.
fn is_distributed(draw: impl Fn(u64) -> f64, share_below: impl Fn(f64) -> f64, what: &str) {
    let mut drawn: Vec<_> = (0..DRAWS).map(draw).collect();
    drawn.sort_by(f64::total_cmp);
    let distance = drawn.iter().enumerate().map(|(at, value)| {
        let expected = share_below(*value);
        let below = at as f64 / DRAWS as f64;
        let with = (at + 1) as f64 / DRAWS as f64;
        (expected - below).abs().max((expected - with).abs())
    });
    let distance = distance.fold(0.0, f64::max);
    // A distance that chance exceeds once in a hundred thousand times.
    let most = 2.47 / (DRAWS as f64).sqrt();
    assert!(distance < most, "{what}: the distance is {distance}, at most {most}");
}

fn zipf_weights(items: u64, exponent: f64) -> Vec<f64> {
    (1..=items).map(|item| (item as f64).powf(-exponent)).collect()
}

#[test]
fn zipfs_law_holds_for_any_exponent() {
    for exponent in [0.2, 0.5, 0.99, 1.0, 1.5, 4.0] {
        for items in [1, 2, 3, 1_000] {
            let zipf = Zipf::new(items, exponent);
            let weights = zipf_weights(items, exponent);
            fits(&weights, |at| zipf.number(mix(3, at)), &format!("{items}, {exponent}"));
        }
    }
    let many = Zipf::new(1 << 40, 0.99);
    assert!((0..10_000).all(|at| many.number(mix(1, at)) < 1 << 40));
}

#[test]
fn sizes_are_distributed_as_they_are_named() {
    let bits = |at| mix(7, at);
    let uniform = Sizes::Uniform(10, 99);
    fits(&[1.0; 90], |at| uniform.of(bits(at)) - 10, "uniform");
    let zipf = Sizes::Zipf { least: 8, most: 207, exponent: 1.2 };
    fits(&zipf_weights(200, 1.2), |at| zipf.of(bits(at)) - 8, "zipf");
    let histogram = Sizes::Histogram(vec![(10, 0.5), (20, 0.75), (30, 1.0)]);
    fits(&[2.0, 1.0, 1.0], |at| histogram.of(bits(at)) / 10 - 1, "histogram");
    let median = 1e6;
    let p99 = 8e6;
    let lognormal = Sizes::Lognormal { median, p99, least: 1, most: u64::MAX };
    let deviation = (p99 / median).ln() / 2.326_347_874;
    let below = |size: f64| {
        let z = (size / median).ln() / deviation;
        0.5 * (1.0 + libm::erf(z / 2.0_f64.sqrt()))
    };
    is_distributed(|at| lognormal.of(bits(at)) as f64, below, "lognormal");
    let cut = Sizes::Lognormal { median: 100.0, p99: 1000.0, least: 50, most: 2000 };
    assert!((0..DRAWS).all(|at| (50..=2000).contains(&cut.of(bits(at)))));
}

#[test]
fn the_same_sizes_come_on_every_machine() {
    let lognormal = Sizes::Lognormal { median: 1000.0, p99: 8000.0, least: 8, most: 64_000 };
    let zipf = Sizes::Zipf { least: 10, most: 1000, exponent: 1.1 };
    let sizes = |of: &Sizes| (0..6).map(|at| of.of(mix(1, at))).collect::<Vec<_>>();
    assert_eq!(sizes(&lognormal), [1305, 727, 4252, 1728, 1969, 1008]);
    assert_eq!(sizes(&zipf), [14, 43, 10, 12, 11, 21]);
}

const PLACES: u64 = 1_000;

fn of_all(choice: Choice, start: u64) -> Chooser {
    let spans = Spans { first: PLACES, now: PLACES };
    Chooser::new(choice, spans, Seeds { phase: 5, draws: 9 }, start)
}

fn chooser(choice: Choice) -> Chooser {
    of_all(choice, 0)
}

/// Returns the place that is drawn, of all of them.
fn drawn(chooser: &Chooser, position: u64) -> u64 {
    chooser.place(position, 0, PLACES).expect("there are places")
}

#[test]
fn records_are_chosen_as_a_file_says() {
    let uniform = chooser(Choice::Uniform);
    fits(&[1.0; PLACES as usize], |at| drawn(&uniform, at), "uniform");
    let latest = chooser(Choice::Latest);
    let weights = zipf_weights(PLACES, 0.99);
    fits(&weights, |at| PLACES - 1 - drawn(&latest, at), "latest");
    // Which records are hot is a bijection of the phase.
    let spread = Bijection::new(mix(5, 1), PLACES);
    let zipfian = chooser(Choice::Zipfian(0.8));
    let weights = zipf_weights(PLACES, 0.8);
    fits(&weights, |at| spread.position_of(drawn(&zipfian, at)), "zipfian");
    let hotspot = chooser(Choice::Hotspot { keys: 0.1, operations: 0.7 });
    let of_rank = |rank| if rank < 100 { 0.7 / 100.0 } else { 0.3 / 900.0 };
    let weights: Vec<_> = (0..PLACES).map(of_rank).collect();
    fits(&weights, |at| spread.position_of(drawn(&hotspot, at)), "hotspot");
    let exponential = chooser(Choice::Exponential(0.1));
    let below = |age: f64| -(-age / 0.1).exp_m1() / -(-1.0_f64 / 0.1).exp_m1();
    let weights: Vec<_> = (0..PLACES)
        .map(|age| below((age + 1) as f64 / PLACES as f64) - below(age as f64 / PLACES as f64))
        .collect();
    fits(&weights, |at| PLACES - 1 - drawn(&exponential, at), "exponential");
}

#[test]
fn places_that_are_gone_or_not_yet_there_are_never_chosen() {
    for choice in [
        Choice::Uniform,
        Choice::Latest,
        Choice::Zipfian(1.2),
        Choice::Hotspot { keys: 0.1, operations: 0.9 },
        Choice::Exponential(5.0),
        Choice::Sequential,
        Choice::Oldest,
    ] {
        let chooser = chooser(choice);
        for (first, count) in [(0, 1), (300, 301), (200, 900), (990, 1_500), (2_000, 2_100)] {
            for position in 0..500 {
                let place = chooser.place(position, first, count).expect("there are places");
                assert!((first..count).contains(&place), "{choice:?}: {place}");
            }
        }
        assert_eq!(chooser.place(1, 7, 7), None);
    }
}

#[test]
fn the_oldest_is_the_first_and_the_sequence_starts_again() {
    let oldest = chooser(Choice::Oldest);
    assert_eq!(oldest.place(9, 3, 10), Some(3));
    let sequence = chooser(Choice::Sequential);
    let places: Vec<_> = (0..5).map(|at| sequence.place(at, 2, 5)).collect();
    assert_eq!(places, [2, 3, 4, 2, 3].map(Some));
    // Threads start apart.
    let second = of_all(Choice::Sequential, PLACES / 2);
    assert_eq!(drawn(&second, 0), PLACES / 2);
}
