//! Prints what the instrument costs: the null engine's nanoseconds an operation, and the C++
//! containers through Assay, against plain loops. `ratio` is plain time over Assay's time: 1 and
//! more means that Assay is not slower.
//!
//! `cargo bench -p assay-benches` takes about two minutes; a number of trials as argument
//! changes that.

use std::process::Command;

use assay_benches::{OPERATIONS, Setup, Times, assay, plain};
use assay_core::stats::median;

const SIZES: [u64; 3] = [1_000, 100_000, 1_000_000];
const COUNT: u64 = 1_000_000;
const ROUNDS: usize = 5;
const TRIALS: usize = 7;

fn main() {
    let arguments: Vec<_> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    if let [side, engine, rows] = arguments.as_slice() {
        return child(side, engine, rows);
    }
    let trials = arguments.first().and_then(|text| text.parse().ok()).unwrap_or(TRIALS);
    println!("nanoseconds an operation, medians of {trials} trials\n");
    println!("{:<12} {:>8} {:<7} {:>8} {:>8} {:>7}", "", "rows", "", "plain", "assay", "ratio");
    for rows in SIZES {
        let null = medians(&[trial("assay", "null", rows)]);
        for (operation, cost) in OPERATIONS.iter().zip(null) {
            println!("{:<12} {rows:>8} {operation:<7} {:>8} {cost:>8.2}", "null", "");
        }
    }
    for engine in ["stl-hashmap", "stl-map"] {
        for rows in SIZES {
            let (mut plain, mut assay) = (Vec::new(), Vec::new());
            for _ in 0..trials {
                plain.push(trial("plain", engine, rows));
                assay.push(trial("assay", engine, rows));
            }
            for ((operation, plain), assay) in
                OPERATIONS.iter().zip(medians(&plain)).zip(medians(&assay))
            {
                println!(
                    "{engine:<12} {rows:>8} {operation:<7} {plain:>8.2} {assay:>8.2} {:>7.2}",
                    plain / assay
                );
            }
        }
    }
}

/// One measurement in a process of its own.
fn trial(side: &str, engine: &str, rows: u64) -> Times {
    let program = std::env::current_exe().expect("this program has a path");
    let output = Command::new(program)
        .args([side, engine, &rows.to_string()])
        .output()
        .expect("this program can start itself");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("it prints numbers");
    let mut lines = text.lines().map(|line| {
        line.split_whitespace().map(|number| number.parse().expect("a number")).collect()
    });
    std::array::from_fn(|_| lines.next().expect("a line for each operation"))
}

fn child(side: &str, engine: &str, rows: &str) {
    let setup = Setup {
        engine: ["null", "stl-hashmap", "stl-map"]
            .into_iter()
            .find(|known| *known == engine)
            .expect("a known engine"),
        rows: rows.parse().expect("a number of rows"),
        count: COUNT,
        rounds: ROUNDS,
    };
    let times = match side {
        "plain" => plain::run(&setup),
        _ => assay::run(&setup).expect("the engine works"),
    };
    for rounds in times {
        let rounds: Vec<_> = rounds.iter().map(ToString::to_string).collect();
        println!("{}", rounds.join(" "));
    }
}

/// The median over all rounds of all trials, for each operation.
fn medians(trials: &[Times]) -> [f64; 4] {
    std::array::from_fn(|operation| {
        let all: Vec<_> = trials.iter().flat_map(|times| &times[operation]).copied().collect();
        median(&all).expect("there are rounds")
    })
}
