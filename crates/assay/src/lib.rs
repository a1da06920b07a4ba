//! The command line of Assay: one command that measures any embedded database on the workloads that
//! the field publishes, checks every answer, and keeps the result in a file.
//!
//! `cli` defines the command line; each command is a file in `commands`. `planning` makes cells of
//! it, `running` measures them by the processes in `worker`, and `output` shows the results.

#![warn(unreachable_pub)]

mod cli;
mod commands;
mod crash;
mod files;
mod gate;
mod output;
mod planning;
mod plugins;
mod running;
mod torture;
mod worker;

use std::process::ExitCode;

use program_support::exit::{self, Failure, Outcome};
use program_support::interrupt;

use cli::{Asked, Command, Internal, PluginCommand, RunSuite, WorkloadCommand};
use worker::child::Place;
use worker::groups;

/// Runs the command line of this process, and returns its exit status.
pub fn run() -> ExitCode {
    let outcome = cli::parse().and_then(|asked| match asked {
        Asked::Command(command, plugins) => {
            interrupt::watch("assay", groups::kill_all)?;
            groups::stop_together()
                .map_err(|e| Failure::Refused(format!("cannot watch for stops: {e}")))?;
            plugins::load(&plugins)?;
            carry_out(command)
        }
        Asked::Internal(command) => carry_out_inside(command),
    });
    exit::end("assay", &outcome)
}

fn carry_out(command: Command) -> Outcome {
    match command {
        Command::Run(args) => match args.suite {
            Some(RunSuite::Crossbench(args)) if args.verify => {
                commands::verify::verify(&args.as_verify()?)
            }
            Some(suite) => commands::run::run(&suite),
            None => commands::tour::tour(&args.tour),
        },
        Command::Age(args) => commands::age::age(&args),
        Command::Plan(args) => commands::plan::plan(&args),
        Command::Advise(args) => commands::advise::advise(&args),
        Command::Isolate(args) => commands::isolate::isolate(&args),
        Command::Verify(args) => commands::verify::verify(&args),
        Command::Crash(args) => commands::crash::crash(&args),
        Command::Torture(args) => commands::torture::torture(&args),
        Command::Doctor(args) => commands::doctor::doctor(&args),
        Command::Completions { shell } => commands::manual::completions(shell),
        Command::Man { output } => commands::manual::pages(output.as_deref()),
        Command::List(args) => commands::list::list(&args),
        Command::Generate(cli::Generate::Customer(args)) => commands::generate::customer(&args),
        Command::Generate(cli::Generate::Trace(args)) => commands::generate::trace(&args),
        Command::Workload(WorkloadCommand::New { kind, output }) => {
            commands::workload::new(&kind, output.as_deref())
        }
        Command::Workload(WorkloadCommand::Check { file }) => commands::workload::check(&file),
        Command::Workload(WorkloadCommand::Fit { options, output }) => {
            commands::workload::fit(&options, output.as_deref())
        }
        Command::Plugin(PluginCommand::New { name, output }) => {
            commands::plugin::new::new(&name, output)
        }
        Command::Plugin(PluginCommand::Build(args)) => commands::plugin::build::build(&args),
        Command::Show(args) => commands::show::show(&args),
        Command::Report(args) => commands::report::report(&args),
        Command::Site(args) => commands::site::site(&args),
        Command::Gate(args) => commands::gate::gate(&args),
        Command::Compare(args) => commands::compare::compare(&args),
        Command::Plot(args) => commands::plot::plot(&args),
    }
}

fn carry_out_inside(command: Internal) -> Outcome {
    match command {
        Internal::Worker {
            namespace,
            memory_group,
            callgrind,
            fixed_addresses,
            trace,
            traced,
            plugin,
        } => {
            let place = namespace.map(Place::Namespace);
            let place = place.or(memory_group.map(Place::MemoryGroup));
            let place = place.or(callgrind.map(Place::Callgrind));
            let place = place.or(fixed_addresses.then_some(Place::FixedAddresses));
            match trace {
                Some(folder) => worker::tracer::trace(&folder, &plugin),
                None => worker::child::work(place.as_ref(), traced, &plugin),
            }
        }
        Internal::MemoryGroupKeeper { limit_bytes } => worker::memory_group::keep(limit_bytes),
        Internal::PowerCutServer { mount } => crash::power::serve(&mount),
        Internal::PowerCutUnmount { mount } => crash::power::unmount(&mount),
        Internal::TortureProgram { namespace, dir, command } => {
            torture::program::begin(namespace, &dir, &command)
        }
        #[cfg(feature = "tonbo")]
        Internal::S3Server { root } => {
            let refused = |e| Failure::Refused(format!("s3-server: {e}"));
            assay_drivers::serve_s3(&root).map_err(refused)
        }
    }
}
