//! A separate connection on a database: for shells and scripts.

use std::sync::Arc;

use lode::{BackupProgress, Compacted, Database};
use rusqlite::fallible_iterator::FallibleIterator;
use rusqlite::{
    Batch, CachedStatement, Connection, Error, ErrorCode, InterruptHandle, OpenFlags,
    OptionalExtension, Result, Statement, ffi,
};

use crate::attach::add_module;
use crate::attach::attached::{Attached, HiddenTable};
use crate::attach::functions::{
    Current, add_definitions, add_hidden, alter, clear_table, create, drop_index, drop_table,
    has_index, lock, only_table, set_current,
};
use crate::attach::guard::Guard;
use crate::error::{error, of_engine};
use crate::language::ddl::same_name;
use crate::language::lexer::Script;
use crate::language::statement::Kind;
use crate::values::math::add_functions;

/// A connection of SQLite on a database of Lode. `CREATE TABLE`, `ALTER TABLE` and `DROP TABLE`
/// make, alter and drop tables of the database. `CREATE TEMP TABLE` makes temporary tables; any
/// other write that SQLite would only keep in its own memory is refused.
///
/// ```
/// use lode_sqlite::{Console, Step};
///
/// let db = lode::Database::in_memory()?;
/// let console = Console::new(&db)?;
/// let text = "-- cities\nCREATE TABLE city (name VARTEXT(80) PRIMARY KEY, people U64);
///             INSERT INTO city VALUES ('Bern', 134591); SELECT people FROM city";
/// let mut found = Vec::new();
/// console.run(text, &mut |step| match step {
///     Step::Rows(statement) => {
///         found.push(statement.query_row([], |row| row.get::<_, i64>(0))?);
///         Ok::<(), rusqlite::Error>(())
///     }
///     Step::Changed(rows) => Ok(assert_eq!(rows, 1)),
///     Step::Compacted(_) | Step::BackedUp(_) => Ok(()),
/// })?;
/// assert_eq!((found, db.table_names()), (vec![134_591], vec!["city".into()]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Console {
    db: Database,
    connection: Connection,
    current: Current,
    guard: Arc<Guard>,
    /// True if its statements are those of others than the user of the program.
    is_confined: bool,
}

/// The outcome of a statement that is shown.
#[derive(Debug)]
pub enum Step<'s, 'c> {
    /// A statement that has rows, and has not been run yet.
    Rows(&'s mut Statement<'c>),
    /// The number of rows that the statement changed.
    Changed(u64),
    /// The result of compacting the database.
    Compacted(Compacted),
    /// The result of backing the database up.
    BackedUp(BackupProgress),
}

impl Console {
    /// Makes a console on a database, with all tables visible but those of
    /// [`hidden`](Self::hidden).
    ///
    /// # Errors
    /// The errors of SQLite.
    pub fn new(database: &Database) -> Result<Self> {
        Self::with(database, false)
    }

    /// Makes a console for statements of others than the user of the program, such as the clients
    /// of a server. They attach no file and set no limit of the process, and there is no function
    /// that creates, alters or drops tables: statements do.
    ///
    /// # Errors
    /// The errors of SQLite.
    pub fn confined(database: &Database) -> Result<Self> {
        Self::with(database, true)
    }

    fn with(database: &Database, is_confined: bool) -> Result<Self> {
        // A name is a file's, whatever it looks like: not one of SQLite's addresses.
        let flags = OpenFlags::default() & !OpenFlags::SQLITE_OPEN_URI;
        let mut connection = Connection::open_in_memory_with_flags(flags)?;
        add_functions(&connection)?;
        let mut attached = add_module(&connection, database)?;
        let guard = Guard::set(&mut connection, &attached.module, is_confined)?;
        attached.guard = Some(Arc::clone(&guard));
        attached.all(&connection)?;
        let current = Current::default();
        set_current(&current, attached);
        if is_confined {
            add_hidden(&connection, &current)?;
        } else {
            add_definitions(&connection, &current)?;
        }
        Ok(Self { db: database.clone(), connection, current, guard, is_confined })
    }

    /// Returns the database.
    pub fn database(&self) -> &Database {
        &self.db
    }

    /// Returns the tables that SQLite cannot show, with why.
    pub fn hidden(&self) -> Vec<HiddenTable> {
        lock(&self.current).iter().flat_map(|attached| attached.hidden.clone()).collect()
    }

    /// Returns true inside a transaction.
    pub fn is_in_transaction(&self) -> bool {
        !self.connection.is_autocommit()
    }

