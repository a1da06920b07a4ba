use lode_derive::Record;

#[derive(Record)]
struct City {
    #[record(key)]
    country: u16,
    people: u64,
    #[record(key)]
    number: u16,
}

fn main() {}
