//! Assay: one command that measures any embedded database on the workloads that the field
//! publishes, checks every answer, and keeps the result in a file.

mod cli;
mod commands;
mod count;
mod crash;
mod engines;
mod executor;
mod exit;
mod files;
mod interrupt;
mod output;
mod places;
mod planning;
mod progress;
mod worker;
mod works;

use std::process::ExitCode;

use cli::Command;
use exit::Failure;

fn main() -> ExitCode {
    let result = match cli::parse() {
        Ok(Command::Run(suite)) => match suite {
            cli::RunSuite::Crossbench(args) => commands::run::crossbench(&args),
            cli::RunSuite::Nudb(args) => commands::run::nudb(&args),
            cli::RunSuite::Skvdb(args) => commands::run::skvdb(&args),
            cli::RunSuite::TonboWrite(args) => commands::run::tonbo_write(&args),
            cli::RunSuite::TonboRead(args) => commands::run::tonbo_read(&args),
            cli::RunSuite::TonboMicro(args) => commands::run::tonbo_micro(&args),
            cli::RunSuite::Ycsb(args) => commands::run::ycsb(&args),
        },
        Ok(Command::Ladder(cli::LadderSuite::Crossbench(args))) => {
            commands::ladder::crossbench(&args)
        }
        Ok(Command::Verify(args)) => commands::verify::verify(&args),
        Ok(Command::Crash(args)) => commands::crash::crash(&args),
        Ok(Command::List(args)) => commands::list::list(&args),
        Ok(Command::Generate(cli::Generate::Customer(args))) => commands::generate::customer(&args),
        Ok(Command::Show(args)) => commands::show::show(&args),
        Ok(Command::Plot(args)) => commands::plot::plot(&args),
        Ok(Command::Worker { namespace }) => worker::child::work(namespace),
        Ok(Command::PowerCutServer { mount }) => crash::power::serve(&mount),
        Ok(Command::PowerCutUnmount { mount }) => crash::power::unmount(&mount),
        #[cfg(feature = "tonbo")]
        Ok(Command::S3Server { root }) => {
            assay_drivers::serve_s3(&root).map_err(|e| Failure::Refused(format!("s3-server: {e}")))
        }
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
