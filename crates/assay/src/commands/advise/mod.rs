//! `assay advise`

mod known;

use std::path::Path;
use std::time::Duration;

use assay_core::advice::{Advice, LeftOut, Limits, PhaseWeight, Rank, Weights};
use assay_core::run_file::{RunFile, Status};
use assay_report::advice::{MOST_TRIALS, Verdict, verdict};
use assay_suites::workload::spec::Phase;
use assay_suites::workload::{self, Text};
use program_support::exit::{Failure, Outcome};
use program_support::interrupt::Interrupt;
use program_support::output::{print, say};

use crate::cli::{self, AdviseArgs, Format, StorageArg};
use crate::crash::VERDICTS_FILE;
use crate::files;
use crate::output::page;
use crate::output::progress::Display;
use crate::output::results::{print_published, show_advice, show_table};
use crate::planning::estimate::{Estimate, rough};
use crate::planning::store_dirs::StoreDirs;
use crate::planning::{self, Planned, Setting, Workload};
use crate::running::executor::{Execution, examine, new_run};
use crate::running::run_place::RunPlace;
use crate::running::start::Start;
use crate::running::time_budget::TimeBudget;
use crate::worker::memory_group::MemoryGroup;

use known::Known;

/// The options with which a run takes less time.
const SHORTER: &str = "fewer operations in the file, or fewer engines (-e)";

/// Measures a workload until engines can be told apart, and prints the conclusion.
pub(crate) fn advise(args: &AdviseArgs) -> Outcome {
    let interrupt = Interrupt::noted();
    let question = Question::of(args)?;
    let modes = StorageArg::modes(&[args.storage]);
    let [storage] = modes[..] else {
        return Err(Failure::Usage(
            "--storage all: engines are ranked in one storage mode; name one".into(),
        ));
    };
    if let Some(path) = &args.common.output {
        RunPlace::check(path)?;
    }
    let Question { mut setting, workloads, advice } = question;
    let rank = advice.rank;
    let store_dirs = StoreDirs::prepare(&modes, args.common.dir.as_deref())?;
    let mut plan = planning::plan(&setting, &workloads, &[storage], 1, &store_dirs)?;
    let place_of = |planned: &Planned| {
        let engine = &planned.cell.engine.id;
        setting.engines.iter().position(|driver| driver.profile().id == *engine)
    };
    // If the time is over early, some engines have all of their cells rather than all a part.
    plan.sort_by_key(|planned| (!planned.cell.calibration, place_of(planned)));
    let mut run = new_run(plan.len());
    run.advice = Some(advice);
    let place = RunPlace::of(args.common.output.as_deref(), "advice", run.created)?;
    let sync = examine(&mut run, &store_dirs, &plan);
    let start =
        Start { quiet: args.quiet, yes: args.common.yes, shorter: SHORTER, interrupt: &interrupt };
    start.announce(&plan, &run, sync)?;
    let estimate = Estimate::of_earlier_runs(Path::new(files::RUNS_FOLDER), &run);
    let cells = plan.iter().filter(|planned| planned.refusal.is_none());
    let of_all = estimate.forecast(cells.map(|planned| &planned.cell), sync).time;
    if of_all > args.limit {
        say(&format!(
            "note: one trial of all engines takes {}, and --for is {}; it takes less with \
             {SHORTER}",
            rough(of_all),
            rough(args.limit)
        ));
    } else if !args.quiet {
        say(&format!("at most {} in all", rough(args.limit)));
    }
    let engines: Vec<_> = setting.engines.iter().map(|engine| engine.profile().id).collect();
    let time_budget = TimeBudget::lasting(Some(args.limit), estimate);
    let mut trial = 1;
    let result = loop {
        let mut display = Display::new(plan.len(), args.quiet);
        if trial == 1 {
            store_dirs.warnings.iter().for_each(|warning| display.say(&format!("note: {warning}")));
        }
        let result = Execution {
            timeout: args.common.timeout.map(Duration::from_secs),
            baseline: None,
            interrupt: &interrupt,
            time_budget: &time_budget,
            path: place.path(),
            verdicts: Path::new(VERDICTS_FILE),
            display: &mut display,
            each: &mut |_| Ok(()),
        }
        .carry_out(plan, &mut run);
        match result {
            // The conclusion says why an engine does not qualify.
            Ok(()) | Err(Failure::Wrong(_)) => {}
            other => break other,
        }
        if time_budget.is_spent() || trial == MOST_TRIALS {
            break Ok(());
        }
        let verdict = verdict(&run).expect("the run answers a question");
        let undecided = verdict.undecided();
        setting.engines.retain(|engine| undecided.contains(&engine.profile().id));
        if setting.engines.is_empty() {
            break Ok(());
        }
        trial += 1;
        plan = planning::trial(&setting, &workloads, &[storage], trial, &store_dirs);
        plan.retain(|planned| tells_more(planned, &workloads, &verdict, rank));
        run.planned_cells += plan.len();
    };
    if time_budget.is_spent() {
        say("note: the time is over; a longer --for tells more engines apart");
        // What was measured is all that was planned.
        run.planned_cells = run.cells.len();
    }
    name_unmeasured(&mut run, &engines);
    let concluded = conclude(args, &run, &place);
    // How the measuring ended comes first.
    result.and(concluded)
}

