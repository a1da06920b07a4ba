//! Reading a command line; what is wrong with it becomes one line.

use std::ffi::OsString;
use std::io::{self, Write};

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use program_support::command_line;
use program_support::exit::Failure;
use program_support::output::{printed, say};

use super::internal::{Inside, Internal};
use super::{Cli, Command, CrashArgs, Plugins, RunSuite};

/// The request of a command line.
pub(crate) enum Asked {
    /// A command of the user, and the plugins that come with it.
    Command(Command, Plugins),
    /// A command that only this program gives to itself.
    Internal(Internal),
}

/// Reads the options of a suite as if they stood behind `assay run`.
pub(crate) fn parse_suite(words: &[String]) -> Result<RunSuite, String> {
    let line = ["assay", "run"].into_iter().map(String::from).chain(words.iter().cloned());
    match read(line.map(OsString::from).collect()) {
        Ok(Cli { command: Command::Run(args), .. }) => {
            args.suite.ok_or_else(|| "it is no suite".into())
        }
        Ok(_) => Err("it is no suite".into()),
        Err(error) => Err(one_line(&error)),
    }
}

/// Reads the options of a crash test as if they stood behind `assay crash`.
pub(crate) fn parse_crash(words: &[String]) -> Result<CrashArgs, String> {
    let line = ["assay", "crash"].into_iter().map(String::from).chain(words.iter().cloned());
    match read(line.map(OsString::from).collect()) {
        Ok(Cli { command: Command::Crash(args), .. }) => Ok(*args),
        Ok(_) => Err("it is no crash test".into()),
        Err(error) => Err(one_line(&error)),
    }
}

/// Options of several values, which NuDB's bench also takes as `--inserts=1000 10000`.
const SEVERAL: [&str; 2] = ["--inserts", "--dbs"];

/// Parts such an option from its first value, since only then others may follow it.
fn parted(word: OsString) -> Vec<OsString> {
    let option = word.to_str().and_then(|word| word.split_once('='));
    match option.filter(|(name, _)| SEVERAL.contains(name)) {
        Some((name, value)) => vec![name.into(), value.into()],
        None => vec![word],
    }
}

/// Reads the command line; what is wrong with it becomes one line.
pub(crate) fn parse() -> Result<Asked, Failure> {
    let first = std::env::args_os().nth(1).unwrap_or_default();
    let asked = if first.to_str().is_some_and(Internal::has_subcommand) {
        Inside::try_parse().map(|inside| Asked::Internal(inside.command))
    } else {
        read(std::env::args_os().flat_map(parted).collect())
            .map(|cli| Asked::Command(cli.command, cli.plugins))
    };
    asked.map_err(|error| {
        if !error.use_stderr() && !lacks_command(&error) {
            // Help or version.
            let result = error.print().and_then(|()| io::stdout().flush());
            return printed(result).err().unwrap_or(Failure::Quiet);
        }
        list_commands(&error);
        Failure::Usage(one_line(&error))
    })
}

/// Reads a command line. A number below zero is the value of the option before it, which says
/// what is wrong with it.
fn read(line: Vec<OsString>) -> Result<Cli, clap::Error> {
    let mut definition = with_negative_numbers(super::definition());
    let matches = definition.try_get_matches_from_mut(line)?;
    Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut definition))
}

fn with_negative_numbers(command: clap::Command) -> clap::Command {
    let names: Vec<_> = command.get_subcommands().map(|sub| sub.get_name().to_string()).collect();
    let command = command.mut_args(|arg| {
        let is_option = !arg.is_positional() && arg.get_action().takes_values();
        if is_option { arg.allow_negative_numbers(true) } else { arg }
    });
    let deeper =
        |command: clap::Command, name: String| command.mut_subcommand(name, with_negative_numbers);
    names.into_iter().fold(command, deeper)
}

/// The command that was named and needs another after it, with the words before that.
fn unfinished() -> Option<(String, clap::Command)> {
    let mut words = "assay".to_string();
    let mut at = Cli::command();
    for word in std::env::args_os().skip(1) {
        let Some(next) = word.to_str().and_then(|word| at.find_subcommand(word)) else { continue };
        let next = next.clone();
        words += &format!(" {}", next.get_name());
        at = next;
    }
    (words != "assay" && at.has_subcommands()).then_some((words, at))
}

/// Lists what can stand behind a command that wants another one, such as the suites.
fn list_commands(error: &clap::Error) {
    let Some((words, command)) = unfinished().filter(|_| lacks_command(error)) else { return };
    let width = command.get_subcommands().map(|sub| sub.get_name().len()).max().unwrap_or(0);
    for sub in command.get_subcommands() {
        let about = sub.get_about().map(ToString::to_string).unwrap_or_default();
        say(&format!("  {words} {:width$}  {about}", sub.get_name()));
    }
}

fn lacks_command(error: &clap::Error) -> bool {
    use clap::error::ErrorKind;
    matches!(
        error.kind(),
        ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    )
}

/// Returns the fault of a command line, in one line.
fn one_line(error: &clap::Error) -> String {
    if lacks_command(error) {
        return match unfinished() {
            None => "no command given; see assay --help".into(),
            Some((words, command)) => {
                let first = command.get_subcommands().next().map(clap::Command::get_name);
                let first = first.unwrap_or_default();
                format!("{words} needs one of these after it, such as {words} {first} --help")
            }
        };
    }
    command_line::one_line(&error.render().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
        Inside::command().debug_assert();
    }

    #[test]
    fn every_published_option_has_its_letter() {
        let cli = Cli::command();
        let run = cli.find_subcommand("run").expect("run");
        let crossbench = run.find_subcommand("crossbench").expect("crossbench");
        for letter in "sirludqckSVQHe".chars() {
            let option = crossbench
                .get_arguments()
                .find(|arg| arg.get_short() == Some(letter))
                .unwrap_or_else(|| panic!("-{letter}"));
            assert!(option.get_long().is_some(), "-{letter} has a long name");
        }
    }
}
