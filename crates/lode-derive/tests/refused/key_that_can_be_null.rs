use lode_derive::Record;

#[derive(Record)]
struct City {
    #[record(key)]
    number: Option<u16>,
}

fn main() {}
