//! TPC-H: the answers of all 22 queries over tables of Lode are those over Parquet files.

mod data;
mod queries;
mod sides;

use datafusion::prelude::SessionConfig;

const SCALE: f64 = 0.01;

#[test]
fn answers_over_lode_are_those_over_parquet() {
    let folder = tempfile::tempdir().expect("a folder");
    let db = data::make(SCALE, folder.path());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        // Several partitions, on whatever machine.
        let config = || SessionConfig::new().with_target_partitions(3);
        let lode = sides::over_lode(&db, config()).await.expect("tables");
        let parquet = sides::over_parquet(folder.path(), config()).await.expect("files");
        let mut with_rows = 0;
        for (number, query) in queries::queries(SCALE) {
            let mut answers = Vec::new();
            for context in [&lode, &parquet] {
                let frame = context.sql(&query).await.expect("a query");
                let answer = frame.collect().await;
                answers.push(answer.unwrap_or_else(|error| panic!("query {number}: {error}")));
            }
            let [over_lode, over_parquet] = [0, 1].map(|side: usize| sides::rows(&answers[side]));
            assert_eq!(over_lode, over_parquet, "query {number}");
            with_rows += usize::from(!over_lode.is_empty());
        }
        // The data is small for the others.
        assert!(with_rows >= 20, "{with_rows} of 22 answers have rows");
    });
}
