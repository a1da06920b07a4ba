use lode_derive::Record;

#[derive(Record)]
struct City {
    #[record(key)]
    number: u16,
    #[record(most = 8)]
    people: u64,
}

fn main() {}
