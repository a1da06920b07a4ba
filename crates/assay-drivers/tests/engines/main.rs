//! What every engine does through its driver: kept when its process is killed, used by several
//! threads, isolated as promised, and given a size for its cache.

mod caches;
mod isolation;
mod killed;
#[cfg(feature = "lode-c")]
mod lode_c;
#[cfg(feature = "lode-server")]
mod lode_server;
mod parameters;
mod stores;
mod threads;
