use lode_derive::Record;

#[derive(Record)]
#[record(name = "cities")]
struct City {
    #[record(key)]
    number: u16,
}

fn main() {}
