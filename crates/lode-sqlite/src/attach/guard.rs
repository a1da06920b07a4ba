//! The limits on what a connection may write, whose own database is thrown away in the end.
//!
//! SQLite asks for each action of a statement while it prepares it. An action whose result would be
//! lost is refused, and by name. Whatever the text looks like, nothing gets past this.

use std::ffi::CString;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::{Connection, Result, ffi};

/// Pragmas that read something, or set how statements of this connection run.
const PRAGMAS: [&str; 32] = [
    "automatic_index",
    "busy_timeout",
    "cache_size",
    "case_sensitive_like",
    "collation_list",
    "compile_options",
    "count_changes",
    "data_version",
    "database_list",
    "empty_result_callbacks",
    "foreign_key_list",
    "foreign_keys",
    "full_column_names",
    "function_list",
    "hard_heap_limit",
    "ignore_check_constraints",
    "index_info",
    "index_list",
    "index_xinfo",
    "module_list",
    "pragma_list",
    "query_only",
    "recursive_triggers",
    "reverse_unordered_selects",
    "short_column_names",
    "soft_heap_limit",
    "table_info",
    "table_list",
    "table_xinfo",
    "temp_store",
    "threads",
    "trusted_schema",
];

/// Pragmas that set a limit of the whole process, or where files of SQLite are.
const OF_PROCESS: [&str; 4] = ["hard_heap_limit", "soft_heap_limit", "temp_store", "threads"];

/// The permissions of a connection.
pub(crate) struct Guard {
    /// The connection, while it is open.
    handle: AtomicPtr<ffi::sqlite3>,
    /// The module of the tables of Lode.
    pub module: String,
    /// True if statements come from others than the user of the program: they reach no file.
    is_confined: bool,
    /// True while the program itself works on the connection, and not a statement of the user.
    is_own: AtomicBool,
    /// The reason why the last action was refused.
    refusal: Mutex<Option<String>>,
}

impl Guard {
    /// Guards a connection whose tables of Lode are of this module.
    pub(crate) fn set(
        connection: &mut Connection,
        module: &str,
        is_confined: bool,
    ) -> Result<Arc<Self>> {
        // SAFETY: the handle is used in the connection's own callbacks only.
        #[expect(unsafe_code)]
        let handle = unsafe { connection.handle() };
        let guard = Arc::new(Self {
            handle: AtomicPtr::new(handle),
            module: module.into(),
            is_confined,
            is_own: AtomicBool::new(false),
            refusal: Mutex::default(),
        });
        let at = Arc::clone(&guard);
        connection.authorizer(Some(move |context: AuthContext<'_>| {
            match at.refuses(&context) {
                None => Authorization::Allow,
                Some(why) => {
                    *at.refusal.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
                    Authorization::Deny
                }
            }
        }))?;
        Ok(guard)
    }

    /// Does work of the program itself, of which nothing is refused.
    pub(crate) fn own<T>(&self, work: impl FnOnce() -> T) -> T {
        let before = self.is_own.swap(true, Ordering::Relaxed);
        let done = work();
        self.is_own.store(before, Ordering::Relaxed);
        done
    }

    /// Takes what was said of the last action that was refused.
    pub(crate) fn take_refusal(&self) -> Option<String> {
        self.refusal.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Returns true if what is written to a schema of the connection lasts: a file that was
    /// attached, or the temporary tables that were asked for.
    fn is_kept(&self, schema: &str) -> bool {
        if schema.eq_ignore_ascii_case("temp") {
            return true;
        }
        let Ok(schema) = CString::new(schema) else { return false };
        // SAFETY: SQLite calls on this connection, which is open then, and returns no pointer or a
        // text that ends with a zero byte.
        #[expect(unsafe_code)]
        unsafe {
            let handle = self.handle.load(Ordering::Relaxed);
            let file = ffi::sqlite3_db_filename(handle, schema.as_ptr());
            !file.is_null() && *file != 0
        }
    }

    /// Returns why an action is refused, if it is.
    fn refuses(&self, context: &AuthContext<'_>) -> Option<String> {
        use AuthAction as Action;
        if self.is_own.load(Ordering::Relaxed) {
            return None;
        }
        if self.is_confined
            && let Some(what) = beyond_confines(&context.action)
        {
            return Some(format!("{what} is not for clients of a server"));
        }
        let schema = match context.action {
            Action::AlterTable { database_name, .. } => database_name,
            _ => context.database_name.unwrap_or("main"),
        };
        if let Action::DropVtable { table_name, module_name } = context.action
            && module_name == self.module
        {
            return Some(format!("drop table {table_name} of Lode in a statement by itself"));
        }
        let (what, instead) = match context.action {
            Action::Pragma { pragma_name, pragma_value } => {
                let is_it = |known: &str| pragma_name.eq_ignore_ascii_case(known);
                let is_known = PRAGMAS.iter().any(|known| is_it(known))
                    || is_it("encoding") && pragma_value.is_none();
                let is_kept = context.database_name.is_some_and(|schema| {
                    !schema.eq_ignore_ascii_case("temp") && self.is_kept(schema)
                });
                let why = format!("PRAGMA {pragma_name} means nothing for a database of Lode");
                return (!is_known && !is_kept).then_some(why);
            }
            Action::CreateTable { table_name } => (
                format!("CREATE TABLE {table_name}"),
                "write it as a statement by itself, with the table's name alone",
            ),
            Action::CreateView { view_name } => {
                (format!("CREATE VIEW {view_name}"), "CREATE TEMP VIEW makes one for this session")
            }
            Action::CreateIndex { index_name, .. } => (
                format!("CREATE INDEX {index_name}"),
                "write it as a statement by itself, with the name of a table of Lode",
            ),
            Action::CreateTrigger { trigger_name, .. } => {
                (format!("CREATE TRIGGER {trigger_name}"), "tables of Lode have no triggers")
            }
            Action::CreateVtable { table_name, .. } => (
                format!("CREATE VIRTUAL TABLE {table_name}"),
                "CREATE VIRTUAL TABLE temp.… makes one for this session",
            ),
            // SQLite also asks for the action that changes the schema.
            Action::Insert { table_name }
            | Action::Delete { table_name }
            | Action::Update { table_name, .. }
                if !matches!(table_name, "sqlite_master" | "sqlite_schema") =>
            {
                (
                    format!("a write to {schema}.{table_name}"),
                    "tables of Lode and temporary ones can be written, and attached files",
                )
            }
            Action::AlterTable { table_name, .. } => (
                format!("ALTER TABLE {table_name}"),
                "write it as a statement by itself, with the name of a table of Lode",
            ),
            _ => return None,
        };
        let why = format!("{what} would be kept nowhere; {instead}");
        (!self.is_kept(schema)).then_some(why)
    }
}

/// Returns what an action is called that reaches beyond the database.
fn beyond_confines(action: &AuthAction<'_>) -> Option<String> {
    match action {
        // SQLite does not say of a computed name what it is.
        AuthAction::Attach { .. } | AuthAction::Unknown { code: ffi::SQLITE_ATTACH, .. } => {
            Some("ATTACH".into())
        }
        AuthAction::Detach { .. } => Some("DETACH".into()),
        AuthAction::Pragma { pragma_name, .. } => {
            let is_it = |known: &&str| pragma_name.eq_ignore_ascii_case(known);
            OF_PROCESS.iter().any(is_it).then(|| format!("PRAGMA {pragma_name}"))
        }
        _ => None,
    }
}
