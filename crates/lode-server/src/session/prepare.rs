//! Prepared statements: their parameters and results.

use std::cell::Cell;
use std::collections::HashMap;

use lode::Database;
use lode_sqlite::Script;
use rusqlite::CachedStatement;

use crate::catalogue::{Catalogue, Origin, Origins, empty_result};
use crate::refusal::{NOT_SUPPORTED, Refusal, SYNTAX, TOO_LARGE};
use crate::session::Session;
use crate::sql::command::Command;
use crate::sql::infer::{Columns, Known, is_literal};
use crate::sql::rewrite::{Rewritten, rewrite};
use crate::sql::tokens::{Token, tokens_of, tokens_of_arrays};
use crate::types::{Kind, Taken};

/// The most bytes of a statement's text.
const MOST_STATEMENT_BYTES: usize = 4 << 20;

/// The most bytes of the texts of statements that SQLite keeps.
const MOST_CACHED_BYTES: usize = 8 << 20;

/// A column of a result.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    pub name: String,
    /// The type, if it is known without a value.
    pub kind: Option<Kind>,
    /// The column of a table that it is.
    pub origin: Option<Origin>,
}

/// A statement that can be carried out with parameters.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub command: Command,
    /// The statement in SQLite's language.
    pub text: String,
    /// The types of the parameters.
    pub taken: Vec<Taken>,
    pub columns: Vec<Column>,
    /// True if the console carries it out, and not SQLite.
    pub is_own: bool,
    /// True if SQLite says that it changes nothing.
    pub only_reads: bool,
    /// True if the client was told the types of the columns: then they stay.
    pub is_described: Cell<bool>,
}

impl Prepared {
    /// Returns how many bytes it has.
    pub(super) fn bytes(&self) -> usize {
        let columns = self.columns.iter();
        let columns = columns.map(|column| size_of::<Column>() + column.name.len());
        // The command has at most one more copy of the text.
        let texts = 2 * self.text.len() + columns.sum::<usize>();
        size_of::<Self>() + texts + self.taken.len() * size_of::<Taken>()
    }
}

/// Returns the statements of a text, each by itself.
pub(crate) fn split(text: &str) -> Vec<String> {
    let mut script = Script::default();
    script.push(text);
    let mut found = Vec::new();
    while let Some(statement) = script.next_statement() {
        found.push(statement);
    }
    if !script.is_blank() {
        found.push(script.take_rest());
    }
    found
}

/// The tables of a database, by their names in lower case.
pub(super) struct Tables<'d> {
    db: &'d Database,
    names: HashMap<String, String>,
}

impl<'d> Tables<'d> {
    pub(super) fn of(db: &'d Database) -> Self {
        let mut names = HashMap::new();
        for name in db.table_names() {
            names.entry(name.to_ascii_lowercase()).or_insert(name);
        }
        Self { db, names }
    }

    /// Returns the columns of a table.
    pub(super) fn columns(&self, name: &str) -> Option<Columns> {
        let table = self.db.table(self.names.get(&name.to_ascii_lowercase())?).ok()?;
        let columns = table.schema().columns().iter();
        Some(columns.map(|column| (column.name.clone(), Kind::of_column(column.kind))).collect())
    }
}

impl<'c> Session<'c> {
    /// Prepares a statement. `oids` are the types of parameters that the client says, 0 where it
    /// says none.
    pub(super) fn prepare(&mut self, source: &str, oids: &[u32]) -> Result<Prepared, Refusal> {
        if source.len() > MOST_STATEMENT_BYTES {
            let line = format!(
                "a statement can have {MOST_STATEMENT_BYTES} bytes; send values as parameters, or \
                 rows by COPY"
            );
            return Err(Refusal::new(TOO_LARGE, line));
        }
        let found = tokens_of(source);
        let command = Command::of(&found)?;
        self.expect_usable(&command)?;
        let mut prepared = Prepared {
            command,
            text: source.into(),
            taken: Vec::new(),
            columns: Vec::new(),
            is_own: false,
            only_reads: true,
            is_described: Cell::new(false),
        };
        match &prepared.command {
            Command::Show { name } => {
                self.settings.get(name)?;
                let column = Column { name: name.clone(), kind: Some(Kind::Text), origin: None };
                prepared.columns = vec![column];
            }
            Command::Other { .. } => self.look_at(&mut prepared, &found, oids)?,
            Command::Copy(copy) => self.check_copy(copy)?,
            Command::Empty
            | Command::Begin { .. }
            | Command::Commit
            | Command::Rollback
            | Command::Savepoint { .. }
            | Command::Set { .. }
            | Command::SetTransaction { .. }
            | Command::Reset { .. }
            | Command::ClosePortals
            | Command::Unlisten
            | Command::Deallocate { .. } => {}
        }
        if self.switches.is_off() { Err(self.switches.refusal()) } else { Ok(prepared) }
    }

