//! The state of a virtual table that its cursors share.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ffi::c_int;
use std::rc::Rc;
use std::sync::Arc;

use lode::{Schema, Table};
use rusqlite::{Result, ffi};

use crate::error::error;
use crate::plan::Plan;
use crate::plan::transient::Transient;
use crate::session::Session;
use crate::values::row_numbers::RowNumbers;

/// Memory for the row that is written.
#[derive(Default)]
pub(crate) struct WriteBuffers {
    /// The packed key of the row that was.
    pub key: Vec<u8>,
    pub record: Vec<u8>,
}

/// The parts that a virtual table shares with its cursors.
pub(crate) struct Shared {
    pub session: Arc<Session>,
    pub table: Table,
    /// The table's name in SQLite.
    pub name: String,
    /// The plans of statements, by their numbers.
    plans: RefCell<Vec<Rc<Plan>>>,
    /// Memory for records, of cursors that were closed.
    pub spare: RefCell<Vec<Vec<u8>>>,
    /// Memory for what is written.
    pub write_buffers: RefCell<WriteBuffers>,
    /// Numbers that stand for keys of several columns.
    pub numbers: RowNumbers,
    /// True if the table has joined the transaction, and written nothing since.
    pub has_just_joined: Cell<bool>,
    /// The number of the table's open cursors.
    cursors: Cell<usize>,
    /// The state of plans while cursors are open.
    pub transients: RefCell<HashMap<c_int, Transient>>,
    /// A statement that writes nothing to it.
    pub join: String,
}

impl Shared {
    pub(crate) fn new(session: Arc<Session>, table: Table, name: String, join: String) -> Self {
        Self {
            session,
            table,
            name,
            plans: RefCell::default(),
            spare: RefCell::default(),
            write_buffers: RefCell::default(),
            numbers: RowNumbers::default(),
            has_just_joined: Cell::new(false),
            cursors: Cell::new(0),
            transients: RefCell::default(),
            join,
        }
    }

    pub(crate) fn schema(&self) -> &Schema {
        self.table.schema()
    }

    /// Notes a cursor that is opened. Returns true if it is the only one of the connection, outside
    /// of a transaction.
    pub(crate) fn open_cursor(&self) -> bool {
        self.cursors.set(self.cursors.get() + 1);
        self.session.open_cursor()
    }

    pub(crate) fn close_cursor(&self) {
        self.cursors.set(self.cursors.get() - 1);
        if self.cursors.get() == 0 {
            self.transients.borrow_mut().clear();
        }
        self.session.close_cursor();
    }

    /// Keeps a plan, and returns its number.
    pub(crate) fn keep(&self, plan: Plan) -> Result<c_int> {
        let mut plans = self.plans.borrow_mut();
        let number = plans.iter().position(|kept| **kept == plan).unwrap_or_else(|| {
            plans.push(Rc::new(plan));
            plans.len() - 1
        });
        c_int::try_from(number).map_err(|_| error(ffi::SQLITE_FULL, "there are too many plans"))
    }

    pub(crate) fn plan(&self, number: c_int) -> Result<Rc<Plan>> {
        let number = usize::try_from(number).ok();
        let plan = number.and_then(|number| self.plans.borrow().get(number).map(Rc::clone));
        plan.ok_or_else(|| error(ffi::SQLITE_MISUSE, "a statement has a plan that was not made"))
    }
}
