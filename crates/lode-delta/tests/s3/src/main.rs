//! The server in a process of its own: `s3-server ROOT` prints its port, and serves until its
//! standard input ends.

use std::io::{self, Read, Write};
use std::path::PathBuf;

fn main() -> io::Result<()> {
    let root = std::env::args_os().nth(1).map(PathBuf::from);
    let root = root.ok_or_else(|| io::Error::other("name the directory of the buckets"))?;
    let server = lode_s3_tests::start(&root)?;
    println!("{}", server.port);
    io::stdout().flush()?;
    io::stdin().read_to_end(&mut Vec::new()).map(drop)
}
