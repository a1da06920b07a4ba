//! Measures what the interface of C costs: single operations through the functions of the shared
//! library, next to those of the crate, in turns: `cargo bench -p lodedb-capi -- [ROWS…]`. The
//! clock is that of the thread, so other programs disturb less. Run by the tests, the sizes are
//! tiny.

#![allow(unsafe_code)]

use std::ffi::{c_char, c_void};
use std::hint::black_box;

use libloading::Library;
use lode::{Database, KeyKind, Schema, Table, Type};

/// Bytes of a key and of a payload.
const KEY_BYTES: usize = 8;
const PAYLOAD_BYTES: usize = 24;

type Key = [u8; KEY_BYTES];
type Record = [u8; KEY_BYTES + PAYLOAD_BYTES];

/// Returns the key of a number: neighbours are far apart.
fn key(number: u64) -> Key {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes()
}

fn record(number: u64) -> Record {
    let mut record = [7; KEY_BYTES + PAYLOAD_BYTES];
    record[..KEY_BYTES].copy_from_slice(&key(number));
    record
}

/// A table, by one of the interfaces.
trait Subject {
    fn insert(&self, record: &Record) -> bool;
    fn get(&self, key: &Key, payload: &mut [u8; PAYLOAD_BYTES]) -> bool;
}

impl Subject for Table {
    fn insert(&self, record: &Record) -> bool {
        self.insert(record).expect("memory")
    }

    fn get(&self, key: &Key, payload: &mut [u8; PAYLOAD_BYTES]) -> bool {
        self.get_exact(key, payload).expect("a key")
    }
}

/// A handle of `lode.h`.
#[derive(Clone, Copy)]
#[repr(C)]
struct Handle {
    id: u64,
}

/// A column of `lode.h`.
#[repr(C)]
struct CColumn {
    name: *const c_char,
    name_size: usize,
    numbers: [u32; 4],
}

type Insert = unsafe extern "C" fn(Handle, Handle, *const c_void, usize) -> i32;
type Get = unsafe extern "C" fn(
    Handle,
    Handle,
    *const c_void,
    usize,
    *mut c_void,
    usize,
    *mut usize,
) -> i32;
type OpenInMemory = unsafe extern "C" fn(*const c_void, usize, *mut Handle) -> i32;
type CreateTable = unsafe extern "C" fn(
    Handle,
    *const c_char,
    usize,
    *const CColumn,
    usize,
    u32,
    *mut Handle,
) -> i32;
type Close = unsafe extern "C" fn(Handle) -> i32;

/// The numbers of the header.
const HASHED: u32 = 1;
const KEY_FLAG: u32 = 1;
const TYPE_BYTES: u32 = 14;
const NONE: Handle = Handle { id: 0 };

/// A table by the functions of the shared library.
struct Door {
    insert: Insert,
    get: Get,
    close: Close,
    database: Handle,
    table: Handle,
    _library: Library,
}

impl Door {
    fn open() -> Self {
        let program = std::env::current_exe().expect("it is known");
        let path = program.with_file_name("liblode_capi.so");
        // SAFETY: the library is that of this crate; the types are those of its header, which its
        // tests compare with its sources.
        unsafe {
            let library = Library::new(path).expect("Cargo built it for this benchmark");
            let open: OpenInMemory = *library.get(b"lode_open_in_memory\0").expect("it has it");
            let create: CreateTable = *library.get(b"lode_create_table\0").expect("it has it");
            let insert = *library.get(b"lode_insert_packed\0").expect("it has it");
            let get = *library.get(b"lode_get_packed\0").expect("it has it");
            let close = *library.get(b"lode_close\0").expect("it has it");
            let (mut database, mut table) = (NONE, NONE);
            assert_eq!(open(std::ptr::null(), 0, &raw mut database), 0);
            let column = |name: &'static str, size: usize, flags| CColumn {
                name: name.as_ptr().cast(),
                name_size: name.len(),
                numbers: [TYPE_BYTES, size as u32, 0, flags],
            };
            let columns = [column("id", KEY_BYTES, KEY_FLAG), column("rest", PAYLOAD_BYTES, 0)];
            let name = "t";
            let created = create(
                database,
                name.as_ptr().cast(),
                name.len(),
                columns.as_ptr(),
                columns.len(),
                HASHED,
                &raw mut table,
            );
            assert_eq!(created, 0);
            Self { insert, get, close, database, table, _library: library }
        }
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        // SAFETY: the library is still loaded.
        assert_eq!(unsafe { (self.close)(self.database) }, 0);
    }
}

