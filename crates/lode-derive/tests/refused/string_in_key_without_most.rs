use lode_derive::Record;

#[derive(Record)]
struct City {
    #[record(key)]
    name: String,
}

fn main() {}
