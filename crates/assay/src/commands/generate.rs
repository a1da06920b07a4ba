//! `assay generate`

use std::io::{self, Write};
use std::path::Path;

use assay_suites::tonbo::tbl;
use assay_suites::trace;
use assay_suites::workload::Text;
use assay_suites::workload::spec::Kind;
use program_support::exit::{Failure, Outcome};
use program_support::whole_file;

use crate::cli::{GenerateCustomerArgs, GenerateTraceArgs};
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
    written(args.output.as_deref(), &mut |out| tbl::generate(rows, args.seed, out))
}

/// Writes the trace of a workload.
pub(crate) fn trace(args: &GenerateTraceArgs) -> Outcome {
    let text = Text::of_file(&args.workload)?;
    let scans = text.spec().phases.iter().any(|phase| phase.has(Kind::Scan));
    if scans && !args.trace_format.has_scans() {
        return Err(Failure::Usage(
            "the workload scans, and this format has no word for it; choose --trace-format csv \
             or rocksdb"
                .into(),
        ));
    }
    if text.spec().phases.iter().any(|phase| phase.has(Kind::Find)) {
        return Err(Failure::Usage(
            "the workload finds records by a column, and traces have no word for it; leave find \
             out of its mixes"
                .into(),
        ));
    }
    let format = args.trace_format;
    let operations = args.operations;
    let seed = args.seed;
    let output = args.output.as_deref();
    written(output, &mut |out| {
        trace::packed(output, out, &mut |out| {
            trace::generate(text.spec(), format, operations, seed, out)
        })
    })
}

/// Lets `work` write a file, or standard output.
fn written(
    output: Option<&Path>,
    work: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
) -> Outcome {
    let refused = |name: &str, error: io::Error| {
        Err(Failure::Refused(format!("{name}: {error}; choose another file with --output")))
    };
    let Some(path) = output else {
        let mut out = io::BufWriter::new(io::stdout().lock());
        return match work(&mut out).and_then(|()| out.flush()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            Err(error) => refused("standard output", error),
            Ok(()) => Ok(()),
        };
    };
    files::check_other(path, "--output")?;
    match whole_file::write_with(path, work) {
        Err(error) => refused(&path.display().to_string(), error),
        Ok(()) => Ok(()),
    }
}
