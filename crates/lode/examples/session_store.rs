//! Sessions of a web server: found by their tokens, renewed at each visit, and gone when they have
//! not been used for half an hour. They are in a directory, so they outlive the server.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use lode::{Database, Durability, KeyKind, Options, Record, Records, Result};

/// Seconds for which a session is kept after its last visit.
const KEPT_S: u64 = 1_800;

#[derive(Record, Debug, PartialEq)]
struct Session {
    #[record(key, text = 32)]
    token: String,
    user: u64,
    #[record(timestamp, expires)]
    ends_us: i64,
    #[record(text = 128)]
    last_page: Option<String>,
}

/// The seconds since the start of 1970, as this example wants them.
#[derive(Clone, Default)]
struct Seconds(Arc<AtomicU64>);

impl Seconds {
    fn now(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn set(&self, now_s: u64) {
        self.0.store(now_s, Ordering::Relaxed);
    }
}

struct Sessions {
    db: Database,
    by_token: Records<Session>,
    clock: Seconds,
}

impl Sessions {
    fn open(directory: &Path, clock: &Seconds) -> Result<Self> {
        let clock = clock.clone();
        let seconds = clock.clone();
        let now = move || UNIX_EPOCH + Duration::from_secs(seconds.now());
        // A server leaves `clock` out: it is that of the system by default.
        let db = Options::new().durability(Durability::Process).clock(now).open(directory)?;
        let by_token = match db.records() {
            Err(lode::Error::NoTable { .. }) => db.create_records(KeyKind::Hash)?,
            opened => opened?,
        };
        Ok(Self { db, by_token, clock })
    }

    /// The time at which a session ends that is used now.
    fn end_us(&self) -> i64 {
        (self.clock.now() + KEPT_S) as i64 * 1_000_000
    }

    fn begin(&self, token: &str, user: u64) -> Result<bool> {
        let (token, ends_us) = (token.to_string(), self.end_us());
        self.by_token.insert(&Session { token, user, ends_us, last_page: None })
    }

    /// The user of a session that has not ended. It is renewed.
    fn visit(&self, token: &str, page: &str) -> Result<Option<u64>> {
        let mut user = None;
        self.by_token.change(token, |session| {
            session.ends_us = self.end_us();
            session.last_page = Some(page.into());
            user = Some(session.user);
        })?;
        Ok(user)
    }
}

/// Runs the example.
pub fn main() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let clock = Seconds::default();
    let sessions = Sessions::open(directory.path(), &clock)?;
    for user in 0..100 {
        clock.set(1_000 + user);
        assert!(sessions.begin(&format!("token-{user:03}"), user)?);
    }
    clock.set(2_000);
    assert_eq!(sessions.visit("token-007", "/inbox")?, Some(7));
    assert_eq!(sessions.visit("token-of-no-session", "/")?, None);
    // The server ends here, and does not say so.
    drop(sessions);

    let sessions = Sessions::open(directory.path(), &clock)?;
    clock.set(2_850);
    assert_eq!(sessions.visit("token-042", "/")?, None, "it has ended");
    println!("{} sessions are left", sessions.by_token.len()?);
    assert_eq!(sessions.by_token.len()?, 50);
    let session = sessions.by_token.get("token-007")?.expect("it was renewed");
    println!("{session:?}");
    assert_eq!((session.ends_us, session.last_page.as_deref()), (3_800_000_000, Some("/inbox")));
    // No clock brings the others back.
    clock.set(1_000);
    assert_eq!(sessions.by_token.len()?, 50);
    // Writes remove ended sessions by and by, and this all of them.
    sessions.by_token.table().remove_expired()?;
    sessions.db.close()?;
    Ok(())
}
