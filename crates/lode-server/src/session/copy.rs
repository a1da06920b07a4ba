//! Rows that are copied from and to a client.

use std::cell::Cell;
use std::rc::Rc;

use bytes::BytesMut;
use pgwire::messages::PgWireFrontendMessage;
use pgwire::messages::copy::{CopyDone, CopyInResponse, CopyOutResponse};
use pgwire::messages::response::CommandComplete;
use rusqlite::Row;
use rusqlite::types::Value;

use crate::copy::read::Reader;
use crate::copy::write::put_line;
use crate::copy::{Field, binary};
use crate::protocol::input::{Incoming, Lost};
use crate::refusal::{self, NO_TABLE, Refusal};
use crate::session::execute::Portal;
use crate::session::prepare::{Prepared, Tables};
use crate::session::{Fail, Session, State};
use crate::sql::copy::{Copy, Rows};
use crate::sql::quoted;
use crate::types::encode::Form;
use crate::types::{Kind, decode};

/// The columns that rows are copied into, and how many rows were.
struct Target<'s> {
    statement: rusqlite::CachedStatement<'s>,
    kinds: Vec<Kind>,
    is_binary: bool,
    /// True if the next line is the header.
    skips: bool,
    rows: u64,
}

/// The fault of a line: its own, or one of its values.
enum LineFault {
    Text(String),
    Refused(Refusal),
}

impl From<String> for LineFault {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

/// A reader of the rows that a client sends.
enum Incomplete {
    Lines(Reader),
    Binary(binary::Reader),
}

impl Incomplete {
    fn take(&mut self, piece: &[u8], target: &mut Target<'_>) -> Result<(), LineFault> {
        let mut insert = |fields: &[Field]| target.insert(fields);
        match self {
            Self::Lines(reader) => reader.take(piece, &mut insert),
            Self::Binary(reader) => reader.take(piece, &mut insert),
        }
    }

    fn end(&mut self, target: &mut Target<'_>) -> Result<(), LineFault> {
        match self {
            Self::Lines(reader) => reader.end(&mut |fields| target.insert(fields)),
            Self::Binary(reader) => reader.end().map_err(LineFault::Text),
        }
    }
}

/// Returns the query whose rows a `COPY` sends.
fn copy_source(copy: &Copy) -> String {
    match &copy.rows {
        Rows::Query(text) => text.clone(),
        Rows::Table { name, columns } => {
            let list: Vec<_> = columns.iter().map(|name| quoted(name)).collect();
            let list = if list.is_empty() { "*".into() } else { list.join(", ") };
            format!("SELECT {list} FROM {}", quoted(name))
        }
    }
}

impl Target<'_> {
    fn insert(&mut self, fields: &[Field]) -> Result<(), LineFault> {
        if std::mem::take(&mut self.skips) {
            return Ok(());
        }
        if fields.len() != self.kinds.len() {
            let found = fields.len();
            let count = self.kinds.len();
            return Err(LineFault::Text(format!("it has {found} fields for {count} columns")));
        }
        for (at, (field, kind)) in fields.iter().zip(&self.kinds).enumerate() {
            let value = match field {
                None => Value::Null,
                Some(bytes) if self.is_binary => {
                    let value = decode::value((*kind).into(), Form::Binary, bytes);
                    value.map_err(LineFault::Refused)?
                }
                Some(bytes) => {
                    let text = str::from_utf8(bytes);
                    let text = text.map_err(|_| String::from("it is not UTF-8"))?;
                    decode::of_text(*kind, text).map_err(LineFault::Refused)?
                }
            };
            let bound = self.statement.raw_bind_parameter(at + 1, value);
            bound.map_err(|error| LineFault::Refused(error.into()))?;
        }
        let done = self.statement.raw_execute();
        done.map_err(|error| LineFault::Refused(error.into()))?;
        self.rows += 1;
        Ok(())
    }

