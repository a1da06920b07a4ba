use lode_derive::Record;

#[derive(Record)]
struct City {
    #[record(key, index)]
    number: u16,
}

fn main() {}