    /// Has SQLite prepare a statement, or takes it from those that it keeps: no more of them than
    /// fit into a bound.
    pub(super) fn prepare_cached(
        &mut self,
        text: &str,
    ) -> Result<Option<CachedStatement<'c>>, Refusal> {
        self.cached_bytes += text.len();
        if self.cached_bytes > MOST_CACHED_BYTES {
            self.console.unguarded(rusqlite::Connection::flush_prepared_statement_cache);
            self.cached_bytes = text.len();
        }
        Ok(self.console.prepare(text)?)
    }

    /// Returns what stands for texts that their columns take otherwise, by the places of their
    /// tokens.
    fn meant(&self, found: &[Token<'_>]) -> Vec<(usize, String)> {
        if !found.iter().any(is_literal) {
            return Vec::new();
        }
        let tables = Tables::of(self.console.database());
        let mut known = Known::of(found, &|name| tables.columns(name));
        known.find_parameters(found);
        known.meant(found)
    }

    /// Has SQLite prepare a statement, and finds the types of its parameters and results.
    fn look_at(
        &mut self,
        prepared: &mut Prepared,
        found: &[Token<'_>],
        oids: &[u32],
    ) -> Result<(), Refusal> {
        self.refresh()?;
        let looked_up = Catalogue::is_meant(found).then(|| empty_result(found));
        let is_looked_up = looked_up.is_some();
        if is_looked_up {
            self.fill_catalogue()?;
        }
        let rewritten = match looked_up.flatten() {
            Some(text) => Rewritten { text, ..Rewritten::default() },
            None if is_looked_up => {
                rewrite(&prepared.text, &tokens_of_arrays(&prepared.text), &[])?
            }
            None => rewrite(&prepared.text, found, &self.meant(found))?,
        };
        prepared.text = rewritten.text;
        let Some(statement) = self.prepare_cached(&prepared.text)? else {
            prepared.is_own = true;
            prepared.only_reads = false;
            return Ok(());
        };
        prepared.only_reads = statement.readonly();
        let count = statement.parameter_count();
        let mut origins = Origins::of(self.console.database());
        let declared = statement.columns().zip(statement.columns_with_metadata());
        prepared.columns = declared
            .map(|(column, source)| Column {
                name: column.name().into(),
                kind: column.decl_type().and_then(Kind::of_declared),
                origin: origins.find(&source),
            })
            .collect();
        let is_unknown = prepared.columns.iter().any(|column| column.kind.is_none());
        if count == 0 && !is_unknown {
            return Ok(());
        }
        if oids.len() > count || count > usize::from(u16::MAX) {
            let line = format!("the statement has {count} parameters; the client sends others");
            return Err(Refusal::new(SYNTAX, line));
        }
        let tables = Tables::of(self.console.database());
        let own = |name: &str| self.catalogue.columns(name).filter(|_| is_looked_up).cloned();
        let mut known = Known::of(found, &|name| tables.columns(name).or_else(|| own(name)));
        known.parameters = rewritten.casts;
        for (at, oid) in oids.iter().enumerate().filter(|(_, oid)| !matches!(oid, 0 | 705)) {
            let taken = Taken::of_oid(*oid).ok_or_else(|| {
                Refusal::new(NOT_SUPPORTED, format!("no parameter has type {oid} here"))
            })?;
            known.parameters.insert(at + 1, taken);
        }
        known.find_parameters(found);
        for at in 1..=count {
            let taken = known.parameters.get(&at).copied().unwrap_or(Kind::Text.into());
            prepared.taken.push(taken);
        }
        let guessed = known.results(found, prepared.columns.len());
        for (column, guess) in prepared.columns.iter_mut().zip(guessed) {
            let guess = guess.or_else(|| known.starred(found, &column.name));
            column.kind = column.kind.or(guess);
        }
        Ok(())
    }
}
