use lode_derive::Record;

#[derive(Record)]
struct City<N> {
    #[record(key)]
    number: N,
}

fn main() {}
