//! `lode serve`: how it starts, what it refuses, and how signals end it. What clients see is tested
//! in the server's crate.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::process::{Child, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::support::{Bench, Ended, end, expect_refusal, start};

/// The time after which a server that does not answer or end is killed.
const PATIENCE: Duration = Duration::from_secs(120);

/// A server that is killed when this is dropped.
struct Serving(Option<Child>);

impl Serving {
    /// Starts a server.
    fn run(bench: &Bench, args: &[&str]) -> Self {
        Self(Some(start(bench.command(args).stdin(Stdio::null()))))
    }

    /// Starts a server, and waits until it listens.
    fn start(bench: &Bench, args: &[&str]) -> (Self, String) {
        let mut serving = Self::run(bench, args);
        let stdout = serving.child().stdout.take().expect("it is piped");
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || {
            let mut line = String::new();
            let read = BufReader::new(stdout).read_line(&mut line);
            let _ = sender.send(read.map(|_| line));
        });
        let line = receiver.recv_timeout(PATIENCE).expect("it says something").expect("a line");
        (serving, line)
    }

    fn child(&mut self) -> &mut Child {
        self.0.as_mut().expect("it runs")
    }

    fn signal(&self, signal: Signal) {
        let child = self.0.as_ref().expect("it runs");
        let number = i32::try_from(child.id()).expect("a number of a process");
        kill(Pid::from_raw(number), signal).expect("a signal");
    }

    /// Waits for the end. What a server prints is short: it does not wait for a reader.
    fn ended(mut self) -> Ended {
        let start = Instant::now();
        while self.child().try_wait().expect("it can be asked").is_none() {
            assert!(start.elapsed() < PATIENCE, "the server does not end");
            thread::sleep(Duration::from_millis(5));
        }
        end(self.0.take().expect("it ran"))
    }

    fn end(self) -> (Option<i32>, String) {
        let ended = self.ended();
        (ended.code, ended.stderr)
    }
}

/// A server must not start, but end with this status and say this one line.
fn refuses(bench: &Bench, args: &[&str], code: i32, line: &str) {
    expect_refusal(args, &Serving::run(bench, args).ended(), code, line);
}

impl Drop for Serving {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[test]
fn a_server_listens_in_its_directory_until_a_signal_ends_it() {
    let bench = Bench::with_animals();
    let (serving, line) = Serving::start(&bench, &["serve", "zoo"]);
    let socket = bench.path("zoo").canonicalize().expect("the database").join(".s.PGSQL.5432");
    assert_eq!(line, format!("listening at unix:{}\n", socket.display()));
    let mode = std::fs::metadata(&socket).expect("the socket").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let _idle = UnixStream::connect(&socket).expect("it listens");
    let in_use = "zoo: the database is in use by another process, or is open in this one already; \
                  it can be open once for writing, and several times for reading only";
    refuses(&bench, &["serve", "zoo"], 3, in_use);
    let line = format!(
        "{}: another server listens there; end it, or choose another path",
        socket.display()
    );
    refuses(&bench, &["serve", "zoo", "--read-only"], 3, &line);
    serving.signal(Signal::SIGTERM);
    assert_eq!(serving.end(), (Some(0), String::new()));
    assert!(!socket.exists());
    assert_eq!(bench.succeeds(&["dump", "zoo", "animal"]).lines().count(), 3);
}

#[test]
fn a_read_only_server_runs_beside_a_writer() {
    let bench = Bench::with_animals();
    let (_writer, _) = Serving::start(&bench, &["serve", "zoo"]);
    let args = ["serve", "zoo", "--read-only", "--listen", "unix:reader"];
    let (reader, line) = Serving::start(&bench, &args);
    assert_eq!(line, "listening at unix:reader\n");
    reader.signal(Signal::SIGINT);
    assert_eq!(reader.end(), (Some(0), String::new()));
}

#[test]
fn what_would_let_others_in_is_refused() {
    let bench = Bench::with_animals();
    let tcp = ["serve", "zoo", "--listen", "127.0.0.1:0"];
    let line =
        "127.0.0.1:0: whoever reaches this address could read and write; add a password file";
    refuses(&bench, &tcp, 2, line);
    bench.write("passwords", "ada:secret\n");
    let path = bench.path("passwords");
    let set = |mode| std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode));
    set(0o644).expect("a mode");
    let args = [&tcp[..], &["--password-file", "passwords"]].concat();
    refuses(&bench, &args, 2, "passwords: others can read or write this file; chmod 600 it");
    set(0o600).expect("a mode");
    let (serving, line) = Serving::start(&bench, &args);
    assert!(line.starts_with("listening at 127.0.0.1:"), "{line}");
    serving.signal(Signal::SIGTERM);
    assert_eq!(serving.end(), (Some(0), String::new()));
    let missing = [&tcp[..], &["--password-file", "nowhere"]].concat();
    refuses(&bench, &missing, 3, "nowhere: No such file or directory (os error 2)");
}

