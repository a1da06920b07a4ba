use lode_derive::Record;

#[derive(Record)]
union City {
    number: u16,
}

fn main() {}
