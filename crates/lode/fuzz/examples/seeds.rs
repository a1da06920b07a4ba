//! Writes some inputs to begin with, for each target, to the directory `corpus`.

fn main() -> std::io::Result<()> {
    // SplitMix64.
    let mut state = 0u64;
    let mut next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    };
    for (target, size) in [("data", 200), ("log", 200), ("operations", 1_500)] {
        let directory = format!("corpus/{target}");
        std::fs::create_dir_all(&directory)?;
        for number in 0..20 {
            let words = 1 + size / 8 * (number + 1) / 20;
            let bytes: Vec<u8> = (0..words).flat_map(|_| next().to_le_bytes()).collect();
            std::fs::write(format!("{directory}/seed-{number:02}"), bytes)?;
        }
    }
    Ok(())
}
