//! `simsched compare`: the same workload and the same seeds under several policies.

mod json;
mod metrics;
mod text;
mod why;

use std::sync::{Arc, Mutex};

use serde_json::Value;
use simsched_core::Nanos;
use simsched_policies::Registry;

use crate::args::CompareArgs;
use crate::failure::Failure;
use crate::output::{self, Place};
use crate::progress::Progress;
use crate::scenario::{self, Outcome, Scenario, Side};
use crate::sensitivity::{self, Sure, Sweep};
use crate::{interrupt, list, mmtests, sides, topo};

use metrics::Classes;
pub(crate) use metrics::Row;
pub(crate) use why::Difference;

/// What is compared, as the result says it.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// The names of the policies, or of the sides where these differ in something else.
    pub(crate) policies: Vec<String>,
    pub(crate) settings: Vec<(String, String)>,
    pub(crate) seed: u64,
    pub(crate) seeds: u64,
    pub(crate) span: Option<Nanos>,
    pub(crate) warmup: Nanos,
    pub(crate) duration: Option<Nanos>,
}

/// What a comparison has come to.
#[derive(Clone, Debug)]
pub(crate) struct Comparison {
    pub(crate) asked: Asked,
    /// By policy, then by seed; the same seeds everywhere.
    pub(crate) runs: Vec<Vec<Outcome>>,
    pub(crate) rows: Vec<Row>,
    /// For each policy but the first: in what it differs inside, by subject, largest first.
    pub(crate) why: Vec<Vec<Difference>>,
    pub(crate) sweep: Option<Sweep<Flip>>,
    pub(crate) notes: Vec<String>,
}

/// A metric whose change is of another class with another price.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Flip {
    pub(crate) metric: &'static str,
    pub(crate) policy: String,
    pub(crate) from: &'static str,
    pub(crate) to: &'static str,
}

/// Does what `simsched compare` is asked for.
pub(crate) fn compare(args: &CompareArgs, registry: &Registry) -> Result<(), Failure> {
    if let Some(program) = scenario::asks_for_help(&args.workload) {
        return list::workloads(Some(program));
    }
    check(args)?;
    let (topology, file) = topo::load(&args.topo)?;
    let (topology, file) = (Arc::new(topology), file.unwrap_or("built-in"));
    let policies: Vec<&str> = args.policies.iter().map(String::as_str).collect();
    let (settings, notes) = sides::share(registry, &policies, &args.settings)?;
    let mut notes: Vec<String> =
        notes.into_iter().map(|note| format!("{note}: it goes without")).collect();
    let on = |topology: &Arc<_>, seed| -> Result<Vec<Scenario>, Failure> {
        let side = |(policy, settings): (&&str, &sides::Given)| {
            let side = Side::named(topology, file, policy, settings, &args.workload);
            let extent = args.extent();
            Scenario::of_side(Side { extent, duration: args.duration, ..side }, seed, registry)
        };
        policies.iter().zip(&settings).map(side).collect()
    };
    let scenarios = on(&topology, args.seed)?;
    for scenario in &scenarios {
        notes.extend(scenario.note().map(|note| format!("{}: {note}", scenario.policy_name())));
    }
    for note in notes.iter().filter(|_| !args.quiet) {
        output::say(&format!("note: {note}"));
    }
    interrupt::listen();
    let command = scenarios[0].named(args.seed)?.workload;
    let mmtests = mmtests::Folder::of(args.mmtests.as_deref(), &policies, &command)?;
    let place = Place::of(args.json.as_deref())?;
    let progress = Mutex::new(Progress::start(args.quiet));
    let mut comparison = Comparison::of(asked(args), &scenarios, notes, &progress)?;
    if args.sweep_hw && !interrupt::is_asked() {
        let again = |topology: &Arc<_>, (skip, seeds)| {
            of_all(&on(topology, args.seed)?, args.seed.wrapping_add(skip), seeds, &progress)
        };
        comparison.sweep = Some(sweep(&args.topo, &comparison, &again, &progress)?);
    }
    progress.into_inner().expect("nobody panics while telling").clear();
    place.tell(&output::json(&comparison.json()), || text::of(&comparison, &topology))?;
    mmtests.map_or(Ok(()), |folder| write(&folder, &comparison))
}

