//! Portals: statements with values for their parameters, and the rows that come of them.

use std::mem;
use std::rc::Rc;
use std::thread;
use std::time::Duration;

use bytes::{BufMut, BytesMut};
use lode_sqlite::{Console, Step};
use pgwire::messages::data::{FieldDescription, NoData, RowDescription};
use pgwire::messages::extendedquery::PortalSuspended;
use pgwire::messages::response::{CommandComplete, EmptyQueryResponse};
use rusqlite::types::Value;
use rusqlite::{CachedStatement, Row};

use crate::refusal::{CANCELED, CONFLICT, Refusal};
use crate::session::prepare::{Column, Prepared};
use crate::session::{Fail, Session, State};
use crate::sql::command::Command;
use crate::sql::settings::on_or_off;
use crate::types::Kind;
use crate::types::encode::{self, Form};

/// The most times that a statement by itself is carried out anew after a conflict.
const MOST_TRIES: u32 = 1_000;
/// The tries without a pause between them.
const QUICK_TRIES: u32 = 8;
/// The longest pause between two tries.
const MOST_PAUSE: Duration = Duration::from_millis(2);

/// A statement that has started.
struct Running<'c> {
    statement: CachedStatement<'c>,
    /// The first row, if it was looked at before it was wanted.
    first: Option<BytesMut>,
    /// True if no rows follow those that were returned.
    is_done: bool,
    rows: u64,
}

/// A statement with values for its parameters.
pub(crate) struct Portal<'c> {
    pub prepared: Rc<Prepared>,
    values: Vec<Value>,
    forms: Vec<Form>,
    /// The types of the columns.
    kinds: Vec<Option<Kind>>,
    running: Option<Running<'c>>,
    /// True if it has been carried out.
    is_done: bool,
}

impl<'c> Portal<'c> {
    /// Makes a portal. `forms` are none, one for all columns, or one for each.
    pub(super) fn new(prepared: Rc<Prepared>, values: Vec<Value>, forms: &[Form]) -> Self {
        let of = |at: usize| match forms {
            [] => Form::Text,
            [all] => *all,
            each => each.get(at).copied().unwrap_or(Form::Text),
        };
        let forms = (0..prepared.columns.len()).map(of).collect();
        let unknown = prepared.is_described.get().then_some(Kind::Text);
        let kinds = prepared.columns.iter().map(|column| column.kind.or(unknown)).collect();
        Self { prepared, values, forms, kinds, running: None, is_done: false }
    }

    /// Returns the description of the rows, if there are any.
    pub(super) fn description(&self) -> Option<RowDescription> {
        let columns = self.prepared.columns.iter().zip(&self.kinds).zip(&self.forms);
        let fields =
            columns.map(|((column, kind), form)| field(column, kind.unwrap_or(Kind::Text), *form));
        let fields: Vec<_> = fields.collect();
        (!fields.is_empty()).then(|| RowDescription::new(fields))
    }

    /// Returns the bytes of the values, and of the statement if nothing else keeps it.
    pub(super) fn bytes(&self) -> usize {
        let value_bytes = |value: &Value| match value {
            Value::Text(text) => text.len(),
            Value::Blob(bytes) => bytes.len(),
            Value::Null | Value::Integer(_) | Value::Real(_) => 0,
        };
        let values = self.values.iter().map(|value| size_of::<Value>() + value_bytes(value));
        let columns = self.kinds.len() * size_of::<Option<Kind>>();
        let is_last = Rc::strong_count(&self.prepared) == 1;
        values.sum::<usize>() + columns + if is_last { self.prepared.bytes() } else { 0 }
    }

    /// Returns the types of the columns.
    pub(super) fn kinds(&self) -> &[Option<Kind>] {
        &self.kinds
    }

    fn has_unknown(&self) -> bool {
        self.kinds.iter().any(Option::is_none)
    }

