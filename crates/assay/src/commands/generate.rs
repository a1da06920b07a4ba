//! `assay generate`

use std::io;

use assay_suites::tonbo::tbl;
use program_support::exit::{Failure, Outcome};
use program_support::whole_file;

use crate::cli::GenerateCustomerArgs;
use crate::files;

/// Writes a file of customers.
pub(crate) fn customer(args: &GenerateCustomerArgs) -> Outcome {
    let rows = u32::try_from(args.rows).ok().filter(|&rows| rows <= i32::MAX.cast_unsigned());
    let rows = rows.ok_or_else(|| {
        Failure::Usage(format!(
            "{} customers are more than there are keys ({})",
            args.rows,
            i32::MAX
        ))
    })?;
    if let Some(path) = &args.output {
        files::check_other(path, "--output")?;
    }
    let result = match &args.output {
        Some(path) => whole_file::write_with(path, &mut |out| tbl::generate(rows, args.seed, out))
            .map_err(|e| (path.display().to_string(), e)),
        None => tbl::generate(rows, args.seed, &mut io::BufWriter::new(io::stdout().lock()))
            .map_err(|e| ("standard output".to_string(), e)),
    };
    match result {
        Err((_, error)) if args.output.is_none() && error.kind() == io::ErrorKind::BrokenPipe => {
            Ok(())
        }
        Err((name, error)) => {
            Err(Failure::Refused(format!("{name}: {error}; choose another file with --output")))
        }
        Ok(()) => Ok(()),
    }
}
