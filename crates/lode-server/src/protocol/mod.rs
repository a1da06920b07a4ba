//! PostgreSQL's messages on a socket: what clients send is bounded and checked before `pgwire`
//! decodes it, what is sent is buffered, and no client is waited for without a limit.

pub(crate) mod channel;
mod check;
pub(crate) mod input;
pub(crate) mod output;
pub(crate) mod socket;
