//! Statements that the session carries out itself: transactions and settings.

use pgwire::messages::startup::ParameterStatus;

use crate::refusal::{self, Refusal};
use crate::session::prepare::Prepared;
use crate::session::{Fail, Session, State};
use crate::sql::command::Command;

impl Session<'_> {
    /// Refuses all but the end of a transaction that has failed.
    pub(super) fn expect_usable(&self, command: &Command) -> Result<(), Refusal> {
        let ends = matches!(
            command,
            Command::Commit | Command::Rollback | Command::Savepoint { to: true } | Command::Empty
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
            Command::Savepoint { to } => self.savepoint(&prepared.text, *to)?,
            Command::Set { name, value } => {
                let told = self.settings.set(name, value.as_deref())?;
                if let Some((name, value)) = told {
                    self.output.put(&ParameterStatus::new(name.into(), value))?;
                }
                if value.is_none() { "RESET" } else { "SET" }
            }
            Command::SetTransaction { reads_only, is_lasting } => {
                self.set_transaction(*reads_only, *is_lasting)?;
                "SET"
            }
            Command::Reset { closes_statements } => {
                self.settings.reset();
                if *closes_statements {
                    self.statements.clear();
                    "DISCARD ALL"
                } else {
                    "RESET"
                }
            }
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

    fn set_transaction(
        &mut self,
        reads_only: Option<bool>,
        is_lasting: bool,
    ) -> Result<(), Refusal> {
        let Some(reads_only) = reads_only else { return Ok(()) };
        if is_lasting {
            let value = if reads_only { "on" } else { "off" };
            self.settings.set("default_transaction_read_only", Some(value))?;
        } else if self.state == State::Open {
            self.reads_only = reads_only;
        }
        Ok(())
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

    fn begin(&mut self, reads_only: bool) -> Result<&'static str, Fail> {
        if self.state == State::Open {
            let line = "there is already a transaction in progress";
            self.warn(refusal::ACTIVE_TRANSACTION, line)?;
            return Ok("BEGIN");
        }
        self.refresh()?;
        self.carry_out("BEGIN")?;
        self.state = State::Open;
        self.reads_only = reads_only || self.settings.reads_only();
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
        let done = self.carry_out("COMMIT");
        if done.is_err() && self.console.is_in_transaction() {
            self.carry_out("ROLLBACK")?;
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
        // SQLite ends it by itself after some errors.
        if self.console.is_in_transaction() {
            self.carry_out("ROLLBACK")?;
        }
        Ok("ROLLBACK")
    }

    fn savepoint(&mut self, text: &str, to: bool) -> Result<&'static str, Fail> {
        if self.state == State::Idle {
            let line = "savepoints can only be used in transaction blocks";
            return Err(Refusal::new(refusal::NO_TRANSACTION, line).into());
        }
        if !self.console.is_in_transaction() {
            let line = "the whole transaction was rolled back; end it with ROLLBACK";
            return Err(Refusal::new(refusal::FAILED_TRANSACTION, line).into());
        }
        if to {
            self.portals.clear();
        }
        self.carry_out(text)?;
        self.state = State::Open;
        let is_release =
            text.trim_start().get(..7).is_some_and(|word| word.eq_ignore_ascii_case("RELEASE"));
        Ok(match (to, is_release) {
            (true, _) => "ROLLBACK",
            (false, true) => "RELEASE",
            (false, false) => "SAVEPOINT",
        })
    }
}

/// Returns the error for a name that no prepared statement has.
pub(super) fn no_statement(name: &str) -> Refusal {
    let line = format!("prepared statement \"{name}\" does not exist");
    Refusal::new(refusal::NO_STATEMENT, line)
}
