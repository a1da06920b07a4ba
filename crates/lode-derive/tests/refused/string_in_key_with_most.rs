use lode_derive::Record;

#[derive(Record)]
struct City {
    #[record(key, most = 32)]
    name: String,
}

fn main() {}
