//! Simple queries: statements in a text, one after another.

use std::rc::Rc;

use pgwire::messages::response::EmptyQueryResponse;

use crate::refusal::{self, Refusal};
use crate::session::execute::Portal;
use crate::session::prepare::split;
use crate::session::{Fail, Session};
use crate::sql::tokens::{Token, tokens};

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
            match self.timed(|session| session.simple_one(&statement)) {
                Ok(()) => self.send_if_much()?,
                Err(Fail::Refused(refusal)) if refusal.code != refusal::ENDING => {
                    self.put_error(&refusal)?;
                    break;
                }
                Err(last) => return Err(last),
            }
        }
        Ok(self.put_ready()?)
    }

    fn simple_one(&mut self, text: &str) -> Result<(), Fail> {
        let prepared = Rc::new(self.prepare(text, &[])?);
        if !prepared.taken.is_empty() {
            let number = tokens(text).iter().find_map(Token::parameter).unwrap_or(1);
            let line = format!("there is no parameter ${number}");
            return Err(Refusal::new(refusal::NO_PARAMETER, line).into());
        }
        let mut portal: Portal<'c> = Portal::new(prepared, Vec::new(), &[]);
        if !portal.prepared.columns.is_empty() {
            self.describe(&mut portal)?;
        }
        self.execute(&mut portal, 0)
    }
}
