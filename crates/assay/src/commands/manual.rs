//! `assay completions` and `assay man`, made from the definition of the command line as `--help`
//! is.

use std::path::Path;

use clap_complete::Shell;
use program_support::exit::{Failure, Outcome};
use program_support::output::print;

use crate::cli;
use crate::files;

/// Prints the completions for a shell.
pub(crate) fn completions(shell: Shell) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut cli::definition(), "assay", &mut script);
    print(&String::from_utf8_lossy(&script))
}

/// Prints the main manual page, or writes those of all commands into a directory.
pub(crate) fn pages(output: Option<&Path>) -> Outcome {
    let Some(folder) = output else {
        let mut page = Vec::new();
        return match clap_mangen::Man::new(cli::definition()).render(&mut page) {
            Ok(()) => print(&String::from_utf8_lossy(&page)),
            Err(error) => Err(Failure::Refused(format!("cannot make the page: {error}"))),
        };
    };
    files::make_directory(folder, "--output")?;
    clap_mangen::generate_to(cli::definition(), folder).map_err(|e| {
        let path = folder.display();
        Failure::Refused(format!("{path}: {e}; choose another directory with --output"))
    })
}
