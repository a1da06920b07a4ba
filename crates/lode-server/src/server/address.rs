//! Addresses, and the sockets that listen there.

use std::fs;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use tempfile::TempDir;

use crate::error::{ServeError, io_error};
use crate::protocol::socket::Socket;

/// The most times that a socket without a server is replaced before another server has the path.
const MOST_TRIES: u32 = 8;

/// An address that a server listens at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A Unix socket, which only the user of the server can connect to.
    Unix(PathBuf),
    /// TCP.
    Tcp(SocketAddr),
}

impl FromStr for Address {
    type Err = ServeError;

    fn from_str(text: &str) -> Result<Self, ServeError> {
        let wrong = || ServeError::Address { text: text.into() };
        match text.strip_prefix("unix:") {
            Some("") => Err(wrong()),
            Some(path) => Ok(Self::Unix(path.into())),
            None => text.parse().map(Self::Tcp).map_err(|_| wrong()),
        }
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::Tcp(address) => write!(f, "{address}"),
        }
    }
}

/// A socket that listens. Dropped, it takes its path away.
#[derive(Debug)]
pub(crate) enum Listener {
    Unix { socket: UnixListener, path: PathBuf, inode: u64 },
    Tcp(TcpListener),
}

impl Listener {
    /// Listens at an address. Calls do not wait.
    pub(crate) fn at(address: &Address) -> Result<Self, ServeError> {
        match address {
            Address::Unix(path) => unix(path),
            Address::Tcp(address) => {
                let listener = TcpListener::bind(address).map_err(io_error(address))?;
                listener.set_nonblocking(true).map_err(io_error(address))?;
                Ok(Self::Tcp(listener))
            }
        }
    }

    /// Returns the address, with the port that the system has chosen for port 0.
    pub(crate) fn address(&self) -> io::Result<Address> {
        Ok(match self {
            Self::Unix { path, .. } => Address::Unix(path.clone()),
            Self::Tcp(listener) => Address::Tcp(listener.local_addr()?),
        })
    }

    /// Takes the next connection that waits.
    pub(crate) fn accept(&self) -> io::Result<Socket> {
        Ok(match self {
            Self::Unix { socket, .. } => {
                let (stream, _) = socket.accept()?;
                stream.set_nonblocking(false)?;
                Socket::Unix(Arc::new(stream))
            }
            Self::Tcp(listener) => {
                let (stream, _) = listener.accept()?;
                stream.set_nonblocking(false)?;
                Socket::Tcp(Arc::new(stream))
            }
        })
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Unix { socket, .. } => socket.as_fd(),
            Self::Tcp(listener) => listener.as_fd(),
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Self::Unix { path, inode, .. } = self
            && fs::symlink_metadata(&*path).is_ok_and(|found| found.ino() == *inode)
        {
            // The path of a socket without a server is replaced by the next one.
            let _ = fs::remove_file(path);
        }
    }
}

/// Listens at a Unix socket of mode 0600. It is made in a folder that no other user can enter, and
/// gets its path then: so there is no moment at which others could connect.
fn unix(path: &Path) -> Result<Listener, ServeError> {
    let failed = || io_error(path.display());
    expect_free(path)?;
    let folder = hidden_folder(path).map_err(failed())?;
    let hidden = folder.path().join("s");
    let socket = UnixListener::bind(&hidden).map_err(failed())?;
    fs::set_permissions(&hidden, fs::Permissions::from_mode(0o600)).map_err(failed())?;
    socket.set_nonblocking(true).map_err(failed())?;
    let inode = fs::symlink_metadata(&hidden).map_err(failed())?.ino();
    publish(&hidden, path)?;
    Ok(Listener::Unix { socket, path: path.into(), inode })
}

/// Makes a folder next to a path, which only this user can enter.
fn hidden_folder(path: &Path) -> io::Result<TempDir> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let mode = fs::Permissions::from_mode(0o700);
    let mut builder = tempfile::Builder::new();
    builder.prefix(".l").permissions(mode).tempdir_in(parent.unwrap_or(Path::new(".")))
}

