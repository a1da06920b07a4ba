//! Conclusions about engines with planted figures.

use assay_core::advice::{Advice, Facts, LeftOut, Limits, PhaseWeight, Rank, Weights};
use assay_core::run_file::{NotOffered, Timeline};
use assay_core::usage::Usage;
use assay_report::advice::{Found, MOST_TRIALS, Verdict, render, verdict};

use super::*;

const MIB: u64 = 1 << 20;

fn advice(rank: Rank) -> Advice {
    Advice {
        title: "Documents".into(),
        rank,
        rate_per_second: None,
        isolation: None,
        language: None,
        phases: Vec::new(),
        limits: Limits::default(),
        weights: Weights::default(),
        facts: Vec::new(),
        left_out: Vec::new(),
    }
}

/// Returns a run without cells that asks a question.
fn asking(advice: Advice) -> RunFile {
    let mut run = run();
    run.cells.clear();
    run.findings.clear();
    run.advice = Some(advice);
    run
}

/// Returns a trial in which each operation took this time, all of it of a processor.
fn trial(engine: &str, number: u32, operation_ns: f64) -> CellResult {
    let time_ns = (operation_ns * 1_000.0) as u64;
    let mut serve = phase("serve", 1, &[1]);
    serve.rounds = vec![Round { operations: 1_000, time_ns, usage: Some(usage(time_ns)) }];
    let mut result = result(cell(engine, number), Status::Measured, vec![serve]);
    result.measurement.resources.peak_rss_bytes = 110 * MIB;
    result.measurement.resources.rss_before_open_bytes = 10 * MIB;
    result.measurement.resources.store_peak_bytes = Some(200 * MIB);
    result
}

/// Returns the usage of a round that had all of a processor.
fn usage(time_ns: u64) -> Usage {
    Usage {
        wall_ns: time_ns,
        cpu_ns: time_ns,
        waited_ns: 0,
        stolen_ns: 0,
        processors: 1,
        involuntary_switches: 0,
        major_faults: 0,
        stops: 0,
    }
}

/// Returns a trial at a rate, with this share of the operations done in time and this p99.9.
fn at_rate(engine: &str, number: u32, in_time: f64, p999_ns: u64) -> CellResult {
    let mut result = trial(engine, number, 1_000.0);
    let serve = &mut result.measurement.phases[0];
    let latency = serde_json::json!({
        "operation": "read", "count": 1000, "mean_ns": 1.0, "min_ns": 1, "p50_ns": 1, "p90_ns": 1,
        "p95_ns": 1, "p99_ns": 1, "p999_ns": p999_ns, "max_ns": p999_ns,
    });
    serve.latencies = vec![serde_json::from_value(latency).expect("a latency")];
    serve.timeline = Some(Timeline {
        offered_per_second: Some(5_000),
        offered_ns: Some((in_time * 1e9) as u64),
        time_ns: 1_000_000_000,
        instrument_ns: 0,
        interval_ns: 1_000_000_000,
        intervals: Vec::new(),
    });
    result
}

/// Draws numbers with a normal distribution, about.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f64 {
        let mut uniform = || {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_041);
            (self.0 >> 40) as f64 / (1u64 << 24) as f64
        };
        (0..12).map(|_| uniform()).sum::<f64>() - 6.0
    }
}

