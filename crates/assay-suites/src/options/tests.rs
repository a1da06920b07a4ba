use super::*;

#[test]
fn units_multiply() {
    assert_eq!(count::parse("0"), Ok(0));
    assert_eq!(count::parse("500"), Ok(500));
    assert_eq!((count::parse("10k"), count::parse("10K")), (Ok(10_000), Ok(10_000)));
    assert_eq!((count::parse("2m"), count::parse("2M")), (Ok(2_000_000), Ok(2_000_000)));
}

#[test]
fn threads_are_numbers_and_ranges() {
    let ranges = ["2-4", "3", "16"].map(|text| text.parse::<Threads>().expect("threads"));
    assert_eq!(Threads::each(&ranges), [2, 3, 4, 16]);
    assert_eq!(plain(&ranges), serde_json::json!(["2-4", 3, 16]));
    for text in ["0", "257", "4-2", "1-", "x", "1-2-3", "0-2"] {
        assert!(text.parse::<Threads>().is_err(), "{text}");
    }
}

#[test]
fn shares_and_factors_have_bounds() {
    assert_eq!(count::parse_share("0.5"), Ok(0.5));
    for text in ["0", "1.1", "-1", "NaN", "half"] {
        assert!(count::parse_share(text).is_err(), "{text}");
    }
    assert!(count::parse_scale("0").is_err() && count::parse_scale("inf").is_err());
}

#[test]
fn what_is_no_count_is_refused() {
    for text in ["", "k", "-1", "1.5m", "ten", "1 k", "1kk", "１k"] {
        assert!(count::parse(text).is_err(), "{text}");
    }
    assert_eq!(count::parse("1000000m"), Ok(1_000_000_000_000));
    assert!(count::parse("1000000000001").is_err());
    assert!(count::parse("18446744073709551616").is_err());
    assert!(count::parse("18446744073709552k").is_err());
    assert!(count::parse_positive("0").is_err());
}
