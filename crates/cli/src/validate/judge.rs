//! A claim and its runs become a verdict.

use std::sync::{Arc, Mutex};

use simsched_claims::verdict::effect;
use simsched_claims::{Claim, Class, Values, Verdict};
use simsched_topology::Topology;

use super::plan::{Job, Prepared, Ready};
use super::{parameter, place};
use crate::args::ValidateArgs;
use crate::failure::Failure;
use crate::number::Number;
use crate::paired::Paired;
use crate::progress::Progress;
use crate::report::CutReport;
use crate::scenario::{Outcome, Scenario};
use crate::sensitivity::{self, Sweep};
use crate::{interrupt, sides};

/// The runs of all jobs, by seed.
type Runs = [Vec<Result<Option<Outcome>, Failure>>];

/// A claim and what has become of it.
pub(super) struct Judged {
    pub(super) claim: Claim,
    pub(super) state: State,
    pub(super) notes: Vec<String>,
    jobs: Option<(usize, usize)>,
}

pub(super) enum State {
    Run(Box<Run>),
    Computed {
        found: f64,
        agrees: bool,
    },
    /// Ctrl-C came first.
    Stopped,
    Failed(String),
}

/// What both sides have come to.
pub(super) struct Run {
    pub(super) verdict: Verdict,
    pub(super) baseline: Measured,
    pub(super) patched: Measured,
    pub(super) paired: Paired,
    /// The parameters on which the class depends, with the class that they lead to.
    pub(super) undecided: Vec<(String, Class)>,
}

/// A metric on one side.
pub(super) struct Measured {
    /// By seed.
    pub(super) values: Vec<f64>,
    pub(super) mean: f64,
    /// The widest of all seeds.
    pub(super) batch_ci95_pct: Option<f64>,
    /// What was measured of the first run, if not all of it.
    pub(super) cut: Option<CutReport>,
    /// How many runs were not stationary.
    pub(super) unsteady: usize,
}

/// The sweep over the machine of some claims.
pub(super) struct Swept {
    /// The ids of the claims.
    pub(super) claims: Vec<String>,
    pub(super) topology: String,
    pub(super) sweep: Sweep<(usize, Class)>,
}

pub(super) fn judge(prepared: Prepared, runs: &Runs) -> Judged {
    let Prepared { claim, ready, notes } = prepared;
    let (state, jobs) = match ready {
        Ready::Failed(why) => (State::Failed(why), None),
        Ready::Parameter { topology, settings } => (compute(&claim, &topology, &settings), None),
        Ready::Runs { baseline, patched } => {
            let state = of_runs(&claim, &runs[baseline], &runs[patched]);
            (state, Some((baseline, patched)))
        }
    };
    Judged { claim, state, notes, jobs }
}

fn compute(claim: &Claim, topology: &Topology, settings: &sides::Given) -> State {
    match (parameter::compute(claim, topology, settings), claim.published.values) {
        (Ok(found), Values::Exactly(want)) => {
            State::Computed { found, agrees: (found - want).abs() < 1e-9 }
        }
        (Ok(_), _) => State::Failed("patched_value: found nothing, expected a number".to_owned()),
        (Err(why), _) => State::Failed(why),
    }
}

fn of_runs(
    claim: &Claim,
    baseline: &[Result<Option<Outcome>, Failure>],
    patched: &[Result<Option<Outcome>, Failure>],
) -> State {
    let mut pairs = (Vec::new(), Vec::new());
    for pair in baseline.iter().zip(patched) {
        match pair {
            (Err(failure), _) => return State::Failed(format!("baseline: {failure}")),
            (_, Err(failure)) => return State::Failed(format!("patched: {failure}")),
            (Ok(Some(baseline)), Ok(Some(patched))) => {
                pairs.0.push(baseline);
                pairs.1.push(patched);
            }
            _ => {}
        }
    }
    if pairs.0.is_empty() {
        return State::Stopped;
    }
    match verdict(claim, &pairs.0, &pairs.1) {
        Ok(run) => State::Run(Box::new(run)),
        Err(why) => State::Failed(why),
    }
}

fn verdict(claim: &Claim, baseline: &[&Outcome], patched: &[&Outcome]) -> Result<Run, String> {
    let baseline = measured(claim, baseline).map_err(|why| format!("metric: {why}"))?;
    let patched = measured(claim, patched).map_err(|why| format!("metric: {why}"))?;
    if baseline.mean <= 0.0 {
        return Err(format!("metric: {} is {} on the baseline", claim.metric, baseline.mean));
    }
    let verdict = Verdict::of(claim, patched.mean / baseline.mean);
    let verdict = verdict.ok_or("ratio: found nothing, expected what was published")?;
    let paired = Paired::of(&baseline.values, &patched.values);
    Ok(Run { verdict, baseline, patched, paired, undecided: Vec::new() })
}