#[test]
fn options_that_make_no_sense_are_one_line() {
    let bench = Bench::with_animals();
    for (option, value, line) in [
        (
            "--listen",
            "5432",
            "invalid value '5432' for '--listen <ADDRESS>': 5432: this is no address; write \
             unix:PATH, or 127.0.0.1:5432; see --help",
        ),
        (
            "--statement-timeout",
            "soon",
            "invalid value 'soon' for '--statement-timeout <TIME>': write milliseconds, or a \
             number with s, min or h; see --help",
        ),
        (
            "--message-bytes",
            "1K",
            "invalid value '1K' for '--message-bytes <BYTES>': it can be 10000 to 1073741824 \
             bytes; see --help",
        ),
        (
            "--connections",
            "0",
            "invalid value '0' for '--connections <N>': 0 is not in 1..=10000; see --help",
        ),
    ] {
        refuses(&bench, &["serve", "zoo", option, value], 2, line);
    }
    bench.write("file", "text");
    let line = "file: this is no socket, so it stays; choose another path";
    refuses(&bench, &["serve", "zoo", "--listen", "unix:file"], 2, line);
    assert_eq!(bench.read("file"), "text");
}

/// Writes a certificate to `cert.pem`, and its key to `key.pem`.
fn write_certificate(bench: &Bench) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_string()]).expect("it is made");
    bench.write("cert.pem", &made.cert.pem());
    bench.write("key.pem", &made.signing_key.serialize_pem());
    bench.write("passwords", "ada:secret\n");
    for name in ["key.pem", "passwords"] {
        let mode = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(bench.path(name), mode).expect("a mode");
    }
}

#[test]
fn a_server_with_a_certificate_agrees_to_tls() {
    let bench = Bench::with_animals();
    write_certificate(&bench);
    let tcp = ["serve", "zoo", "--listen", "127.0.0.1:0", "--password-file", "passwords"];
    let tls = ["--tls-certificate", "cert.pem", "--tls-key", "key.pem"];
    for (args, expected) in [(tcp.to_vec(), b"N"), ([&tcp[..], &tls].concat(), b"S")] {
        let (serving, line) = Serving::start(&bench, &args);
        let address = line.trim_end().strip_prefix("listening at ").expect("an address");
        let mut stream = TcpStream::connect(address).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a limit");
        stream.write_all(b"\0\0\0\x08\x04\xd2\x16\x2f").expect("it is sent");
        let mut answer = [0];
        stream.read_exact(&mut answer).expect("an answer");
        assert_eq!(&answer, expected);
        serving.signal(Signal::SIGTERM);
        assert_eq!(serving.end(), (Some(0), String::new()));
    }
}

#[test]
fn a_certificate_that_cannot_be_used_is_refused_before_anything_is_made() {
    let bench = Bench::with_animals();
    write_certificate(&bench);
    bench.write("encrypted.pem", "-----BEGIN ENCRYPTED PRIVATE KEY-----\n");
    let private = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(bench.path("encrypted.pem"), private).expect("a mode");
    bench.write("open.pem", &bench.read("key.pem"));
    let open = std::fs::Permissions::from_mode(0o644);
    std::fs::set_permissions(bench.path("open.pem"), open).expect("a mode");
    let other = rcgen::KeyPair::generate().expect("a key").serialize_pem();
    bench.write("other.pem", &other);
    let private = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(bench.path("other.pem"), private).expect("a mode");
    let tcp = ["serve", "new", "--create", "--listen", "127.0.0.1:0"];
    for (certificate, key, code, line) in [
        ("nowhere", "key.pem", 3, "nowhere: No such file or directory (os error 2)"),
        ("cert.pem", "nowhere", 3, "nowhere: No such file or directory (os error 2)"),
        (
            "key.pem",
            "key.pem",
            2,
            "key.pem: there is no certificate within; name a PEM file with one",
        ),
        (
            "cert.pem",
            "other.pem",
            2,
            "other.pem: this key does not belong to cert.pem; name the two that do",
        ),
        (
            "cert.pem",
            "encrypted.pem",
            2,
            "encrypted.pem: this key is encrypted; write it without a passphrase, with openssl \
             pkey",
        ),
        ("cert.pem", "open.pem", 2, "open.pem: others can read or write this file; chmod 600 it"),
    ] {
        let files = ["--tls-certificate", certificate, "--tls-key", key];
        let args = [&tcp[..], &["--password-file", "passwords"], &files].concat();
        refuses(&bench, &args, code, line);
    }
    let files = ["--tls-certificate", "cert.pem", "--tls-key", "key.pem"];
    let line =
        "127.0.0.1:0: whoever reaches this address could read and write; add a password file";
    refuses(&bench, &[&tcp[..], &files].concat(), 2, line);
    let unix = ["serve", "new", "--create", "--listen", "unix:socket"];
    let line = "unix:socket: a Unix socket is not encrypted; leave the certificate out, or use TCP";
    refuses(&bench, &[&unix[..], &files].concat(), 2, line);
    let line = "the following required arguments were not provided: --listen <ADDRESS>; see --help";
    refuses(&bench, &[&unix[..3], &files].concat(), 2, line);
    let line = "the following required arguments were not provided: --tls-key <FILE>; see --help";
    refuses(&bench, &[&tcp[..], &files[..2]].concat(), 2, line);
    assert!(!bench.path("new").exists(), "no database is made");
}