/// Returns true if a further trial of a cell can change the conclusion. Of the cells at a rate,
/// only those of engines that may miss a limit can, unless engines are ranked by latency.
fn tells_more(planned: &Planned, workloads: &[Workload], verdict: &Verdict, rank: Rank) -> bool {
    let is_paced = workloads.len() > 1 && planned.cell.variant == workloads[1].variant;
    let is_open = verdict.open().contains(&planned.cell.engine.id.as_str());
    match rank {
        Rank::Latency => is_paced || workloads.len() == 1 || is_open,
        _ => !is_paced || is_open,
    }
}

/// Notes in the run which engines were not measured before it ended.
fn name_unmeasured(run: &mut RunFile, engines: &[&str]) {
    let is_measured = |id: &&str| run.results().any(|result| result.cell.engine.id == **id);
    let why = "was not measured, since the run ended before; give it more time with --for";
    let left_out = engines.iter().filter(|id| !is_measured(id));
    let left_out: Vec<_> =
        left_out.map(|id| LeftOut { engine: id.to_string(), why: why.into() }).collect();
    if let Some(advice) = &mut run.advice {
        advice.left_out.extend(left_out);
    }
}

/// Prints the conclusion, and writes the page next to the run file.
fn conclude(args: &AdviseArgs, run: &RunFile, place: &RunPlace) -> Outcome {
    let path = place.path();
    if place.is_written() {
        run.save(path).map_err(|e| Failure::Refused(e.to_string()))?;
    }
    let run = run.clone().printable();
    let common = &args.common;
    if common.look.details {
        show_table(&run, &common.look)?;
    } else {
        show_advice(&run)?;
    }
    if common.format == Format::Published {
        print_published(&run, path)?;
    }
    if run.results().any(|result| result.status == Status::Measured) {
        let page = path.with_extension("html");
        if page != path {
            page::write(&[path.to_path_buf()], &page)?;
        }
        if !args.quiet {
            print(&format!(
                "\n page: {}\n run file: {} (assay show, report, compare)\n",
                page.display(),
                path.display()
            ))?;
        }
    }
    match verdict(&run) {
        Some(verdict) if verdict.ranked.is_empty() => {
            Err(Failure::Regression("no engine qualifies".into()))
        }
        _ => Ok(()),
    }
}

/// The engines, the work and the question.
struct Question {
    setting: Setting,
    workloads: Vec<Workload>,
    advice: Advice,
}

