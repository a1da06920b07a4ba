use lode_derive::Record;

#[derive(Record)]
struct City {
    #[record(key)]
    number: u16,
    streets: Vec<u16>,
}

fn main() {}
