//! The shell on a terminal: history, completion, statements of several lines.

use std::path::PathBuf;

use program_support::exit::{Failure, Outcome};
use program_support::interrupt;
use program_support::output::print;
use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::DefaultHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Config, Context, Editor, Helper};

use super::complain;
use super::dot::NAMES;
use super::session::{Next, Session};

/// Words of SQL that Tab completes.
const WORDS: &str = "\
SELECT FROM WHERE ORDER BY GROUP HAVING LIMIT OFFSET DISTINCT AS JOIN LEFT ON USING UNION EXCEPT \
INTERSECT INSERT INTO VALUES UPDATE SET DELETE REPLACE CREATE DROP TABLE PRIMARY KEY NOT NULL AND \
OR IN IS LIKE GLOB BETWEEN EXISTS CASE WHEN THEN ELSE END WITH RECURSIVE EXPLAIN QUERY PLAN BEGIN \
COMMIT ROLLBACK SAVEPOINT RELEASE ASC DESC COUNT SUM MIN MAX AVG";

/// The words that complete a line while it is typed.
struct Words {
    all: Vec<String>,
}

impl Words {
    /// Collects the words of SQL, and the names of tables and columns.
    fn of(session: &Session) -> Self {
        let mut all: Vec<String> = WORDS.split(' ').map(Into::into).collect();
        for name in session.db.table_names() {
            if let Ok(table) = session.db.table(&name) {
                all.extend(table.schema().columns().iter().map(|column| column.name.clone()));
            }
            all.push(name);
        }
        all.sort_unstable();
        all.dedup();
        Self { all }
    }
}

impl Completer for Words {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        place: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        let before = &line[..place];
        if before.starts_with('.') && !before.contains(' ') {
            let names = NAMES.iter().filter(|name| name.starts_with(before));
            return Ok((0, names.map(|name| (*name).into()).collect()));
        }
        let is_plain = |letter: char| letter.is_alphanumeric() || letter == '_';
        let start = before.trim_end_matches(is_plain).len();
        let begun = before[start..].to_lowercase();
        if begun.is_empty() {
            return Ok((place, Vec::new()));
        }
        let found = self.all.iter().filter(|word| word.to_lowercase().starts_with(&begun));
        Ok((start, found.cloned().collect()))
    }
}

impl Validator for Words {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let text = context.input().trim();
        let is_whole = text.is_empty() || text.starts_with('.') || lode_sqlite::is_complete(text);
        Ok(if is_whole { ValidationResult::Valid(None) } else { ValidationResult::Incomplete })
    }
}

impl Hinter for Words {
    type Hint = String;
}

impl Highlighter for Words {}

impl Helper for Words {}

/// Returns the file of the history, if there is a home.
fn history_file() -> Option<PathBuf> {
    let state = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from);
    let home = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".local/state"));
    let folder = state.filter(|state| state.is_absolute()).or(home)?.join("lode");
    std::fs::create_dir_all(&folder).ok()?;
    Some(folder.join("sql-history"))
}

/// Runs the shell until its user leaves.
pub(super) fn run(session: &mut Session) -> Outcome {
    session.counts_changes = true;
    let refused = |error: ReadlineError| Failure::Refused(format!("the terminal: {error}"));
    let config = Config::builder().auto_add_history(true).max_history_size(1_000);
    let mut editor: Editor<Words, DefaultHistory> =
        Editor::with_config(config.map_err(refused)?.build()).map_err(refused)?;
    let history = history_file();
    if let Some(file) = &history {
        // The first time there is no history.
        let _ = editor.load_history(file);
    }
    let statement = session.interrupter();
    interrupt::on_keyboard(move || statement.interrupt())?;
    print("SQL ends with a semicolon; .help lists the commands\n")?;
    loop {
        editor.set_helper(Some(Words::of(session)));
        let prompt = if session.is_in_transaction() { "lode*> " } else { "lode> " };
        match editor.readline(prompt) {
            Ok(text) => match session.take_line(&text) {
                Ok(Next::Line) => {}
                Ok(Next::Quit) => break,
                Err(why) => complain(&why),
            },
            // The typed line is forgotten.
            Err(ReadlineError::Interrupted) => {}
            Err(ReadlineError::Eof) => break,
            Err(error) => return Err(refused(error)),
        }
        if let Some(file) = &history {
            // A history that cannot be kept is no reason to end.
            let _ = editor.append_history(file);
        }
    }
    session.end()
}