/// Writes the runs of all sides.
fn write(folder: &mmtests::Folder, comparison: &Comparison) -> Result<(), Failure> {
    let sides = &comparison.runs;
    if sides.iter().any(|runs| (runs.len() as u64) < comparison.asked.seeds) {
        return Err(mmtests::stopped());
    }
    sides.iter().enumerate().try_for_each(|(policy, runs)| {
        let told = runs.iter().map(|outcome| (&outcome.report, outcome.text.as_str()));
        folder.write(policy, &told.collect::<Vec<_>>())
    })
}

impl Comparison {
    /// Runs all sides with the same seeds and compares them; of seeds that Ctrl-C has stopped on one side
    /// there is none on any.
    ///
    /// # Errors
    /// The first one of the runs, by side and seed.
    pub(crate) fn of(
        asked: Asked,
        scenarios: &[Scenario],
        notes: Vec<String>,
        progress: &Mutex<Progress>,
    ) -> Result<Comparison, Failure> {
        let runs = match of_all(scenarios, asked.seed, asked.seeds, progress) {
            Err(Failure::Interrupted) => scenarios.iter().map(|_| Vec::new()).collect(),
            runs => runs?,
        };
        let rows = metrics::rows(&runs);
        let others = runs.iter().skip(1).filter(|other| !other.is_empty());
        let why = others.map(|other| why::differences(&runs[0], other)).collect();
        Ok(Comparison { asked, runs, rows, why, sweep: None, notes })
    }

    /// The result as JSON.
    pub(crate) fn json(&self) -> Value {
        json::of(self)
    }
}

fn asked(args: &CompareArgs) -> Asked {
    Asked {
        policies: args.policies.clone(),
        settings: args.settings.clone(),
        seed: args.seed,
        seeds: args.seeds,
        span: args.span,
        warmup: args.warmup,
        duration: args.duration,
    }
}

fn check(args: &CompareArgs) -> Result<(), Failure> {
    if let [only] = args.policies.as_slice() {
        let text = format!("--policy: found only {only}, expected at least two policies");
        return Err(Failure::Input(text));
    }
    last_seed(args.seed, args.seeds)
}

/// The seeds are there.
pub(crate) fn last_seed(seed: u64, seeds: u64) -> Result<(), Failure> {
    if seed.checked_add(seeds - 1).is_none() {
        let most = u64::MAX - (seeds - 1);
        let text = format!("--seed: found {seed}, expected 0..={most} for {seeds} seeds");
        return Err(Failure::Input(text));
    }
    Ok(())
}

/// The runs of all sides; of seeds that Ctrl-C has stopped on one side there is none on any, and if
/// that are all seeds each side has no runs.
fn of_all(
    scenarios: &[Scenario],
    seed: u64,
    seeds: u64,
    progress: &Mutex<Progress>,
) -> Result<Vec<Vec<Outcome>>, Failure> {
    let scenarios: Vec<&Scenario> = scenarios.iter().collect();
    let runs = sides::measure_all(&scenarios, (seed, seeds), progress);
    let runs = runs.into_iter().map(|side| side.into_iter().collect::<Result<Vec<_>, _>>());
    sides::paired(runs.collect::<Result<Vec<_>, _>>()?)
}

/// Which physical parameters change the class of a metric.
fn sweep(
    topo: &str,
    comparison: &Comparison,
    again: &sensitivity::Again<'_>,
    progress: &Mutex<Progress>,
) -> Result<Sweep<Flip>, Failure> {
    let judge = |runs: &[Vec<Outcome>], sure: Sure| {
        let rows = metrics::rows(runs);
        let flips = |row: &Row| {
            let base = comparison.rows.iter().find(|base| base.name == row.name)?;
            let pairs = base.others().zip(row.others()).enumerate();
            let changed = pairs.filter(|(_, (from, to))| match sure {
                Sure::No => from.class != to.class,
                Sure::Yes => from.high < to.low || to.high < from.low,
            });
            let flip = |(idx, (from, to)): (usize, (Classes, Classes))| Flip {
                metric: row.name,
                policy: comparison.asked.policies[idx + 1].clone(),
                from: row.named(from.class),
                to: row.named(to.class),
            };
            Some(changed.map(flip).collect::<Vec<_>>())
        };
        rows.iter().filter_map(flips).flatten().collect()
    };
    let digests: Vec<String> =
        comparison.runs.iter().map(|side| side[0].report.digest.clone()).collect();
    let base = (digests.as_slice(), comparison.asked.seeds);
    sensitivity::sweep(topo, base, again, &judge, progress)
}
