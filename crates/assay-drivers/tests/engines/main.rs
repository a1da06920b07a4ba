//! What every engine does through its driver: kept when its process is killed, and used by several
//! threads.

mod killed;
mod stores;
mod threads;
