use lode_derive::Record;

#[derive(Record)]
struct City {
    #[record(key, text = 8)]
    number: u16,
}

fn main() {}
