//! What every engine does through its driver: kept when its process is killed, used by several
//! threads, and given a size for its cache.

mod caches;
mod killed;
mod parameters;
mod stores;
mod threads;
