//! One scenario and one seed to one report.

use std::sync::Arc;

use simsched_core::observe::{Digest, Invariants, Stats};
use simsched_core::{
    Config, Nanos, Observer, Policy, Seed, SimTime, Simulator, Status, Workload, World,
};
use simsched_topology::Topology;

use crate::domains::DomainTable;
use crate::failure::Failure;
use crate::interrupt;
use crate::progress::Progress;
use crate::report::{self, CpuTime, End, Migrations, Percentiles, Report, ScenarioReport, Wakeups};

/// Who watches every run; the rules are checked on request.
type Watch = (Stats, (Digest, Option<Invariants>));

/// Events between two looks at the clock and at Ctrl-C: some 10 ms.
const PORTION: u64 = 100_000;

/// A run before it starts.
pub(crate) struct Plan<P, W> {
    pub(crate) topology: Arc<Topology>,
    pub(crate) policy: P,
    pub(crate) workload: W,
    pub(crate) config: Config,
    pub(crate) duration: Option<Nanos>,
    pub(crate) paranoid: bool,
}

/// A run that is over.
pub(crate) struct Measured<P> {
    pub(crate) end: End,
    pub(crate) events: u64,
    pub(crate) now: SimTime,
    pub(crate) nr_cpus: usize,
    pub(crate) policy: P,
    pub(crate) stats: Stats,
    pub(crate) digest: Digest,
}

/// What the program on the simulated machine tells.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Told {
    /// Its output, byte for byte.
    pub(crate) text: String,
    /// What it reports as its time.
    pub(crate) elapsed: Option<Nanos>,
    /// Its results by name.
    pub(crate) numbers: report::Counts,
}

impl<P: Policy, W: Workload> Plan<P, W> {
    /// Runs to the end, to the limit of time, or until the user asks to stop.
    ///
    /// # Errors
    /// A deadlock, a livelock or a broken contract; a broken invariant if they are checked.
    pub(crate) fn measure(self, progress: Option<&mut Progress>) -> Result<Measured<P>, Failure> {
        let setup = self.workload.setup();
        let (nr_cpus, nr_tasks) = (self.topology.nr_cpus(), setup.tasks.len());
        let stats = Stats::new(&self.topology, nr_tasks, setup.marks.len());
        let rules = self.paranoid.then(|| Invariants::new(nr_cpus, nr_tasks));
        let watch = (stats, (Digest::default(), rules));
        let mut run =
            Simulator::new(self.topology, self.policy, self.workload, watch, self.config)?;
        if self.paranoid {
            run.set_paranoid();
        }
        let horizon = self.duration.map_or(SimTime::NEVER, |limit| SimTime::ZERO + limit);
        let end = drive(&mut run, horizon, progress)?;
        let events = run.events();
        let (world, policy, _, watch) = run.into_parts();
        let (stats, digest) = judged(&world, watch)?;
        Ok(Measured { end, events, now: world.now(), nr_cpus, policy, stats, digest })
    }
}

fn drive<P: Policy, W: Workload, O: Observer>(
    run: &mut Simulator<P, W, O>,
    horizon: SimTime,
    mut progress: Option<&mut Progress>,
) -> Result<End, Failure> {
    loop {
        if interrupt::is_asked() {
            // What happens at this very instant still happens; then all time is charged.
            run.run_until(run.world().now())?;
            return Ok(End::Interrupted);
        }
        match run.run_events(horizon, PORTION)? {
            Status::Finished => return Ok(End::Finished),
            Status::Horizon => return Ok(End::Duration),
            Status::Paused => {}
        }
        if let Some(progress) = progress.as_deref_mut() {
            progress.at(run.world().now(), run.events());
        }
    }
}

/// The numbers, if no rule was broken.
fn judged(world: &World, watch: Watch) -> Result<(Stats, Digest), Failure> {
    let (stats, (digest, rules)) = watch;
    if let Some(mut rules) = rules {
        rules.finish(world).map_err(|broken| Failure::Simulation(broken.to_string()))?;
    }
    Ok((stats, digest))
}

/// The configuration of one of several runs.
pub(crate) fn seeded(config: Config, seed: u64) -> Config {
    Config { seed: Seed(seed), ..config }
}

