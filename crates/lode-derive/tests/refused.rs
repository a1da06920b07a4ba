//! Checks that a struct that cannot be a record is refused, at the place that has to change.
//!
//! Each file in `refused/` is such a struct, and the file of the same name has the words of the
//! compiler. After a change, `TRYBUILD=overwrite cargo test -p lodedb-derive` writes these again:
//! read them.

#[test]
fn what_cannot_be_a_record_is_refused() {
    trybuild::TestCases::new().compile_fail("tests/refused/*.rs");
}
