//! A console, and the settings that its user has changed.

use std::time::Instant;

use lode::Database;
use lode_sqlite::{Console, Script, Step};
use program_support::exit::{Failure, Outcome};
use program_support::output::print;
use rusqlite::{Error, InterruptHandle};

use super::dot::Command;
use super::rows;
use crate::cli::sql::RowFormat;
use crate::commands::backup::copied;

/// A session of SQL on a database.
pub(super) struct Session {
    pub db: Database,
    console: Console,
    pub format: RowFormat,
    pub is_timed: bool,
    /// True if the number of rows that a statement has changed is shown.
    pub counts_changes: bool,
    /// Lines of a statement that has not ended.
    script: Script,
    /// The number of files that are being read, one in the other.
    pub files: usize,
}

/// The next step after a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    Line,
    Quit,
}

/// Returns the line for an error of SQLite.
pub(super) fn line_of(error: &Error) -> String {
    match error {
        Error::SqlInputError { msg, .. } => msg.clone(),
        Error::SqliteFailure(_, Some(why)) => why.clone(),
        other => other.to_string(),
    }
}

/// The reason why a statement failed, in a line.
struct Why(String);

impl From<Error> for Why {
    fn from(error: Error) -> Self {
        Self(line_of(&error))
    }
}

/// Prints a line of a session.
///
/// # Errors
/// The error of standard output, in a line.
pub(super) fn tell(text: &str) -> Result<(), String> {
    print(text).map_err(|failure| failure.line().unwrap_or_default().to_string())
}

impl Session {
    pub(super) fn new(db: &Database, format: RowFormat) -> Outcome<Self> {
        let console = Console::new(db).map_err(|error| Failure::Refused(line_of(&error)))?;
        Ok(Self {
            db: db.clone(),
            console,
            format,
            is_timed: false,
            counts_changes: false,
            script: Script::default(),
            files: 0,
        })
    }

    /// Returns the tables that SQL cannot show.
    pub(super) fn hidden(&self) -> Vec<lode_sqlite::HiddenTable> {
        self.console.hidden()
    }

    /// Returns true if the next line starts a statement.
    pub(super) fn is_at_start(&self) -> bool {
        self.script.is_blank()
    }

    /// Takes the text of a statement that has not ended. The next line starts a new one.
    pub(super) fn take_rest(&mut self) -> String {
        self.script.take_rest()
    }

    /// Takes the place of the statement that has not ended.
    pub(super) fn set_aside(&mut self, script: Script) -> Script {
        std::mem::replace(&mut self.script, script)
    }

    /// Takes a line: a command with a dot, or a part of a statement. What is whole is run.
    ///
    /// # Errors
    /// The fault, in a line.
    pub(super) fn take_line(&mut self, line: &str) -> Result<Next, String> {
        if self.is_at_start() && line.trim_start().starts_with('.') {
            return Command::parse(line)?.carry_out(self);
        }
        self.script.push(line);
        self.script.push("\n");
        while let Some(statement) = self.script.next_statement() {
            let done = self.run(&statement);
            done.inspect_err(|_| drop(self.script.take_rest()))?;
        }
        Ok(Next::Line)
    }

    /// Runs statements, and shows their rows.
    ///
    /// # Errors
    /// The fault of the first that fails, in a line.
    pub(super) fn run(&self, text: &str) -> Result<(), String> {
        let start = Instant::now();
        let shown = self.console.run::<Why>(text, &mut |step| match step {
            Step::Rows(statement) => rows::show(statement, self.format).map_err(Why),
            Step::Changed(1) if self.counts_changes => tell("1 row changed\n").map_err(Why),
            Step::Changed(count) if self.counts_changes => {
                tell(&format!("{count} rows changed\n")).map_err(Why)
            }
            Step::BackedUp(done) if self.counts_changes => tell(&copied(&done)).map_err(Why),
            Step::Changed(_) | Step::Compacted(_) | Step::BackedUp(_) => Ok(()),
        });
        shown.map_err(|Why(why)| why)?;
        if self.is_timed {
            tell(&format!("{:.3} ms\n", start.elapsed().as_secs_f64() * 1e3))
        } else {
            Ok(())
        }
    }

    /// Returns a handle that ends the running statement from another thread. If that writes in a
    /// transaction, SQLite undoes all of the transaction.
    pub(super) fn interrupter(&self) -> InterruptHandle {
        self.console.interrupt_handle()
    }

    /// Returns true inside a transaction.
    pub(super) fn is_in_transaction(&self) -> bool {
        self.console.is_in_transaction()
    }

    /// Ends it, unless a transaction is not committed.
    pub(super) fn end(&self) -> Outcome {
        if self.is_in_transaction() {
            Err(Failure::Wrong(
                "the transaction was not committed, so nothing of it happened; end it with COMMIT"
                    .into(),
            ))
        } else {
            Ok(())
        }
    }
}
