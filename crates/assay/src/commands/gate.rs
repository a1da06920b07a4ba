//! `assay gate`

use std::time::Duration;

use assay_core::counting::Counter;
use assay_core::environment::processor_kind;
use assay_core::plan::Cell;
use program_support::exit::{Failure, Outcome};
use program_support::interrupt::Interrupt;
use program_support::output::say;

use crate::cli::gate::{CounterArg, ENGINES_COUNTED, check};
use crate::cli::{CacheArg, GateArgs, StorageArg};
use crate::files;
use crate::gate::counter::Means;
use crate::gate::counts::{Counted, Counts, MadeWith};
use crate::gate::judge::{Comparison, compare};
use crate::gate::{show, tools};
use crate::planning::baseline::Baseline;
use crate::planning::estimate::{operations, uncountable};
use crate::planning::request::Request;
use crate::planning::store_dirs::StoreDirs;
use crate::planning::{self, Setting};

/// The most operations of a cell by callgrind, which takes some fifty times the time of the engine.
const OPERATIONS_MOST: u64 = 200_000;
/// The most operations of a cell by the processor's counter: the tracer stops at each system call.
const OPERATIONS_MOST_HARDWARE: u64 = 10_000_000;
/// The most times that a cell that differs is counted again, each with all repetitions.
const COUNTED_AGAIN_MOST: usize = 3;
/// The name of the processor's own counter in a file of counts.
const HARDWARE: &str = "the processor";
/// The size of each engine's cache unless one is named: that of no machine.
const CACHE_BYTES: u64 = 32 << 20;

/// The other side of a comparison.
enum Against {
    Nothing,
    Counts(Counts),
    Build(Baseline),
}

/// Counts cells, and compares them with those of a file or of another build.
pub(crate) fn gate(args: &GateArgs) -> Outcome {
    let interrupt = Interrupt::noted();
    if let Some(path) = &args.save {
        files::check_other(path, "--save")?;
    }
    let mut request = Request::of(&args.suite()?)?;
    check(&request.common, &request.trials)?;
    fits(&request)?;
    let made_with = MadeWith {
        assay: env!("CARGO_PKG_VERSION").into(),
        instructions_by: match args.counter {
            CounterArg::Callgrind => tools::valgrind()?,
            CounterArg::Hardware => tools::expect_hardware().map(|()| HARDWARE.into())?,
        },
        processor: processor_kind(),
    };
    if args.against.is_some() && request.baseline.is_some() {
        return Err(Failure::Usage("--against is there twice; name one side".into()));
    }
    let against = match args.against.as_ref().or(request.baseline.as_ref()) {
        None => Against::Nothing,
        Some(path) => match Counts::read(path)? {
            Some(counts) => Against::Counts(comparable(counts, &made_with)?),
            None => Against::Build(Baseline::at(path)?),
        },
    };
    request.common.engine.extend(args.engine.iter().cloned());
    if request.common.engine.is_empty() {
        request.common.engine = engines(&against);
    }
    request.common.memory.cache.get_or_insert(CacheArg::Bytes(CACHE_BYTES));
    let mut setting = Setting::new(&request.common, request.key)?;
    let mut kept = None;
    match against {
        Against::Nothing => {}
        Against::Counts(counts) => kept = Some(counts),
        Against::Build(baseline) => {
            baseline.check_suite(request.workloads[0].suite)?;
            setting.take_turns(baseline)?;
        }
    }
    let modes = StorageArg::modes(&request.storage);
    let store_dirs = StoreDirs::prepare(&modes, request.common.dir.as_deref())?;
    let cells = cells(&setting, &request, &store_dirs, args.counter)?;
    let means = Means {
        instructions: match args.counter {
            CounterArg::Callgrind => Counter::Callgrind,
            CounterArg::Hardware => Counter::Hardware,
        },
        baseline: setting.baseline.as_ref(),
        interrupt: &interrupt,
        timeout: request.common.timeout.map(Duration::from_secs),
        quiet: args.quiet || request.quiet,
    };
    let counted = means.count(&cells)?;
    let (mut now, mut before): (Vec<_>, Vec<_>) =
        counted.into_iter().partition(|counted| !counted.cell.engine.is_of_other_build());
    let is_compared = kept.is_some() || setting.baseline.is_some();
    before.extend(kept.into_iter().flat_map(|counts| counts.cells));
    let comparisons =
        if is_compared { compared(&means, &mut before, &mut now)? } else { Vec::new() };
    if is_compared {
        say_new(&before, &now);
    }
    let counts = Counts::new(made_with, now);
    if let Some(path) = &args.save {
        counts.save(path)?;
    }
    show::show(args.format, &counts, is_compared.then_some(&comparisons))?;
    verdict(&counts, &comparisons)
}

/// Refuses what cannot be counted.
fn fits(request: &Request) -> Outcome {
    for workload in &request.workloads {
        if workload.threads != 1 {
            return Err(Failure::Usage(
                "--threads: counts of several threads depend on which comes first; count with one"
                    .into(),
            ));
        }
    }
    Ok(())
}

