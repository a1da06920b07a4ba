//! What Lode promises when something goes wrong: crashes, kills, damaged files, disks that fail or
//! fill up, and many threads at once.

mod common;
mod damage;
#[path = "../support/effort.rs"]
mod effort;
mod failures;
mod kill;
mod simulation;
mod threads;
#[path = "../support/watched.rs"]
mod watched;
