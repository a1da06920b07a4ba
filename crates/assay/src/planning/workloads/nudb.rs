//! `assay run nudb`.

use std::collections::BTreeMap;

use assay_suites::nudb::{Nudb, Options, most_items};
use program_support::exit::{Failure, Outcome};

use crate::cli::NudbArgs;
use crate::planning::Workload;

/// The published defaults.
const INSERTS: [u64; 2] = [100_000, 1_000_000];
const FETCHES: u64 = 1_000_000;
const BATCH_SIZE: u64 = 20_000;
const BATCHES: u64 = 500;

/// Returns the workloads of a command line: one for each number of items.
pub(crate) fn workloads(args: &NudbArgs) -> Outcome<Vec<Workload>> {
    let parameters: BTreeMap<_, _> = [
        ("block_size", args.block_size.map(|size| size.to_string())),
        ("load_factor", args.load_factor.map(|share| share.to_string())),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some((name.to_string(), value?)))
    .collect();
    let in_batches = args.batch_size.is_some() || args.num_batches.is_some();
    let batch_size = in_batches.then_some(args.batch_size.unwrap_or(BATCH_SIZE));
    if args.raw_out.is_some() && !in_batches {
        return Err(Failure::Usage(
            "--raw_out is for batches; add --batch_size or --num_batches".into(),
        ));
    }
    let sizes = match (batch_size, args.inserts.is_empty()) {
        (Some(size), _) => {
            let batches = args.num_batches.unwrap_or(BATCHES);
            let all = size.checked_mul(batches).ok_or_else(|| {
                Failure::Usage(format!("{batches} batches of {size} items are too many"))
            })?;
            vec![all]
        }
        (None, true) => INSERTS.to_vec(),
        (None, false) => args.inserts.clone(),
    };
    let fetches = args.fetches.unwrap_or(batch_size.unwrap_or(FETCHES));
    let repeats = args.repeats.repeats;
    let clock = args.continuous.clock();
    let options = Options { key_size: args.key_size, fetches, batch_size, repeats, clock };
    let mut workloads = Vec::new();
    for rows in sizes {
        if let Some(most) = most_items(args.key_size).filter(|&most| rows > most) {
            return Err(Failure::Usage(format!(
                "{rows} items are more than there are keys of {} bytes ({most}); choose a longer \
                 --key_size",
                args.key_size
            )));
        }
        workloads.push(Workload {
            parameters: parameters.clone(),
            ..Workload::of::<Nudb>(rows, &options)
        });
    }
    Ok(workloads)
}
