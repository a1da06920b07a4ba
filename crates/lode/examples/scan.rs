//! A range of an ordered table, of which only some columns are copied, from a snapshot that does
//! not see what is written during it.

use lode::{Database, KeyKind, ReadTable, Result, Schema, Type, Value};

/// Runs the example.
pub fn main() -> Result<()> {
    let db = Database::in_memory()?;
    let schema = Schema::build("reading")
        .key("sensor", Type::U32)
        .key("time", Type::Timestamp)
        .column("celsius", Type::F32)
        .column("raw", Type::Bytes(200))
        .finish()?;
    let readings = db.create_table(&schema, KeyKind::Tree)?;
    let record = |sensor, hour: i64, celsius| {
        schema.pack(&[
            Value::Unsigned(sensor),
            Value::Timestamp(hour * 3_600_000_000),
            Value::Float(celsius),
            Value::Bytes(&[0; 200]),
        ])
    };
    for sensor in 1..=3 {
        for hour in 0..24 {
            readings.insert(&record(sensor, hour, 15.0 + hour as f64 / 2.0)?)?;
        }
    }

    let snapshot = db.snapshot();
    readings.insert(&record(2, 24, 99.0)?)?;

    // The last three of sensor 2, the latest first.
    let (time, celsius) = (schema.column("time")?, schema.column("celsius")?);
    let of_sensor_2 = readings.at(&snapshot).prefix(&[Value::Unsigned(2)]);
    for row in of_sensor_2.rev().limit(3).columns([time, celsius]) {
        let row = row?;
        if let (Value::Timestamp(time), Value::Float(celsius)) = (row.at(time), row.at(celsius)) {
            println!("{:>2} h: {celsius} °C", time / 3_600_000_000);
        }
    }
    Ok(())
}
