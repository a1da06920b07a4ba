use lode_derive::Record;

#[derive(Record)]
struct City {
    #[record(key)]
    number: u16,
    #[record(timestamp)]
    founded: u64,
}

fn main() {}
