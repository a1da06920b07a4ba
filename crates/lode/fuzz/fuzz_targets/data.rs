//! A data file with some bytes written over: opening and reading it returns, with a result or an
//! error.
//!
//! An input is a mode and patches: where, and with which bytes. The mode says which checksums are
//! made right again: none, those of the superblocks, or all.

#![no_main]

use std::sync::OnceLock;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use lode::simulation::Simulated;
use lode_fuzz::{SLOT_BYTES, exercise, fix_pages, fix_superblocks, small};

#[derive(Arbitrary, Debug)]
struct Input {
    mode: u8,
    patches: Vec<Patch>,
}

#[derive(Arbitrary, Debug)]
struct Patch {
    slot: u8,
    /// In words, or in the front of a page where most is.
    word: u16,
    front: bool,
    bytes: [u8; 8],
    size: u8,
}

fuzz_target!(|input: Input| {
    static SMALL: OnceLock<Simulated> = OnceLock::new();
    let disk = SMALL.get_or_init(small).fork();
    let mut data = disk.file_bytes("data").expect("it is there");
    let slots = data.len() / SLOT_BYTES;
    for Patch { slot, word, front, bytes, size } in input.patches.iter().take(16) {
        let words = if *front { 40 } else { SLOT_BYTES / 8 };
        let at = *slot as usize % slots * SLOT_BYTES + *word as usize % words * 8;
        let size = *size as usize % 8 + 1;
        data[at..at + size].copy_from_slice(&bytes[..size]);
    }
    match input.mode % 4 {
        0 => {}
        1 => fix_superblocks(&mut data),
        _ => fix_pages(&mut data),
    }
    disk.put_file("data", data);
    exercise(&disk);
});
