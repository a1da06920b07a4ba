use lode_derive::Record;

#[derive(Record)]
struct City {
    #[record(key, text)]
    name: String,
}

fn main() {}
