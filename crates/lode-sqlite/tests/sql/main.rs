//! What SQL does over tables of Lode.

mod errors;
mod plans;
mod support;
mod transactions;
mod types;
