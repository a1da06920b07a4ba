//! The public face as careless callers use it: closures that use the database, and wrong arguments.

mod arguments;
mod closures;
mod hooked;
mod operations;
mod panics;
mod watch;
mod world;
