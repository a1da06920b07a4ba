//! A table of cities as in `first_table`, with a struct for its records instead of a schema.

use lode::{Database, KeyKind, Record, Result};

#[derive(Record, Debug)]
struct City {
    #[record(key, text = 2)]
    country: String,
    #[record(key, text = 32)]
    name: String,
    people: u64,
    #[record(text = 48)]
    mayor: Option<String>,
}

/// Runs the example.
pub fn main() -> Result<()> {
    let db = Database::in_memory()?;
    let cities = db.create_records::<City>(KeyKind::Tree)?;
    for (country, name, people) in
        [("CH", "Bern", 134_591), ("CH", "Thun", 43_500), ("IS", "Reykjavík", 139_875)]
    {
        let (country, name) = (country.into(), name.into());
        let is_new = cities.insert(&City { country, name, people, mayor: None })?;
        assert!(is_new, "it was not there before");
    }

    cities.change(("CH", "Thun"), |thun| thun.mayor = Some("E. Muster".into()))?;
    println!("Thun: {:?}", cities.get(("CH", "Thun"))?);

    println!("In Switzerland, the last one first:");
    for city in cities.range(("CH", "")..("CI", "")).rev() {
        let city = city?;
        println!("  {}: {} people", city.name, city.people);
    }

    println!("deleted: {}", cities.delete(("CH", "Bern"))?);
    println!("there: {}", cities.contains(("CH", "Bern"))?);
    Ok(())
}
