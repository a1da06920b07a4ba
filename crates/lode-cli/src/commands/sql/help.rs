//! The text of `.help`.

pub(super) const HELP: &str = "\
.tables            the tables of the database
.schema [TABLE]    the statements that create them
.dump [TABLE]      the statements that create them and fill them
.read FILE         runs the statements of a file
.mode table|json|csv
                   how rows are shown
.timer on|off      whether each statement's time is shown
.help              this
.quit              the end; also Ctrl-D
Everything else is SQL, up to a semicolon. Ctrl-C forgets what was typed, or ends the
statement that runs.
";
