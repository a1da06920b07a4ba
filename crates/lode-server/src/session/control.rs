//! Statements that the session carries out itself: transactions and settings.

use pgwire::messages::startup::ParameterStatus;

use crate::refusal::{self, Refusal};
use crate::session::prepare::Prepared;
use crate::session::{Fail, Session, State};
use crate::sql::command::{Command, Verb};
use crate::sql::quoted;
use crate::sql::settings::{Settings, on_or_off, switch};

impl Session<'_> {
    /// Refuses all but the end of a transaction that has failed.
    pub(super) fn expect_usable(&self, command: &Command) -> Result<(), Refusal> {
        let ends = matches!(
            command,
            Command::Commit
                | Command::Rollback
                | Command::Savepoint { verb: Verb::GoBack, .. }
                | Command::Empty
        );
        if self.state != State::Failed || ends {
            return Ok(());
        }
        Err(Refusal::new(
            refusal::FAILED_TRANSACTION,
            "current transaction is aborted, commands ignored until end of transaction block",
        ))
    }

    /// Carries out a statement of the session, and returns its tag; or `None` for a statement of
    /// another kind.
    pub(super) fn control(&mut self, prepared: &Prepared) -> Result<Option<&'static str>, Fail> {
        Ok(Some(match &prepared.command {
            Command::Begin { reads_only } => self.begin(*reads_only)?,
            Command::Commit => self.commit()?,
            Command::Rollback => self.roll_back()?,
            Command::Savepoint { verb, name } => self.savepoint(*verb, name)?,
            Command::Set { name, value } if name == "transaction_read_only" => {
                self.set_reading(value.as_deref())?
            }
            Command::Set { name, value } => {
                let told = self.settings.set(name, value.as_deref())?;
                if let Some((name, value)) = told {
                    self.output.put(&ParameterStatus::new(name.into(), value))?;
                }
                if value.is_none() { "RESET" } else { "SET" }
            }
            Command::SetTransaction { reads_only, is_lasting } => {
                if let Some(reads_only) = *reads_only {
                    self.set_transaction(reads_only, *is_lasting)?;
                }
                "SET"
            }
            Command::Reset { discards: false } => {
                self.reset()?;
                "RESET"
            }
            Command::Reset { discards: true } => {
                self.discard()?;
                "DISCARD ALL"
            }
            Command::ClosePortals => {
                self.portals.clear();
                "CLOSE CURSOR ALL"
            }
            Command::Unlisten => "UNLISTEN",
            Command::Deallocate { name: None } => {
                self.statements.clear();
                "DEALLOCATE ALL"
            }
            Command::Deallocate { name: Some(name) } => {
                let closed = self.statements.remove(name);
                closed.ok_or_else(|| no_statement(name))?;
                "DEALLOCATE"
            }
            Command::Empty | Command::Show { .. } | Command::Copy(_) | Command::Other { .. } => {
                return Ok(None);
            }
        }))
    }

    /// Returns true if a statement may not write now.
    pub(super) fn only_reads(&self) -> bool {
        match self.state {
            State::Idle => self.settings.reads_only(),
            State::Open | State::Failed => self.reads_only,
        }
    }

    /// Refuses to write where a statement may not.
    pub(super) fn expect_writable(&self) -> Result<(), Refusal> {
        if self.only_reads() {
            let line = "cannot write in a read-only transaction";
            return Err(Refusal::new(refusal::READ_ONLY, line));
        }
        Ok(())
    }

    /// Sets `transaction_read_only`, and returns the tag.
    fn set_reading(&mut self, value: Option<&str>) -> Result<&'static str, Fail> {
        let Some(value) = value else {
            self.set_transaction(self.settings.reads_only(), false)?;
            return Ok("RESET");
        };
        let reads_only = switch(value).ok_or_else(|| {
            let line = format!(
                "invalid value for parameter \"transaction_read_only\": \"{value}\"; it takes on \
                 or off"
            );
            Refusal::new(refusal::INVALID_SETTING, line)
        })?;
        self.set_transaction(reads_only, false)?;
        Ok("SET")
    }

    fn set_transaction(&mut self, reads_only: bool, is_lasting: bool) -> Result<(), Fail> {
        if is_lasting {
            let name = "default_transaction_read_only";
            self.settings.set(name, Some(on_or_off(reads_only)))?;
            return Ok(());
        }
        self.settings.expect_writable(reads_only)?;
        if self.state == State::Idle {
            let line = "SET TRANSACTION can only be used in transaction blocks";
            return self.warn(refusal::NO_TRANSACTION, line);
        }
        if self.reads_only && !reads_only && self.has_worked {
            let line = "transaction read-write mode must be set before any query";
            return Err(Refusal::new(refusal::ACTIVE_TRANSACTION, line).into());
        }
        self.reads_only = reads_only;
        Ok(())
    }

    /// Sets all values of the start, and reports those that the client follows.
    fn reset(&mut self) -> Result<(), Fail> {
        let texts = |settings: &Settings| settings.reported().collect::<Vec<_>>();
        let before = texts(&self.settings);
        self.settings.reset();
        for (old, (name, value)) in before.into_iter().zip(texts(&self.settings)) {
            if old.1 != value {
                self.output.put(&ParameterStatus::new(name.into(), value))?;
            }
        }
        Ok(())
    }

    /// Makes the session what it was at its start.
    fn discard(&mut self) -> Result<(), Fail> {
        if self.state != State::Idle {
            let line = "DISCARD ALL cannot run inside a transaction block";
            return Err(Refusal::new(refusal::ACTIVE_TRANSACTION, line).into());
        }
        self.portals.clear();
        self.statements.clear();
        self.console.drop_temporary()?;
        self.reset()
    }

    fn warn(&mut self, code: &'static str, line: &str) -> Result<(), Fail> {
        Ok(self.output.put(&Refusal::new(code, line).warning())?)
    }

    /// Has SQLite carry out a statement without parameters and rows.
    pub(super) fn carry_out(&self, text: &str) -> Result<(), Refusal> {
        if let Some(mut statement) = self.console.prepare(text)? {
            statement.execute([])?;
        }
        Ok(())
    }

    /// Rolls back what is left of a transaction, whatever time it takes. SQLite ends it by itself
    /// after some errors.
    pub(super) fn undo(&self) -> Result<(), Refusal> {
        self.switches.end();
        if self.console.is_in_transaction() { self.carry_out("ROLLBACK") } else { Ok(()) }
    }

    fn begin(&mut self, reads_only: Option<bool>) -> Result<&'static str, Fail> {
        if self.state == State::Open {
            let line = "there is already a transaction in progress";
            self.warn(refusal::ACTIVE_TRANSACTION, line)?;
            return Ok("BEGIN");
        }
        let reads_only = reads_only.unwrap_or(self.settings.reads_only());
        self.settings.expect_writable(reads_only)?;
        self.refresh()?;
        self.carry_out("BEGIN")?;
        self.state = State::Open;
        (self.reads_only, self.has_worked) = (reads_only, false);
        Ok("BEGIN")
    }

    fn commit(&mut self) -> Result<&'static str, Fail> {
        match self.state {
            State::Failed => return self.roll_back(),
            State::Idle => {
                let line = "there is no transaction in progress";
                self.warn(refusal::NO_TRANSACTION, line)?;
                return Ok("COMMIT");
            }
            State::Open => {}
        }
        self.portals.clear();
        self.state = State::Idle;
        self.reads_only = false;
        let done = self.carry_out("COMMIT").map_err(|refusal| self.ended(refusal.into()));
        if done.is_err() {
            self.undo()?;
        }
        done?;
        Ok("COMMIT")
    }

    fn roll_back(&mut self) -> Result<&'static str, Fail> {
        if self.state == State::Idle {
            self.warn(refusal::NO_TRANSACTION, "there is no transaction in progress")?;
            return Ok("ROLLBACK");
        }
        self.portals.clear();
        self.state = State::Idle;
        self.reads_only = false;
        self.undo()?;
        Ok("ROLLBACK")
    }

    fn savepoint(&mut self, verb: Verb, name: &str) -> Result<&'static str, Fail> {
        if self.state == State::Idle {
            let line = "savepoints can only be used in transaction blocks";
            return Err(Refusal::new(refusal::NO_TRANSACTION, line).into());
        }
        if !self.console.is_in_transaction() {
            let line = "the whole transaction was rolled back; end it with ROLLBACK";
            return Err(Refusal::new(refusal::FAILED_TRANSACTION, line).into());
        }
        let (text, tag) = match verb {
            Verb::Set => ("SAVEPOINT", "SAVEPOINT"),
            Verb::Release => ("RELEASE", "RELEASE"),
            Verb::GoBack => ("ROLLBACK TO", "ROLLBACK"),
        };
        if verb == Verb::GoBack {
            self.portals.clear();
        }
        self.carry_out(&format!("{text} {}", quoted(name)))?;
        self.state = State::Open;
        Ok(tag)
    }
}

/// Returns the error for a name that no prepared statement has.
pub(super) fn no_statement(name: &str) -> Refusal {
    let line = format!("prepared statement \"{name}\" does not exist");
    Refusal::new(refusal::NO_STATEMENT, line)
}
