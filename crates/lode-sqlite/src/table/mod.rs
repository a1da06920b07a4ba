//! A table of Lode as a virtual table of SQLite.

pub(crate) mod cursor;
pub(crate) mod module;
pub(crate) mod shared;
pub(crate) mod source;
pub(crate) mod write;

use std::borrow::Cow;
use std::ffi::CString;
use std::ffi::{CStr, c_int};
use std::rc::Rc;

use lode::Schema;
use rusqlite::types::ValueRef;
use rusqlite::vtab::{
    CreateVTab, IndexInfo, Inserts, TransactionVTab, UpdateVTab, Updates, VTab, VTabConfig,
    VTabConnection, VTabKind, dequote, sqlite3_vtab,
};
use rusqlite::{Connection, ErrorCode, Result, ffi};

use crate::error::{error, of_engine};
use crate::language::ddl::quoted;
use crate::plan::Planned;
use crate::session::Session;
use crate::table::cursor::TableCursor;
use crate::table::shared::Shared;
use crate::table::source::Source;
use crate::table::write::Conflict;
use crate::values::declared_type;
use crate::values::position::is_float;
use crate::values::row_numbers::has_row_numbers;

/// A virtual table.
#[repr(C)]
pub(crate) struct VirtualTable {
    /// SQLite's part, which is the first.
    base: sqlite3_vtab,
    connection: *mut ffi::sqlite3,
    shared: Rc<Shared>,
}

/// Returns the `CREATE TABLE` that declares the columns to SQLite. Without row numbers, the key is
/// the primary key in their place.
fn declaration(schema: &Schema) -> String {
    let keys = schema.key_columns();
    let has_numbers = has_row_numbers(schema);
    let columns = schema.columns().iter().enumerate().map(|(at, column)| {
        // A NaN is NULL to SQLite.
        let may_be_null = column.nullable || is_float(column.kind);
        let not_null = if may_be_null { "" } else { " NOT NULL" };
        let primary = if !has_numbers && at == 0 { " PRIMARY KEY" } else { "" };
        format!("{} {}{not_null}{primary}", quoted(&column.name), declared_type(column.kind))
    });
    let columns = columns.collect::<Vec<_>>().join(", ");
    if !has_numbers {
        return format!("CREATE TABLE x({columns}) WITHOUT ROWID");
    }
    let key = schema.columns()[..keys].iter().map(|column| quoted(&column.name));
    format!("CREATE TABLE x({columns}, PRIMARY KEY({}))", key.collect::<Vec<_>>().join(", "))
}

/// Refuses a connection whose text has another order than Lode's.
pub(crate) fn expect_utf8(connection: &Connection) -> Result<()> {
    let encoding: String = connection.pragma_query_value(None, "encoding", |row| row.get(0))?;
    match &encoding[..] {
        "UTF-8" => Ok(()),
        other => Err(error(
            ffi::SQLITE_ERROR,
            format!(
                "the connection's text is {other}, and Lode's is UTF-8; use a database in UTF-8"
            ),
        )),
    }
}

// SAFETY: the first field is SQLite's part, and the layout is that of C.
#[expect(unsafe_code)]
unsafe impl VTab<'_> for VirtualTable {
    type Aux = Source;
    type Cursor = TableCursor;

    fn connect(
        connection: &mut VTabConnection,
        source: Option<&Source>,
        _module: &[u8],
        schema: &[u8],
        name: &[u8],
        arguments: &[&[u8]],
    ) -> Result<(Cow<'static, CStr>, Self)> {
        let text = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes);
            dequote(text.trim()).into_owned()
        };
        let schema = quoted(&text(schema));
        let name = text(name);
        let join = format!("DELETE FROM {schema}.{} WHERE 0", quoted(&name));
        let arguments: Vec<_> = arguments.iter().map(|argument| text(argument)).collect();
        // SAFETY: the connection is used only while it calls this table.
        #[expect(unsafe_code)]
        let handle = unsafe { connection.handle() };
        // SAFETY: the handle is of the connection that calls, and is not closed here.
        #[expect(unsafe_code)]
        expect_utf8(&unsafe { Connection::from_handle(handle) }?)?;
        let source =
            source.ok_or_else(|| error(ffi::SQLITE_MISUSE, "the module has no database"))?;
        let (session, table) = source.find(handle, &arguments)?;
        let table = session.db().table(&table).map_err(|cause| of_engine(&cause))?;
        connection.config(VTabConfig::ConstraintSupport)?;
        let declaration = CString::new(declaration(table.schema()))
            .map_err(|_| error(ffi::SQLITE_ERROR, "a name of a column has a zero byte"))?;
        let shared = Rc::new(Shared::new(session, table, name, join));
        Ok((
            Cow::Owned(declaration),
            Self { base: sqlite3_vtab::default(), connection: handle, shared },
        ))
    }

    fn best_index(&self, info: &mut IndexInfo) -> Result<bool> {
        let schema = self.shared.schema();
        let kind = self.shared.table.key_kind();
        let rows = self.shared.session.about(&self.shared.table)?;
        let indexes = &self.shared.session.indexes(&self.shared.table)?;
        Planned { schema, kind, rows, indexes }.plan(info, |plan| self.shared.keep(plan))?;
        Ok(true)
    }

    fn open(&mut self) -> Result<TableCursor> {
        self.join()?;
        Ok(TableCursor::new(Rc::clone(&self.shared)))
    }
}

