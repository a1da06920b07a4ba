//! A connection, and what a user has told it so far.

use std::time::Instant;

use lode::Database;
use program_support::exit::{Failure, Outcome};
use program_support::output::print;
use rusqlite::fallible_iterator::FallibleIterator;
use rusqlite::{Batch, Connection, Error, InterruptHandle};

use super::definitions::Definition;
use super::dot::Command;
use super::rows;
use crate::cli::sql::RowFormat;

/// A session of SQL on a database.
pub(super) struct Session {
    pub db: Database,
    connection: Connection,
    pub format: RowFormat,
    pub is_timed: bool,
    /// Lines of a statement that has not ended.
    text: String,
}

/// What comes after a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    Line,
    Quit,
}

/// An error of SQLite in a line.
pub(super) fn line_of(error: &Error) -> String {
    match error {
        Error::SqlInputError { msg, .. } => msg.clone(),
        Error::SqliteFailure(_, Some(why)) => why.clone(),
        other => other.to_string(),
    }
}

impl Session {
    pub(super) fn new(db: &Database, format: RowFormat) -> Outcome<Self> {
        let connection = Connection::open_in_memory().and_then(|connection| {
            lode_sqlite::attach(&connection, db)?;
            Ok(connection)
        });
        let connection = connection.map_err(|error| Failure::Refused(line_of(&error)))?;
        let text = String::new();
        Ok(Self { db: db.clone(), connection, format, is_timed: false, text })
    }

    /// Whether the next line begins a statement.
    pub(super) fn is_at_start(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// What has come of a statement that has not ended, which begins again.
    pub(super) fn take_rest(&mut self) -> String {
        std::mem::take(&mut self.text)
    }

    /// Takes a line: a command with a dot, or a part of a statement. What is whole is run.
    ///
    /// # Errors
    /// What is wrong, in a line.
    pub(super) fn take_line(&mut self, line: &str) -> Result<Next, String> {
        if self.is_at_start() && line.trim_start().starts_with('.') {
            return Command::parse(line)?.carry_out(self);
        }
        self.text += line;
        self.text.push('\n');
        if lode_sqlite::is_complete(&self.text) {
            let text = self.take_rest();
            self.run(&text)?;
        }
        Ok(Next::Line)
    }

    /// Runs statements, and shows their rows.
    ///
    /// # Errors
    /// What is wrong with the first that fails, in a line.
    pub(super) fn run(&mut self, text: &str) -> Result<(), String> {
        if let Some(definition) = Definition::of(text) {
            return self.timed(|session| definition.carry_out(&session.connection));
        }
        self.timed(|session| {
            let mut batch = Batch::new(&session.connection, text);
            while let Some(mut statement) = batch.next().map_err(|error| line_of(&error))? {
                rows::show(&mut statement, session.format)?;
            }
            Ok(())
        })
    }

    fn timed(&self, work: impl FnOnce(&Self) -> Result<(), String>) -> Result<(), String> {
        let start = Instant::now();
        work(self)?;
        if self.is_timed {
            let line = format!("{:.3} ms\n", start.elapsed().as_secs_f64() * 1e3);
            print(&line).map_err(|failure| failure.line().unwrap_or_default().to_string())?;
        }
        Ok(())
    }

    /// What ends the statement that runs, from another thread. If that writes in a transaction,
    /// SQLite undoes all of the transaction.
    pub(super) fn interrupter(&self) -> InterruptHandle {
        self.connection.get_interrupt_handle()
    }

    /// Whether a transaction has begun.
    pub(super) fn is_in_transaction(&self) -> bool {
        !self.connection.is_autocommit()
    }

    /// Ends it, if all that was begun has been committed.
    pub(super) fn end(&self) -> Outcome {
        match self.is_in_transaction() {
            false => Ok(()),
            true => Err(Failure::Wrong(
                "the transaction was not committed, so nothing of it happened; end it with COMMIT"
                    .into(),
            )),
        }
    }
}
