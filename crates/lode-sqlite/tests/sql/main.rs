//! Runs SQL over tables of Lode.

mod altering;
mod answers;
mod console;
mod decimals;
mod directories;
mod errors;
mod indexes;
mod isolation;
mod joins;
mod moments;
mod plans;
mod serializable;
mod support;
mod transactions;
mod types;
