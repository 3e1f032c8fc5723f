//! A claim and its runs become a verdict.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use simsched_claims::verdict::{improvement, is_far, level, possible};
use simsched_claims::{Better, Claim, Class, Family, Values, Verdict};
use simsched_core::Nanos;
use simsched_policies::Registry;
use simsched_topology::Topology;

use super::finding::Finding;
use super::plan::{Job, Prepared, Ready};
use super::{parameter, place};
use crate::args::ValidateArgs;
use crate::failure::Failure;
use crate::number::Number;
use crate::output::units::decimal;
use crate::paired::Paired;
use crate::progress::Progress;
use crate::report::CutReport;
use crate::scenario::{Outcome, Scenario};
use crate::sensitivity::{self, Sure, Sweep};
use crate::states::States;
use crate::{interrupt, sides};

/// What the runs of all jobs have found, by seed.
pub(super) type Runs = Vec<Vec<Result<Option<Finding>, Failure>>>;

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
    /// How far the simulated improvement can be trusted.
    pub(super) interval: Option<Interval>,
    /// The classes within the interval; more than one leaves the claim undecided.
    pub(super) possible: Vec<Class>,
    /// The parameters on which the class depends, with the class that they lead to.
    pub(super) undecided: Vec<(String, Class)>,
    /// What else the reader should know of the values.
    pub(super) remarks: Vec<String>,
}

impl Run {
    /// Whether the runs do not tell the class.
    pub(super) fn is_undecided(&self) -> bool {
        self.possible.len() > 1 || !self.undecided.is_empty()
    }
}

/// The 95 % interval of an improvement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Interval {
    /// Its lower end, in percent of improvement.
    pub(super) low: f64,
    /// Its upper end.
    pub(super) high: f64,
    /// Where it comes from: `seeds` (Student's t over the paired differences) or `batches` (of one
    /// seed, the batch means of both sides).
    pub(super) from: &'static str,
}

impl Interval {
    fn of(claim: &Claim, sides: [&Measured; 2], paired: &Paired) -> Option<Interval> {
        if let Some((low, high)) = paired.low_pct.zip(paired.high_pct) {
            // Less is better where less is an improvement.
            let is_less = claim.better == Better::Lower;
            let (low, high) = if is_less { (-high, -low) } else { (low, high) };
            return Some(Interval { low, high, from: "seeds" });
        }
        // Relative errors of two numbers that have nothing to do with each other.
        let [baseline, patched] = sides;
        let ratio = patched.mean / baseline.mean;
        let half = ratio * crate::student::both(baseline.batch_ci95_pct?, patched.batch_ci95_pct?);
        let improvement = improvement(ratio, claim.better);
        Some(Interval { low: improvement - half, high: improvement + half, from: "batches" })
    }

    /// Half its width, in points.
    pub(super) fn half(self) -> f64 {
        (self.high - self.low) / 2.0
    }
}

/// A metric on one side.
pub(super) struct Measured {
    /// By seed.
    pub(super) values: Vec<f64>,
    pub(super) mean: f64,
    /// It over the published one, if the two are of one kind.
    pub(super) level: Option<f64>,
    /// Half its 95 % interval by batch means in percent, the widest of all seeds.
    pub(super) batch_ci95_pct: Option<f64>,
    /// What was measured of the first run, if not all of it.
    pub(super) cut: Option<CutReport>,
    /// How long the real run took; none if that is not known.
    pub(super) real: Option<Nanos>,
    /// How many runs were not stationary.
    pub(super) unsteady: usize,
    /// Which rates still changed in the span, and how much at most, in percent.
    pub(super) trends: BTreeMap<&'static str, f64>,
    /// The states of the machine between which the seeds are divided, if they are.
    pub(super) states: Option<States>,
}

/// The sweep over the machine of some claims.
pub(super) struct Swept {
    /// The ids of the claims.
    pub(super) claims: Vec<String>,
    pub(super) topology: String,
    pub(super) sweep: Sweep<(usize, Class)>,
}