/// Returns counts of a file that can be compared with those of this machine.
fn comparable(counts: Counts, here: &MadeWith) -> Outcome<Counts> {
    if counts.cells.iter().all(|counted| counted.phases.is_empty()) {
        return Err(Failure::Refused("the file of --against has no counts; count again".into()));
    }
    let there = &counts.made_with;
    if there.processor != here.processor {
        return Err(Failure::Refused(format!(
            "its counts are of another kind of processor ({}, here {}), for which libraries choose \
             other code; count both sides here, with --against BUILD",
            there.processor, here.processor
        )));
    }
    if (there.instructions_by == HARDWARE) != (here.instructions_by == HARDWARE) {
        return Err(Failure::Refused(format!(
            "its instructions were counted by {}, here by {}: count both sides by one --counter",
            there.instructions_by, here.instructions_by
        )));
    }
    if there.instructions_by != here.instructions_by {
        say(&format!(
            "note: counted by {}, now by {}",
            there.instructions_by, here.instructions_by
        ));
    }
    Ok(counts)
}

/// Returns the engines that are counted if none is named.
fn engines(against: &Against) -> Vec<String> {
    match against {
        Against::Counts(counts) => {
            let mut all: Vec<_> =
                counts.cells.iter().map(|counted| counted.cell.engine.id.clone()).collect();
            all.dedup();
            all
        }
        Against::Build(_) => Vec::new(),
        Against::Nothing => ENGINES_COUNTED
            .into_iter()
            .filter(|id| assay_drivers::find(id).is_some())
            .map(String::from)
            .collect(),
    }
}

/// Returns the cells of both builds, with folders whose names are of equal length.
fn cells(
    setting: &Setting,
    request: &Request,
    store_dirs: &StoreDirs,
    counter: CounterArg,
) -> Outcome<Vec<Cell>> {
    let (most, times) = match counter {
        CounterArg::Callgrind => (OPERATIONS_MOST, "fifty times"),
        CounterArg::Hardware => (OPERATIONS_MOST_HARDWARE, "several times"),
    };
    let modes = StorageArg::modes(&request.storage);
    let planned = planning::trial(setting, &request.workloads, &modes, 1, store_dirs);
    let mut cells = Vec::new();
    for planned in planned {
        if let Some(status) = planned.refusal {
            say(&format!("note: {}: {}", planned.cell.engine, tools::reason(&status)));
            continue;
        }
        let mut cell = planned.cell;
        if let Some(why) = uncountable(&cell) {
            return Err(Failure::Usage(format!("{}: this cannot be counted: {why}", cell.suite)));
        }
        if let Some(count) = operations(&cell).filter(|count| *count > most) {
            return Err(Failure::Usage(format!(
                "{count} operations are too many to count, which takes {times} as long as to \
                 measure; count at most {most}, with {}",
                request.shorter
            )));
        }
        if cell.engine.is_of_other_build() {
            let id = &cell.engine.id;
            let base = cell.dir.as_ref().and_then(|dir| dir.parent());
            cell.dir = base.map(|base| base.join(format!("{id}_{}", cell.storage)));
        }
        cells.push(cell);
    }
    if cells.is_empty() {
        return Err(Failure::Refused("no engine here can do that; see assay list".into()));
    }
    Ok(cells)
}

/// Says which cells have no counts to be compared with.
fn say_new(before: &[Counted], now: &[Counted]) {
    for new in now {
        let is_base = |base: &Counted| new.cell.same_but_trial_and_build(&base.cell);
        if !before.iter().any(is_base) {
            say(&format!("note: {}: nothing to compare it with", show::title(&new.cell)));
        }
    }
}

/// Compares the two sides. A cell that differs is counted again on each side that is here: once if
/// its repetitions agree, else so long as it differs and not too often.
fn compared(
    means: &Means<'_>,
    before: &mut [Counted],
    now: &mut [Counted],
) -> Outcome<Vec<Comparison>> {
    let mut comparisons = Vec::new();
    for base in before {
        let is_same = |counted: &&mut Counted| counted.cell.same_but_trial_and_build(&base.cell);
        let title = show::title(&base.cell);
        let Some(new) = now.iter_mut().find(is_same) else {
            comparisons.push(Comparison {
                title,
                lines: Vec::new(),
                not_judged: vec!["it was not counted now".into()],
            });
            continue;
        };
        let mut comparison = compare(&title, base, new);
        for times in 0..COUNTED_AGAIN_MOST {
            if !comparison.differs() || (times > 0 && comparison.is_exact()) {
                break;
            }
            let mut again = vec![new.cell.clone()];
            if base.cell.engine.is_of_other_build() {
                again.push(base.cell.clone());
            }
            for more in means.count(&again)? {
                let side = if more.cell.engine == new.cell.engine { &mut *new } else { &mut *base };
                side.add(more);
            }
            comparison = compare(&title, base, new);
        }
        comparisons.push(comparison);
    }
    Ok(comparisons)
}

/// Returns the end of the command.
fn verdict(counts: &Counts, comparisons: &[Comparison]) -> Outcome {
    let failed =
        counts.cells.iter().filter_map(|counted| Some((counted, counted.failed.as_ref()?)));
    if let Some((counted, why)) = failed.into_iter().next() {
        return Err(Failure::Wrong(format!("{}: {why}", counted.cell.engine)));
    }
    let found: Vec<_> = comparisons.iter().flat_map(show::failures).collect();
    match found.as_slice() {
        [] => Ok(()),
        [only] => Err(Failure::Regression(only.clone())),
        [first, others @ ..] => {
            Err(Failure::Regression(format!("{first} (and {} more)", others.len())))
        }
    }
}
