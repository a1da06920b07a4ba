//! YCSB's totals and latencies.

use assay_core::run_file::Latency;
use assay_suites::ycsb;
use assay_suites::ycsb::core_workload::Workload;

use super::{cell, phase, published, result, run};

#[test]
fn ycsb_prints_its_totals_and_latencies() {
    let options = ycsb::Options {
        workload: Workload::of("c").into_iter().collect(),
        operations: Some(1_000),
        ..Default::default()
    };
    let mut run_phase = phase("run", 1_000, &[2_000], 1);
    run_phase.latencies = vec![Latency {
        operation: "READ".into(),
        count: 1_000,
        mean_ns: 1_500.0,
        min_ns: 1_000,
        p50_ns: 1_250,
        p90_ns: 1_750,
        p95_ns: 2_000,
        p99_ns: 3_000,
        p999_ns: 4_000,
        p9999_ns: None,
        max_ns: 5_000,
        histogram: None,
    }];
    let result = result(cell(ycsb::ID, "lmdb", 1_000, &options), "LMDB", vec![run_phase]);
    let expected = "\
lmdb workloadc 1000 records 1 threads
[OVERALL], RunTime(ms), 2
[OVERALL], Throughput(ops/sec), 500000
[READ], Operations, 1000
[READ], AverageLatency(us), 1.5
[READ], MinLatency(us), 1
[READ], MaxLatency(us), 5
[READ], 50thPercentileLatency(us), 1.25
[READ], 95thPercentileLatency(us), 2
[READ], 99thPercentileLatency(us), 3
[READ], 99.9PercentileLatency(us), 4
[READ], Return=OK, 1000

";
    assert_eq!(published(&run(vec![result])), expected);
}
