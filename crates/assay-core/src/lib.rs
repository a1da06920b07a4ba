//! The instrument's core: measuring, and the run file. What engines see of Assay is in
//! [`assay_driver`].
//!
//! Data flows one way. A [`plan`] becomes cells. A worker process opens an engine through the
//! traits of [`assay_driver`] and replays a [`tape`] of operations in the timed loops of
//! [`timing`]. A suite may ask for a [`crew`] of threads. Its results are collected in a
//! [`run_file`], from which views are drawn. This crate knows no engine, no suite and no view.

#![warn(unreachable_pub)]

pub mod advice;
pub mod ageing;
pub mod chart;
pub mod counting;
pub mod crew;
pub mod doctor;
pub mod durability;
pub mod engine;
pub mod environment;
pub mod estimate;
mod gzip;
mod histogram;
pub mod holm;
pub mod isolation;
pub mod latency;
pub mod plan;
pub mod random;
pub mod ratio;
pub mod resources;
mod round;
pub mod run_file;
mod run_texts;
pub mod sample;
pub mod share;
pub mod slope;
pub mod stats;
pub mod store_dir;
pub mod tape;
pub mod timing;
pub mod usage;
pub mod verdict_file;
