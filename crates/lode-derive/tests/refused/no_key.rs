use lode_derive::Record;

#[derive(Record)]
struct City {
    name: u64,
}

fn main() {}
