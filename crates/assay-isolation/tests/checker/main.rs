//! Checks the checker: histories made by hand, and generated ones against a search of all orders.

mod by_hand;
mod generate;
mod generated;
mod orders;
#[path = "../support/random.rs"]
mod random;