/// Gives a hidden socket its path, if no other server has it. Of two that start together, one gets
/// it.
fn publish(hidden: &Path, path: &Path) -> Result<(), ServeError> {
    let failed = || io_error(path.display());
    for _ in 0..MOST_TRIES {
        match fs::hard_link(hidden, path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            linked => return linked.map_err(failed()),
        }
        expect_free(path)?;
        let old = hidden.with_file_name("o");
        match fs::rename(path, &old) {
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            moved => moved.map_err(failed())?,
        }
        if expect_free(&old).is_err() {
            // Another server was quicker. It gets its path back.
            fs::hard_link(&old, path).map_err(failed())?;
            break;
        }
    }
    Err(ServeError::InUse { path: path.into() })
}

/// Refuses a path where a server listens, or that is no socket's. A socket whose server has gone
/// may be replaced.
fn expect_free(path: &Path) -> Result<(), ServeError> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(io_error(path.display())(error)),
        Ok(found) if !found.file_type().is_socket() => {
            Err(ServeError::NoSocket { path: path.into() })
        }
        Ok(_) => match UnixStream::connect(path) {
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => Ok(()),
            _ => Err(ServeError::InUse { path: path.into() }),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_says_what_it_is() {
        let unix = |path: &str| Address::Unix(path.into());
        assert_eq!("unix:a/b".parse::<Address>().expect("a path"), unix("a/b"));
        let tcp = "127.0.0.1:5432".parse::<Address>().expect("an address");
        assert_eq!(tcp.to_string(), "127.0.0.1:5432");
        for wrong in ["", "unix:", "5432", "localhost", "/tmp/x"] {
            assert!(wrong.parse::<Address>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_socket_without_a_server_is_replaced_and_one_in_use_is_not() {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("socket");
        let address = Address::Unix(path.clone());
        let first = Listener::at(&address).expect("it is free");
        let mode = fs::metadata(&path).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert!(matches!(Listener::at(&address), Err(ServeError::InUse { .. })));
        drop(first);
        assert!(!path.exists());
        drop(UnixListener::bind(&path).expect("a socket whose server goes"));
        let second = Listener::at(&address).expect("it is replaced");
        drop(second);
        fs::write(&path, "text").expect("a file");
        assert!(matches!(Listener::at(&address), Err(ServeError::NoSocket { .. })));
        assert_eq!(fs::read(&path).expect("it stays"), b"text");
        assert_eq!(fs::read_dir(folder.path()).expect("a directory").count(), 1);
    }

    #[test]
    fn the_folder_of_a_new_socket_is_for_its_user_only() {
        let folder = tempfile::tempdir().expect("a directory");
        // One that lets others in: the mode of the folder above does not count.
        let open = fs::Permissions::from_mode(0o777);
        fs::set_permissions(folder.path(), open).expect("a mode");
        let hidden = hidden_folder(&folder.path().join("socket")).expect("a folder");
        let mode = fs::metadata(hidden.path()).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
    }

    #[test]
    fn of_servers_that_start_together_one_listens() {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("socket");
        let address = Address::Unix(path.clone());
        for round in 0..200 {
            if round % 2 == 0 {
                drop(UnixListener::bind(&path).expect("a socket whose server goes"));
            }
            let start = std::sync::Barrier::new(2);
            let listen = || {
                start.wait();
                Listener::at(&address)
            };
            let both = std::thread::scope(|scope| {
                let [one, other] = [scope.spawn(listen), scope.spawn(listen)];
                [one.join().expect("no panic"), other.join().expect("no panic")]
            });
            let listening: Vec<_> = both.iter().filter(|made| made.is_ok()).collect();
            assert_eq!(listening.len(), 1, "round {round}: {both:?}");
            UnixStream::connect(&path).expect("it listens at its path");
            drop(both);
            assert!(!path.exists());
        }
    }
}
