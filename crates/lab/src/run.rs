//! Runs the scenarios of a folder on the simulator.

use std::sync::Arc;

use simsched_core::{
    Config, Nanos, Observer, Policy, Seed, SimTime, Simulator, Status, TaskId, Workload,
};
use simsched_policies::{Registry, catalog as policies};
use simsched_topology::Topology;
use simsched_workloads::hackbench::{self, Hackbench};
use simsched_workloads::lab::{self, Counted, CountedRun, Kernel, Lab, WithKthreads};

use crate::counted::{self, Chain};
use crate::error::LabError;
use crate::folder::{Recorded, Variant};
use crate::latency::latencies;
use crate::machine::counts_events;
use crate::metrics::{Measures, Run};
use crate::once::Once;
use crate::recorder::{Record, Recorder, TaskRecord};
use crate::reference::{Scenario, Turn};
use crate::results::{self, Bench, Results, TaskResult};
use crate::shape::Shape;
use crate::summary::Means;

/// How often a command line that the lab has not run is run for one value; the lab runs each as often.
const REPETITIONS: usize = 3;

/// Events between two questions whether to stop: some 10 ms.
const PORTION: u64 = 100_000;

/// The policy of a kernel of the lab with these features; none if there is none yet.
#[must_use]
pub fn policy_of(kernel: &str, variant: Option<Variant>) -> Option<&'static str> {
    let policy = match (kernel, variant) {
        ("6.1", None) | ("6.1bias", Some(Variant::Off)) => Some("cfs@6.1"),
        ("6.1bias", Some(Variant::On)) => Some("cfs@6.1+wakeup_bias_prev"),
        ("6.12", None) => Some("eevdf@6.12"),
        ("7.2", None | Some(Variant::NoCacheAware)) => Some("eevdf@7.2"),
        ("7.2", Some(Variant::CacheAware)) => Some("eevdf@7.2+cache_aware"),
        ("7.3", None | Some(Variant::NoCacheAware)) => Some("eevdf@7.3"),
        ("7.3", Some(Variant::CacheAware)) => Some("eevdf@7.3+cache_aware"),
        _ => None,
    };
    policy.filter(|policy| policies::parse(policy, &[]).is_ok())
}

/// The kernel and the machine of the lab, before the user changes them.
///
/// Debian's kernels have no `CONFIG_IRQ_TIME_ACCOUNTING`. An instruction takes a nanosecond there,
/// and a path as long as it has instructions: nine of ten round trips of a pair take the same time to
/// the nanosecond. What differs between seeds is in the scenarios.
#[must_use]
pub fn config() -> Config {
    Config { irq_accounting: false, jitter_1024: 0, ..Config::default() }
}

/// The simulated machine on which scenarios are run.
#[derive(Clone, Debug)]
pub struct Bed {
    /// The machine, with the kernel's tracer at work.
    pub topology: Arc<Topology>,
    /// The machine without a tracer, for the command lines of hackbench.
    pub untraced: Arc<Topology>,
    /// The kernel that was recorded there, as far as programs meet it in their own code.
    pub kernel: Kernel,
    /// The policies that can be named.
    pub registry: Registry,
    /// The policy, such as `cfs@6.1`.
    pub policy: String,
    /// Settings of the policy.
    pub settings: Vec<(String, String)>,
    /// Settings of the kernel and the machine; the seed is that of each run.
    pub config: Config,
    /// The chains of counted runs on it, as far as they are over, by seed.
    pub chains: Once<u64, Chain>,
    /// The series of scenarios on it, as far as they are over, by seed and by what is run in them.
    pub series: Series,
}

/// By seed, and by what is run one behind the other: what comes of each of these.
pub type Series = Once<(u64, Arc<[Turn]>), Vec<Arc<Record>>>;

/// A run that has come to its end.
pub(crate) type Done<W, O> = Simulator<dyn Policy + Send, WithKthreads<W>, O>;

impl Bed {
    /// Runs a scenario with this seed, and measures it; none if `stop` says so before it is over.
    ///
    /// # Errors
    /// When it is not known, the policy does not exist, or the run cannot go on.
    pub fn run(
        &self,
        scenario: &Scenario,
        seed: u64,
        stop: &dyn Fn() -> bool,
    ) -> Result<Option<Recorded>, LabError> {
        if scenario.is_counted() {
            return self.count(&scenario.name, seed, stop);
        }
        let lab = self.lab(&scenario.turn())?;
        let Some(record) = self.record_of(scenario, &lab, seed, stop)? else { return Ok(None) };
        let results = results(&lab, &record)?;
        let run = Run {
            scenario: &scenario.name,
            events: &record.events,
            probes: &record.probes,
            results: &results,
        };
        let measures = Measures::of(&Shape::of(&self.topology), run);
        let values = Box::new(measures);
        let events = Arc::unwrap_or_clone(record).events;
        Ok(Some(Recorded { events, values }))
    }

