use lode_derive::Record;

#[derive(Record)]
struct City {
    #[record(key)]
    number: u16,
    streets: Vec<String>,
}

fn main() {}
