//! `lode serve`

use lode::Options;
use lode_server::{Access, Address, Certificate, Limits, Passwords, ServeError, Server};
use program_support::exit::{Failure, Outcome};
use program_support::interrupt;
use program_support::output::print;

use crate::cli::serve::ServeArgs;
use crate::database::Opened;

/// The name of a socket that drivers look for in a directory.
const SOCKET: &str = ".s.PGSQL.5432";

/// Serves a database until a signal ends it.
pub(crate) fn serve(args: &ServeArgs, options: &Options) -> Outcome {
    // Before a database is created.
    let access = access(args).map_err(|error| failure(&error))?;
    let options = options.clone().durability(args.durability.into());
    let opened = match (args.read_only, args.create) {
        (true, _) => Opened::to_read(&args.dir, &options)?,
        (false, true) => Opened::or_new(&args.dir, &options)?,
        (false, false) => Opened::existing(&args.dir, &options)?,
    };
    let served = run(args, access, &opened);
    opened.close_after(served)
}

/// Reads the files that decide who gets in.
fn access(args: &ServeArgs) -> Result<Access, ServeError> {
    let passwords = args.password_file.as_deref().map(Passwords::read).transpose()?;
    let files = args.tls_certificate.as_deref().zip(args.tls_key.as_deref());
    let certificate = files.map(|(chain, key)| Certificate::read(chain, key)).transpose()?;
    let access = Access { passwords, certificate };
    if let Some(address) = &args.listen {
        access.check(address)?;
    }
    Ok(access)
}

fn run(args: &ServeArgs, access: Access, opened: &Opened) -> Outcome {
    let limits = Limits {
        connections: args.connections.into(),
        message_bytes: usize::try_from(args.message_bytes).unwrap_or(usize::MAX),
        statement_timeout: args.statement_timeout,
        reads_only: args.read_only,
        ..Limits::default()
    };
    let address = match &args.listen {
        Some(address) => address.clone(),
        None => {
            let refused = |error| Failure::Refused(format!("{}: {error}", args.dir.display()));
            Address::Unix(args.dir.canonicalize().map_err(refused)?.join(SOCKET))
        }
    };
    let server = Server::listen(&opened.db, &address, access, limits);
    let server = server.map_err(|error| failure(&error))?;
    let stopper = server.stopper();
    interrupt::in_two_steps("lode", move || stopper.stop())?;
    let address = server.address().map_err(|error| failure(&error))?;
    print(&format!("listening at {address}\n"))?;
    server.run().map_err(|error| failure(&error))
}

/// Turns an error of the server into the failure of the command.
fn failure(error: &ServeError) -> Failure {
    let line = error.to_string();
    match error {
        ServeError::Address { .. }
        | ServeError::NoPassword { .. }
        | ServeError::NoSocket { .. }
        | ServeError::NotEncrypted { .. }
        | ServeError::OpenToOthers { .. }
        | ServeError::PasswordLine { .. }
        | ServeError::TlsFile { .. } => Failure::Usage(line),
        ServeError::InUse { .. } | ServeError::Io { .. } => Failure::Refused(line),
    }
}
