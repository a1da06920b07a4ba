use lode_derive::Record;

#[derive(Record)]
struct City {
    #[record(key)]
    number: u16,
    mayor: Option<Option<u8>>,
}

fn main() {}