    /// Adds the number of the line to its fault.
    fn fault(&self, fault: LineFault) -> Refusal {
        let line = self.rows + 1;
        match fault {
            LineFault::Text(why) => Refusal::new("22P04", format!("row {line}: {why}")),
            LineFault::Refused(Refusal { code, line: why }) => {
                Refusal::new(code, format!("row {line}: {why}"))
            }
        }
    }
}

impl<'c> Session<'c> {
    /// Carries a `COPY` out.
    pub(super) fn copy(&mut self, copy: &Copy) -> Result<(), Fail> {
        let rows = if copy.is_from { self.copy_from(copy)? } else { self.copy_to(copy)? };
        Ok(self.output.put(&CommandComplete::new(format!("COPY {rows}")))?)
    }

    fn copy_to(&mut self, copy: &Copy) -> Result<u64, Fail> {
        let prepared = Rc::new(self.prepare(&copy_source(copy), &[])?);
        if prepared.columns.is_empty() || !prepared.only_reads || !prepared.taken.is_empty() {
            let line = "COPY TO needs a table, or a query without parameters";
            return Err(Refusal::new(refusal::NOT_SUPPORTED, line).into());
        }
        let count = prepared.columns.len();
        let form = i8::from(copy.format.is_binary);
        let forms = vec![form.into(); count];
        self.output.put(&CopyOutResponse::new(form, count as i16, forms))?;
        if copy.format.has_header {
            self.put_header(copy, &prepared)?;
        }
        let format = &copy.format;
        // As PostgreSQL does, the header comes with what follows it.
        let has_started = Cell::new(false);
        let start = |out: &mut BytesMut| {
            if !has_started.replace(true) {
                binary::put_header(out);
            }
        };
        let mut portal: Portal<'c> = Portal::new(prepared, Vec::new(), &[]);
        let rows = self.each_row(&mut portal, |out, row, kinds| {
            let fields = kinds.iter().enumerate().map(|(at, kind)| {
                let value = row.get_ref(at).unwrap_or(rusqlite::types::ValueRef::Null);
                (kind.unwrap_or(Kind::Text), value)
            });
            if format.is_binary {
                start(out);
                binary::put_row(out, kinds.len(), fields)
            } else {
                put_line(out, format, fields)
            }
        })?;
        if format.is_binary {
            self.output.put_with(b'd', |out| {
                start(out);
                binary::put_end(out);
                Ok::<(), Refusal>(())
            })?;
        }
        self.output.put(&CopyDone::new())?;
        Ok(rows)
    }

    fn put_header(&mut self, copy: &Copy, prepared: &Prepared) -> Result<(), Refusal> {
        let names = prepared
            .columns
            .iter()
            .map(|column| (Kind::Text, rusqlite::types::ValueRef::Text(column.name.as_bytes())));
        self.output.put_with(b'd', |out| put_line(out, &copy.format, names))
    }

    fn copy_from(&mut self, copy: &Copy) -> Result<u64, Fail> {
        self.expect_writable()?;
        let (text, kinds) = self.copy_target(copy)?;
        let gone = || Refusal::new(NO_TABLE, "the table has been dropped");
        let statement = self.prepare_cached(&text)?.ok_or_else(gone)?;
        let is_binary = copy.format.is_binary;
        let target = Target { statement, kinds, is_binary, skips: copy.format.has_header, rows: 0 };
        // All rows or none, also outside of a transaction.
        let is_alone = self.state == State::Idle;
        if is_alone {
            self.carry_out("BEGIN")?;
        }
        let mut copied = self.receive(copy, target);
        if is_alone {
            copied = copied.and_then(|rows| Ok(self.carry_out("COMMIT").map(|()| rows)?));
            copied = copied.map_err(|fail| self.ended(fail));
            self.undo()?;
        }
        copied
    }

    /// Checks what a `COPY` names, before it starts.
    pub(super) fn check_copy(&mut self, copy: &Copy) -> Result<(), Refusal> {
        if copy.is_from {
            self.copy_target(copy).map(drop)
        } else {
            self.prepare(&copy_source(copy), &[]).map(drop)
        }
    }

