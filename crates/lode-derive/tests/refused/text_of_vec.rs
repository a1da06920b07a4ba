use lode_derive::Record;

#[derive(Record)]
struct City {
    #[record(key)]
    number: u16,
    #[record(text = 8)]
    name: Option<Vec<u8>>,
}

fn main() {}