    /// Returns a handle that ends the running statement from another thread.
    pub fn interrupt_handle(&self) -> InterruptHandle {
        self.connection.get_interrupt_handle()
    }

    /// Makes SQLite call `handler` every `steps` steps of a statement; true interrupts the
    /// statement.
    ///
    /// # Errors
    /// The errors of SQLite.
    pub fn on_progress(
        &mut self,
        steps: i32,
        handler: impl FnMut() -> bool + Send + 'static,
    ) -> Result<()> {
        self.connection.progress_handler(steps, Some(handler))
    }

    /// Lets `work` use the connection without the console's limits on what may be written: to add
    /// functions, or tables that are thrown away with the console.
    pub fn unguarded<T>(&self, work: impl FnOnce(&Connection) -> T) -> T {
        self.guard.own(|| work(&self.connection))
    }

    /// Shows the tables as they are now, after other connections have created or dropped some.
    ///
    /// # Errors
    /// The errors of SQLite, also while a statement is running.
    pub fn refresh(&self) -> Result<()> {
        self.define(|connection, attached| attached.renew(connection))
    }

    /// Drops the temporary tables and views that statements have made.
    ///
    /// # Errors
    /// The errors of SQLite, also while a statement is running.
    pub fn drop_temporary(&self) -> Result<()> {
        // Tables of Lode are there, too, and stay.
        let next = "SELECT format('DROP %s temp.\"%w\"', type, name) FROM temp.sqlite_schema
                    WHERE type IN ('view', 'table') AND name NOT LIKE 'sqlite@_%' ESCAPE '@'
                    AND NOT (sql LIKE 'CREATE VIRTUAL%' AND instr(sql, ' USING ' || ?1 || '('))
                    ORDER BY type DESC, rowid LIMIT 1";
        let module = &self.guard.module;
        self.guard.own(|| {
            let drop = || self.connection.query_row(next, [module], |row| row.get::<_, String>(0));
            while let Some(drop) = drop().optional()? {
                self.connection.execute_batch(&drop)?;
            }
            Ok(())
        })
    }

