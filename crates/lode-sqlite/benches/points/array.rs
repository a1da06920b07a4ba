//! The least that a virtual table costs: one whose rows are in an array, where a row's key is its
//! place. It has no transactions, no locks, and nothing that outlives its connection.

use std::borrow::Cow;
use std::cell::RefCell;
use std::ffi::{CStr, c_int};
use std::rc::Rc;

use rusqlite::ffi::{SQLITE_CONSTRAINT, SQLITE_MISUSE};
use rusqlite::types::ValueRef;
use rusqlite::vtab::{
    Context, CreateVTab, Filters, IndexConstraintOp, IndexFlags, IndexInfo, Inserts, Module,
    TransactionVTab, UpdateVTab, Updates, VTab, VTabConnection, VTabCursor, VTabKind, sqlite3_vtab,
    sqlite3_vtab_cursor,
};
use rusqlite::{Connection, Error, Result, ffi};

const MODULE: Module<'static, ArrayTable> = Module::update_module_with_tx();

/// Makes a table `t` in an array.
pub(crate) fn attach(connection: &Connection) -> Result<()> {
    connection.create_module(c"array", &MODULE, None)?;
    connection.execute_batch("CREATE VIRTUAL TABLE temp.t USING array")
}

type Rows = Rc<RefCell<Vec<(i64, String)>>>;

#[repr(C)]
struct ArrayTable {
    /// SQLite's part, which is the first.
    base: sqlite3_vtab,
    rows: Rows,
}

#[repr(C)]
struct ArrayCursor {
    /// SQLite's part, which is the first.
    base: sqlite3_vtab_cursor,
    rows: Rows,
    /// The place of the row that it is at.
    at: usize,
    end: usize,
}

fn error(code: c_int) -> Error {
    Error::SqliteFailure(ffi::Error::new(code), None)
}

fn place(value: ValueRef<'_>) -> Result<usize> {
    usize::try_from(value.as_i64()?).map_err(|_| error(SQLITE_MISUSE))
}

// SAFETY: the first field is SQLite's part, and the layout is that of C.
#[expect(unsafe_code)]
unsafe impl VTab<'_> for ArrayTable {
    type Aux = ();
    type Cursor = ArrayCursor;

    fn connect(
        _: &mut VTabConnection,
        _: Option<&()>,
        _: &[u8],
        _: &[u8],
        _: &[u8],
        _: &[&[u8]],
    ) -> Result<(Cow<'static, CStr>, Self)> {
        let declaration =
            c"CREATE TABLE x(id INTEGER NOT NULL PRIMARY KEY, a INTEGER, name TEXT) WITHOUT ROWID";
        Ok((
            Cow::Borrowed(declaration),
            Self { base: sqlite3_vtab::default(), rows: Rows::default() },
        ))
    }

    fn best_index(&self, info: &mut IndexInfo) -> Result<bool> {
        let is_key = info.constraints().position(|constraint| {
            constraint.is_usable()
                && constraint.column() == 0
                && constraint.operator() == IndexConstraintOp::SQLITE_INDEX_CONSTRAINT_EQ
        });
        info.set_idx_num(is_key.is_some().into());
        if let Some(at) = is_key {
            let mut usage = info.constraint_usage(at);
            usage.set_argv_index(1);
            usage.set_omit(true);
            info.set_idx_flags(IndexFlags::SQLITE_INDEX_SCAN_UNIQUE);
        }
        info.set_estimated_cost(if is_key.is_some() { 1.0 } else { 1e6 });
        Ok(true)
    }

    fn open(&mut self) -> Result<ArrayCursor> {
        let rows = Rc::clone(&self.rows);
        Ok(ArrayCursor { base: sqlite3_vtab_cursor::default(), rows, at: 0, end: 0 })
    }
}

impl CreateVTab<'_> for ArrayTable {
    const KIND: VTabKind = VTabKind::Default;
}

impl UpdateVTab<'_> for ArrayTable {
    fn delete(&mut self, _: ValueRef<'_>) -> Result<()> {
        Err(error(SQLITE_MISUSE))
    }

    fn insert(&mut self, values: &Inserts<'_>) -> Result<i64> {
        let mut rows = self.rows.borrow_mut();
        if values.get::<i64>(2)? != rows.len() as i64 {
            return Err(error(SQLITE_CONSTRAINT));
        }
        rows.push((values.get(3)?, values.get(4)?));
        Ok(0)
    }

    fn update(&mut self, values: &Updates<'_>) -> Result<()> {
        let at = place(values.iter().next().unwrap_or(ValueRef::Null))?;
        let mut rows = self.rows.borrow_mut();
        let row = rows.get_mut(at).ok_or_else(|| error(SQLITE_MISUSE))?;
        if !values.no_change(3) {
            row.0 = values.get(3)?;
        }
        if !values.no_change(4) {
            row.1 = values.get(4)?;
        }
        Ok(())
    }
}

impl TransactionVTab<'_> for ArrayTable {
    fn begin(&mut self) -> Result<()> {
        Ok(())
    }

    fn sync(&mut self) -> Result<()> {
        Ok(())
    }

    fn commit(&mut self) -> Result<()> {
        Ok(())
    }

    fn rollback(&mut self) -> Result<()> {
        Err(error(SQLITE_MISUSE))
    }
}

// SAFETY: the first field is SQLite's part, and the layout is that of C.
#[expect(unsafe_code)]
unsafe impl VTabCursor for ArrayCursor {
    fn filter(&mut self, number: c_int, _: Option<&str>, values: &Filters<'_>) -> Result<()> {
        let all = self.rows.borrow().len();
        (self.at, self.end) = match number {
            0 => (0, all),
            _ => {
                let at = place(values.iter().next().unwrap_or(ValueRef::Null))?;
                (at, all.min(at + 1))
            }
        };
        Ok(())
    }

    fn next(&mut self) -> Result<()> {
        self.at += 1;
        Ok(())
    }

    fn eof(&self) -> bool {
        self.at >= self.end
    }

    fn column(&self, context: &mut Context, at: c_int) -> Result<()> {
        if context.no_change() {
            return Ok(());
        }
        let rows = self.rows.borrow();
        let (a, name) = rows.get(self.at).ok_or_else(|| error(SQLITE_MISUSE))?;
        match at {
            0 => context.set_result(self.at as i64),
            1 => context.set_result(a),
            _ => context.set_result(name),
        }
    }

    fn rowid(&self) -> Result<i64> {
        Err(error(SQLITE_MISUSE))
    }
}
