//! The options of the command line for CSV.

use lode_arrow::{CsvForm, FileFormat};
use program_support::exit::{Failure, Outcome};

use crate::cli::columns::CsvArgs;

/// Returns the form of a CSV file, and refuses options of CSV where `format` is another.
pub(super) fn form(args: &CsvArgs, format: Option<FileFormat>) -> Outcome<CsvForm> {
    let said = [
        ("--delimiter", args.delimiter.is_some()),
        ("--no-header", args.no_header),
        ("--null", !args.null.is_empty()),
    ];
    if format != Some(FileFormat::Csv)
        && let Some((option, _)) = said.iter().find(|(_, is_said)| *is_said)
    {
        let what = format.map_or("Delta", FileFormat::name);
        return Err(Failure::Usage(format!("{option} is for CSV; this is {what}")));
    }
    let form = CsvForm {
        delimiter: args.delimiter,
        has_header: !args.no_header,
        nulls: args.null.clone(),
        ..CsvForm::default()
    };
    form.check().map_err(|why| Failure::Usage(format!("--null: {why}")))?;
    Ok(form)
}
