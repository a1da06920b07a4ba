//! A client's session: its statements and portals, its transaction, and the messages between them.

mod control;
mod copy;
mod execute;
mod extended;
mod prepare;
mod simple;
pub(crate) mod switches;

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use lode_sqlite::Console;
use pgwire::messages::PgWireFrontendMessage;
use pgwire::messages::response::{ReadyForQuery, TransactionStatus};

use crate::catalogue::Catalogue;
use crate::protocol::input::{Incoming, Input, Lost};
use crate::protocol::output::{Closed, Output};
use crate::refusal::{self, Refusal};
use crate::session::execute::Portal;
use crate::session::prepare::Prepared;
use crate::session::switches::Switches;
use crate::sql::settings::Settings;

/// The state that sessions share.
#[derive(Debug, Default)]
pub(crate) struct Common {
    /// The number of times that tables have been created or dropped.
    pub definitions: AtomicU64,
    /// True from the moment at which the server is asked to end.
    pub is_ending: AtomicBool,
}

impl Common {
    pub(crate) fn is_ending(&self) -> bool {
        self.is_ending.load(Ordering::SeqCst)
    }
}

/// The reason why a message is not carried out.
#[derive(Debug)]
enum Fail {
    /// The client gets the reason, and the session continues.
    Refused(Refusal),
    /// The client takes no more messages.
    Closed,
}

impl From<Refusal> for Fail {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<Closed> for Fail {
    fn from(_: Closed) -> Self {
        Self::Closed
    }
}

impl From<rusqlite::Error> for Fail {
    fn from(error: rusqlite::Error) -> Self {
        Self::Refused(error.into())
    }
}

/// The state of the transaction, as the client knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle,
    Open,
    /// A statement has failed, and only the end of the transaction is taken.
    Failed,
}

/// A session on a console.
pub(crate) struct Session<'c> {
    console: &'c Console,
    common: &'c Common,
    switches: Arc<Switches>,
    input: Input,
    output: Output,
    settings: Settings,
    catalogue: Catalogue,
    state: State,
    /// True if the transaction only reads.
    reads_only: bool,
    /// True if the transaction has carried out a statement.
    has_worked: bool,
    statements: HashMap<String, Rc<Prepared>>,
    portals: HashMap<String, Portal<'c>>,
    /// True after an error, up to the next `Sync`.
    skips: bool,
    /// The definitions that the console shows.
    definitions: u64,
    /// Not less than the bytes of the texts of statements that SQLite keeps.
    cached_bytes: usize,
}

impl<'c> Session<'c> {
    pub(crate) fn new(
        console: &'c Console,
        common: &'c Common,
        switches: Arc<Switches>,
        settings: Settings,
        catalogue: Catalogue,
        input: Input,
        output: Output,
    ) -> Self {
        Self {
            console,
            common,
            switches,
            input,
            output,
            settings,
            catalogue,
            state: State::Idle,
            reads_only: false,
            has_worked: false,
            statements: HashMap::new(),
            portals: HashMap::new(),
            skips: false,
            definitions: 0,
            cached_bytes: 0,
        }
    }

    /// Carries messages out until the client or the server ends the session. An open transaction
    /// is rolled back.
    pub(crate) fn run(mut self) {
        let lost = loop {
            if self.common.is_ending() {
                break Lost::Ending;
            }
            let message = match self.input.next(&|| self.common.is_ending()) {
                Ok(Incoming::Message(PgWireFrontendMessage::Terminate(_))) => return,
                Ok(message) => message,
                Err(lost) => break lost,
            };
            match self.take(message) {
                Ok(()) => {
                    if self.send_if_much().is_err() {
                        return;
                    }
                }
                Err(Fail::Closed) => return,
                Err(Fail::Refused(refusal)) if refusal.code == refusal::ENDING => {
                    break Lost::Ending;
                }
                Err(Fail::Refused(refusal)) => {
                    // Some clients end their messages by Sync only after they have got the error.
                    if self.put_error(&refusal).and_then(|()| self.send()).is_err() {
                        return;
                    }
                }
            }
        };
        let last = match lost {
            Lost::Gone => return,
            Lost::Ending => Refusal::new(refusal::ENDING, "the server is ending"),
            Lost::Protocol(why) => Refusal::new(refusal::PROTOCOL, why),
        };
        self.output.last(&last.message(true), &|| self.common.is_ending());
    }

    fn send(&mut self) -> Result<(), Closed> {
        self.output.send(&|| self.common.is_ending())
    }

    fn send_if_much(&mut self) -> Result<(), Closed> {
        self.output.send_if_much(&|| self.common.is_ending())
    }

    /// Reports an error to the client, after which its transaction has failed.
    fn put_error(&mut self, refusal: &Refusal) -> Result<(), Closed> {
        if self.state == State::Open {
            self.state = State::Failed;
        }
        self.output.put(&refusal.message(false))
    }

    /// Reports to the client that it can send the next query.
    fn put_ready(&mut self) -> Result<(), Closed> {
        let is_in_transaction = self.console.is_in_transaction();
        // SQLite ends a transaction by itself after some errors, after which it has failed.
        assert!(
            self.state == State::Failed || is_in_transaction == (self.state == State::Open),
            "the transaction is {:?} for the client",
            self.state
        );
        let status = match self.state {
            State::Idle => TransactionStatus::Idle,
            State::Open => TransactionStatus::Transaction,
            State::Failed => TransactionStatus::Error,
        };
        self.output.put(&ReadyForQuery::new(status))?;
        self.send()
    }

    fn take(&mut self, message: Incoming) -> Result<(), Fail> {
        if self.state == State::Idle {
            self.catalogue.note_start();
        }
        let done = match message {
            Incoming::Message(PgWireFrontendMessage::Query(query)) => {
                self.skips = false;
                return self.simple(&query.query);
            }
            Incoming::Message(PgWireFrontendMessage::Sync(_)) => {
                self.skips = false;
                if self.state == State::Idle {
                    self.portals.clear();
                }
                return Ok(self.put_ready()?);
            }
            Incoming::NotUtf8(b'Q') => {
                self.skips = false;
                self.put_error(&Refusal::new(refusal::NOT_UTF8, "the query is not UTF-8"))?;
                return Ok(self.put_ready()?);
            }
            _ if self.skips => return Ok(()),
            Incoming::NotUtf8(_) => {
                Err(Refusal::new(refusal::NOT_UTF8, "a text of the message is not UTF-8").into())
            }
            Incoming::Message(message) => self.timed(|session| session.extended(message)),
        };
        self.skips = done.is_err();
        done
    }

    /// Shows tables that other sessions have created, where nothing is running.
    fn refresh(&mut self) -> Result<(), Refusal> {
        let definitions = self.common.definitions.load(Ordering::SeqCst);
        let is_free = self.portals.is_empty() && !self.console.is_in_transaction();
        if definitions != self.definitions && is_free {
            self.console.refresh()?;
            self.definitions = definitions;
        }
        Ok(())
    }

    /// Makes the catalogue show the tables that there are.
    fn fill_catalogue(&mut self) -> Result<(), Refusal> {
        let definitions = self.common.definitions.load(Ordering::SeqCst);
        let db = self.console.database();
        let catalogue = &mut self.catalogue;
        let fill = |connection: &_| catalogue.fill(connection, db, definitions);
        Ok(self.console.unguarded(fill)?)
    }

    /// Notes that this session has created or dropped something, which its console knows.
    fn note_definition(&mut self) {
        let before = self.common.definitions.fetch_add(1, Ordering::SeqCst);
        if before == self.definitions {
            self.definitions = before + 1;
        }
    }
}