    /// What comes of a scenario under the eyes of the recorder: in its series, if it has one, or behind those that the
    /// lab ran before it; none if `stop` says so before it is over.
    ///
    /// # Errors
    /// As [`Bed::run`].
    pub fn watch(
        &self,
        scenario: &Scenario,
        seed: u64,
        stop: &dyn Fn() -> bool,
    ) -> Result<Option<Arc<Record>>, LabError> {
        self.record_of(scenario, &self.lab(&scenario.turn())?, seed, stop)
    }

    /// The scenario on this machine.
    fn lab(&self, turn: &Turn) -> Result<Lab, LabError> {
        let lab = Lab::new(&turn.name, self.topology.nr_cpus())?;
        let lab = lab.on(&self.topology).under(self.kernel);
        Ok(match turn.length_ms {
            Some(ms) => lab.lasting(Nanos::from_millis(ms)),
            None => lab,
        })
    }

    fn record_of(
        &self,
        scenario: &Scenario,
        lab: &Lab,
        seed: u64,
        stop: &dyn Fn() -> bool,
    ) -> Result<Option<Arc<Record>>, LabError> {
        if lab::is_of_cache_set(&scenario.name) {
            let series = scenario.series();
            // What was run twice was recorded the second time.
            let nth = series.iter().rposition(|turn| turn.name == scenario.name);
            let all = self.series_of(series, seed, stop)?;
            let record = all.and_then(|all| all.get(nth?).cloned());
            return Ok(record);
        }
        // The traced runs of hackbench had its counters too.
        let counted = hackbench_of(lab).map(|_| Arc::new(counts_events(&self.topology)));
        let topology = counted.as_ref().unwrap_or(&self.topology);
        let programs = WithKthreads::behind(lab.replay(Seed(seed))?, topology, Seed(seed));
        let programs = programs.under(self.kernel, topology);
        let record = self.record(lab.name(), topology, programs, seed, stop)?;
        Ok(record.map(Arc::new))
    }

    /// What comes of each scenario of a series; none if `stop` says so before the last one is over.
    fn series_of(
        &self,
        series: Arc<[Turn]>,
        seed: u64,
        stop: &dyn Fn() -> bool,
    ) -> Result<Option<Arc<Vec<Arc<Record>>>>, LabError> {
        self.series.of((seed, Arc::clone(&series)), || {
            let topology = &self.topology;
            let labs = series.iter().map(|turn| self.lab(turn)).collect::<Result<Vec<_>, _>>()?;
            let replay = Lab::series(&labs, Seed(seed))?;
            let parts = replay.parts();
            let programs = WithKthreads::series(replay, topology, Seed(seed));
            let programs = programs.under(self.kernel, topology);
            let recorder = Recorder::of_series(&programs.setup(), &parts, topology.nr_cpus());
            let name = series.last().map_or("", |turn| &turn.name);
            let run = self.simulate(name, topology, programs, recorder, seed, stop)?;
            let Some(run) = run else { return Ok(None) };
            let reasons = run.reasons();
            let (world, _, _, recorder) = run.into_parts();
            let records = recorder.finish_all(&world, reasons);
            Ok(Some(records.into_iter().map(Arc::new).collect()))
        })
    }

    /// The means of the counters over several runs of a command line. Those of the lab are runs of its
    /// chain, others of a chain of their own.
    fn count(
        &self,
        command: &str,
        seed: u64,
        stop: &dyn Fn() -> bool,
    ) -> Result<Option<Recorded>, LabError> {
        let args: Vec<String> = command.split(' ').skip(1).map(str::to_owned).collect();
        let options = hackbench::parse(&args)?;
        let all = lab::counted();
        let chain = if all.contains(&options) {
            self.chains.of(seed, || self.chain(&all, seed, stop))?
        } else {
            self.chain(&[options; REPETITIONS], seed, stop)?.map(Arc::new)
        };
        let Some(chain) = chain else { return Ok(None) };
        let own = chain.iter().filter(|(run, _)| *run == options);
        let benches: Vec<Bench> = own.map(|(_, bench)| bench.clone()).collect();
        Ok(Some(Recorded { events: Vec::new(), values: Box::new(Means::of(&benches)) }))
    }