    /// Returns the statement that inserts a row, and the types of its parameters.
    fn copy_target(&mut self, copy: &Copy) -> Result<(String, Vec<Kind>), Refusal> {
        let Rows::Table { name, columns } = &copy.rows else {
            return Err(Refusal::new(refusal::SYNTAX, "COPY FROM needs a table"));
        };
        self.refresh()?;
        let missing = || Refusal::new(NO_TABLE, format!("no such table: {name}"));
        let known = Tables::of(self.console.database()).columns(name).ok_or_else(missing)?;
        let named = |name: &String| {
            let found = known.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
            let missing = || Refusal::new("42703", format!("no such column: {name}"));
            found.cloned().ok_or_else(missing)
        };
        let chosen = if columns.is_empty() {
            known.clone()
        } else {
            columns.iter().map(named).collect::<Result<_, _>>()?
        };
        let list = chosen.iter().map(|(name, _)| quoted(name)).collect::<Vec<_>>().join(", ");
        let places = vec!["?"; chosen.len()].join(", ");
        let text = format!("INSERT INTO {} ({list}) VALUES ({places})", quoted(name));
        Ok((text, chosen.into_iter().map(|(_, kind)| kind).collect()))
    }

    /// Receives rows up to the end that the client says.
    fn receive(&mut self, copy: &Copy, mut target: Target<'_>) -> Result<u64, Fail> {
        let count = target.kinds.len();
        let form = i8::from(copy.format.is_binary);
        self.output.put(&CopyInResponse::new(form, count as i16, vec![form.into(); count]))?;
        self.send()?;
        let most_bytes = self.input.most_bytes();
        let mut reader = if copy.format.is_binary {
            Incomplete::Binary(binary::Reader::new(count, most_bytes))
        } else {
            Incomplete::Lines(Reader::new(copy.format.clone(), count, most_bytes))
        };
        loop {
            if self.switches.is_off() {
                return Err(self.switches.refusal().into());
            }
            let switches = &self.switches;
            let message = self.input.next(&|| switches.is_off()).map_err(|lost| match lost {
                Lost::Ending => switches.refusal().into(),
                Lost::Gone | Lost::Protocol(_) => Fail::Closed,
            })?;
            let Incoming::Message(message) = message else {
                let line = "a text of the message is not UTF-8";
                return Err(Refusal::new(refusal::NOT_UTF8, line).into());
            };
            let done = match message {
                PgWireFrontendMessage::CopyData(piece) => reader.take(&piece.data, &mut target),
                PgWireFrontendMessage::CopyDone(_) => {
                    reader.end(&mut target).map_err(|fault| target.fault(fault))?;
                    return Ok(target.rows);
                }
                PgWireFrontendMessage::CopyFail(fail) => {
                    let line = format!("COPY from stdin failed: {}", fail.message);
                    return Err(Refusal::new(refusal::CANCELED, line).into());
                }
                PgWireFrontendMessage::Flush(_) | PgWireFrontendMessage::Sync(_) => Ok(()),
                _ => {
                    let line = "a message came during COPY that is no part of it";
                    return Err(Refusal::new(refusal::PROTOCOL, line).into());
                }
            };
            done.map_err(|fault| target.fault(fault))?;
        }
    }

    /// Sends a line for each row of a portal, and returns how many.
    fn each_row(
        &mut self,
        portal: &mut Portal<'c>,
        put: impl Fn(&mut BytesMut, &Row<'_>, &[Option<Kind>]) -> Result<(), Refusal>,
    ) -> Result<u64, Fail> {
        let mut statement = self.start_copy(portal)?;
        let mut rows = statement.raw_query();
        let mut count = 0;
        while let Some(row) = rows.next().map_err(|error| self.explained(error))? {
            self.output.put_with(b'd', |out| put(out, row, portal.kinds()))?;
            let common = self.common;
            self.output.send_if_much(&|| common.is_ending())?;
            count += 1;
        }
        Ok(count)
    }
}
