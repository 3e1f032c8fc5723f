//! `Scenario`: machine, policy, workload, settings and limits, checked before anything runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use simsched_core::{Config, Nanos, Seed};
use simsched_policies::{PolicySpec, Registry};
use simsched_topology::Topology;
use simsched_trace::schedstat::SchedStat;
use simsched_workloads::catalog::{self as workloads, Benchmark};
use simsched_workloads::{OwnBenchmark, WorkloadError};

use crate::args::RunArgs;
use crate::chosen::{ChosenPolicy, ChosenWorkload};
use crate::cut::Cut;
use crate::extent::Extent;
use crate::failure::Failure;
use crate::identity;
use crate::input;
use crate::kthreads;
use crate::meter::Totals;
use crate::precision::{Ask, Goal};
use crate::program;
use crate::progress::Progress;
use crate::record::Outputs;
use crate::replay::{self, Recorded};
use crate::report::{self, End, Report, ScenarioReport};
use crate::run::{self, Plan};
use crate::settings::{self, Settings};
use crate::start::Begins;
use crate::topo;

/// What is to be run, with any seed.
pub(crate) struct Scenario {
    topology: Arc<Topology>,
    /// `built-in`, or the path of the machine's file as given.
    topology_file: String,
    /// The hash of that file's text.
    topology_hash: Option<String>,
    /// The policy expression as given, or the name of the caller's own.
    policy: String,
    /// The policy that this means.
    spec: Box<dyn PolicySpec>,
    /// What `--set` changes, sorted and as given.
    settings: Settings,
    given: BTreeMap<String, String>,
    workload: ChosenWorkload,
    /// The recording that it is, if it is one.
    recorded: Option<Box<Recorded>>,
    /// The file that it reads, if it reads one.
    file: Option<Arc<str>>,
    duration: Option<Nanos>,
    /// How much of a run is simulated and measured.
    extent: Extent,
    /// How precise the numbers of the whole job must be; none is to simulate all of it.
    precision: Option<Ask>,
    /// In intervals of which length it is told where processes are at home.
    llc_interval: Option<Nanos>,
    /// Whether `/proc/schedstat` is asked for.
    schedstat: bool,
    /// In intervals of which length it is kept how busy CPUs are.
    series: Option<Nanos>,
    paranoid: bool,
}

/// One side of a comparison, or what a caller of the library runs.
pub(crate) struct Side {
    pub(crate) topology: Arc<Topology>,
    pub(crate) topology_file: String,
    pub(crate) topology_hash: Option<String>,
    pub(crate) policy: ChosenPolicy,
    pub(crate) settings: Vec<(String, String)>,
    pub(crate) workload: ChosenWorkload,
    pub(crate) extent: Extent,
    pub(crate) duration: Option<Nanos>,
    pub(crate) precision: Option<Ask>,
    pub(crate) llc_interval: Option<Nanos>,
    pub(crate) series: Option<Nanos>,
    pub(crate) paranoid: bool,
}

impl Side {
    /// A named policy and workload, run as a whole with nothing collected beside the report.
    pub(crate) fn named(
        topology: &Arc<Topology>,
        topology_file: &str,
        policy: &str,
        settings: &[(String, String)],
        workload: &[String],
    ) -> Side {
        Side {
            topology: Arc::clone(topology),
            topology_file: topology_file.to_owned(),
            topology_hash: None,
            policy: ChosenPolicy::Named(policy.to_owned()),
            settings: settings.to_vec(),
            workload: ChosenWorkload::Words(workload.to_vec()),
            extent: Extent::SinceStart,
            duration: None,
            precision: None,
            llc_interval: None,
            series: None,
            paranoid: false,
        }
    }
}

/// A run that is over, and what it says of itself.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    pub(crate) report: Report,
    /// The output of the program that was run.
    pub(crate) text: String,
    /// What was done in the part that was measured,
    pub(crate) totals: Totals,
    /// and what part that is, if it is not all.
    pub(crate) cut: Option<Cut>,
    /// `/proc/schedstat` of the simulated kernel, if that was asked for.
    pub(crate) schedstat: Option<SchedStat>,
}

impl Scenario {
    /// The scenario of these arguments.
    ///
    /// # Errors
    /// One sentence about the first argument that names something that does not exist.
    pub(crate) fn new(args: &RunArgs, registry: &Registry) -> Result<Scenario, Failure> {
        let (topology, file) = topo::load(&args.topo)?;
        let settings = Settings::sort(registry, &args.policy, &args.settings)?;
        let scenario = Scenario {
            recorded: recorded(&args.workload, &topology, &settings)?,
            topology: Arc::new(topology),
            topology_file: file.unwrap_or("built-in").to_owned(),
            topology_hash: file.map(|_| topo::hash(&args.topo)).transpose()?,
            policy: args.policy.clone(),
            spec: parsed(registry, &args.policy, &settings)?,
            settings,
            given: args.settings.iter().cloned().collect(),
            workload: ChosenWorkload::Words(args.workload.clone()),
            file: input::of_workload(&args.workload)?,
            duration: args.duration,
            extent: if args.whole { Extent::Whole } else { Extent::SinceStart },
            precision: args.precision.map(|percent| Ask { percent, limit: args.precision_limit }),
            llc_interval: args.llc_interval,
            schedstat: args.results.schedstat.is_some(),
            series: args.series.series,
            paranoid: args.paranoid,
        };
        scenario.checked(args.seed)
    }

