//! `simsched run`: one seed, or many at once with their results in the order asked.

use std::path::Path;
use std::sync::Mutex;

use rayon::prelude::*;

use crate::args::RunArgs;
use crate::failure::Failure;
use crate::interrupt;
use crate::output;
use crate::progress::Progress;
use crate::report::Report;
use crate::scenario::{Outcome, Scenario};
use crate::summary::Summary;

/// Does what `simsched run` is asked for.
pub(crate) fn run(args: &RunArgs) -> Result<(), Failure> {
    let scenario = Scenario::new(args)?;
    interrupt::listen();
    match args.seeds {
        None => one(args, &scenario),
        Some(seeds) => many(args, &scenario, seeds.get()),
    }
}

fn one(args: &RunArgs, scenario: &Scenario) -> Result<(), Failure> {
    let mut progress = Progress::start(args.quiet);
    let Outcome { report, text } = scenario.measure(args.seed, Some(&mut progress))?;
    progress.clear();
    tell(args, &output::json(&report), || {
        format!("{text}\n{}", output::text::run(&report, scenario.topology()))
    })?;
    progress.done(report.events);
    Ok(())
}

fn many(args: &RunArgs, scenario: &Scenario, seeds: u32) -> Result<(), Failure> {
    let progress = Mutex::new((0, Progress::start(args.quiet)));
    let run = |k: u32| {
        let measured = scenario.measure(args.seed.wrapping_add(k.into()), None);
        let (done, progress) = &mut *progress.lock().expect("no run panics while it counts");
        *done += 1;
        progress.runs(*done, seeds as usize);
        measured.map(|measured| measured.report)
    };
    // All are collected before the first error is looked at: which one it is must not depend on
    // which thread was faster.
    let runs: Vec<Result<Report, Failure>> = (0..seeds).into_par_iter().map(run).collect();
    let summary = Summary::of(runs.into_iter().collect::<Result<Vec<Report>, Failure>>()?);
    let mut progress = progress.into_inner().expect("no run panics while it counts").1;
    progress.clear();
    tell(args, &output::json(&summary), || output::text::seeds(&summary, scenario.topology()))?;
    let events = summary.runs.iter().map(|run| run.events).sum();
    progress.done(events);
    Ok(())
}

/// JSON to its file and text to stdout, or JSON to stdout.
fn tell(args: &RunArgs, json: &str, text: impl FnOnce() -> String) -> Result<(), Failure> {
    match args.json.as_deref() {
        Some(path) if path == Path::new("-") => output::print(json),
        Some(path) => {
            output::write_whole(path, json)?;
            output::print(&text())
        }
        None => output::print(&text()),
    }
}