    /// Notes the types that the values of the first row have.
    fn learn(&mut self, values: &[Option<Kind>]) {
        for (kind, value) in self.kinds.iter_mut().zip(values) {
            *kind = kind.or(*value).or(Some(Kind::Text));
        }
    }
}

/// Returns the description of a column.
pub(super) fn field(column: &Column, kind: Kind, form: Form) -> FieldDescription {
    let code = i16::from(form == Form::Binary);
    let name = column.name.clone();
    let (table, place, modifier) =
        column.origin.map_or((0, 0, -1), |at| (at.table, at.column, at.modifier));
    FieldDescription::new(name, table, place, kind.oid(), kind.size(), modifier, code)
}

/// Appends the values of a row.
fn put_row(
    out: &mut BytesMut,
    row: &Row<'_>,
    kinds: &[Option<Kind>],
    forms: &[Form],
) -> Result<(), Refusal> {
    let start = out.len();
    out.put_u16(kinds.len() as u16);
    for (at, (kind, form)) in kinds.iter().zip(forms).enumerate() {
        encode::put(out, kind.unwrap_or(Kind::Text), *form, row.get_ref(at)?)?;
        encode::expect_sendable(out.len() - start)?;
    }
    Ok(())
}

impl<'c> Session<'c> {
    /// Describes the rows of a portal to the client. If their types are not known and the statement
    /// only reads, they are those of the first row.
    pub(super) fn describe(&mut self, portal: &mut Portal<'c>) -> Result<(), Fail> {
        if portal.has_unknown() && portal.prepared.only_reads && portal.running.is_none() {
            self.look_ahead(portal)?;
        }
        match portal.description() {
            Some(description) => self.output.put(&description)?,
            None => self.output.put(&NoData::new())?,
        }
        Ok(())
    }

