//! `simsched run`: one seed, or many at once with their results in the order asked.

use std::sync::Mutex;

use simsched_policies::Registry;

use crate::args::RunArgs;
use crate::failure::Failure;
use crate::interrupt;
use crate::list;
use crate::mmtests;
use crate::output::{self, Place};
use crate::parallel::each_in_parallel;
use crate::progress::Progress;
use crate::record::Outputs;
use crate::report::{End, Report};
use crate::scenario::{self, Outcome, Scenario};
use crate::scenario_file;
use crate::schedstat;
use crate::summary::Summary;

/// Does what `simsched run` is asked for.
pub(crate) fn run(args: &RunArgs, registry: &Registry) -> Result<(), Failure> {
    if let Some(program) = scenario::asks_for_help(&args.workload) {
        return list::workloads(Some(program));
    }
    let seeds = args.seeds.unwrap_or(1);
    if args.seed.checked_add(seeds - 1).is_none() {
        let most = u64::MAX - (seeds - 1);
        let text = format!("--seed: found {}, expected 0..={most} for {seeds} seeds", args.seed);
        return Err(Failure::Input(text));
    }
    let scenario =
        Scenario::new(args, registry).map_err(|why| scenario_file::blamed(args, why, registry))?;
    if let Some(path) = &args.file.save_scenario {
        return scenario_file::save(args, path);
    }
    if !args.quiet {
        say_notes(&scenario, args.seed)?;
    }
    // Whoever stops us from here on leaves no temporary file.
    interrupt::listen();
    let outputs = Outputs::of(args, scenario.topology().nr_cpus(), scenario.kernel())?;
    let schedstat = schedstat::Target::of(args)?;
    let command = scenario.named(args.seed)?.workload;
    let mmtests = mmtests::Folder::of(args.results.mmtests.as_deref(), &[&args.policy], &command)?;
    let place = Place::of(args.json.as_deref())?;
    match args.seeds {
        None => one(args, &scenario, place, (outputs, schedstat, mmtests)),
        Some(seeds) => many(args, &scenario, seeds, (place, mmtests)),
    }
}

/// Notes on a workload's file that are said; a generated file may have one for each line.
const MOST_NOTES: usize = 20;

/// Says what was given and changes nothing.
fn say_notes(scenario: &Scenario, seed: u64) -> Result<(), Failure> {
    if let Some(note) = scenario.note() {
        output::say(&format!("note: {note}"));
    }
    let notes = scenario.without_effect(seed)?;
    for note in notes.iter().take(MOST_NOTES) {
        output::say(&format!("note: {note}"));
    }
    if let Some(more) = notes.len().checked_sub(MOST_NOTES).filter(|more| *more > 0) {
        output::say(&format!("note: and {more} more like these"));
    }
    Ok(())
}

/// One run; what it is recorded in are files that tell one run.
fn one(
    args: &RunArgs,
    scenario: &Scenario,
    place: Place,
    (outputs, schedstat, mmtests): (Outputs, Option<schedstat::Target>, Option<mmtests::Folder>),
) -> Result<(), Failure> {
    let mut progress = Progress::start(args.quiet);
    let outcome = scenario.measure_into(args.seed, Some(&mut progress), outputs)?;
    progress.clear();
    let Outcome { report, text, .. } = outcome;
    let counted = schedstat.zip(outcome.schedstat.as_ref());
    let in_place = counted.map_or(Ok(None), |(target, counted)| target.tell(counted))?;
    place.tell(&output::json(&report), || {
        let text = || format!("{text}\n{}", output::text::run(&report, scenario.topology()));
        in_place.unwrap_or_else(text)
    })?;
    mmtests.map_or(Ok(()), |folder| folder.write(0, &[(&report, text.as_str())]))?;
    progress.done(report.events);
    scenario_file::is_repeated(args, [&report].into_iter())?;
    precise([&report].into_iter())
}

/// What is less precise than asked for is told, and is no success.
fn precise<'a>(mut runs: impl Iterator<Item = &'a Report>) -> Result<(), Failure> {
    let misses = |run: &Report| run.precision.as_ref().is_some_and(|found| !found.reached);
    if runs.any(misses) { Err(Failure::Below) } else { Ok(()) }
}

fn many(
    args: &RunArgs,
    scenario: &Scenario,
    seeds: u64,
    (place, mmtests): (Place, Option<mmtests::Folder>),
) -> Result<(), Failure> {
    let progress = Mutex::new((0, Progress::start(args.quiet)));
    let run = |k: usize| {
        if interrupt::is_asked() {
            return Ok(None);
        }
        let measured = scenario.measure(args.seed + k as u64, None);
        let (done, progress) = &mut *progress.lock().expect("no run panics while it counts");
        *done += 1;
        progress.runs(*done, seeds);
        let told = |Outcome { report, text, .. }| has_started(&report).then_some((report, text));
        measured.map(told)
    };
    // All are collected before the first error is looked at: which one it is must not depend on
    // which thread was faster.
    let nr_runs = usize::try_from(seeds).expect("at most 10,000");
    let runs: Vec<Result<Option<(Report, String)>, Failure>> = each_in_parallel(nr_runs, run);
    let runs = runs.into_iter().filter_map(Result::transpose).collect::<Result<Vec<_>, _>>()?;
    let (runs, texts): (Vec<Report>, Vec<String>) = runs.into_iter().unzip();
    let summary = Summary::of(scenario.named(args.seed)?, runs, seeds);
    let mut progress = progress.into_inner().expect("no run panics while it counts").1;
    progress.clear();
    let text = || output::table::seeds(&summary, scenario.topology(), seeds);
    place.tell(&output::json(&summary), text)?;
    if let Some(folder) = mmtests {
        if (summary.runs.len() as u64) < seeds {
            return Err(mmtests::stopped());
        }
        let told = texts.iter().map(String::as_str);
        folder.write(0, &summary.runs.iter().zip(told).collect::<Vec<_>>())?;
    }
    progress.done(summary.runs.iter().map(|run| run.events).sum());
    scenario_file::is_repeated(args, summary.runs.iter())?;
    precise(summary.runs.iter())
}

/// Whether a run was not stopped before its first event.
fn has_started(report: &Report) -> bool {
    report.end != End::Interrupted || report.simulated_ns > 0
}