    /// The scenario of one side of a comparison.
    ///
    /// # Errors
    /// As [`Scenario::new`].
    pub(crate) fn of_side(side: Side, seed: u64, registry: &Registry) -> Result<Scenario, Failure> {
        let (spec, settings) = match &side.policy {
            ChosenPolicy::Named(name) => {
                let settings = Settings::sort(registry, name, &side.settings)?;
                (parsed(registry, name, &settings)?, settings)
            }
            ChosenPolicy::Own(own) => {
                let mut spec = own.boxed();
                let settings = Settings::of_spec(spec.as_mut(), &side.settings)?;
                (spec, settings)
            }
        };
        let (recorded, file) = match &side.workload {
            ChosenWorkload::Words(words) => {
                (recorded(words, &side.topology, &settings)?, input::of_workload(words)?)
            }
            ChosenWorkload::Own { .. } => (None, None),
        };
        let scenario = Scenario {
            recorded,
            topology: side.topology,
            topology_file: side.topology_file,
            topology_hash: side.topology_hash,
            policy: side.policy.name().to_owned(),
            spec,
            settings,
            given: side.settings.into_iter().collect(),
            workload: side.workload,
            file,
            duration: side.duration,
            extent: side.extent,
            precision: side.precision,
            llc_interval: side.llc_interval,
            schedstat: false,
            series: side.series,
            paranoid: side.paranoid,
        };
        scenario.checked(seed)
    }

    /// Refuses before the first run what would otherwise be refused by one of many threads.
    fn checked(self, seed: u64) -> Result<Scenario, Failure> {
        let benchmark = self.benchmark(seed)?;
        if self.precision.is_some() && Goal::of(benchmark.as_ref()).is_none() {
            let text = "has no measure of its progress, and can be run as a whole only";
            return Err(Failure::Input(format!("--precision: `{}` {text}", benchmark.command())));
        }
        Ok(self)
    }

    pub(crate) fn topology(&self) -> &Topology {
        &self.topology
    }

    /// What the user may have overlooked: settings that were given and cannot matter.
    pub(crate) fn note(&self) -> Option<String> {
        let found = self.spec.without_effect().into_iter();
        let notes: Vec<String> =
            found.map(|(key, needs)| format!("{key} has no effect without {needs}")).collect();
        (!notes.is_empty()).then(|| notes.join("; "))
    }

    /// The hash of the file that the workload reads, if it reads one.
    pub(crate) fn file_hash(&self) -> Option<String> {
        let of_text = || self.file.as_ref().map(|text| identity::hex(text.as_bytes()));
        self.recorded.as_ref().map(|recorded| recorded.hash.clone()).or_else(of_text)
    }

    /// What the policy was built of, by name, where its name does not say that.
    pub(crate) fn policy_built_of(&self) -> Vec<(String, String)> {
        self.spec.built_of()
    }

    /// What the workload's file says and what changes nothing.
    pub(crate) fn without_effect(&self, seed: u64) -> Result<Vec<String>, Failure> {
        Ok(self.benchmark(seed)?.without_effect())
    }

    /// The policy expression as given, or the name of the caller's own.
    pub(crate) fn policy_name(&self) -> &str {
        &self.policy
    }

    /// The version of the kernel that the policy stands for; none if it stands for none.
    pub(crate) fn kernel(&self) -> Option<&str> {
        self.spec.kernel()
    }

    /// The recording that the workload is, if it is one.
    pub(crate) fn recorded(&mut self) -> Option<&mut Recorded> {
        self.recorded.as_deref_mut()
    }

    /// Simulates and measures so much of each run.
    pub(crate) fn set_extent(&mut self, extent: Extent) {
        self.extent = extent;
    }

    /// How long the program runs by itself, if it runs for a fixed time.
    ///
    /// # Errors
    /// As [`Scenario::measure`].
    pub(crate) fn lasts(&self, seed: u64) -> Result<Option<Nanos>, Failure> {
        Ok(self.benchmark(seed)?.lasts())
    }

