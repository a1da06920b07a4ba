use lode_derive::Record;

#[derive(Record)]
struct Item {
    #[record(key)]
    id: u32,
    #[record(decimal(12, 2))]
    price: i64,
}

fn main() {}
