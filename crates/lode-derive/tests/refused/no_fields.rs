use lode_derive::Record;

#[derive(Record)]
struct City;

fn main() {}
