use lode_derive::Record;

#[derive(Record)]
struct City(u64, u64);

fn main() {}
