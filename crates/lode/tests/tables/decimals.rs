//! Columns of decimals: as keys in both kinds of table, as payload, and in a directory.

use lode::{Database, Decimal, KeyKind, ReadTable, Record, Schema, SchemaFault, Type, Value};

fn decimal(text: &str) -> Decimal {
    text.parse().expect("a decimal")
}

fn schema() -> Schema {
    Schema::build("item")
        .key("price", Type::Decimal { precision: 12, scale: 2 })
        .key("weight", Type::Decimal { precision: 38, scale: 38 })
        .nullable("tax", Type::Decimal { precision: 5, scale: 4 })
        .finish()
        .expect("a schema")
}

/// Prices in their order, which is not that of their texts.
const PRICES: [&str; 7] =
    ["-9999999999.99", "-10.00", "-9.50", "0.00", "9.50", "10.00", "9999999999.99"];

#[test]
fn decimals_are_keys_that_are_ordered_by_value_and_outlive_a_database() {
    let dir = tempfile::tempdir().expect("a directory");
    let weight = decimal("-0.00000000000000000000000000000000000001");
    for kind in [KeyKind::Hash, KeyKind::Tree] {
        let path = dir.path().join(format!("{kind:?}"));
        let db = Database::open(&path).expect("a directory");
        let table = db.create_table(&schema(), kind).expect("room");
        for (at, price) in PRICES.iter().enumerate().rev() {
            let tax = if at % 2 == 0 { Value::Null } else { Value::Decimal(decimal("0.077")) };
            let values = [Value::Decimal(decimal(price)), Value::Decimal(weight), tax];
            table.insert(&table.schema().pack(&values).expect("it fits")).expect("room");
        }
        db.close().expect("it closes");
        let db = Database::open(&path).expect("it opens");
        let table = db.table("item").expect("a table");
        assert_eq!(table.schema(), &schema());
        for (at, price) in PRICES.iter().enumerate() {
            let row = table.get((decimal(price), weight)).expect("a table").expect("a record");
            let tax = if at % 2 == 0 { Value::Null } else { Value::Decimal(decimal("0.0770")) };
            assert_eq!(row.get("tax"), Some(tax));
            let Some(Value::Decimal(found)) = row.get("price") else { panic!("{row:?}") };
            assert_eq!(found.to_string(), *price);
        }
        // A whole number is a decimal, whatever its type.
        assert_eq!(table.contains((10u8, weight)), Ok(true));
        assert_eq!(table.contains((-10i64, weight)), Ok(true));
        assert_eq!(table.contains((11, weight)), Ok(false));
        assert!(table.contains((decimal("9.505"), weight)).is_err(), "it has a digit too many");
        if kind == KeyKind::Tree {
            let bound = |text| [Value::Decimal(decimal(text))];
            let (from, _) = table.schema().pack_prefix(&bound("-10")).expect("a bound");
            let (_, to) = table.schema().pack_prefix(&bound("9.5")).expect("a bound");
            let found = table.range(from..=to).map(|row| match row.expect("a row").get("price") {
                Some(Value::Decimal(price)) => price.to_string(),
                other => panic!("{other:?}"),
            });
            assert_eq!(found.collect::<Vec<_>>(), PRICES[1..5]);
        }
        db.close().expect("it closes");
    }
}

#[test]
fn a_decimal_that_a_column_does_not_hold_exactly_is_refused_and_none_is_rounded() {
    let schema = schema();
    let pack = |price: &str, tax: &str| {
        let price = Value::Decimal(decimal(price));
        schema.pack(&[price, Value::Decimal(decimal("0")), Value::Decimal(decimal(tax))])
    };
    for fits in ["9999999999.99", "-9999999999.990", "1e9", "0.1"] {
        assert!(pack(fits, "1").is_ok(), "{fits}");
    }
    for too_long in ["10000000000", "-10000000000.00", "0.001", "1e-3"] {
        let refused = pack(too_long, "1").expect_err("it does not fit");
        let shown = decimal(too_long);
        assert_eq!(
            refused.to_string(),
            format!(
                "table item: {shown} does not fit column price: \
                 Decimal {{ precision: 12, scale: 2 }}"
            )
        );
    }
    assert!(pack("1", "9.9999").is_ok());
    assert!(pack("1", "10").is_err());
    // Other numbers are no decimals: what they would lose would be for the caller to say.
    let weight = Value::Decimal(decimal("0"));
    for other in [Value::Float(1.5), Value::Signed(1), Value::Text("1.5")] {
        assert!(schema.pack(&[other, weight, Value::Null]).is_err());
    }
}

#[test]
fn a_decimal_needs_digits() {
    for (precision, scale) in [(0, 0), (39, 0), (5, 6), (255, 255)] {
        let kind = Type::Decimal { precision, scale };
        let refused = Schema::build("t").key("id", Type::U8).column("d", kind).finish();
        let Err(lode::Error::InvalidSchema { fault, .. }) = refused else { panic!("{kind}") };
        assert_eq!(fault, SchemaFault::Digits { column: "d".into() });
    }
}

#[derive(Clone, Debug, PartialEq, Record)]
struct Rate {
    #[record(key, decimal(20, 10))]
    share: Decimal,
    #[record(decimal(4, 2))]
    percent: Decimal,
    #[record(decimal(38, 0))]
    total: Option<Decimal>,
}

#[test]
fn structs_have_decimals() {
    let db = Database::in_memory().expect("memory");
    let rates = db.create_records::<Rate>(KeyKind::Tree).expect("room");
    let rate = |share: &str, total: Option<&str>| Rate {
        share: decimal(share),
        percent: decimal("12.5"),
        total: total.map(decimal),
    };
    let all = [rate("-1.5", None), rate("0.0000000001", Some("1e37")), rate("10", None)];
    for rate in all.iter().rev() {
        rates.insert(rate).expect("room");
    }
    let found: Vec<Rate> = rates.iter().collect::<Result<_, _>>().expect("records");
    assert_eq!(found, all);
    assert_eq!(rates.get(decimal("10.000")), Ok(Some(all[2].clone())));
    let refused = rates.insert(&Rate { percent: decimal("100"), ..all[0].clone() });
    assert!(matches!(refused, Err(lode::Error::ValueMisfit { .. })), "{refused:?}");
}
