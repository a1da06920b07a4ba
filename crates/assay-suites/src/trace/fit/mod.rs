//! Fitting a workload to a trace: mix, sizes, popularity, growth and rate; and how far the fitted
//! workload is from the trace.

mod distance;
mod popularity;
mod profile;
mod text;

use std::path::PathBuf;

use clap::Args;
use program_support::exit::{Failure, Outcome};

use super::format::Format;
use super::line::MOST_OPERATIONS;
use super::reader::Reading;
use super::source;
use super::tape::Tape;
use crate::options::count;
use crate::workload;
use profile::Profile;

/// The most operations over which a workload is compared with its trace.
const COMPARED_MOST: u64 = 2_000_000;

/// The most exponents that are tried: records that come and go make others of them than were set.
const ROUNDS: u32 = 4;
/// The difference of exponents from which on no other is tried.
const NEAR: f64 = 0.005;

/// The seed of the operations that are compared with the trace.
const SEED: u64 = 1;

/// The trace that a workload is fitted to.
#[derive(Args, Clone, Debug)]
pub struct FitOptions {
    /// Trace, which may be compressed with zstd or gzip
    #[arg(value_name = "TRACE")]
    pub path: PathBuf,
    /// Format of the trace [default: recognised by its first line]
    #[arg(long, value_name = "FORMAT")]
    pub trace_format: Option<Format>,
    /// Take records that the trace finds as there before it; otherwise as absent
    #[arg(long)]
    pub prefill: bool,
    /// Leave out lines that are broken
    #[arg(long)]
    pub skip_broken: bool,
    /// Take only this number of operations, from the first on
    #[arg(long, value_name = "COUNT", value_parser = count::between::<u64>(1, MOST_OPERATIONS))]
    pub first: Option<u64>,
}

/// A fitted workload.
#[derive(Clone, Debug)]
pub struct Fit {
    /// The text of its file.
    pub text: String,
    /// The distances from the trace, in lines.
    pub distances: String,
}

/// Fits a workload to a trace.
///
/// # Errors
/// If the trace cannot be read, or has a broken line.
pub fn fit(options: &FitOptions) -> Outcome<Fit> {
    source::check(&options.path)?;
    let whole = profiled(options, options.first)?;
    // Popularity depends on how many operations there are, so as many are compared.
    let compared = whole.operations.min(COMPARED_MOST);
    let part = (compared < whole.operations).then(|| profiled(options, Some(compared)));
    let part = part.transpose()?;
    let trace = part.as_ref().unwrap_or(&whole);
    let wanted = popularity::exponent(&trace.chosen);
    let mut exponent = popularity::exponent(&whole.chosen);
    for _ in 1..ROUNDS {
        let fitted = fitted(&whole, options, exponent, compared)?;
        let short = wanted - popularity::exponent(&fitted.profile.chosen);
        if short.abs() < NEAR {
            break;
        }
        exponent = (exponent + short).clamp(0.0, popularity::MOST);
    }
    let Fitted { text, profile } = fitted(&whole, options, exponent, compared)?;
    let distances = distance::text(trace, &profile).expect("text can be written to memory");
    Ok(Fit { text, distances })
}

/// A workload with this exponent, and its profile.
struct Fitted {
    text: String,
    profile: Profile,
}

fn fitted(
    trace: &Profile,
    options: &FitOptions,
    exponent: f64,
    operations: u64,
) -> Outcome<Fitted> {
    let text = text::of(trace, &options.path, exponent);
    let spec = workload::file::parse(&text).map_err(|fault| {
        Failure::Usage(format!("{}: no workload is like it: {fault}", options.path.display()))
    })?;
    Ok(Fitted { text, profile: Profile::of_workload(&spec, SEED, operations) })
}

/// Returns the profile of a trace.
fn profiled(options: &FitOptions, first: Option<u64>) -> Outcome<Profile> {
    let reading = Reading {
        path: &options.path,
        format: options.trace_format,
        first,
        skip_broken: options.skip_broken,
    };
    let tape = Tape::of(&reading, options.prefill, &mut |_| ())?;
    Profile::of_trace(tape).map_err(|error| reading.spool(error).into())
}
