use lode_derive::Record;

#[derive(Record)]
struct City {
    #[record(key)]
    name: Vec<u8>,
}

fn main() {}