fn measured(claim: &Claim, runs: &[&Outcome]) -> Result<Measured, String> {
    let numbers: Vec<Number> =
        runs.iter().map(|run| Number::of(&claim.metric, run)).collect::<Result<_, _>>()?;
    let values: Vec<f64> = numbers.iter().map(|number| number.value).collect();
    let unsteady = |run: &&&Outcome| run.cut.as_ref().is_some_and(|cut| !cut.stationary);
    Ok(Measured {
        mean: crate::student::Spread::of(&values).mean,
        values,
        batch_ci95_pct: numbers.iter().filter_map(|number| number.batch_ci95_pct).reduce(f64::max),
        cut: runs.iter().find_map(|run| run.report.cut.clone()),
        unsteady: runs.iter().filter(unsteady).count(),
    })
}

/// Runs the sides of all claims again with the physical parameters of their machines at the ends of
/// their ranges; claims that share both sides share the runs.
pub(super) fn sweep(
    judged: &mut [Judged],
    jobs: &[Job],
    runs: &Runs,
    args: &ValidateArgs,
    progress: &Mutex<Progress>,
    errors: &mut Vec<String>,
) -> Vec<Swept> {
    let mut pairs: Vec<(usize, usize)> = Vec::new();
    for judged in judged.iter().filter(|judged| matches!(judged.state, State::Run(_))) {
        pairs.extend(judged.jobs.filter(|pair| !pairs.contains(pair)));
    }
    let mut all = Vec::new();
    for pair in pairs {
        if interrupt::is_asked() {
            break;
        }
        match sweep_pair(judged, pair, jobs, runs, args, progress) {
            Ok(Some(swept)) => all.push(swept),
            Ok(None) => {}
            Err(failure) => {
                let first = judged.iter().find(|judged| judged.jobs == Some(pair));
                let at = first.map_or_else(String::new, |judged| place(&judged.claim));
                errors.push(format!("{at}: --sweep-hw: {failure}"));
            }
        }
    }
    all
}

fn sweep_pair(
    judged: &mut [Judged],
    pair: (usize, usize),
    jobs: &[Job],
    runs: &Runs,
    args: &ValidateArgs,
    progress: &Mutex<Progress>,
) -> Result<Option<Swept>, Failure> {
    let sides = [&jobs[pair.0], &jobs[pair.1]];
    let topology = sides[0].key.topology.clone();
    let again = |machine: &Arc<Topology>, seeds: u64| {
        let scenario = |job: &&Job| job.key.scenario(machine, &job.key.topology, args);
        let scenarios: Vec<Scenario> = sides.iter().map(scenario).collect::<Result<_, _>>()?;
        let runs =
            sides::measure_all(&scenarios.iter().collect::<Vec<_>>(), (args.seed, seeds), progress);
        let runs = runs.into_iter().map(|side| side.into_iter().collect::<Result<Vec<_>, _>>());
        sides::paired(runs.collect::<Result<Vec<_>, _>>()?)
    };
    let digest = |side: usize| match runs[side].first() {
        Some(Ok(Some(outcome))) => Some(outcome.report.digest.clone()),
        _ => None,
    };
    let (Some(first), Some(second)) = (digest(pair.0), digest(pair.1)) else { return Ok(None) };
    let ours = |judged: &Judged| judged.jobs == Some(pair) && matches!(judged.state, State::Run(_));
    let members: Vec<usize> = (0..judged.len()).filter(|idx| ours(&judged[*idx])).collect();
    let classes: Vec<(usize, &Claim, Class)> = members
        .iter()
        .filter_map(|idx| match &judged[*idx].state {
            State::Run(run) => Some((*idx, &judged[*idx].claim, run.verdict.simulated.class)),
            _ => None,
        })
        .collect();
    let flips = |runs: &[Vec<Outcome>]| -> Vec<(usize, Class)> {
        let class = |(idx, claim, usual): &(usize, &Claim, Class)| {
            let now = class_of(claim, runs)?;
            (now != *usual).then_some((*idx, now))
        };
        classes.iter().filter_map(class).collect()
    };
    let base = ([first, second], args.seeds);
    let sweep = sensitivity::sweep(&topology, (&base.0, base.1), &again, &flips, progress)?;
    let claims = members.iter().map(|idx| judged[*idx].claim.id.clone()).collect();
    for (at, (idx, class)) in &sweep.flips {
        if let State::Run(run) = &mut judged[*idx].state {
            run.undecided.push((at.told(), *class));
        }
    }
    Ok(Some(Swept { claims, topology, sweep }))
}

/// The class of the metric of `claim` in runs of both sides.
fn class_of(claim: &Claim, runs: &[Vec<Outcome>]) -> Option<Class> {
    let mean = |side: &Vec<Outcome>| {
        measured(claim, &side.iter().collect::<Vec<_>>()).ok().map(|side| side.mean)
    };
    let (baseline, patched) = (mean(runs.first()?)?, mean(runs.get(1)?)?);
    (baseline > 0.0).then(|| effect(claim, patched / baseline).class)
}