impl Subject for Door {
    fn insert(&self, record: &Record) -> bool {
        // SAFETY: the pointer and its size are those of a record.
        let status =
            unsafe { (self.insert)(self.table, NONE, record.as_ptr().cast(), record.len()) };
        assert!(status < 10, "status {status}");
        status == 0
    }

    fn get(&self, key: &Key, payload: &mut [u8; PAYLOAD_BYTES]) -> bool {
        let mut size = 0;
        // SAFETY: the pointers and their sizes are those of a key and of a payload.
        let status = unsafe {
            (self.get)(
                self.table,
                NONE,
                key.as_ptr().cast(),
                key.len(),
                payload.as_mut_ptr().cast(),
                payload.len(),
                &raw mut size,
            )
        };
        assert!(status < 10, "status {status}");
        status == 0
    }
}

/// Seconds and nanoseconds, as C has them on machines of 64 bits.
#[derive(Default)]
#[repr(C)]
struct TimeSpec {
    seconds: i64,
    nanoseconds: i64,
}

#[cfg(target_os = "linux")]
const THREAD_CLOCK: i32 = 3;
#[cfg(not(target_os = "linux"))]
const THREAD_CLOCK: i32 = 16;

/// Returns the processor time of this thread in nanoseconds.
fn thread_ns() -> i64 {
    unsafe extern "C" {
        fn clock_gettime(clock: i32, time: *mut TimeSpec) -> i32;
    }
    let mut time = TimeSpec::default();
    // SAFETY: the structure is that of the C library.
    assert_eq!(unsafe { clock_gettime(THREAD_CLOCK, &raw mut time) }, 0, "there is such a clock");
    time.seconds * 1_000_000_000 + time.nanoseconds
}

/// Nanoseconds for each insert, and for each lookup.
fn measure(subject: &dyn Subject, rows: u64, lookups: u64) -> [f64; 2] {
    let each = |start_ns: i64, count: u64| (thread_ns() - start_ns) as f64 / count as f64;
    let start_ns = thread_ns();
    let inserted = (0..rows).filter(|number| subject.insert(&record(*number))).count();
    let insert_ns = each(start_ns, rows);
    assert_eq!(inserted as u64, rows);
    let mut payload = [0; PAYLOAD_BYTES];
    let start_ns = thread_ns();
    let found = (0..lookups)
        .filter(|number| subject.get(black_box(&key(number % rows)), &mut payload))
        .count();
    let get_ns = each(start_ns, lookups);
    assert_eq!((found as u64, payload), (lookups, [7; PAYLOAD_BYTES]));
    [insert_ns, get_ns]
}

fn rust_table() -> Table {
    let kind = [Type::Bytes(KEY_BYTES as u32), Type::Bytes(PAYLOAD_BYTES as u32)];
    let schema = Schema::build("t").key("id", kind[0]).column("rest", kind[1]).finish();
    let db = Database::in_memory().expect("memory");
    db.create_table(&schema.expect("a schema"), KeyKind::Hash).expect("room")
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

fn main() {
    let mut sizes: Vec<u64> = std::env::args().filter_map(|text| text.parse().ok()).collect();
    // `cargo bench` says so.
    let (turns, lookups, default) = match std::env::args().any(|argument| argument == "--bench") {
        true => (15, 2_000_000, vec![1_000, 100_000, 1_000_000]),
        false => (1, 1_000, vec![1_000]),
    };
    if sizes.is_empty() {
        sizes = default;
    }
    println!("nanoseconds, medians of {turns}: Rust, C, C - Rust, C / Rust");
    for rows in sizes {
        let mut turns_of: [[Vec<f64>; 2]; 2] = Default::default();
        for turn in 0..2 * turns {
            // Each is first in every other pair of turns.
            let which = (turn + turn / 2) % 2;
            let subject: Box<dyn Subject> =
                if which == 0 { Box::new(rust_table()) } else { Box::new(Door::open()) };
            let measured = measure(&*subject, rows, lookups);
            turns_of[which].iter_mut().zip(measured).for_each(|(all, figure)| all.push(figure));
        }
        let [rust, c] = turns_of.map(|figures| figures.map(median));
        for (name, (rust_ns, c_ns)) in ["insert", "get"].iter().zip(rust.iter().zip(c)) {
            let (more_ns, ratio) = (c_ns - rust_ns, c_ns / rust_ns);
            println!(
                "{name:6} of {rows:>7} rows: {rust_ns:6.1} {c_ns:6.1} {more_ns:6.1} {ratio:5.2}"
            );
        }
    }
}
