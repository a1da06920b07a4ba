use lode_derive::Record;

#[derive(Record)]
struct City {
    #[record(key, sorted)]
    number: u16,
}

fn main() {}
