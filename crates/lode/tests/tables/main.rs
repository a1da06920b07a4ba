//! Checks tables: their operations, their columns and records, and how they grow and shrink.

mod altering;
mod backup;
mod blobs;
mod churn;
mod clearing;
mod columns;
mod cursors;
mod decimals;
#[cfg(feature = "derive")]
#[path = "../support/each_of.rs"]
mod each_of;
#[path = "../support/effort.rs"]
mod effort;
mod errors;
#[cfg(feature = "derive")]
mod examples;
mod expiry;
#[allow(clippy::unwrap_used)]
mod face;
mod growth;
mod heap;
mod indexes;
mod large;
mod limits;
mod loading;
mod long_commits;
mod model;
mod nulls;
#[path = "../support/random.rs"]
mod random;
#[path = "../support/reading.rs"]
mod reading;
#[cfg(feature = "derive")]
mod records;
#[cfg(feature = "derive")]
mod records_in_order;
#[cfg(feature = "derive")]
mod records_of_any_length;
#[cfg(feature = "derive")]
mod records_within;
mod repair;
mod repair_blobs;
mod repair_moments;
mod savepoints;
mod serializable;
mod shrinking;
mod snapshots;
mod space;
mod transact;
mod transactions;
mod undone;
#[path = "../support/watched.rs"]
mod watched;
