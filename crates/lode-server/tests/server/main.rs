//! The server as its clients see it.

mod catalogue;
mod certificates;
mod confines;
mod copying;
mod ends;
mod hostile;
mod kills;
mod passwords;
mod sessions;
mod settings;
mod support;
mod tls;
mod tls_hostile;
mod tools;
