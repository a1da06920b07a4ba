//! Assay: one command that measures any embedded database on the workloads that the field
//! publishes, checks every answer, and keeps the result in a file.

mod cli;
mod commands;
mod count;
mod engines;
mod executor;
mod exit;
mod interrupt;
mod output;
mod places;
mod planning;
mod progress;
mod worker;

use std::process::ExitCode;

use cli::Command;
use exit::Failure;

fn main() -> ExitCode {
    let result = match cli::parse() {
        Ok(Command::Run(cli::RunSuite::Crossbench(args))) => commands::run::crossbench(&args),
        Ok(Command::Ladder(cli::LadderSuite::Crossbench(args))) => {
            commands::ladder::crossbench(&args)
        }
        Ok(Command::Verify(args)) => commands::verify::verify(&args),
        Ok(Command::List(args)) => commands::list::list(&args),
        Ok(Command::Show(args)) => commands::show::show(&args),
        Ok(Command::Plot(args)) => commands::plot::plot(&args),
        Ok(Command::Worker) => worker::child::work(),
        Err(failure) => Err(failure),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if let Some(line) = failure.line() {
                output::say(&format!("assay: {line}"));
            }
            failure.code()
        }
    }
}

/// What commands return.
type Outcome<T = ()> = Result<T, Failure>;
