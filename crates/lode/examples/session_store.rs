//! Sessions of a web server: found by their tokens, renewed at each visit, and gone when they have
//! not been used for half an hour. They are in a directory, so they outlive the server.
//!
//! A session is in two tables, which a transaction changes together: by its token, and by the time
//! at which it ends, where those that have ended come first.

use std::error::Error;
use std::path::Path;

use lode::{Database, Durability, KeyKind, Options, Record, Records, Result};

/// Seconds for which a session is kept after its last visit.
const KEPT_S: u64 = 1_800;

#[derive(Record, Debug, PartialEq)]
struct Session {
    #[record(key, text = 32)]
    token: String,
    user: u64,
    ends_s: u64,
    #[record(text = 128)]
    last_page: Option<String>,
}

/// When sessions end, in this order.
#[derive(Record)]
struct Ending {
    #[record(key)]
    ends_s: u64,
    #[record(key, text = 32)]
    token: String,
}

struct Sessions {
    db: Database,
    by_token: Records<Session>,
    by_end: Records<Ending>,
}

impl Sessions {
    fn create(directory: &Path) -> Result<Self> {
        let db = Options::new().durability(Durability::Process).create_new(directory)?;
        let by_token = db.create_records(KeyKind::Hash)?;
        let by_end = db.create_records(KeyKind::Tree)?;
        Ok(Self { db, by_token, by_end })
    }

    fn open(directory: &Path) -> Result<Self> {
        let db = Options::new().durability(Durability::Process).open_existing(directory)?;
        let (by_token, by_end) = (db.records()?, db.records()?);
        Ok(Self { db, by_token, by_end })
    }

    fn begin(&self, token: &str, user: u64, now_s: u64) -> Result<()> {
        let (token, ends_s) = (token.to_string(), now_s + KEPT_S);
        self.db.transact(|transaction| {
            let ending = Ending { ends_s, token: token.clone() };
            self.by_end.within(transaction).insert(&ending)?;
            let session = Session { token: token.clone(), user, ends_s, last_page: None };
            self.by_token.within(transaction).insert(&session).map(drop)
        })
    }

    /// The user of a session that has not ended. It is renewed.
    fn visit(&self, token: &str, page: &str, now_s: u64) -> Result<Option<u64>> {
        self.db.transact(|transaction| {
            let (by_token, by_end) =
                (self.by_token.within(transaction), self.by_end.within(transaction));
            let session = by_token.get(token)?.filter(|session| session.ends_s > now_s);
            let Some(session) = session else { return Ok(None) };
            let ends_s = now_s + KEPT_S;
            by_end.delete((session.ends_s, token))?;
            by_end.insert(&Ending { ends_s, token: token.into() })?;
            by_token.change(token, |session| {
                session.ends_s = ends_s;
                session.last_page = Some(page.into());
            })?;
            Ok(Some(session.user))
        })
    }

    /// Removes sessions that have ended. Returns how many there were.
    fn sweep(&self, now_s: u64) -> Result<u64> {
        let mut count = 0;
        for ending in self.by_end.range(..(now_s + 1, "")) {
            let Ending { ends_s, token } = ending?;
            // Those that were renewed meanwhile have another end.
            count += self.db.transact(|transaction| {
                let is_there = self.by_end.within(transaction).delete((ends_s, &token))?;
                if is_there {
                    self.by_token.within(transaction).delete(&token)?;
                }
                Ok::<_, lode::Error>(u64::from(is_there))
            })?;
        }
        Ok(count)
    }
}

/// Runs the example.
pub fn main() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let sessions = Sessions::create(directory.path())?;
    for user in 0..100 {
        sessions.begin(&format!("token-{user:03}"), user, 1_000 + user)?;
    }
    assert_eq!(sessions.visit("token-007", "/inbox", 2_000)?, Some(7));
    assert_eq!(sessions.visit("token-of-no-session", "/", 2_000)?, None);
    // The server ends here, and does not say so.
    drop(sessions);

    let sessions = Sessions::open(directory.path())?;
    assert_eq!(sessions.visit("token-042", "/", 2_900)?, None, "it has ended");
    let ended = sessions.sweep(2_850)?;
    println!("{ended} sessions have ended, {} are left", sessions.by_token.len()?);
    assert_eq!((ended, sessions.by_token.len()?, sessions.by_end.len()?), (50, 50, 50));
    let session = sessions.by_token.get("token-007")?.expect("it was renewed");
    println!("{session:?}");
    assert_eq!((session.ends_s, session.last_page.as_deref()), (3_800, Some("/inbox")));
    sessions.db.close()?;
    Ok(())
}