    /// Runs of hackbench under counters, one behind the other, behind the scenarios that the lab ran before it counted any.
    fn chain(
        &self,
        runs: &[Hackbench],
        seed: u64,
        stop: &dyn Fn() -> bool,
    ) -> Result<Option<Chain>, LabError> {
        let topology = &self.untraced;
        let program = Counted::new(runs, topology.nr_cpus(), self.kernel, Seed(seed))?;
        let found: Vec<CountedRun> = program.runs().collect();
        let replay = lab::replay_counted(program, topology, self.kernel, Seed(seed))?;
        let programs = WithKthreads::counted(replay, topology, Seed(seed));
        let programs = programs.under(self.kernel, topology);
        let recorder = Recorder::new(&programs.setup(), topology.nr_cpus()).without_events();
        let run = self.simulate(hackbench::NAME, topology, programs, recorder, seed, stop)?;
        let Some(run) = run else { return Ok(None) };
        let reasons = run.reasons();
        let (world, _, _, recorder) = run.into_parts();
        let record = recorder.finish(&world, reasons);
        let counted = |(&options, &run)| {
            let bench = counted::bench(hackbench::NAME, run, &record);
            (options, bench.expect("a run that is over has passed its marks"))
        };
        Ok(Some(runs.iter().zip(&found).map(counted).collect()))
    }

    fn record<W: Workload>(
        &self,
        name: &str,
        topology: &Arc<Topology>,
        programs: WithKthreads<W>,
        seed: u64,
        stop: &dyn Fn() -> bool,
    ) -> Result<Option<Record>, LabError> {
        let recorder = Recorder::new(&programs.setup(), topology.nr_cpus());
        let Some(run) = self.simulate(name, topology, programs, recorder, seed, stop)? else {
            return Ok(None);
        };
        let reasons = run.reasons();
        let (world, _, _, recorder) = run.into_parts();
        Ok(Some(recorder.finish(&world, reasons)))
    }

    /// Runs `programs` to their end under the eyes of `observer`; none if `stop` says so before.
    pub(crate) fn simulate<W: Workload, O: Observer>(
        &self,
        name: &str,
        topology: &Arc<Topology>,
        programs: WithKthreads<W>,
        observer: O,
        seed: u64,
        stop: &dyn Fn() -> bool,
    ) -> Result<Option<Done<W, O>>, LabError> {
        let policy = self.registry.parse(&self.policy, &self.settings)?.build();
        let config = Config { seed: Seed(seed), ..self.config };
        let failed = |error| LabError::Run { scenario: name.to_owned(), error };
        let mut run = Simulator::new(Arc::clone(topology), policy, programs, observer, config)
            .map_err(failed)?;
        loop {
            if stop() {
                return Ok(None);
            }
            if run.run_events(SimTime::NEVER, PORTION).map_err(failed)? == Status::Finished {
                return Ok(Some(run));
            }
        }
    }
}

/// The name of the program, if it is hackbench.
fn hackbench_of(lab: &Lab) -> Option<&str> {
    lab.name().split_once('-').map(|(program, _)| program).filter(|name| *name == "hackbench")
}

/// What the tasks of a run would have told of themselves. The traced runs of hackbench tell nothing.
fn results(lab: &Lab, record: &Record) -> Result<Results, LabError> {
    let elapsed_ns = record.elapsed_ns;
    if let Some(program) = hackbench_of(lab) {
        return Ok(Results { elapsed_ns, counted: results::Counted::Named(program.to_owned()) });
    }
    let setup = lab.build(Seed(0))?.setup();
    let found = latencies(lab, record);
    let tasks = setup.tasks.iter().zip(&record.tasks).zip(&found).enumerate();
    let tasks = tasks.filter(|(nth, _)| lab.reports(TaskId::new(*nth)));
    let tasks = tasks.map(|(_, ((spec, record), latencies))| {
        let TaskRecord { pid, nice, exec_ns } = *record;
        let name = spec.name.clone();
        let mut task = TaskResult { name, pid, nice, exec_ns, ..TaskResult::default() };
        task.set_latencies(latencies);
        task
    });
    Ok(Results { elapsed_ns, counted: results::Counted::Tasks(tasks.collect()) })
}