impl Question {
    fn of(args: &AdviseArgs) -> Outcome<Self> {
        let text = Text::of_file(&args.file)?;
        let closed = text.at_rate(None);
        let paced = match args.rate {
            Some(rate) => Some(
                text.at_rate(Some(rate))
                    .map_err(|why| Failure::Usage(format!("--rate {rate}: {why}")))?,
            ),
            None => text.spec().phases.iter().any(|phase| phase.rates.is_some()).then_some(text),
        };
        let rate_per_second = args.rate.map(|rate| rate as f64).or_else(|| {
            let rates =
                paced.as_ref()?.spec().phases.iter().filter_map(|phase| phase.rates.as_ref());
            rates.map(|rates| rates.mean() as f64).reduce(f64::max)
        });
        let closed = closed.expect("any phase may have its operations follow each other");
        let title = closed.spec().title.clone();
        let weight = |phase: &Phase| PhaseWeight {
            phase: phase.name.clone(),
            operations: phase.expected_operations(),
        };
        let phases = closed.spec().phases.iter().map(weight).collect();
        let mut workloads = Vec::new();
        for text in [Some(closed), paced].into_iter().flatten() {
            let options = text.options(args.threads());
            let of_text = Workload::all::<workload::Workload>(&options)?;
            // Of a file's list of threads, the most.
            workloads.extend(of_text.into_iter().max_by_key(|workload| workload.threads));
        }
        let mut common = args.common.clone();
        if let Some(limit) = args.memory {
            match MemoryGroup::check(limit) {
                Ok(()) => common.memory.cgroup = Some(limit),
                Err(why) => say(&format!(
                    "note: --memory is compared with what an engine takes, and not enforced: {}",
                    why.line().unwrap_or_default()
                )),
            }
        }
        let mut setting = Setting::new(&common, None)?;
        setting.wanted = args.survives.map(cli::SurvivesArg::level).or(setting.wanted);
        // Engines that cannot do it are named with the reason.
        setting.named = true;
        let mut left_out = Vec::new();
        for name in &args.without {
            if !setting.engines.iter().any(|engine| engine.profile().id == name) {
                return Err(Failure::Usage(format!("--without {name}: it is not measured anyway")));
            }
        }
        setting.engines.retain(|engine| !args.without.iter().any(|id| id == engine.profile().id));
        let known = Known::read(args)?;
        setting.engines.retain(|engine| {
            let why = known.why_not(engine.as_ref(), args);
            let stays = why.is_none();
            left_out.extend(why.map(|why| LeftOut { engine: engine.profile().id.into(), why }));
            stays
        });
        if let (true, [first, ..]) = (setting.engines.is_empty(), &left_out[..]) {
            let LeftOut { engine, why } = first;
            return Err(Failure::Regression(format!("no engine qualifies; {engine} {why}")));
        }
        let rank = args.rank.map(cli::RankArg::rank);
        if rank == Some(Rank::Cost) && rate_per_second.is_none() {
            return Err(Failure::Usage(
                "--rank cost is of operations that arrive at a rate; add --rate".into(),
            ));
        }
        let weights = [args.memory_weight, args.disk_weight];
        let is_by_cost = rank.is_none_or(|rank| rank == Rank::Cost) && rate_per_second.is_some();
        if weights.iter().any(Option::is_some) && !is_by_cost {
            return Err(Failure::Usage(
                "--memory-weight and --disk-weight are for --rank cost; leave them out".into(),
            ));
        }
        let default = Weights::default();
        let advice = Advice {
            title,
            rank: rank.unwrap_or(match rate_per_second {
                Some(_) => Rank::Cost,
                None => Rank::Throughput,
            }),
            rate_per_second,
            isolation: args.isolation.map(|isolation| isolation.level().to_string()),
            language: args.language.clone(),
            phases,
            limits: Limits {
                memory_bytes: args.memory,
                disk_bytes: args.disk,
                p999_ns: args.p999.map(|time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)),
            },
            weights: Weights {
                memory: args.memory_weight.unwrap_or(default.memory),
                disk: args.disk_weight.unwrap_or(default.disk),
            },
            facts: setting
                .engines
                .iter()
                .filter_map(|engine| known.facts(engine.as_ref()))
                .collect(),
            left_out,
        };
        Ok(Self { setting, workloads, advice })
    }
}
