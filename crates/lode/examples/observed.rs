//! Shows what a database does, by its metrics and its events.

use lode::{Database, KeyKind, Result, Schema, Type, observability};
use metrics_util::debugging::{DebugValue, DebuggingRecorder};

/// Runs the example.
pub fn main() -> Result<()> {
    // A program that serves its metrics installs an exporter, before it opens a database.
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    let events = tracing_subscriber::fmt().without_time().with_test_writer().finish();
    tracing::subscriber::with_default(events, || {
        metrics::with_local_recorder(&recorder, || {
            observability::describe_metrics();
            write_some()
        })
    })?;

    for (key, _, meaning, value) in snapshotter.snapshot().into_vec() {
        let value = match value {
            DebugValue::Counter(count) if count > 0 => format!("{count}"),
            DebugValue::Histogram(seconds) if !seconds.is_empty() => format!("{seconds:.6?}"),
            _ => continue,
        };
        println!("{} = {value}: {}", key.key().name(), meaning.unwrap_or_default());
    }
    Ok(())
}

fn write_some() -> Result<()> {
    let directory = std::env::temp_dir().join(format!("lode-observed-{}", std::process::id()));
    let db = Database::open(&directory)?;
    let schema = Schema::build("byte").key("id", Type::U8).column("bits", Type::U8).finish()?;
    let bytes = db.create_table(&schema, KeyKind::Tree)?;
    bytes.insert_all((0..=255u8).map(|id| [id, id.count_ones() as u8]))?;
    db.transact(|transaction| transaction.delete(&bytes, 7).map(drop))?;
    db.close()?;
    std::fs::remove_dir_all(&directory).expect("it is there");
    Ok(())
}
