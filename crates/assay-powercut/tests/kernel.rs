//! Faults as the kernel passes them on to a process. This program is the server and that process
//! too, so it has no harness.

use std::env;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::process::Command;

use assay_core::durability::{Fault, Lasts};
use assay_powercut::client::Server;
use assay_powercut::fault::Injection;
use assay_powercut::{Directories, Loss, mount, server};
use nix::errno::Errno;
use nix::fcntl::{FallocateFlags, fallocate};
use nix::libc;

fn main() {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let words: Vec<_> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["serve", at] => server::serve(Path::new(at), &|at| this(&["unmount"], at)).expect("serve"),
        ["unmount", at] => mount::unmount(Path::new(at)).expect("unmount"),
        ["work", process, scenario, at] => {
            mount::enter(process.parse().expect("a number")).expect("enter");
            let said = work(scenario, Path::new(at)).expect("a disk");
            println!("{}", said.join(" "));
        }
        _ => match mount::obstacle() {
            Some(why) => println!("skipped: {why}"),
            None => check_all(),
        },
    }
}

/// Returns the command of this program with these words and a path.
fn this(words: &[&str], at: &Path) -> Command {
    let mut command = Command::new(env::current_exe().expect("this program"));
    command.args(words).arg(at);
    command
}

/// A scenario, the fault that it meets, what its calls return, and the file after a power cut that
/// takes nothing.
type Case = (&'static str, Fault, &'static str, &'static str);

const CASES: [Case; 8] = [
    ("write", Fault::EioWrite, "EIO read:old ok sync:ok", "new"),
    ("sync", Fault::EioSync, "ok sync:EIO read:new sync:ok", "old"),
    // Each description that was open hears of it once.
    ("others", Fault::EioSync, "ok sync:EIO sync:EIO sync:ok sync:ok sync:ok", "old"),
    // The page that was written before is still to be synchronised.
    ("one", Fault::EioSync, "ok EIO sync:EIO sync:ok", "new"),
    ("read", Fault::EioRead, "read:EIO read:EIO", "old"),
    ("short", Fault::ShortWrite, "1 2 sync:ok", "new"),
    ("full", Fault::Full, "ENOSPC ok allocate:ok sync:ok", "new"),
    ("held", Fault::Full, "allocate:ok ok punch:ok ENOSPC sync:ok", "\0\0\0"),
];

fn check_all() {
    for (scenario, fault, said, left) in CASES {
        let folder = tempfile::tempdir().expect("a folder");
        let (mut server, run) = begin(folder.path());
        // The kernel tries a read that it made ahead once more.
        let lasts = if fault == Fault::EioRead { Lasts::Always } else { Lasts::Once };
        server.inject(Injection::new(fault, lasts, 1, 0), u32::MAX >> 1).expect("a fault");
        assert_eq!(run(scenario), said, "{scenario}");
        assert!(server.state().expect("its state").met > 0, "{scenario}");
        server.cut(Loss::Nothing, 0).expect("a cut");
        assert_eq!(run("end"), format!("read:{left}"), "{scenario}");
        println!("{scenario} ... ok");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (mut server, run) = begin(folder.path());
    let never = Injection::never(Fault::EioSync);
    server.inject(never, u32::MAX >> 1).expect("a fault to come");
    assert_eq!(run("synchronous"), "ok sync:ok");
    let concerned = server.state().expect("its state").concerned;
    assert_eq!(concerned, 2, "a write with O_DSYNC is one, although the kernel asks for more");
}

/// Starts a server whose disk has a file, and returns it with a function that runs a scenario.
fn begin(at: &Path) -> (Server, impl Fn(&str) -> String) {
    let server = Server::start(this(&["serve"], at), Directories::Journal).expect("serve");
    let process = server.process().to_string();
    let run = move |scenario: &str| {
        let output = this(&["work", &process, scenario], at).output().expect("a process");
        assert!(output.status.success(), "{scenario}: {output:?}");
        String::from_utf8(output.stdout).expect("text").trim().to_string()
    };
    assert_eq!(run("begin"), "sync:ok");
    (server, run)
}

/// Makes calls and returns what came of each.
fn work(scenario: &str, at: &Path) -> io::Result<Vec<String>> {
    let path = at.join("file");
    if scenario == "begin" {
        fs::write(&path, "old")?;
    }
    let open = |flags| OpenOptions::new().read(true).write(true).custom_flags(flags).open(&path);
    let (file, other, synchronous) = (open(0)?, open(0)?, open(libc::O_DSYNC)?);
    let write_to =
        |file: &File, bytes: &[u8], offset| word(file.write_at(bytes, offset).map(|_| "ok".into()));
    let write = |bytes: &[u8], offset| write_to(&file, bytes, offset);
    let sync_of = |file: &File| format!("sync:{}", word(file.sync_all().map(|()| "ok".into())));
    let sync = || sync_of(&file);
    Ok(match scenario {
        "begin" => vec![sync()],
        "end" => vec![read(&file)],
        "write" => vec![write(b"new", 0), read(&file), write(b"new", 0), sync()],
        "sync" => vec![write(b"new", 0), sync(), read(&file), sync()],
        "others" => {
            let (written, failed) = (write(b"new", 0), sync());
            let late = open(0)?;
            vec![written, failed, sync_of(&other), sync_of(&other), sync(), sync_of(&late)]
        }
        "one" => vec![write(b"new", 0), write_to(&synchronous, b"far", 1 << 20), sync(), sync()],
        "synchronous" => vec![write_to(&synchronous, b"new", 0), sync_of(&synchronous)],
        "read" => vec![read(&file), read(&file)],
        "short" => {
            let written = (&file).write(b"new")?;
            let rest = (&file).write(&b"new"[written..])?;
            vec![written.to_string(), rest.to_string(), sync()]
        }
        "full" => {
            let refused = write(b"far", 1 << 20);
            // What is in place needs no space.
            let in_place = write(b"new", 0);
            let allocated = allocate(&file, FallocateFlags::empty(), 1 << 20);
            vec![refused, in_place, format!("allocate:{allocated}"), sync()]
        }
        "held" => {
            let allocated = allocate(&file, FallocateFlags::empty(), 4096);
            let in_place = write(b"new", 0);
            let hole = FallocateFlags::FALLOC_FL_PUNCH_HOLE | FallocateFlags::FALLOC_FL_KEEP_SIZE;
            let punched = allocate(&file, hole, 4096);
            let refused = write(b"new", 0);
            let allocated = format!("allocate:{allocated}");
            vec![allocated, in_place, format!("punch:{punched}"), refused, sync()]
        }
        other => panic!("there is no scenario {other}"),
    })
}

/// Allocates the first bytes of a file, or as the flags say.
fn allocate(file: &File, flags: FallocateFlags, len: i64) -> String {
    word(fallocate(file, flags, 0, len).map(|()| "ok".into()).map_err(io::Error::from))
}

fn read(file: &File) -> String {
    let mut bytes = [0; 3];
    let read = file.read_at(&mut bytes, 0);
    format!("read:{}", word(read.map(|len| String::from_utf8_lossy(&bytes[..len]).into_owned())))
}

/// Returns the result of a call as a word: the name of its error, if it failed.
fn word(result: io::Result<String>) -> String {
    result.unwrap_or_else(|error| match error.raw_os_error().map(Errno::from_raw) {
        Some(error) => format!("{error:?}"),
        None => error.to_string(),
    })
}