    /// Prepares one statement for SQLite, or takes it from those that were prepared before. Returns
    /// `None` for a statement that the console carries out itself: [`run`](Self::run) takes that.
    ///
    /// # Errors
    /// The errors of SQLite, and those of a statement that a console refuses.
    pub fn prepare(&self, text: &str) -> Result<Option<CachedStatement<'_>>> {
        if text.contains('\0') {
            return Err(error(ffi::SQLITE_ERROR, "the statement has a zero byte"));
        }
        let is_own = match Kind::of(text) {
            Kind::Create | Kind::Compact | Kind::BackUp { .. } | Kind::Clear { .. } => true,
            Kind::CreateIndex { table: name }
            | Kind::Alter { table: name }
            | Kind::Drop { name } => self.table_name(&name).is_some(),
            Kind::DropIndex { name } => has_index(&self.db, &name),
            Kind::Refused(why) => return Err(error(ffi::SQLITE_AUTH, why)),
            Kind::Other { .. } => false,
        };
        if is_own {
            return Ok(None);
        }
        self.connection.prepare_cached(text).map(Some).map_err(|error| self.explain(error))
    }

    /// Runs statements, one after another, up to the first that fails. `show` is called with what
    /// each has to show.
    ///
    /// # Errors
    /// The errors of SQLite and of `show`. Statements before the one that failed have had their
    /// effect; that one has had none.
    pub fn run<E: From<Error>>(
        &self,
        text: &str,
        show: &mut dyn FnMut(Step<'_, '_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut script = Script::default();
        script.push(text);
        while let Some(statement) = script.next_statement() {
            self.run_one(&statement, show)?;
        }
        if script.is_blank() { Ok(()) } else { self.run_one(&script.take_rest(), show) }
    }

    fn run_one<E: From<Error>>(
        &self,
        text: &str,
        show: &mut dyn FnMut(Step<'_, '_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let refused = |why: &str| Err(error(ffi::SQLITE_ERROR, why).into());
        if text.contains('\0') {
            return refused("the statement has a zero byte");
        }
        match Kind::of(text) {
            Kind::Create => {
                self.define(|connection, attached| create(connection, attached, text))?;
            }
            Kind::CreateIndex { table } if self.table_name(&table).is_some() => {
                self.define(|connection, attached| create(connection, attached, text))?;
            }
            Kind::Alter { table } if self.table_name(&table).is_some() => {
                self.define(|connection, attached| alter(connection, attached, text))?;
            }
            Kind::CreateIndex { .. } | Kind::Alter { .. } => self.pass_on(text, false, show)?,
            Kind::DropIndex { name } => {
                if !self.define(|connection, attached| drop_index(connection, attached, &name))? {
                    self.pass_on(text, false, show)?;
                }
            }
            Kind::Drop { name } => match self.table_name(&name) {
                Some(name) => {
                    self.define(|connection, attached| drop_table(connection, attached, &name))?;
                }
                None => self.pass_on(text, false, show)?,
            },
            Kind::Clear { name } => return self.clear(text, &name, show),
            Kind::Compact | Kind::BackUp { .. } if self.is_in_transaction() => {
                return refused("VACUUM is for outside of transactions; commit it first");
            }
            Kind::Compact => {
                let compacted = self.db.compact().map_err(|cause| of_engine(&cause))?;
                show(Step::Compacted(compacted))?;
            }
            Kind::BackUp { .. } if self.is_confined => {
                let why = "VACUUM … INTO writes files of the server; lode backup copies a database \
                           in use";
                return Err(error(ffi::SQLITE_AUTH, why).into());
            }
            Kind::BackUp { directory } => {
                let backed_up = self.db.backup(directory, |_| {});
                show(Step::BackedUp(backed_up.map_err(|cause| of_engine(&cause))?))?;
            }
            Kind::Refused(why) => return refused(why),
            Kind::Other { changes_rows } => self.pass_on(text, changes_rows, show)?,
        }
        Ok(())
    }

    fn define<T>(&self, work: impl FnOnce(&Connection, &mut Attached) -> Result<T>) -> Result<T> {
        let mut current = lock(&self.current);
        let none = || error(ffi::SQLITE_MISUSE, "the console has no database");
        work(&self.connection, current.as_mut().ok_or_else(none)?)
    }

    /// Returns the table of the database that SQL means by a name.
    fn table_name(&self, name: &str) -> Option<String> {
        only_table(&self.db, name)
    }

    /// Deletes all rows of a table: row by row; and all at once where a transaction cannot hold
    /// them, or SQLite has no value for their keys.
    fn clear<E: From<Error>>(
        &self,
        text: &str,
        name: &str,
        show: &mut dyn FnMut(Step<'_, '_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let is_alone = !self.is_in_transaction();
        let mut statement = self.connection.prepare(text).map_err(|error| self.explain(error))?;
        let failed = match statement.execute([]) {
            Ok(count) => return show(Step::Changed(count as u64)),
            Err(failed) => failed,
        };
        drop(statement);
        let was_interrupted = failed.sqlite_error_code() == Some(ErrorCode::OperationInterrupted);
        match self.table_name(name).filter(|_| is_alone && !was_interrupted) {
            None => Err(failed.into()),
            Some(name) => {
                let count =
                    self.define(|connection, attached| clear_table(connection, attached, &name))?;
                show(Step::Changed(count))
            }
        }
    }

    /// Has SQLite carry a statement out.
    fn pass_on<E: From<Error>>(
        &self,
        text: &str,
        changes_rows: bool,
        show: &mut dyn FnMut(Step<'_, '_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut batch = Batch::new(&self.connection, text);
        while let Some(mut statement) = batch.next().map_err(|error| self.explain(error))? {
            if statement.column_count() > 0 {
                show(Step::Rows(&mut statement))?;
                continue;
            }
            let count = statement.execute([]).map_err(|error| self.explain(error))?;
            if changes_rows {
                show(Step::Changed(count as u64))?;
            }
        }
        Ok(())
    }

    /// Says of an error what SQLite does not know: what was refused, and tables that it does not
    /// see.
    pub fn explain(&self, failed: Error) -> Error {
        if let Some(why) = self.guard.take_refusal() {
            return error(ffi::SQLITE_AUTH, why);
        }
        let said = failed.to_string();
        let Some((_, missing)) = said.split_once("no such table: ") else { return failed };
        let missing = missing.lines().next().unwrap_or_default();
        let missing = missing.split(" in ").next().unwrap_or_default();
        let name = missing.strip_prefix("temp.").unwrap_or(missing);
        let hidden = self.hidden();
        match hidden.iter().find(|hidden| same_name(&hidden.name, name)) {
            Some(hidden) => error(ffi::SQLITE_ERROR, hidden.to_string()),
            None => failed,
        }
    }
}

impl std::fmt::Debug for Console {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Console").finish_non_exhaustive()
    }
}
