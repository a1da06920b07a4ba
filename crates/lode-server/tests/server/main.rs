//! The server as its clients see it.

mod catalogue;
mod confines;
mod copying;
mod ends;
mod hostile;
mod kills;
mod passwords;
mod sessions;
mod settings;
mod support;
