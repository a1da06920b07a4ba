//! Extended queries: statements that are prepared, bound and carried out in messages of their own.

use std::rc::Rc;

use pgwire::messages::PgWireFrontendMessage;
use pgwire::messages::data::{NoData, ParameterDescription, RowDescription};
use pgwire::messages::extendedquery::{
    Bind, BindComplete, CloseComplete, Execute, Parse, ParseComplete, TARGET_TYPE_BYTE_STATEMENT,
};
use rusqlite::types::Value;

use crate::refusal::{self, Refusal};
use crate::session::control::no_statement;
use crate::session::execute::{Portal, field};
use crate::session::prepare::split;
use crate::session::{Fail, Session};
use crate::types::Kind;
use crate::types::decode;
use crate::types::encode::Form;

/// The most prepared statements, and the most portals, of a session.
const MOST_NAMES: usize = 10_000;
/// The bytes that they can have also where messages are short.
const LEAST_ROOM_BYTES: usize = 16 << 20;

impl Session<'_> {
    /// Carries out a message of the extended protocol.
    pub(super) fn extended(&mut self, message: PgWireFrontendMessage) -> Result<(), Fail> {
        match message {
            PgWireFrontendMessage::Parse(parse) => self.parse(parse),
            PgWireFrontendMessage::Bind(bind) => self.bind(bind),
            PgWireFrontendMessage::Describe(describe) => {
                let name = describe.name.unwrap_or_default();
                if describe.target_type == TARGET_TYPE_BYTE_STATEMENT {
                    self.describe_statement(&name)
                } else {
                    self.with_portal(&name, Session::describe)
                }
            }
            PgWireFrontendMessage::Execute(execute) => self.execute_portal(execute),
            PgWireFrontendMessage::Close(close) => {
                let name = close.name.unwrap_or_default();
                if close.target_type == TARGET_TYPE_BYTE_STATEMENT {
                    self.statements.remove(&name);
                } else {
                    self.portals.remove(&name);
                }
                Ok(self.output.put(&CloseComplete::new())?)
            }
            PgWireFrontendMessage::Flush(_) => Ok(self.send()?),
            // What is left of a COPY that has failed.
            PgWireFrontendMessage::CopyData(_)
            | PgWireFrontendMessage::CopyDone(_)
            | PgWireFrontendMessage::CopyFail(_) => Ok(()),
            _ => {
                let line = "a message came that makes no sense at this point";
                Err(Refusal::new(refusal::PROTOCOL, line).into())
            }
        }
    }

    fn parse(&mut self, parse: Parse) -> Result<(), Fail> {
        let name = parse.name.unwrap_or_default();
        if !name.is_empty() && self.statements.contains_key(&name) {
            let line = format!("prepared statement \"{name}\" already exists");
            return Err(Refusal::new(refusal::STATEMENT_EXISTS, line).into());
        }
        if self.statements.len() >= MOST_NAMES {
            let line = format!("a session can have {MOST_NAMES} prepared statements; close some");
            return Err(Refusal::new(refusal::TOO_MUCH_KEPT, line).into());
        }
        self.statements.remove(&name);
        let kept = self.statements.iter().map(|(name, prepared)| name.len() + prepared.bytes());
        let more = name.len() + parse.query.len();
        self.expect_room(kept.sum(), more, "prepared statements")?;
        let statements = split(&parse.query);
        if statements.len() > 1 {
            let line = "cannot insert multiple commands into a prepared statement";
            return Err(Refusal::new(refusal::SYNTAX, line).into());
        }
        let text = statements.first().map_or("", String::as_str);
        let prepared = self.prepare(text, &parse.type_oids)?;
        self.statements.insert(name, Rc::new(prepared));
        Ok(self.output.put(&ParseComplete::new())?)
    }

    /// Refuses to keep more than twice as many bytes as a message can have.
    fn expect_room(&self, kept: usize, more: usize, what: &str) -> Result<(), Refusal> {
        let most = (2 * self.input.most_bytes()).max(LEAST_ROOM_BYTES);
        if kept.saturating_add(more) <= most {
            return Ok(());
        }
        let line = format!("the {what} of a session can have {most} bytes; close some");
        Err(Refusal::new(refusal::TOO_MUCH_KEPT, line))
    }

    fn describe_statement(&mut self, name: &str) -> Result<(), Fail> {
        let prepared = self.statements.get(name).ok_or_else(|| no_statement(name))?;
        prepared.is_described.set(true);
        let oids = prepared.taken.iter().map(|taken| taken.oid);
        self.output.put(&ParameterDescription::new(oids.collect()))?;
        let columns = prepared.columns.iter();
        let fields =
            columns.map(|column| field(column, column.kind.unwrap_or(Kind::Text), Form::Text));
        let fields: Vec<_> = fields.collect();
        if fields.is_empty() {
            Ok(self.output.put(&NoData::new())?)
        } else {
            Ok(self.output.put(&RowDescription::new(fields))?)
        }
    }

    fn bind(&mut self, bind: Bind) -> Result<(), Fail> {
        let name = bind.statement_name.unwrap_or_default();
        let prepared = self.statements.get(&name).ok_or_else(|| no_statement(&name))?;
        let prepared = Rc::clone(prepared);
        self.expect_usable(&prepared.command)?;
        let portal = bind.portal_name.unwrap_or_default();
        if !portal.is_empty() && self.portals.contains_key(&portal) {
            let line = format!("portal \"{portal}\" already exists");
            return Err(Refusal::new(refusal::PORTAL_EXISTS, line).into());
        }
        if self.portals.len() >= MOST_NAMES {
            let line = format!("a session can have {MOST_NAMES} portals; close some");
            return Err(Refusal::new(refusal::TOO_MUCH_KEPT, line).into());
        }
        self.portals.remove(&portal);
        let kept = self.portals.iter().map(|(name, portal)| name.len() + portal.bytes());
        let more: usize = bind.parameters.iter().flatten().map(bytes::Bytes::len).sum();
        self.expect_room(kept.sum(), portal.len() + more, "portals")?;
        let count = prepared.taken.len();
        if bind.parameters.len() != count {
            let line = format!(
                "bind message supplies {} parameters, but prepared statement \"{name}\" requires \
                 {count}",
                bind.parameters.len()
            );
            return Err(Refusal::new(refusal::PROTOCOL, line).into());
        }
        let forms = forms(&bind.parameter_format_codes, count)?;
        let mut values = Vec::with_capacity(count);
        for (at, bytes) in bind.parameters.iter().enumerate() {
            values.push(match bytes {
                None => Value::Null,
                Some(bytes) => {
                    let form = match &forms[..] {
                        [] => Form::Text,
                        [all] => *all,
                        each => each[at],
                    };
                    decode::value(prepared.taken[at], form, bytes)?
                }
            });
        }
        let results = self::forms(&bind.result_column_format_codes, prepared.columns.len())?;
        self.portals.insert(portal, Portal::new(prepared, values, &results));
        Ok(self.output.put(&BindComplete::new())?)
    }

    fn execute_portal(&mut self, execute: Execute) -> Result<(), Fail> {
        let most = u64::try_from(execute.max_rows).unwrap_or(0);
        let name = execute.name.unwrap_or_default();
        self.with_portal(&name, |session, portal| session.execute(portal, most))
    }
}

impl<'c> Session<'c> {
    /// Works on a portal, which is gone if that fails.
    fn with_portal(
        &mut self,
        name: &str,
        work: impl FnOnce(&mut Self, &mut Portal<'c>) -> Result<(), Fail>,
    ) -> Result<(), Fail> {
        let mut portal = self.portals.remove(name).ok_or_else(|| {
            Refusal::new(refusal::NO_PORTAL, format!("portal \"{name}\" does not exist"))
        })?;
        work(self, &mut portal)?;
        self.portals.insert(name.into(), portal);
        Ok(())
    }
}

/// Returns forms by their codes: none, one for all, or one for each of `count`.
fn forms(codes: &[i16], count: usize) -> Result<Vec<Form>, Refusal> {
    if codes.len() > 1 && codes.len() != count {
        let line = format!("bind message has {} formats for {count} values", codes.len());
        return Err(Refusal::new(refusal::PROTOCOL, line));
    }
    let form = |code: &i16| match code {
        0 => Ok(Form::Text),
        1 => Ok(Form::Binary),
        other => Err(Refusal::new(refusal::PROTOCOL, format!("there is no format {other}"))),
    };
    codes.iter().map(form).collect()
}