pub(super) fn judge(prepared: Prepared, jobs: &[Job], runs: &Runs) -> Judged {
    let Prepared { claim, ready, notes } = prepared;
    let (state, jobs) = match ready {
        Ready::Failed(why) => (State::Failed(why), None),
        Ready::Parameter { topology, settings, registry } => {
            (compute(&claim, &topology, &settings, &registry), None)
        }
        Ready::Runs { baseline, patched } => {
            let mut state = of_runs(&claim, &runs[baseline], &runs[patched]);
            if let State::Run(run) = &mut state {
                (run.baseline.real, run.patched.real) = (jobs[baseline].real, jobs[patched].real);
            }
            (state, Some((baseline, patched)))
        }
    };
    Judged { claim, state, notes, jobs }
}

fn compute(
    claim: &Claim,
    topology: &Topology,
    settings: &sides::Given,
    registry: &Registry,
) -> State {
    match (parameter::compute(claim, topology, settings, registry), claim.published.values) {
        (Ok(found), Values::Exactly(want)) => {
            State::Computed { found, agrees: (found - want).abs() < 1e-9 }
        }
        (Ok(_), _) => State::Failed("patched_value: found nothing, expected a number".to_owned()),
        (Err(why), _) => State::Failed(why),
    }
}

fn of_runs(
    claim: &Claim,
    baseline: &[Result<Option<Finding>, Failure>],
    patched: &[Result<Option<Finding>, Failure>],
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

/// What the runs of both sides say of a claim.
///
/// # Errors
/// Which key of the claim cannot be answered, and why.
pub(super) fn verdict(
    claim: &Claim,
    baseline: &[&Finding],
    patched: &[&Finding],
) -> Result<Run, String> {
    let mut baseline = measured(claim, baseline).map_err(|why| format!("metric: {why}"))?;
    let mut patched = measured(claim, patched).map_err(|why| format!("metric: {why}"))?;
    if baseline.mean <= 0.0 {
        return Err(format!("metric: {} is {} on the baseline", claim.metric, baseline.mean));
    }
    let verdict = Verdict::of(claim, patched.mean / baseline.mean);
    let verdict = verdict.ok_or("ratio: found nothing, expected what was published")?;
    if let Values::Both { baseline: before, patched: after } = claim.published.values {
        for (side, published) in [(&mut baseline, before), (&mut patched, after)] {
            side.level = level(claim, published, side.mean).filter(|_| side.is_of_the_whole(claim));
        }
    }
    let paired = Paired::of(&baseline.values, &patched.values);
    let interval = Interval::of(claim, [&baseline, &patched], &paired);
    let improvement = verdict.simulated.improvement;
    let (low, high) = interval.map_or((improvement, improvement), |it| (it.low, it.high));
    let possible = possible(claim, low, high);
    let remarks = remarks(&baseline, &patched, interval);
    let undecided = Vec::new();
    Ok(Run { verdict, baseline, patched, paired, interval, possible, undecided, remarks })
}

/// What a reader of the verdict could overlook.
fn remarks(baseline: &Measured, patched: &Measured, interval: Option<Interval>) -> Vec<String> {
    let mut remarks = Vec::new();
    if interval.is_none() {
        remarks.push("one seed and no batches: how sure this is cannot be said".to_owned());
    }
    for (name, side) in [("baseline", baseline), ("patched", patched)] {
        if let Some(level) = side.level.filter(|level| is_far(*level)) {
            let times = if level < 0.1 { format!("{level:.3}") } else { format!("{level:.2}") };
            remarks.push(format!("the {name} is {times} times the published value"));
        }
    }
    for (name, side) in [("baseline", baseline), ("patched", patched)] {
        if let Some(states) = &side.states {
            remarks.push(format!("the seeds of the {name} {}", states.told(decimal)));
        }
    }
    remarks
}

impl Measured {
    /// Whether the value is that of the whole program, so that its level can be compared: a count of
    /// a part of a run is not.
    fn is_of_the_whole(&self, claim: &Claim) -> bool {
        let is_count = matches!(claim.metric.family, Family::CpuMigrations | Family::TaskSwitches);
        !is_count || self.cut.as_ref().is_none_or(|cut| cut.work_total.is_some())
    }
}

fn measured(claim: &Claim, runs: &[&Finding]) -> Result<Measured, String> {
    let numbers: Vec<Number> =
        runs.iter().map(|run| run.number(&claim.metric)).collect::<Result<_, _>>()?;
    let values: Vec<f64> = numbers.iter().map(|number| number.value).collect();
    let cuts = || runs.iter().filter_map(|run| run.cut.as_ref());
    let mut trends: BTreeMap<&'static str, f64> = BTreeMap::new();
    for (name, change) in cuts().flat_map(|cut| &cut.trends_pct) {
        let most = trends.entry(name).or_insert(*change);
        if change.abs() > most.abs() {
            *most = *change;
        }
    }
    Ok(Measured {
        mean: crate::student::Spread::of(&values).mean,
        states: States::of(&values),
        values,
        level: None,
        batch_ci95_pct: numbers.iter().filter_map(|number| number.batch_ci95_pct).reduce(f64::max),
        cut: cuts().next().cloned(),
        real: None,
        unsteady: cuts().filter(|cut| !cut.stationary).count(),
        trends,
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
    let again = |machine: &Arc<Topology>, (skip, seeds): (u64, u64)| {
        let scenario = |job: &&Job| {
            let Job { key, extent, registry, .. } = job;
            key.scenario(machine, &key.topology, *extent, args.seed, registry)
        };
        let scenarios: Vec<Scenario> = sides.iter().map(scenario).collect::<Result<_, _>>()?;
        let all = scenarios.iter().collect::<Vec<_>>();
        let runs = sides::measure_all(&all, (args.seed.wrapping_add(skip), seeds), progress);
        let runs = runs.into_iter().map(|side| side.into_iter().collect::<Result<Vec<_>, _>>());
        sides::paired(runs.collect::<Result<Vec<_>, _>>()?)
    };
    let digest = |side: usize| match runs[side].first() {
        Some(Ok(Some(finding))) => Some(finding.digest.clone()),
        _ => None,
    };
    let (Some(first), Some(second)) = (digest(pair.0), digest(pair.1)) else { return Ok(None) };
    let ours = |judged: &Judged| judged.jobs == Some(pair) && matches!(judged.state, State::Run(_));
    let members: Vec<usize> = (0..judged.len()).filter(|idx| ours(&judged[*idx])).collect();
    let classes: Vec<(usize, &Claim, Class, Vec<Class>)> = members
        .iter()
        .filter_map(|idx| match &judged[*idx].state {
            State::Run(run) => {
                let class = run.verdict.simulated.class;
                Some((*idx, &judged[*idx].claim, class, run.possible.clone()))
            }
            _ => None,
        })
        .collect();
    let flips = |runs: &[Vec<Outcome>], sure: Sure| -> Vec<(usize, Class)> {
        let class = |(idx, claim, usual, before): &(usize, &Claim, Class, Vec<Class>)| {
            let metric = std::slice::from_ref(&claim.metric);
            let found = [0, 1].map(|side| -> Vec<Finding> {
                runs[side].iter().map(|run| Finding::of(run, metric)).collect()
            });
            let [baseline, patched] = found.each_ref().map(|side| side.iter().collect::<Vec<_>>());
            let run = verdict(claim, &baseline, &patched).ok()?;
            let now = run.verdict.simulated.class;
            let is_flip = match sure {
                Sure::No => now != *usual,
                Sure::Yes => run.possible.iter().all(|class| !before.contains(class)),
            };
            is_flip.then_some((*idx, now))
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
