//! The server as its clients see it.

mod ends;
mod hostile;
mod passwords;
mod sessions;
mod support;
