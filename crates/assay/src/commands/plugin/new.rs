//! `assay plugin new`

use std::path::PathBuf;

use program_support::exit::{Failure, Outcome};
use program_support::output::print;
use program_support::whole_file;

use crate::files;

const SOURCE: &str = include_str!("../../../templates/plugin.c");
const MAKEFILE: &str = include_str!("../../../templates/plugin.mk");

/// Writes a plugin that builds, to be filled in.
pub(crate) fn new(name: &str, output: Option<PathBuf>) -> Outcome {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let begins_well = name.starts_with(|c: char| c.is_ascii_lowercase());
    if !begins_well || name.len() > 32 || !name.chars().all(plain) {
        return Err(Failure::Usage(format!(
            "{name:?} cannot be an engine's id: 1 to 32 lower-case letters, digits and hyphens, a \
             letter first"
        )));
    }
    if assay_drivers::find(name).is_some() {
        return Err(Failure::Usage(format!(
            "there is an engine {name} already; choose another id"
        )));
    }
    let folder = output.unwrap_or_else(|| PathBuf::from(name));
    let refused = |e: std::io::Error| {
        Failure::Refused(format!(
            "{}: {e}; choose a directory that is not there yet with --output",
            folder.display()
        ))
    };
    if folder.exists() || !files::make_directory(&folder, "--output")? {
        return Err(refused(std::io::ErrorKind::AlreadyExists.into()));
    }
    let fill =
        |text: &str| text.replace("@NAME@", name).replace("@FUNCTION@", &name.replace('-', "_"));
    let files = [
        ("assay_driver.h".to_string(), assay_drivers::plugin::HEADER.to_string()),
        (format!("{name}.c"), fill(SOURCE)),
        ("Makefile".to_string(), fill(MAKEFILE)),
    ];
    let written = files
        .iter()
        .try_for_each(|(file, content)| whole_file::write(&folder.join(file), content.as_bytes()));
    if let Err(error) = written {
        // The folder was made by this command.
        let _ = std::fs::remove_dir_all(&folder);
        return Err(refused(error));
    }
    let path = folder.display();
    print(&format!(
        "{path}/{name}.c: fill the functions in, then\n\n  make -C {path}\n  assay verify \
         -e {name} --plugin {path}/lib{name}.so\n  assay run crossbench -e {name} --plugin \
         {path}/lib{name}.so\n"
    ))
}
