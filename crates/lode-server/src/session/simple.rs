//! Simple queries: statements in a text, one after another.

use std::rc::Rc;

use pgwire::messages::response::EmptyQueryResponse;

use crate::session::execute::Portal;
use crate::session::prepare::split;
use crate::session::{Fail, Session};

impl<'c> Session<'c> {
    /// Carries out the statements of a text, up to the first that fails.
    pub(super) fn simple(&mut self, text: &str) -> Result<(), Fail> {
        // A portal without a name ends with the next query.
        self.portals.remove("");
        let statements = split(text);
        if statements.is_empty() {
            self.output.put(&EmptyQueryResponse::new())?;
        }
        for statement in statements {
            match self.simple_one(&statement) {
                Ok(()) => {}
                Err(Fail::Closed) => return Err(Fail::Closed),
                Err(Fail::Refused(refusal)) => {
                    self.put_error(&refusal)?;
                    break;
                }
            }
        }
        Ok(self.put_ready()?)
    }

    fn simple_one(&mut self, text: &str) -> Result<(), Fail> {
        let prepared = Rc::new(self.prepare(text, &[])?);
        let values = vec![rusqlite::types::Value::Null; prepared.kinds.len()];
        let mut portal: Portal<'c> = Portal::new(prepared, values, &[]);
        if !portal.prepared.columns.is_empty() {
            self.describe(&mut portal)?;
        }
        self.execute(&mut portal, 0)
    }
}
