//! Confines of clients: they cannot reach files of the server, nor limits of its process.

use crate::support::{Bench, code};

#[tokio::test]
async fn clients_reach_no_file_and_no_limit_of_the_process() {
    let bench = Bench::new();
    let client = bench.client().await;
    client.batch_execute("CREATE TABLE t (id I64 PRIMARY KEY)").await.expect("a table");
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().join("file").display().to_string();
    for statement in [
        format!("ATTACH '{path}' AS file"),
        format!("ATTACH '{path}' || '' AS file"),
        "ATTACH ':memory:' AS file".into(),
        "DETACH pg_catalog".into(),
        format!("VACUUM pg_catalog INTO '{path}'"),
        format!("VACUUM INTO '{path}'"),
        format!("VACUUM main INTO '{path}'"),
        "PRAGMA hard_heap_limit = 1000".into(),
        "PRAGMA soft_heap_limit = 1000".into(),
        "PRAGMA threads = 8".into(),
        "PRAGMA temp_store = 2".into(),
        "SELECT * FROM pragma_hard_heap_limit".into(),
    ] {
        let error = client.batch_execute(&statement).await.expect_err(&statement);
        assert_eq!(code(&error), "0A000", "{statement}: {error:?}");
        let error = client.query(&statement, &[]).await.expect_err(&statement);
        assert_eq!(code(&error), "0A000", "{statement}: {error:?}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).expect("a directory").count(), 0);
    for call in [
        "lode_create('CREATE TABLE u (id I64 PRIMARY KEY)')",
        "lode_alter('ALTER TABLE t ADD x I64')",
        "lode_drop('t')",
        "lode_drop_index('t')",
        "lode_attach('zoo')",
    ] {
        let error = client.batch_execute(&format!("SELECT {call}")).await.expect_err(call);
        assert_eq!(code(&error), "42883", "{call}: {error:?}");
    }
    assert_eq!(bench.db().table_names(), ["t"]);
    client.batch_execute("SELECT * FROM pg_catalog.pg_class").await.expect("the catalogue");
}
