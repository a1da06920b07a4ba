//! The state that a single writer may leave if some of its commits were refused.
//!
//! **The rule.** A refused commit may be there or not, but only whole. It is not there if the
//! engine said that nothing had happened, or was never asked to commit. No later commit changes its
//! rows. So the store is at a moment of the history under two conditions. Each refused commit until
//! then is there or is not. All other rows are as the acknowledged commits until then left them.

use super::check::{Placed, Rows, words};
use super::ledger::Contents;
use super::log::Log;
use super::writers::{Author, Writers};

/// A refused commit, and its rows.
struct Refusal<'l> {
    number: u32,
    is_without_effect: bool,
    why: &'l str,
    rows: Vec<Row>,
}

/// A row of a refused commit.
struct Row {
    row: u32,
    before: Option<Contents>,
    after: Option<Contents>,
}

impl Refusal<'_> {
    /// Returns true if the commit is there; an error if a part of it is.
    fn is_there(&self, rows: &Rows) -> Result<bool, String> {
        let found = |row: &Row| rows[row.row as usize];
        let there = self.rows.iter().filter(|row| found(row) == row.after).count();
        let absent = self.rows.iter().filter(|row| found(row) == row.before).count();
        let all = self.rows.len();
        match (there, absent) {
            (_, absent) if absent == all => Ok(false),
            (there, _) if there == all => Ok(true),
            (there, absent) => Err(format!(
                "commit {} was refused, and of its {all} rows {there} are as after it and {absent} \
                 as before it ({})",
                self.number, self.why
            )),
        }
    }
}

/// Returns the latest moment of the history with these rows.
pub(super) fn place(writers: Writers, rows: &Rows, log: &Log) -> Result<Placed, String> {
    let mut author = writers.author(0);
    let mut refusals = Vec::new();
    let mut latest = None;
    let mut why = None;
    loop {
        match wrong(&author, &refusals, rows) {
            None => latest = Some((author.clone(), refusals.len())),
            // What keeps the last moments from being it says most.
            Some(wrong) => why = Some(wrong),
        }
        let number = author.commits() + 1;
        // One more commit may have been in flight than was heard of.
        if number > (log.tried() + 1).min(writers.commits(0)) {
            break;
        }
        let before = author.clone();
        let steps = author.advance();
        let Some(refused) = log.refusal(number) else { continue };
        let row = |row| Row { row, before: before.row(row), after: author.row(row) };
        let rows = steps.iter().map(|step| row(step.row())).collect();
        let is_without_effect = refused.is_without_effect;
        refusals.push(Refusal { number, is_without_effect, why: &refused.why, rows });
        author.set_aside(&before, &steps);
    }
    let Some((author, some)) = latest else {
        return Err(why.unwrap_or_default());
    };
    let returned = refusals[..some]
        .iter()
        .find(|refusal| refusal.is_without_effect && refusal.is_there(rows) == Ok(true))
        .map(|refusal| format!("commit {} ({})", refusal.number, refusal.why));
    let refused_until = log.refused().iter().filter(|some| some.number <= author.commits());
    let acknowledged = author.commits() - refused_until.count() as u32;
    let (oldest_lost, lost) = log.beyond(&[acknowledged]);
    Ok(Placed { authors: vec![author], lost, oldest_lost, returned })
}

/// Returns why the rows are not those of a moment; none if they are.
fn wrong(author: &Author, refusals: &[Refusal<'_>], rows: &Rows) -> Option<String> {
    let parts = refusals.iter().find_map(|refusal| refusal.is_there(rows).err());
    let differs = |row: &u32| !author.is_aside(*row) && author.row(*row) != rows[*row as usize];
    let row = (0..rows.len() as u32).find(differs);
    parts.or_else(|| {
        row.map(|row| {
            format!(
                "it is no moment of the history: after commit {} row {row} is {}, not {}",
                author.commits(),
                words(rows[row as usize]),
                words(author.row(row))
            )
        })
    })
}
