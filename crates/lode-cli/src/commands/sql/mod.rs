//! `lode sql`

mod dot;
mod files;
mod help;
mod rows;
mod session;
mod shell;

use std::io::{self, BufRead, IsTerminal};

use lode::Options;
use program_support::exit::{Failure, Outcome};
use program_support::output::say;

use crate::cli::sql::SqlArgs;
use crate::database::Opened;
use session::Session;

/// Runs a query, what standard input has, or a shell.
pub(crate) fn sql(args: &SqlArgs, options: &Options) -> Outcome {
    let opened = match (args.read_only, args.create) {
        (true, _) => Opened::to_read(&args.dir, options)?,
        (false, true) => Opened::or_new(&args.dir, options)?,
        (false, false) => Opened::existing(&args.dir, options)?,
    };
    let done = Session::new(&opened.db, args.format).and_then(|mut session| match &args.query {
        Some(query) if query.trim_start().starts_with('.') => {
            lines(&mut session, "the query", query.as_bytes())
        }
        Some(query) => session.run(query).map_err(Failure::Wrong).and_then(|()| session.end()),
        None if io::stdin().is_terminal() => shell::run(&mut session),
        None => lines(&mut session, "standard input", io::stdin().lock()),
    });
    opened.close_after(done)
}

/// Runs statements and commands, up to the first that fails.
fn lines(session: &mut Session, name: &str, input: impl BufRead) -> Outcome {
    files::lines(session, name, input).map_err(Failure::Wrong)?;
    session.end()
}

/// Says what went wrong in a shell, which continues.
fn complain(why: &str) {
    say(&format!("lode: {why}"));
}
