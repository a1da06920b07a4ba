use lode_derive::Record;

#[derive(Record)]
struct City {
    #[record(key)]
    number: u16,
    #[record(text = 8, most = 8)]
    name: String,
}

fn main() {}