    /// Does the work of a statement, which a request of the client, the statement's time and the
    /// end of the server can end. Work inside of other work is a part of it.
    pub(super) fn timed<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, Fail>,
    ) -> Result<T, Fail> {
        if self.switches.is_running() {
            return work(self);
        }
        self.switches.start(self.settings.statement_timeout());
        let done = work(self).map_err(|fail| self.ended(fail));
        self.switches.end();
        done
    }

    /// Returns the error of a statement with the reason why it was ended, if it was.
    pub(super) fn ended(&self, fail: Fail) -> Fail {
        match fail {
            Fail::Refused(refusal) if refusal.code == CANCELED && self.switches.is_off() => {
                self.switches.refusal().into()
            }
            fail => fail,
        }
    }

    /// Returns an error with what only the console knows of it.
    pub(super) fn explained(&self, error: rusqlite::Error) -> Refusal {
        Refusal::of_sqlite(&self.console.explain(error))
    }

    /// Starts the statement of a portal: gives SQLite its values.
    fn start(&mut self, portal: &mut Portal<'c>) -> Result<(), Refusal> {
        if !portal.prepared.only_reads {
            self.expect_writable()?;
        }
        self.refresh()?;
        let prepared = self.prepare_cached(&portal.prepared.text)?;
        let gone = || Refusal::new(crate::refusal::NO_TABLE, "the table has been dropped");
        let mut statement = prepared.ok_or_else(gone)?;
        for (at, value) in portal.values.iter().enumerate() {
            statement.raw_bind_parameter(at + 1, value)?;
        }
        // A table that was dropped and created anew may have others.
        if statement.column_count() != portal.kinds.len() {
            let line = "cached plan must not change result type; prepare the statement again";
            return Err(Refusal::new(crate::refusal::NOT_SUPPORTED, line));
        }
        portal.running = Some(Running { statement, first: None, is_done: false, rows: 0 });
        Ok(())
    }

    /// Starts the statement of a portal, for all of its rows.
    pub(super) fn start_copy(
        &mut self,
        portal: &mut Portal<'c>,
    ) -> Result<CachedStatement<'c>, Refusal> {
        self.start(portal)?;
        let gone = || Refusal::new(crate::refusal::INTERNAL, "the statement has not started");
        portal.running.take().map(|running| running.statement).ok_or_else(gone)
    }

    /// Looks at the first row before it is wanted, for the types of its values.
    fn look_ahead(&mut self, portal: &mut Portal<'c>) -> Result<(), Fail> {
        self.start(portal)?;
        let Some(mut running) = portal.running.take() else { return Ok(()) };
        let mut rows = running.statement.raw_query();
        match rows.next().map_err(|error| self.explained(error))? {
            Some(row) => {
                let count = portal.kinds.len();
                let values: Vec<_> = (0..count)
                    .map(|at| row.get_ref(at).map(Kind::of_value))
                    .collect::<Result<_, _>>()?;
                portal.learn(&values);
                let mut first = BytesMut::new();
                put_row(&mut first, row, &portal.kinds, &portal.forms)?;
                running.first = Some(first);
            }
            None => running.is_done = true,
        }
        keep_place(rows);
        portal.running = Some(running);
        Ok(())
    }

    /// Carries a portal out up to a number of rows, or further from where it stopped; 0 is all.
    pub(super) fn execute(&mut self, portal: &mut Portal<'c>, most: u64) -> Result<(), Fail> {
        let prepared = Rc::clone(&portal.prepared);
        self.expect_usable(&prepared.command)?;
        if matches!(prepared.command, Command::Other { .. } | Command::Copy(_)) {
            self.has_worked = true;
        }
        match &prepared.command {
            Command::Empty => return Ok(self.output.put(&EmptyQueryResponse::new())?),
            Command::Show { name } => return self.show(name),
            Command::Other { tag, .. } if prepared.is_own => return self.own(&prepared, tag),
            Command::Other { .. } => {}
            Command::Copy(copy) => return self.copy(copy),
            _ => {
                if let Some(tag) = self.control(&prepared)? {
                    self.output.put(&CommandComplete::new(tag.into()))?;
                }
                return Ok(());
            }
        }
        if portal.is_done {
            return self.complete(&prepared, 0);
        }
        let mut tries = 0;
        loop {
            let done = self.rows(portal, most);
            let Err(Fail::Refused(refusal)) = &done else { return done };
            if !self.may_repeat(refusal, portal, tries) {
                portal.running = None;
                return done;
            }
            portal.running = None;
            tries += 1;
        }
    }

    /// Returns true if a statement by itself can be carried out anew: another writer was quicker,
    /// and the client has got nothing of it.
    fn may_repeat(&self, refusal: &Refusal, portal: &Portal<'_>, tries: u32) -> bool {
        let sent = portal.running.as_ref().map_or(0, |running| running.rows);
        let is_repeated = refusal.code == CONFLICT
            && self.state == State::Idle
            && sent == 0
            && tries < MOST_TRIES
            && !self.switches.is_off();
        if is_repeated && tries >= QUICK_TRIES {
            thread::sleep((Duration::from_micros(20) * tries).min(MOST_PAUSE));
        }
        is_repeated
    }

    /// Sends rows. The portal keeps its place if more follow, and what it has sent if that fails.
    fn rows(&mut self, portal: &mut Portal<'c>, most: u64) -> Result<(), Fail> {
        if portal.running.is_none() {
            self.start(portal)?;
        }
        let Some(mut running) = portal.running.take() else { return Ok(()) };
        let sent = self.send_rows(portal, &mut running, most);
        let (rows, is_whole) = match sent {
            Ok(is_whole) => (running.rows, is_whole),
            Err(fail) => {
                portal.running = Some(running);
                return Err(fail);
            }
        };
        if is_whole {
            drop(running);
            portal.is_done = true;
            return self.complete(&Rc::clone(&portal.prepared), rows);
        }
        portal.running = Some(running);
        Ok(self.output.put(&PortalSuspended::new())?)
    }

    /// Sends rows, and returns true if there are no more.
    fn send_rows(
        &mut self,
        portal: &Portal<'c>,
        running: &mut Running<'c>,
        most: u64,
    ) -> Result<bool, Fail> {
        let Running { statement, first, is_done, rows: count } = running;
        let mut left = if most == 0 { u64::MAX } else { most };
        if let Some(row) = first.take() {
            self.output.put_with(b'D', |out| {
                out.put_slice(&row);
                Ok::<(), Refusal>(())
            })?;
            *count += 1;
            left -= 1;
        }
        if *is_done {
            return Ok(true);
        }
        let mut rows = statement.raw_query();
        while left > 0 {
            let next = rows.next().map_err(|error| self.explained(error))?;
            let Some(row) = next else { return Ok(true) };
            if let Err(fail) = self.send_row(portal, row) {
                if self.state == State::Idle && !portal.prepared.only_reads {
                    undo_statement(self.console, rows);
                }
                return Err(fail);
            }
            *count += 1;
            left -= 1;
        }
        keep_place(rows);
        Ok(false)
    }

    fn send_row(&mut self, portal: &Portal<'c>, row: &Row<'_>) -> Result<(), Fail> {
        self.output.put_with(b'D', |out| put_row(out, row, &portal.kinds, &portal.forms))?;
        self.send_if_much()?;
        if self.switches.is_off() { Err(self.switches.refusal().into()) } else { Ok(()) }
    }

    /// Reports to the client that a statement has ended.
    fn complete(&mut self, prepared: &Prepared, rows: u64) -> Result<(), Fail> {
        let Command::Other { tag, counts, defines } = &prepared.command else { return Ok(()) };
        if *defines {
            self.note_definition();
        }
        let tag = if *counts {
            let changed = || self.console.unguarded(rusqlite::Connection::changes);
            let has_rows = !prepared.columns.is_empty();
            format!("{tag} {}", if has_rows { rows } else { changed() })
        } else {
            (*tag).to_string()
        };
        Ok(self.output.put(&CommandComplete::new(tag))?)
    }

    /// Has the console carry out a statement.
    fn own(&mut self, prepared: &Prepared, tag: &str) -> Result<(), Fail> {
        self.expect_writable()?;
        self.refresh()?;
        let mut changed = 0;
        let done = self.console.run(&prepared.text, &mut |step| {
            if let Step::Changed(rows) = step {
                changed = rows;
            }
            Ok::<(), rusqlite::Error>(())
        });
        done.map_err(|error| self.explained(error))?;
        let Command::Other { counts, .. } = prepared.command else { return Ok(()) };
        // Cleared at once, a table is another one for open sessions.
        self.note_definition();
        let tag = if counts { format!("{tag} {changed}") } else { tag.into() };
        Ok(self.output.put(&CommandComplete::new(tag))?)
    }

    fn show(&mut self, name: &str) -> Result<(), Fail> {
        let value = match name {
            "transaction_read_only" => on_or_off(self.only_reads()).into(),
            name => self.settings.get(name)?,
        };
        self.output.put_with(b'D', |out| {
            out.put_u16(1);
            out.put_i32(value.len() as i32);
            out.put_slice(value.as_bytes());
            Ok::<(), Refusal>(())
        })?;
        Ok(self.output.put(&CommandComplete::new("SHOW".into()))?)
    }
}

/// Has SQLite undo a statement by itself that has changed rows. Dropped before its last row, it
/// would be committed.
fn undo_statement(console: &Console, mut rows: rusqlite::Rows<'_>) {
    console.interrupt_handle().interrupt();
    while let Ok(Some(_)) = rows.next() {}
}

/// Leaves a statement where it is: dropped, its rows would start anew.
fn keep_place(rows: rusqlite::Rows<'_>) {
    mem::forget(rows);
}
