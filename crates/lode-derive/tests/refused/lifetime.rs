use lode_derive::Record;

#[derive(Record)]
struct City<'c> {
    #[record(key, text = 8)]
    name: &'c str,
}

fn main() {}
