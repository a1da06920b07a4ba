//! A table of cities: created, filled, asked, changed.

use lode::{Database, KeyKind, ReadTable, Result, Schema, Type, Value};

/// Runs the example.
pub fn main() -> Result<()> {
    let db = Database::in_memory()?;
    let schema = Schema::build("city")
        .key("country", Type::Text(2))
        .key("name", Type::Text(32))
        .column("people", Type::U64)
        .nullable("mayor", Type::Text(48))
        .finish()?;
    let cities = db.create_table(&schema, KeyKind::Hash)?;

    for (country, name, people) in
        [("CH", "Bern", 134_591), ("CH", "Thun", 43_500), ("IS", "Reykjavík", 139_875)]
    {
        let values =
            [Value::Text(country), Value::Text(name), Value::Unsigned(people), Value::Null];
        assert!(cities.insert(&schema.pack(&values)?)?, "it was not there before");
    }

    let (bern, people) = (("CH", "Bern"), schema.column("people")?);
    cities.update(bern, people, &134_600u64.to_le_bytes())?;
    if let Some(row) = cities.get(bern)? {
        println!("Bern: {:?} people", row.at(people));
    }

    println!("deleted: {}", cities.delete(bern)?);
    println!("there: {}", cities.contains(bern)?);
    Ok(())
}
