//! The drivers `tonbo` and `tonbo-s3`: S3 stores that cannot be used, and the server that is
//! started where none is named.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};

use assay_driver::error::Result;
use assay_driver::schema::{ColumnType, Schema};
use assay_driver::{Durability, Endpoint, KeyKind, OpenSpec, Outcome, Storage, Store};

fn open(id: &str, dir: &Path, endpoint: Option<&str>, create: bool) -> Result<Box<dyn Store>> {
    let driver = assay_drivers::find(id).expect("the driver is compiled in");
    let spec = OpenSpec {
        endpoint: match endpoint {
            Some(url) => {
                Endpoint::Server { url: url.into(), part: "assay".into(), dir: dir.to_path_buf() }
            }
            None => Endpoint::Directory(dir.to_path_buf()),
        },
        create,
        storage: Storage::Disk,
        durability: Durability::None,
        key_kind: KeyKind::Tree,
        schema: Schema::new("t", &[("a", ColumnType::U64), ("b", ColumnType::U64)], 1),
        expected_rows: 1,
        threads: 1,
        cache_bytes: None,
        volumes: None,
        parameters: BTreeMap::new(),
    };
    driver.open(&spec)
}

/// Opens a store whose objects are behind `endpoint`, which must fail; what was said.
fn refused(endpoint: &str) -> String {
    let folder = tempfile::tempdir().expect("a temporary directory");
    match open("tonbo-s3", folder.path(), Some(endpoint), true) {
        Ok(_) => panic!("{endpoint} cannot be used"),
        Err(error) => {
            let said = error.to_string();
            assert_eq!(said.lines().count(), 1, "{said:?}");
            assert!(said.starts_with(&format!("open: {endpoint}: ")), "{said:?}");
            said
        }
    }
}

fn listener() -> (TcpListener, String) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
    let address = listener.local_addr().expect("it has an address");
    (listener, format!("http://{address}"))
}

/// Reads a request up to its empty line and answers it.
fn answer(stream: TcpStream, with: &str) {
    let mut lines = BufReader::new(&stream).lines();
    while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
    // A client that has heard enough may be gone.
    let _ = (&stream).write_all(with.as_bytes());
}

#[test]
fn an_endpoint_without_a_listener_is_named_with_the_reason() {
    let (listener, endpoint) = listener();
    drop(listener);
    let said = refused(&endpoint);
    assert!(said.contains("Connection refused"), "{said}");
}

#[test]
fn a_server_that_never_answers_is_given_up() {
    let (_listener, endpoint) = listener();
    let said = refused(&endpoint);
    assert!(said.contains("no answer within 10 s"), "{said}");
}

#[test]
fn a_server_that_denies_access_is_quoted() {
    let (listener, endpoint) = listener();
    let body = "<Error>\n<Code>AccessDenied</Code>\n<Message>not yours</Message>\n</Error>";
    let text = format!(
        "HTTP/1.1 403 Forbidden\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            answer(stream, &text);
        }
    });
    let said = refused(&endpoint);
    assert!(said.contains("403 Forbidden") && said.contains("not yours"), "{said}");
}

#[test]
fn what_was_closed_is_there_however_often_it_is_opened() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let (key, value) = (7u64.to_le_bytes(), 8u64.to_le_bytes());
    for round in 0..4 {
        let store = open("tonbo", folder.path(), None, round == 0).expect("it opens");
        let work = &mut |connection: &mut dyn assay_driver::Connection| {
            let mut found = [0; 8];
            if round == 0 {
                connection.insert(&[key, value].concat())?;
            }
            assert_eq!(connection.get(&key, &mut found)?, Outcome::Done, "opening {round}");
            assert_eq!(found, value, "opening {round}");
            Ok(())
        };
        store.connect(work).expect("it works");
        store.close().expect("it closes");
    }
}

#[test]
fn objects_go_to_a_server_of_our_own_that_ends_with_the_cell() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let line = "run crossbench -e tonbo-s3 -s d --durability none -i 300 -q 100 -u 0 -d 0 \
                --page-cache cold --dir stores -o run.json";
    let output = Command::new(env!("CARGO_BIN_EXE_assay"))
        .args(line.split_whitespace())
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .output()
        .expect("the program starts");
    assert!(output.status.success(), "{output:?}");
    let objects = folder.path().join("stores/tonbo-s3-disk/data/s3/assay/l0");
    let objects = std::fs::read_dir(objects).expect("the bucket is there");
    let tables = objects.flatten().filter(|e| e.path().extension().is_some_and(|e| e == "parquet"));
    assert_ne!(tables.count(), 0, "the tables are objects");
    let root = folder.path().display().to_string();
    let servers = std::fs::read_dir("/proc").expect("processes").flatten().filter(|process| {
        let line = std::fs::read_to_string(process.path().join("cmdline")).unwrap_or_default();
        line.contains("s3-server") && line.contains(&root)
    });
    assert_eq!(servers.count(), 0, "no server stays");
}

/// A transaction of Tonbo's holds a lock that the commit of another may have to wait for.
#[test]
fn transactions_of_several_threads_do_not_wait_for_each_other_for_ever() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let line = "run tonbo-write -Q -e tonbo --scale 0.02 -t 1,4 --timeout 120 --dir stores";
    let output = Command::new(env!("CARGO_BIN_EXE_assay"))
        .current_dir(folder.path())
        .args(line.split(' '))
        .output()
        .expect("the program starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
