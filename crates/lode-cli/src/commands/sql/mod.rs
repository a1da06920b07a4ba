//! `lode sql`

mod definitions;
mod dot;
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
use session::{Next, Session};

/// Runs a query, what standard input has, or a shell.
pub(crate) fn sql(args: &SqlArgs, options: &Options) -> Outcome {
    let opened = match (args.read_only, args.create) {
        (true, _) => Opened::to_read(&args.dir, options)?,
        (false, true) => Opened::or_new(&args.dir, options)?,
        (false, false) => Opened::existing(&args.dir, options)?,
    };
    let done = Session::new(&opened.db, args.format).and_then(|mut session| match &args.query {
        Some(query) => session.run(query).map_err(Failure::Wrong).and_then(|()| session.end()),
        None if io::stdin().is_terminal() => shell::run(&mut session),
        None => lines(&mut session),
    });
    opened.close_after(done)
}

/// Runs the statements of standard input, up to the first that fails.
fn lines(session: &mut Session) -> Outcome {
    let mut start = 1;
    for (line, number) in io::stdin().lock().lines().zip(1..) {
        let line = line.map_err(|error| Failure::Refused(format!("standard input: {error}")))?;
        if session.is_at_start() {
            start = number;
        }
        let wrong = |why: String| Failure::Wrong(format!("standard input:{start}: {why}"));
        if session.take_line(&line).map_err(wrong)? == Next::Quit {
            return session.end();
        }
    }
    // The last statement needs no semicolon.
    let rest = session.take_rest();
    session.run(&rest).map_err(|why| Failure::Wrong(format!("standard input:{start}: {why}")))?;
    session.end()
}

/// Says what went wrong in a shell, which goes on.
fn complain(why: &str) {
    say(&format!("lode: {why}"));
}
