//! Databases that are read while another process writes, or none: what a reader shows is
//! what the database was at some moment.

mod beside;
mod copies;
mod expired;
mod expiry;
mod processes;
mod work;
