//! Writes some inputs to start with, for each target, to the directory `corpus`.

#[path = "../../tests/support/random.rs"]
mod random;

use random::mix;

fn main() -> std::io::Result<()> {
    let mut random = (0..).map(mix);
    let targets = [
        ("data", 200),
        ("log", 200),
        ("operations", 1_500),
        ("repair", 200),
        ("changes", 200),
        ("blobs", 1_500),
        ("expiry", 1_500),
    ];
    for (target, size) in targets {
        let directory = format!("corpus/{target}");
        std::fs::create_dir_all(&directory)?;
        for number in 0..20 {
            let words = 1 + size / 8 * (number + 1) / 20;
            let bytes: Vec<u8> = random.by_ref().take(words).flat_map(u64::to_le_bytes).collect();
            std::fs::write(format!("{directory}/seed-{number:02}"), bytes)?;
        }
    }
    Ok(())
}
