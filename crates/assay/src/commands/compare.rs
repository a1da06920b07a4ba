//! `assay compare`

use std::path::Path;

use assay_core::engine::EngineRef;
use assay_core::estimate::TRIALS_LEAST;
use assay_core::run_file::RunFile;
use assay_report::compare::{self, Comparison};
use program_support::exit::{Failure, Outcome};
use program_support::output::print;
use program_support::printable;

use crate::cli::{self, CompareArgs, CompareFormat};

/// Compares two runs, or two engines or two builds of one.
pub(crate) fn compare(args: &CompareArgs) -> Outcome {
    if let (true, Some(new)) = (args.ranks, &args.new) {
        return ranks(args, new);
    }
    let comparison = match (&args.new, &args.engines) {
        (Some(new), _) => compare::runs(&load(&args.base)?, &load(new)?),
        (None, Some((base, new))) => {
            let run = load(&args.base)?;
            // These are the names as the run file's are shown.
            let [base, new] = [base, new].map(|name| EngineRef::from(&*printable::line(name)));
            for engine in [&base, &new] {
                if !run.results().any(|result| result.cell.engine == *engine) {
                    return Err(Failure::Usage(format!(
                        "{}: there is no engine {engine} in this run",
                        args.base.display()
                    )));
                }
            }
            compare::engines(&run, &base, &new)
        }
        (None, None) => compare::builds(&load(&args.base)?).ok_or_else(|| {
            Failure::Usage(format!(
                "{}: one build measured it, so there is nothing to compare it with; name a second \
                 run file, or two engines with --engines",
                args.base.display()
            ))
        })?,
    };
    if let (false, Some(first)) = (args.allow_differences, comparison.differences.first()) {
        let more = match comparison.differences.len() {
            1 => String::new(),
            count => format!(" (and {} more differences)", count - 1),
        };
        return Err(Failure::Refused(format!(
            "not the same experiment: {first}{more}; compare with --allow-differences, or measure \
             anew"
        )));
    }
    if comparison.lines.is_empty() {
        let reasons = comparison.not_compared.iter().chain(&comparison.notes);
        return Err(Failure::Refused(match reasons.into_iter().next() {
            Some(reason) => format!("there is nothing to compare: {reason}"),
            None => "there is nothing to compare: nothing was measured".into(),
        }));
    }
    print(&match args.format {
        CompareFormat::Text => {
            compare::render(&comparison, cli::width()).expect("text can be written to memory")
        }
        CompareFormat::Json => compare::json(&comparison),
        CompareFormat::Markdown => compare::markdown(&comparison),
    })?;
    match args.fail_on_regression {
        Some(share) => {
            regressions(&comparison, share)?;
            if args.allow_missing { Ok(()) } else { judged(&comparison) }
        }
        None => Ok(()),
    }
}

/// Compares how two runs rank engines.
fn ranks(args: &CompareArgs, new: &Path) -> Outcome {
    let ranks = compare::ranks(&load(&args.base)?, &load(new)?);
    let ranks = ranks.map_err(|why| Failure::Refused(format!("nothing is ranked: {why}")))?;
    print(&match args.format {
        CompareFormat::Text => ranks.text(cli::width()),
        CompareFormat::Json => ranks.json(),
        CompareFormat::Markdown => ranks.markdown(),
    })
}

/// Checks that the comparison gives a verdict on every line of the base.
fn judged(comparison: &Comparison) -> Outcome {
    let missing = comparison.not_judged();
    let Some(first) = missing.first() else {
        return Ok(());
    };
    let more = match missing.len() {
        1 => String::new(),
        count => format!(" (and {} more)", count - 1),
    };
    Err(Failure::Regression(format!(
        "not all was judged: {first}{more}; measure it with {TRIALS_LEAST} trials or more, or say \
         --allow-missing"
    )))
}

fn load(path: &Path) -> Outcome<RunFile> {
    Ok(RunFile::load(path).map_err(|e| Failure::Refused(e.to_string()))?.printable())
}

fn regressions(comparison: &Comparison, share: f64) -> Outcome {
    let worse: Vec<_> = comparison.lines.iter().filter(|line| line.is_regression(share)).collect();
    let Some(worst) = worse.iter().max_by(|a, b| a.loss().total_cmp(&b.loss())) else {
        return Ok(());
    };
    Err(Failure::Regression(format!(
        "{} of {} are surely worse by {} % or more; the most: {} ({}) of {}, {} by {:.1} %",
        worse.len(),
        comparison.lines.len(),
        share * 100.0,
        worst.quantity,
        worst.statistic,
        worst.engine,
        worst.words(),
        worst.loss() * 100.0
    )))
}