/// Measures engines whose operations take these times, with noise, as the command does: those that
/// cannot be told apart get another trial. Returns the conclusion and the number of trials.
fn measured(planted: &[(&str, f64)], spread: f64, seed: u64) -> (Verdict, u32) {
    let mut noise = Noise(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let mut run = asking(advice(Rank::Throughput));
    let mut names: Vec<String> = planted.iter().map(|(name, _)| name.to_string()).collect();
    for number in 1..=MOST_TRIALS {
        for (name, time_ns) in planted {
            let time_ns = time_ns * (noise.next() * spread).exp();
            if names.iter().any(|undecided| undecided == name) {
                run.cells.push(trial(name, number, time_ns));
            }
        }
        let found = verdict(&run).expect("a conclusion");
        names = found.undecided().iter().map(ToString::to_string).collect();
        if names.is_empty() || number == MOST_TRIALS {
            return (found, number);
        }
    }
    unreachable!("the last trial returns");
}

#[test]
fn planted_engines_are_ranked_right_in_95_of_100_cases() {
    let planted =
        [("third", 2_300.0), ("first", 1_000.0), ("fourth", 7_000.0), ("second", 1_150.0)];
    let is_right = |seed: &u64| {
        let (found, _) = measured(&planted, 0.05, *seed);
        let order: Vec<_> = found.ranked.iter().map(|place| place.id.as_str()).collect();
        order == ["first", "second", "third", "fourth"]
            && found.ranked.iter().all(|place| !place.is_shared)
    };
    let right = (0..100).filter(is_right).count();
    assert!(right >= 95, "{right}");
}

#[test]
fn equal_engines_are_not_told_apart_in_95_of_100_cases() {
    let planted = [("a", 1_000.0), ("b", 1_000.0), ("c", 1_000.0), ("slow", 3_000.0)];
    let is_right = |seed: &u64| {
        let (found, _) = measured(&planted, 0.08, *seed);
        let ranks: Vec<_> = found.ranked.iter().map(|place| place.rank).collect();
        ranks == [1, 1, 1, 4] && found.ranked[3].id == "slow"
    };
    let right = (0..100).filter(is_right).count();
    assert!(right >= 95, "{right}");
}

#[test]
fn engines_that_hardly_differ_are_alike_and_get_no_more_trials() {
    let (found, trials) = measured(&[("a", 1_000.0), ("b", 1_001.0)], 0.002, 1);
    assert_eq!(found.ranked[1].to_best.map(|step| step.found), Some(Found::Alike));
    assert!(trials < MOST_TRIALS, "{trials}");
}

/// Trials can tell an engine from the best, but not a worse one, whose trials are too uneven: the
/// uneven one shares the best one's place.
#[test]
fn an_engine_that_cannot_be_told_from_the_best_shares_its_place_whatever_is_between() {
    let mut run = asking(advice(Rank::Throughput));
    for number in 1..=8 {
        let uneven = [600.0, 9_000.0][number as usize % 2];
        run.cells.push(trial("best", number, 1_000.0 + f64::from(number)));
        run.cells.push(trial("between", number, 2_000.0 + f64::from(number)));
        run.cells.push(trial("uneven", number, uneven));
    }
    let found = verdict(&run).expect("a conclusion");
    let places: Vec<_> =
        found.ranked.iter().map(|place| (place.id.as_str(), place.rank, place.is_shared)).collect();
    assert_eq!(places, [("best", 1, true), ("uneven", 1, true), ("between", 3, false)]);
    assert_eq!(found.undecided(), ["best", "uneven"]);
}

/// The machine gets slower after five trials, of which the worst engine has no more.
#[test]
fn an_engine_with_few_trials_is_compared_by_those_that_others_have_too() {
    let mut run = asking(advice(Rank::Throughput));
    for number in 1..=16 {
        let slower = if number > 5 { 1.6 } else { 1.0 } + f64::from(number % 3) / 100.0;
        run.cells.push(trial("a", number, 1_000.0 * slower));
        run.cells.push(trial("b", number, 1_002.0 * slower));
        if number <= 5 {
            run.cells.push(trial("worst", number, 1_250.0 * slower));
        }
    }
    let found = verdict(&run).expect("a conclusion");
    let places: Vec<_> = found.ranked.iter().map(|place| (place.id.as_str(), place.rank)).collect();
    assert_eq!(places, [("a", 1), ("b", 1), ("worst", 3)]);
}

#[test]
fn an_engine_with_too_few_trials_for_a_test_is_named() {
    let mut run = asking(advice(Rank::Throughput));
    for number in 1..=5 {
        // Noise, so that a test of five trials tells the two apart.
        let noise = 1.0 + f64::from(number) / 100.0;
        run.cells.push(trial("fast", number, 1_000.0));
        run.cells.push(trial("slow", number, 4_000.0 * noise));
        if number < 5 {
            run.cells.push(trial("late", number, 3_000.0 * noise));
        }
    }
    let text = render(&run, 120).expect("text");
    let line = "fewer than 5 trials to tell from fast by throughput (ratios); more time gives \
                more: late (3.075)";
    assert!(text.split_whitespace().collect::<Vec<_>>().join(" ").contains(line), "{text}");
    assert!(!text.contains("slow ("), "{text}");
}

#[test]
fn phases_count_as_the_file_says_whatever_an_engine_does_in_their_time() {
    let mut asked = advice(Rank::Throughput);
    asked.phases = ["reads", "writes"]
        .map(|phase| PhaseWeight { phase: phase.into(), operations: 10_000 })
        .into();
    let mut run = asking(asked);
    for (engine, reads_ns, writes_ns) in [("uneven", 1_000, 1_000_000), ("even", 2_000, 3_000)] {
        let mut result = trial(engine, 1, 1.0);
        let phases = [phase("reads", 1, &[reads_ns]), phase("writes", 1, &[writes_ns])];
        result.measurement.phases = phases.into();
        run.cells.push(result);
    }
    let found = verdict(&run).expect("a conclusion");
    assert_eq!(found.ranked[0].id, "even");
    let throughput = found.ranked[0].figures.throughput.expect("a figure");
    assert!((throughput - 400_000.0).abs() < 1.0, "{throughput}");
}

fn out_of(run: &RunFile) -> Vec<String> {
    let found = verdict(run).expect("a conclusion");
    found.out.iter().map(|out| format!("{}: {}", out.engine, out.why)).collect()
}

#[test]
fn an_engine_does_not_qualify_for_each_reason() {
    let mut asked = advice(Rank::Cost);
    asked.rate_per_second = Some(5_000.0);
    asked.limits =
        Limits { memory_bytes: Some(50 * MIB), disk_bytes: None, p999_ns: Some(1_000_000) };
    asked.left_out = vec![LeftOut { engine: "left".into(), why: "is for rust, not for go".into() }];
    let mut run = asking(asked);
    let with = |change: fn(&mut CellResult), engine: &str| {
        let mut result = trial(engine, 1, 1_000.0);
        result.measurement.resources.peak_rss_bytes = 20 * MIB;
        change(&mut result);
        result
    };
    let light = |mut result: CellResult| {
        result.measurement.resources.peak_rss_bytes = 20 * MIB;
        result
    };
    run.cells = vec![
        with(|result| result.status = Status::Wrong("row 7".into()), "wrong"),
        with(|result| result.status = Status::Killed("over the limit".into()), "killed"),
        with(|result| result.refuted = Some("loses commits".into()), "refuted"),
        with(
            |result| {
                let left_out = NotOffered { phase: "scan".into(), why: "it has no order".into() };
                result.measurement.not_offered.push(left_out);
            },
            "unable",
        ),
        with(|result| result.measurement.resources.peak_rss_bytes = 100 * MIB, "large"),
        light(at_rate("late", 1, 0.4, 10)),
        light(at_rate("slow", 1, 1.0, 2_100_000)),
        light(at_rate("open", 1, 1.0, 1_100_000)),
        light(trial("open", 1, 1_000.0)),
        light(trial("good", 1, 1_000.0)),
        light(at_rate("good", 1, 1.0, 900_000)),
        light(trial("untried", 1, 1_000.0)),
    ];
    assert_eq!(
        out_of(&run),
        [
            "left: is for rust, not for go",
            "wrong: an answer was wrong: row 7",
            "killed: over the limit",
            "refuted: loses commits",
            "unable: scan: it has no order",
            "large: takes 90.0 MiB of memory, and may take 50.0 MiB",
            "late: does only 40 % of the operations of 5.00 k a second in time",
            "slow: its p99.9 is 2.10 ms, and may be 1.00 ms",
            "untried: was not measured at the rate; give it more time with --for",
        ]
    );
    // Latencies of a closed loop say nothing about the rate.
    let mut closed = light(at_rate("good", 2, 1.0, 90_000_000));
    closed.measurement.phases[0].timeline = None;
    run.cells.push(closed);
    let found = verdict(&run).expect("a conclusion");
    assert_eq!(found.open(), ["open"]);
    // What is missed by little is certain after three trials.
    run.cells.extend([2, 3].map(|number| light(at_rate("open", number, 1.0, 1_100_000))));
    assert!(!out_of(&run).iter().any(|line| line.starts_with("good")), "{:?}", out_of(&run));
    assert!(out_of(&run).contains(&"open: its p99.9 is 1.10 ms, and may be 1.00 ms".into()));
}

#[test]
fn a_cost_is_of_processors_memory_and_disk() {
    let mut asked = advice(Rank::Cost);
    asked.weights = Weights { memory: 1.0, disk: 0.5 };
    asked.rate_per_second = Some(5_000.0);
    let mut run = asking(asked);
    run.cells = vec![trial("only", 1, 20_000.0), at_rate("only", 1, 1.0, 10)];
    // The instrument itself takes 4 µs of an operation.
    let mut null = trial("null", 1, 4_000.0);
    null.cell.calibration = true;
    null.measurement.resources.peak_rss_bytes = 30 * MIB;
    run.cells.push(null);
    let found = verdict(&run).expect("a conclusion");
    // 5,000 operations of 16 µs, 100 MiB of memory but 20 of the instrument, 200 MiB on disk at
    // half the weight.
    let expected = 0.08 + 80.0 / 1024.0 + 0.5 * 200.0 / 1024.0;
    assert!((found.ranked[0].ranked.value - expected).abs() < 1e-9, "{found:?}");
}

#[test]
fn every_view_says_the_conclusion() {
    let mut asked = advice(Rank::Cost);
    asked.rate_per_second = Some(5_000.0);
    asked.isolation = Some("serializable".into());
    asked.facts = vec![Facts {
        engine: "lode".into(),
        licence: "MIT".into(),
        languages: vec!["rust".into()],
        isolation: Some("serializable, kept in 4000 transactions".into()),
        released: Some("2026-11-13".into()),
        compile_s: Some(12),
        program_bytes: Some(1_572_864),
    }];
    asked.left_out = vec![LeftOut { engine: "far".into(), why: "is for c|c++".into() }];
    let mut run = asking(asked);
    let noise = [1.0, 1.01, 0.99, 1.02, 0.98, 1.0];
    for (number, noise) in (1..).zip(noise) {
        run.cells.push(trial("lode", number, 1_000.0 * noise));
        run.cells.push(trial("near", number, 1_010.0 / noise));
    }
    run.cells.extend(["lode", "near"].map(|engine| at_rate(engine, 1, 1.0, 10)));
    let text = render(&run, 80).expect("text");
    let lines = [
        " Advice for Documents · on disk · survives a power cut but for the last moment ·",
        " serializable transactions",
        "    engine",
        " 1= lode",
        " 1= near",
        " within 2 % of lode by cost (ratios with 95 % intervals): near (",
        " cost: processors at that rate, less the instrument's own; a GiB of memory",
        " lode is by the authors of this instrument; --without lode leaves it out",
        " lode 1.2.3 · of 2026-11-13 · MIT · for rust ·",
        " serializable, kept in 4000 transactions · 12.0 s to compile ·",
        " adds 1.50 MiB to a program",
        " do not qualify",
        " far: is for c|c++",
    ];
    let mut rest = text.as_str();
    for line in lines {
        let at = rest.find(line).unwrap_or_else(|| panic!("{line:?} in {text}"));
        rest = &rest[at + line.len()..];
    }
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let markdown = markdown::markdown(&run);
    assert!(markdown.contains("| 1= | lode | "), "{markdown}");
    assert!(markdown.contains("- does not qualify: far: is for c\\|c++"), "{markdown}");
    assert!(render(&super::run(), 80).expect("text").is_empty(), "a run that asks nothing");
}
