use lode_derive::Record;

#[derive(Record)]
enum City {
    Bern,
    Thun,
}

fn main() {}