    fn benchmark(&self, seed: u64) -> Result<Box<dyn Benchmark>, Failure> {
        if let Some(recorded) = &self.recorded {
            return Ok(Box::new(recorded.replay.clone()));
        }
        let parsed = match (&self.workload, &self.file) {
            (ChosenWorkload::Words(words), Some(text)) => {
                workloads::parse_file(words, text, &self.topology)
            }
            (ChosenWorkload::Words(words), None) => {
                workloads::parse(words, seed, self.topology.nr_cpus())
            }
            (ChosenWorkload::Own { name, new }, _) => {
                let (topology, new) = (Arc::clone(&self.topology), Arc::clone(new));
                OwnBenchmark::new(name, move || new(&topology, Seed(seed)))
                    .map(|own| Box::new(own) as Box<dyn Benchmark>)
            }
        };
        parsed.map_err(Failure::input)
    }

    /// Runs with this seed.
    ///
    /// # Errors
    /// When the simulation cannot go on or breaks a rule.
    pub(crate) fn measure(
        &self,
        seed: u64,
        progress: Option<&mut Progress>,
    ) -> Result<Outcome, Failure> {
        self.measure_into(seed, progress, Outputs::default())
    }

    /// Runs with this seed, and writes the schedule to these files.
    ///
    /// # Errors
    /// As [`Scenario::measure`]; and what cannot be written.
    pub(crate) fn measure_into(
        &self,
        seed: u64,
        progress: Option<&mut Progress>,
        outputs: Outputs,
    ) -> Result<Outcome, Failure> {
        let benchmark = self.benchmark(seed)?;
        let config = run::seeded(self.settings.config, seed);
        let launcher = config.launcher.or_else(|| Some(benchmark.launcher()));
        let plan = Plan {
            topology: Arc::clone(&self.topology),
            policy: self.spec.build(),
            reasons: self.spec.reasons(),
            workload: kthreads::workload(benchmark.as_ref(), &self.topology, self.kernel(), config),
            config: Config { launcher, ..config },
            duration: self.duration,
            span: self.extent.slice(&self.topology, benchmark.least_part()),
            start: (self.extent == Extent::SinceStart).then(|| Begins::of(benchmark.as_ref())),
            precision: self.precision.zip(Goal::of(benchmark.as_ref())),
            round: benchmark.rounds().map(|(mark, _)| mark),
            llc_interval: self.llc_interval,
            schedstat: self.schedstat,
            series: self.series,
            paranoid: self.paranoid,
            outputs,
        };
        let measured = plan.measure(progress)?;
        let told = program::tell(benchmark.as_ref(), &measured);
        let text = told.text.clone();
        let report = measured.report(self.named(seed)?, told);
        Ok(Outcome {
            report,
            text,
            totals: measured.totals,
            cut: measured.cut,
            schedstat: measured.schedstat,
        })
    }

    /// What the report of a run with this seed says of the scenario.
    pub(crate) fn named(&self, seed: u64) -> Result<ScenarioReport, Failure> {
        let topology = &self.topology;
        Ok(ScenarioReport {
            topology: topology.name().to_owned(),
            mode: topology.mode().to_owned(),
            topology_file: self.topology_file.clone(),
            nr_cpus: topology.nr_cpus(),
            nr_llcs: topology.nr_llcs(),
            nr_nodes: topology.nr_nodes(),
            policy: self.policy.clone(),
            policy_full: self.spec.name(),
            policy_built_of: self.spec.built_of().into_iter().collect(),
            workload: self.benchmark(seed)?.command(),
            seed,
            settings: self.given.clone(),
            duration_ns: report::nanos(self.duration),
            topology_hash: self.topology_hash.clone(),
            workload_args: self.workload.words(),
            precision_pct: self.precision.map(|ask| ask.percent),
            precision_limit: self.precision.and_then(|ask| ask.limit),
            llc_interval_ns: report::nanos(self.llc_interval),
            paranoid: self.paranoid,
            whole: self.extent == Extent::Whole,
        })
    }
}

impl Outcome {
    /// Whether the run was not stopped by Ctrl-C.
    pub(crate) fn counts(&self) -> bool {
        self.report.end != End::Interrupted
    }
}

/// The policy that an expression means with these settings.
fn parsed(
    registry: &Registry,
    expression: &str,
    settings: &Settings,
) -> Result<Box<dyn PolicySpec>, Failure> {
    let parsed = registry.parse(expression, &settings.policy);
    parsed.map_err(|error| settings::refused(registry, error))
}

/// The recording that a workload's command line names, if it names one.
fn recorded(
    workload: &[String],
    topology: &Topology,
    settings: &Settings,
) -> Result<Option<Box<Recorded>>, Failure> {
    let open = || replay::open(&workload[1..], topology, &settings.config).map(Box::new);
    replay::is_meant(workload).then(open).transpose()
}

/// The program whose list of options the workload's command line asks for, if it does.
pub(crate) fn asks_for_help(workload: &[String]) -> Option<&'static str> {
    match workloads::parse(workload, 0, 1) {
        Err(WorkloadError::Help { program }) => Some(program),
        _ => None,
    }
}