impl<P: Policy> Measured<P> {
    /// The report of this run, of which the program has `told` this.
    pub(crate) fn report(&self, scenario: ScenarioReport, told: Told) -> Report {
        let (stats, reasons) = (&self.stats, self.policy.reasons());
        let mut policy_metrics = report::Counts::new();
        self.policy.metrics(&mut |name, value| {
            policy_metrics.insert(name.to_owned(), value.into());
        });
        let domains = DomainTable::of(&self.policy, self.nr_cpus);
        Report {
            schema: report::SCHEMA,
            scenario,
            digest: self.digest.to_string(),
            partial: self.end != End::Finished,
            end: self.end,
            simulated_ns: self.now.get(),
            events: self.events,
            elapsed_ns: report::nanos(told.elapsed),
            context_switches: stats.context_switches(),
            preemptions: stats.preemptions(),
            forks: stats.forks(),
            exits: stats.exits(),
            migrations: Migrations::of(stats, reasons, &domains.names),
            domains: domains.to_json(),
            wakeups: Wakeups::of(stats.wakeups_by_reason(), reasons),
            first_wakeups: Wakeups::of(stats.new_by_reason(), reasons),
            scanned_cpus: stats.scanned(),
            wakeup_latency_ns: Percentiles::of(stats.wakeup_latency()),
            runqueue_wait_ns: Percentiles::of(stats.runqueue_wait()),
            cpu_time_ns: CpuTime::of(stats),
            idle_while_waiting_ns: stats.idle_while_waiting().get(),
            costs: report::costs(stats),
            workload: told.numbers,
            policy_metrics,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use simsched_core::testkit::{RoundRobin, Script};
    use simsched_core::{Op, PipeId, Setup};
    use simsched_topology::CpuId;

    fn plan(ops: &[Op]) -> Plan<RoundRobin, Script> {
        let procs = vec!["proc".to_owned()];
        let mut script = Script::new(Setup { procs, pipes: 1, ..Setup::default() });
        script.task(CpuId(2), ops);
        Plan {
            topology: Arc::new(Topology::builtin("t16", None).unwrap()),
            policy: RoundRobin::default(),
            workload: script,
            config: Config::default(),
            duration: Some(Nanos::from_millis(20)),
            paranoid: true,
        }
    }

    fn scenario() -> ScenarioReport {
        ScenarioReport {
            topology: "t16".to_owned(),
            mode: "default".to_owned(),
            topology_file: "built-in".to_owned(),
            nr_cpus: 16,
            nr_llcs: 1,
            nr_nodes: 1,
            policy: "round_robin".to_owned(),
            policy_full: "round_robin".to_owned(),
            workload: "script".to_owned(),
            seed: 1,
            settings: std::collections::BTreeMap::new(),
            duration_ns: None,
        }
    }

    #[test]
    fn a_deadlock_ends_with_code_3_and_says_who_waits_for_what() {
        let stuck = plan(&[Op::Run(Nanos(500)), Op::Read { pipe: PipeId(0), bytes: 1 }]);
        let failure = stuck.measure(None).err().unwrap();
        assert_eq!(failure.code(), 3);
        let text = failure.to_string();
        assert!(text.starts_with("deadlock at "), "{text}");
        assert!(text.contains("task 0 (t0) waits for"), "{text}");
        assert!(text.contains("pipe 0"), "{text}");
    }

    #[test]
    fn a_run_is_partial_when_its_time_is_over() {
        let long = plan(&[Op::Run(Nanos::from_millis(50))]).measure(None).unwrap();
        assert_eq!((long.end, long.now), (End::Duration, SimTime(20_000_000)));
        let report = long.report(scenario(), Told::default());
        assert!(report.partial);
        assert_eq!((report.elapsed_ns, report.exits), (None, 0));
        let time = report.cpu_time_ns;
        assert_eq!(time.user + time.system + time.idle, 16 * 20_000_000);
    }

    #[test]
    fn a_run_that_ends_is_whole() {
        let short = plan(&[Op::Run(Nanos(500))]).measure(None).unwrap();
        let report = short.report(scenario(), Told::default());
        assert_eq!((report.partial, report.end, report.exits), (false, End::Finished, 1));
        assert_eq!((report.wakeups.total, report.first_wakeups.total), (0, 1));
        assert_eq!(report.cpu_time_ns.user, 500);
    }
}
