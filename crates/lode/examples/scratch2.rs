use lode::*;
fn main() {
    let dir = std::env::args().nth(1).unwrap();
    let n: u64 = 100_000;
    let _ = std::fs::remove_dir_all(&dir);
    let db = Options::new().durability(Durability::Process).open(&dir).unwrap();
    let schema = Schema::build("t").key("id", Type::Bytes(24)).column("a", Type::Bytes(1000)).finish().unwrap();
    let t = db.create_table(&schema, KeyKind::Tree).unwrap();
    let mut rec = vec![7u8; schema.record_size()];
    let batch: u64 = std::env::args().nth(2).unwrap().parse().unwrap();
    let s = std::time::Instant::now();
    for b in 0..n / batch {
        let mut x = db.begin();
        for i in b * batch..(b + 1) * batch {
            rec[..8].copy_from_slice(&i.wrapping_mul(0x9e3779b97f4a7c15).to_be_bytes());
            if batch == 1 { t.insert(&rec).unwrap(); } else { x.insert(&t, &rec).unwrap(); }
        }
        x.commit().unwrap();
    }
    println!("{:.2} us each", s.elapsed().as_nanos() as f64 / n as f64 / 1e3);
    println!("{:?}", db.statistics());
}
