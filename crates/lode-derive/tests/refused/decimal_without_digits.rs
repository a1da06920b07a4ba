use lode_derive::Record;

struct Decimal;

#[derive(Record)]
struct Item {
    #[record(key)]
    id: u32,
    price: Decimal,
}

fn main() {}
