//! What SQL does over tables of Lode.

mod answers;
mod decimals;
mod directories;
mod errors;
mod plans;
mod support;
mod transactions;
mod types;
