use lode_derive::Record;

#[derive(Record)]
struct Session {
    #[record(key)]
    number: u64,
    #[record(expires)]
    until: i64,
}

fn main() {}