impl CreateVTab<'_> for VirtualTable {
    const KIND: VTabKind = VTabKind::Default;
}

impl VirtualTable {
    /// Returns what a statement wants when a key is there already.
    fn on_conflict(&self) -> Conflict {
        // SAFETY: SQLite calls this table's update, on this connection.
        #[expect(unsafe_code)]
        let code = unsafe { ffi::sqlite3_vtab_on_conflict(self.connection) };
        match code {
            ffi::SQLITE_REPLACE => Conflict::Replaces,
            _ => Conflict::Fails,
        }
    }

    /// Returns true outside of the user's transactions.
    fn is_autocommit(&self) -> bool {
        // SAFETY: SQLite calls this table, on this connection.
        #[expect(unsafe_code)]
        let is_autocommit = unsafe { ffi::sqlite3_get_autocommit(self.connection) };
        is_autocommit != 0
    }

    /// Lets the session take part in the user's transaction, if there is one, and fixes the moment
    /// that it reads at. SQLite reports the start and the end of a transaction only to tables that
    /// are written; so a statement writes to this one, and changes nothing.
    ///
    /// # Errors
    /// That of the statement: `SQLITE_BUSY` if the table is in a file that another connection
    /// writes to. Without a part in the transaction, a read would not be looked at again.
    fn join(&self) -> Result<()> {
        if self.is_autocommit() {
            self.session().note_apart(false);
            return Ok(());
        }
        if self.session().has_begun() {
            return Ok(());
        }
        // SAFETY: the connection is used only while it calls this table.
        #[expect(unsafe_code)]
        let connection = unsafe { Connection::from_handle(self.connection) }?;
        let joined = connection.execute_batch(&self.shared.join);
        let cannot_write = |error: &rusqlite::Error| {
            let code = error.sqlite_error_code();
            matches!(code, Some(ErrorCode::ReadOnly | ErrorCode::AuthorizationForStatementDenied))
        };
        match joined {
            Ok(()) => self.session().fix_moment(),
            // As long as the connection writes nothing (`PRAGMA query_only`), its statements can
            // see a moment each.
            Err(error) if cannot_write(&error) => self.session().note_apart(true),
            Err(error) => return Err(error),
        }
        Ok(())
    }

    pub(crate) fn session(&self) -> &Session {
        &self.shared.session
    }

    /// Keeps a savepoint. When a table joins a transaction, SQLite says which one it is in: that
    /// was made earlier, when other tables had written less, and is not to be kept as of now.
    pub(crate) fn keep(&self, number: c_int) -> Result<()> {
        if self.shared.has_just_joined.take() { Ok(()) } else { self.session().keep(number) }
    }

    /// Returns the table, to be written.
    fn to_write(&self) -> &Shared {
        self.shared.has_just_joined.set(false);
        &self.shared
    }
}

impl UpdateVTab<'_> for VirtualTable {
    fn delete(&mut self, row: ValueRef<'_>) -> Result<()> {
        self.to_write().delete(row)
    }

    fn insert(&mut self, values: &Inserts<'_>) -> Result<i64> {
        self.to_write().insert(values, self.on_conflict())
    }

    fn update(&mut self, values: &Updates<'_>) -> Result<()> {
        self.to_write().update(values, self.on_conflict())
    }
}

impl TransactionVTab<'_> for VirtualTable {
    fn begin(&mut self) -> Result<()> {
        self.shared.has_just_joined.set(true);
        if self.is_autocommit() {
            self.session().expect_writable()?;
        }
        self.session().begin(&self.shared.table);
        Ok(())
    }

    /// Commits, and refuses what cannot be committed: after this SQLite asks no more.
    fn sync(&mut self) -> Result<()> {
        self.session().commit()
    }

    fn commit(&mut self) -> Result<()> {
        Ok(())
    }

    fn rollback(&mut self) -> Result<()> {
        self.session().roll_back();
        Ok(())
    }
}
