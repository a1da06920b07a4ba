//! The judge on counts that were recorded, and on noise that is drawn.

use assay_core::random::mix;

use super::*;

fn quantities(name: &str, values: &[u64]) -> Quantities {
    Quantities::from([(name.into(), values.to_vec())])
}

fn judged(name: &str, base: &[u64], new: &[u64]) -> Verdict {
    verdict(name, &quantities(name, base), &quantities(name, new))
}

/// Draws an approximately normal deviate from a seed.
fn normal(seed: u64, at: u64) -> f64 {
    let uniform = |part: u64| (mix(mix(seed, at), part) >> 11) as f64 / (1_u64 << 53) as f64;
    (0..12).map(uniform).sum::<f64>() - 6.0
}

fn repetitions(seed: u64, count: u64, mean: f64, spread: f64) -> Vec<u64> {
    (0..count).map(|at| (mean * (1.0 + spread * normal(seed, at))) as u64).collect()
}

/// Instructions of three repetitions, as engines here had them on a busy machine.
const RECORDED: [[u64; 3]; 6] = [
    [9_595_134, 9_595_102, 9_595_171],
    [17_733_043, 17_733_043, 17_733_101],
    [7_135_089, 7_135_120, 7_135_077],
    [94_547_160, 94_561_002, 94_539_811],
    [10_651_690, 10_653_007, 10_650_984],
    [13_118_751, 13_122_405, 13_117_009],
];

#[test]
fn one_percent_more_instructions_is_found_in_every_case() {
    for base in RECORDED {
        let more = base.map(|count| count + count / 100);
        assert_eq!(judged(INSTRUCTIONS, &base, &more), Verdict::More, "{base:?}");
        assert_eq!(judged(INSTRUCTIONS, &more, &base), Verdict::Less, "{base:?}");
        assert_eq!(judged(INSTRUCTIONS, &base, &base), Verdict::Same);
    }
    let found = (0..100).filter(|seed| {
        let base = repetitions(*seed, 3, 1e7, 0.0005);
        let new = repetitions(*seed + 1000, 3, 1.01e7, 0.0005);
        judged(INSTRUCTIONS, &base, &new) == Verdict::More
    });
    assert_eq!(found.count(), 100);
}

#[test]
fn less_than_a_thousandth_is_the_work_of_a_compiler() {
    assert_eq!(judged(INSTRUCTIONS, &[1_000_000; 3], &[1_000_999; 3]), Verdict::Same);
    assert_eq!(judged(INSTRUCTIONS, &[1_000_000; 3], &[1_001_001; 3]), Verdict::More);
}

#[test]
fn one_system_call_in_a_hundred_operations_is_found() {
    for count in 0..100 {
        assert_eq!(judged("call:pwrite64", &[count; 3], &[count + 1; 3]), Verdict::More);
        assert_eq!(judged("call:fsync", &[count; 3], &[count + 1; 3]), Verdict::OtherSyncs);
        assert_eq!(judged("call:fsync", &[count + 1; 3], &[count; 3]), Verdict::OtherSyncs);
    }
    assert_eq!(judged("call:pwrite64", &[], &[1, 1, 1]), Verdict::More, "a call that is new");
    assert_eq!(judged("call:pwrite64", &[7, 8, 7], &[9, 9, 9]), Verdict::Same, "within the spread");
    assert_eq!(judged("call:futex", &[0; 3], &[900; 3]), Verdict::Reported);
    assert_eq!(judged("last_level_misses", &[0; 3], &[900; 3]), Verdict::Reported);
}

/// A cell that differs is counted again, so an alarm needs both looks.
#[test]
fn noise_alone_raises_no_alarm() {
    for spread in [0.0001, 0.001, 0.01, 0.05] {
        let alarms = (0..200).filter(|seed| {
            let side = |part: u64, count| repetitions(mix(*seed, part), count, 1e7, spread);
            let is_same =
                |base: &[u64], new: &[u64]| judged(INSTRUCTIONS, base, new) == Verdict::Same;
            let base = side(1, 6);
            let new = side(2, 6);
            !is_same(&base[..3], &new[..3]) && !is_same(&base, &new)
        });
        assert_eq!(alarms.count(), 0, "{spread}");
    }
}

/// Instructions of redb's insertions, by the seed of a hash map. Three repetitions may all show the
/// least.
const DRAWN: [u64; 4] = [72_224_935, 72_318_981, 72_330_326, 72_393_089];

#[test]
fn an_engine_that_draws_one_of_a_few_values_raises_no_alarm() {
    for base in DRAWN {
        let alarms = (0..1000).filter(|seed| {
            let new: Vec<_> =
                (0..12).map(|at| DRAWN[(mix(mix(*seed, base), at) % 4) as usize]).collect();
            // The command looks after each three.
            (3..=12)
                .step_by(3)
                .all(|count| judged(INSTRUCTIONS, &[base; 3], &new[..count]) != Verdict::Same)
        });
        assert_eq!(alarms.count(), 0, "{base}");
    }
}

#[test]
fn a_phase_of_another_length_is_not_judged() {
    let phase = |operations: &[u64]| Phase {
        name: "run".into(),
        operations: operations.to_vec(),
        counts: Quantities::new(),
    };
    let words =
        operations(&phase(&[10, 10, 11]), &phase(&[10; 3])).expect_err("it depends on time");
    assert!(words.contains("different numbers"), "{words}");
    assert_eq!(operations(&phase(&[10; 3]), &phase(&[10; 6])), Ok(10));
    assert!(operations(&phase(&[0; 3]), &phase(&[0; 3])).is_err());
}
