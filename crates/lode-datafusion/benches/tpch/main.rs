//! The 22 queries of TPC-H over tables of Lode in memory, and over Parquet files of the same rows,
//! which the page cache has. All answers are compared.
//!
//! `cargo bench --manifest-path crates/lode-datafusion/Cargo.toml` measures scale factor 0.1;
//! `LODE_SCALE` says which else. At scale factor 1 the answers are also compared with those that
//! TPC-H publishes. Run as a test, it does scale factor 0.01; below that, the data
//! has keys twice.

#[path = "../../tests/tpch/data.rs"]
mod data;
mod published;
#[path = "../../tests/tpch/queries.rs"]
mod queries;
#[path = "../../tests/tpch/sides.rs"]
mod sides;

use std::time::{Duration, Instant};

use datafusion::arrow::array::RecordBatch;
use datafusion::prelude::{SessionConfig, SessionContext};

/// The rounds of each query, in turn with the other side; the fastest counts.
const ROUNDS: usize = 5;

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.expect("a runtime").block_on(measure());
}

async fn measure() {
    let is_bench = std::env::args().any(|arg| arg == "--bench");
    let scale = std::env::var("LODE_SCALE").ok().and_then(|scale| scale.parse().ok());
    let scale: f64 = scale.unwrap_or(if is_bench { 0.1 } else { 0.01 });
    let folder = tempfile::tempdir().expect("a folder");
    let begun = Instant::now();
    let db = data::make(scale, folder.path());
    println!("scale factor {scale}, made in {:.1} s", begun.elapsed().as_secs_f64());
    let config = SessionConfig::new();
    println!("{} partitions; ms, best of {ROUNDS}", config.target_partitions());
    let lode = sides::over_lode(&db, config.clone()).await.expect("tables");
    let parquet = sides::over_parquet(folder.path(), config).await.expect("files");

    println!("query    rows      Lode   Parquet  ratio");
    let mut all_lode = 0.0;
    let mut all_parquet = 0.0;
    let mut logs = 0.0;
    for (number, query) in queries::queries(scale) {
        let mut fastest = [Duration::MAX; 2];
        let mut answers = [Vec::new(), Vec::new()];
        for _ in 0..ROUNDS {
            for (side, context) in [&lode, &parquet].into_iter().enumerate() {
                let begun = Instant::now();
                answers[side] = answer(context, &query).await;
                fastest[side] = fastest[side].min(begun.elapsed());
            }
        }
        let [over_lode, over_parquet] = answers.map(|answer| sides::rows(&answer));
        assert_eq!(over_lode, over_parquet, "query {number}");
        if scale == 1.0 {
            published::compare(number, &over_lode);
        }
        let [lode_ms, parquet_ms] = fastest.map(|time| time.as_secs_f64() * 1e3);
        let rows = over_lode.len();
        let ratio = parquet_ms / lode_ms;
        println!("{number:5} {rows:7} {lode_ms:9.1} {parquet_ms:9.1} {ratio:6.2}");
        (all_lode, all_parquet) = (all_lode + lode_ms, all_parquet + parquet_ms);
        logs += ratio.ln();
    }
    let mean = (logs / 22.0).exp();
    println!("  all         {all_lode:9.1} {all_parquet:9.1} {mean:6.2} (geometric mean)");
}

async fn answer(context: &SessionContext, query: &str) -> Vec<RecordBatch> {
    context.sql(query).await.expect("a query").collect().await.expect("an answer")
}
