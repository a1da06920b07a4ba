//! Checks Lode's promises when something goes wrong: crashes, kills, damaged files, disks that fail
//! or fill up, many threads at once, and what other processes do to its files.

mod backup;
mod blob_kills;
mod blobs;
mod changes;
mod common;
mod damage;
#[path = "../support/effort.rs"]
mod effort;
mod failures;
mod kill;
#[path = "../support/random.rs"]
mod random;
mod readers;
#[path = "../support/reading.rs"]
mod reading;
mod simulation;
mod surroundings;
mod threads;
#[path = "../support/watched.rs"]
mod watched;
