//! A log with some bytes written over and its checksums made right again: recovery returns, with a
//! result or an error.

#![no_main]

use std::sync::OnceLock;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use lode::simulation::Simulated;
use lode_fuzz::{SLOT_BYTES, exercise, fix_frames, small};

#[derive(Arbitrary, Debug)]
struct Input {
    fix: bool,
    patches: Vec<(u16, u8, [u8; 8])>,
    /// The bytes that replace the rest of the log, from a place on.
    rest: Option<(u16, Vec<u8>)>,
}

fuzz_target!(|input: Input| {
    static SMALL: OnceLock<Simulated> = OnceLock::new();
    let disk = SMALL.get_or_init(small).fork();
    let data = disk.file_bytes("data").expect("it is there");
    let long = |at: usize| u64::from_le_bytes(*data[at..].first_chunk().expect("eight bytes"));
    // The superblock that counts says where recovery starts.
    let newest = if long(16) > long(SLOT_BYTES + 16) { 0 } else { SLOT_BYTES };
    let (segment, from) = (long(newest + 64), long(newest + 72) as usize);
    let chain = long(newest + 80) as u32;
    let name = format!("log-{segment:012}");
    let mut log = disk.file_bytes(&name).expect("recovery begins there");
    let end = log.iter().rposition(|byte| *byte != 0).unwrap_or(0) + 64;
    let room = end.min(log.len() - 8).saturating_sub(from).max(1);
    for (at, size, bytes) in input.patches.iter().take(16) {
        // Most of them into the frames, some into the headers.
        let at = if *size & 0x80 == 0 { from + *at as usize % room } else { *at as usize % 4190 };
        let size = *size as usize % 8 + 1;
        log[at..at + size].copy_from_slice(&bytes[..size]);
    }
    if let Some((at, bytes)) = &input.rest {
        let at = from + *at as usize % room;
        let size = bytes.len().min(log.len() - at);
        log[at..at + size].copy_from_slice(&bytes[..size]);
    }
    if input.fix {
        fix_frames(&mut log, from, chain);
    }
    disk.put_file(&name, log);
    exercise(&disk);
});
