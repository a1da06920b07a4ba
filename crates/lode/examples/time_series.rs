//! Measurements of sensors by time: loaded in bulk, the latest of a sensor, means of each hour, and
//! old ones removed while new ones come.

use lode::{Cursor, Database, KeyKind, ReadTable, Result, Schema, Table, Type, Value};

const SENSORS: u64 = 20;
const MINUTES: i64 = 2 * 24 * 60;
const MINUTE_US: i64 = 60_000_000;

fn schema() -> Result<Schema> {
    Schema::build("reading")
        .key("sensor", Type::U32)
        .key("time", Type::Timestamp)
        .column("celsius", Type::F32)
        .nullable("note", Type::VarText(200))
        .finish()
}

/// Warmer by day than by night, and warmer for each sensor than for the one before.
fn celsius(sensor: u64, minute: i64) -> f64 {
    let hour = minute / 60 % 24;
    sensor as f64 + if (6..18).contains(&hour) { 10.0 } else { 0.0 }
}

fn record(schema: &Schema, sensor: u64, minute: i64) -> Result<Vec<u8>> {
    schema.pack(&[
        Value::Unsigned(sensor),
        Value::Timestamp(minute * MINUTE_US),
        Value::Float(celsius(sensor, minute)),
        Value::Null,
    ])
}

/// The readings of a sensor from one minute on, up to another one.
fn between(readings: &impl ReadTable, sensor: u64, from: i64, to: i64) -> Cursor {
    readings.range((sensor, from * MINUTE_US)..(sensor, to * MINUTE_US))
}

fn latest(readings: &Table, sensor: u64) -> Result<Option<(i64, f64)>> {
    let mut last = readings.prefix(&[Value::Unsigned(sensor)]).rev().limit(1);
    let Some(row) = last.next_row()? else { return Ok(None) };
    match (row.get("time"), row.get("celsius")) {
        (Some(Value::Timestamp(time)), Some(Value::Float(celsius))) => Ok(Some((time, celsius))),
        other => unreachable!("the columns have other types: {other:?}"),
    }
}

/// The mean of each hour of a sensor. Only one column is read.
fn hourly(readings: &Table, sensor: u64) -> Result<Vec<f64>> {
    let celsius = readings.schema().column("celsius")?;
    let mut means = Vec::new();
    for batch in between(readings, sensor, 0, MINUTES).columns([celsius]).batches(60) {
        let batch = batch?;
        let sum: f64 = batch
            .iter()
            .map(|row| match row.at(celsius) {
                Value::Float(celsius) => celsius,
                other => unreachable!("it is a float, not {other:?}"),
            })
            .sum();
        means.push(sum / batch.len() as f64);
    }
    Ok(means)
}

/// Removes what is older, row by row as the cursor comes by.
fn remove_before(readings: &Table, minute: i64) -> Result<u64> {
    let mut count = 0;
    for sensor in 0..SENSORS {
        let mut old = between(readings, sensor, 0, minute);
        while let Some(row) = old.next_row()? {
            count += u64::from(readings.delete(row.key())?);
        }
    }
    Ok(count)
}

/// Runs the example.
pub fn main() -> Result<()> {
    let db = Database::in_memory()?;
    let readings = db.create_table(&schema()?, KeyKind::Tree)?;
    for sensor in 0..SENSORS {
        let all = (0..MINUTES).map(|minute| record(readings.schema(), sensor, minute));
        readings.insert_all(all.collect::<Result<Vec<_>>>()?)?;
    }
    println!("{} readings", readings.len()?);

    let last = latest(&readings, 7)?.expect("there are readings");
    println!("sensor 7: {:.1} °C at {} h", last.1, last.0 / MINUTE_US / 60);
    assert_eq!(last, ((MINUTES - 1) * MINUTE_US, 7.0));
    assert_eq!(latest(&readings, 99)?, None);

    let means = hourly(&readings, 3)?;
    println!("hours of sensor 3: {:?} …", &means[..8]);
    assert_eq!(means.len(), 48);
    assert!(means.iter().enumerate().all(|(hour, mean)| *mean == celsius(3, hour as i64 * 60)));

    let removed = remove_before(&readings, MINUTES / 2)?;
    println!("{removed} old ones are removed, {} are left", readings.len()?);
    assert_eq!((removed, readings.len()?), (20 * 24 * 60, 20 * 24 * 60));
    Ok(())
}
