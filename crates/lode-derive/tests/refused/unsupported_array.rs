use lode_derive::Record;

#[derive(Record)]
struct City {
    #[record(key)]
    number: u16,
    corners: [u16; 4],
}

fn main() {}
