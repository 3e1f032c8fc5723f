//! `Plan`: which runs the claims need; a side that several claims share is run once.

use std::collections::BTreeMap;
use std::sync::Arc;

use simsched_claims::{Claim, Kind, Metric};
use simsched_core::Nanos;
use simsched_policies::Registry;
use simsched_topology::Topology;

use crate::args::ValidateArgs;
use crate::extent::Extent;
use crate::failure::Failure;
use crate::scenario::{Scenario, Side};
use crate::sides::{self, Given};
use crate::topo;

/// A side of some claims.
pub(super) struct Job {
    pub(super) scenario: Scenario,
    pub(super) key: Key,
    /// What the claims ask of its runs.
    pub(super) metrics: Vec<Metric>,
    /// How long the real run took; none if that is not known.
    pub(super) real: Option<Nanos>,
    /// How much of a run is simulated and measured.
    pub(super) extent: Extent,
    /// The policies that it may name.
    pub(super) registry: Registry,
}

/// What tells the sides apart.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) topology: String,
    pub(super) policy: String,
    pub(super) settings: Given,
    pub(super) workload: Vec<String>,
}

/// A claim, ready to be judged.
pub(super) struct Prepared {
    pub(super) claim: Claim,
    /// The jobs of both sides, or the machine and the settings of a parameter, or what is wrong.
    pub(super) ready: Ready,
    pub(super) notes: Vec<String>,
}

pub(super) enum Ready {
    Runs { baseline: usize, patched: usize },
    Parameter { topology: Arc<Topology>, settings: Given, registry: Registry },
    Failed(String),
}

/// All that is to be done.
pub(super) struct Plan {
    pub(super) jobs: Vec<Job>,
    pub(super) prepared: Vec<Prepared>,
}

struct Planner<'a> {
    args: &'a ValidateArgs,
    registry: &'a Registry,
    jobs: Vec<Job>,
    topologies: BTreeMap<String, (Arc<Topology>, String)>,
}

/// The key of a claim that is at fault, and why.
type Fault = (&'static str, Failure);

impl Plan {
    pub(super) fn of(claims: Vec<Claim>, args: &ValidateArgs, registry: &Registry) -> Plan {
        let mut planner = Planner { args, registry, jobs: Vec::new(), topologies: BTreeMap::new() };
        let mut prepare = |claim: Claim| match planner.ready(&claim) {
            Ok((ready, mut notes)) => {
                notes.extend(claim.note.clone());
                Prepared { claim, ready, notes }
            }
            Err((key, why)) => {
                Prepared { claim, ready: Ready::Failed(format!("{key}: {why}")), notes: Vec::new() }
            }
        };
        let prepared = claims.into_iter().map(&mut prepare).collect();
        let mut jobs = planner.jobs;
        for job in &mut jobs {
            job.extent = extent(args, job.real);
            job.scenario.set_extent(job.extent);
        }
        Plan { jobs, prepared }
    }
}

impl Planner<'_> {
    fn ready(&mut self, claim: &Claim) -> Result<(Ready, Vec<String>), Fault> {
        let topology = self.topology(&claim.topology).map_err(|why| ("topology", why))?.0;
        let given: Given = claim.options.iter().map(|(k, v)| (k.clone(), v.clone())).collect();
        let policies = [claim.baseline.as_str(), claim.patched.as_str()];
        let is_parameter = claim.kind == Kind::Parameter;
        for (key, policy) in ["baseline", "patched"].into_iter().zip(policies) {
            if !(is_parameter && policy.is_empty()) {
                sides::share(self.registry, &[policy], &Given::new()).map_err(|why| (key, why))?;
            }
        }
        let at_options = |why| ("options", why);
        if is_parameter {
            let (mut settings, notes) =
                sides::share(self.registry, &policies[1..], &given).map_err(at_options)?;
            let settings = settings.remove(0);
            let registry = self.registry.clone();
            return Ok((Ready::Parameter { topology, settings, registry }, notes));
        }
        let (mut settings, notes) =
            sides::share(self.registry, &policies, &given).map_err(at_options)?;
        let workload: Vec<String> = claim.workload.split_whitespace().map(str::to_owned).collect();
        let (second, first) = (settings.pop().unwrap_or_default(), settings.remove(0));
        let mut job = |policy: &str, settings, real: Option<f64>| {
            let (topology, workload) = (claim.topology.clone(), workload.clone());
            let key = Key { topology, policy: policy.to_owned(), settings, workload };
            let real = real.and_then(nanos);
            self.job(key, &claim.metric, real).map_err(|why| ("workload", why))
        };
        let [before, after] = claim.real_seconds;
        let baseline = job(policies[0], first, before)?;
        let patched = job(policies[1], second, after)?;
        Ok((Ready::Runs { baseline, patched }, notes))
    }

    fn topology(&mut self, name: &str) -> Result<(Arc<Topology>, String), Failure> {
        if let Some(known) = self.topologies.get(name) {
            return Ok(known.clone());
        }
        let (topology, file) = topo::load(name)?;
        let found = (Arc::new(topology), file.unwrap_or("built-in").to_owned());
        self.topologies.insert(name.to_owned(), found.clone());
        Ok(found)
    }

    fn job(&mut self, key: Key, metric: &Metric, real: Option<Nanos>) -> Result<usize, Failure> {
        if let Some(known) = self.jobs.iter().position(|job| job.key == key) {
            let job = &mut self.jobs[known];
            if !job.metrics.contains(metric) {
                job.metrics.push(metric.clone());
            }
            job.real = job.real.or(real);
            return Ok(known);
        }
        let (topology, file) = self.topology(&key.topology)?;
        let (extent, seed) = (self.args.extent(), self.args.seed);
        let scenario = key.scenario(&topology, &file, extent, seed, self.registry)?;
        let real = real.or(scenario.lasts(seed)?);
        let (metrics, registry) = (vec![metric.clone()], self.registry.clone());
        self.jobs.push(Job { scenario, key, metrics, real, extent, registry });
        Ok(self.jobs.len() - 1)
    }
}

impl Key {
    /// The scenario of this side on a machine that may be another.
    pub(super) fn scenario(
        &self,
        topology: &Arc<Topology>,
        file: &str,
        extent: Extent,
        seed: u64,
        registry: &Registry,
    ) -> Result<Scenario, Failure> {
        let side = Side::named(topology, file, &self.policy, &self.settings, &self.workload);
        Scenario::of_side(Side { extent, ..side }, seed, registry)
    }
}

/// How much of a run is simulated whose real one took so long.
fn extent(args: &ValidateArgs, real: Option<Nanos>) -> Extent {
    match args.extent() {
        Extent::Long { limit, .. } if real.is_some_and(|real| real <= limit) => Extent::Whole,
        extent => extent,
    }
}

/// So many seconds; none if they are too many for a simulation's clock.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked before")]
fn nanos(seconds: f64) -> Option<Nanos> {
    let ns = (seconds * 1e9).round();
    (1.0..1e18).contains(&ns).then_some(Nanos(ns as u64))
}
