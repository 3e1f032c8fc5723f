//! `simsched lab`: the scenarios of a kernel's recordings on the simulator, and how far both agree.

mod json;
mod text;

use std::sync::{Arc, Mutex};

use simsched_lab::error::LabError;
use simsched_lab::folder::{Folder, Recorded, Variant};
use simsched_lab::heavy::{Pair, count_groups};
use simsched_lab::judge::{Row, Tally, judge};
use simsched_lab::machine::Tracer;
use simsched_lab::once::Once;
use simsched_lab::outside::Outside;
use simsched_lab::reference::Scenario;
use simsched_lab::run::{Bed, config, policy_of};
use simsched_lab::series::up_to_the_last;
use simsched_lab::tracefs;
use simsched_lab::value::Values;
use simsched_lab::verdict::{Class, Verdict};
use simsched_policies::Registry;
use simsched_topology::{did_you_mean, nearest};
use simsched_workloads::lab::Kernel;

use crate::args::{Bars, LabArgs};
use crate::failure::Failure;
use crate::interrupt;
use crate::output::{self, Place, Whole};
use crate::parallel::each_in_parallel;
use crate::progress::Progress;
use crate::settings::Settings;

/// Does what `simsched lab` is asked for.
pub(crate) fn lab(args: &LabArgs, registry: &Registry) -> Result<(), Failure> {
    let folders = args.folders.iter().map(|path| Folder::open(path));
    let folders = folders.collect::<Result<Vec<_>, _>>()?;
    let benches = folders.into_iter().flat_map(Folder::variants);
    let benches =
        benches.map(|folder| Bench::new(folder, args, registry)).collect::<Result<Vec<_>, _>>()?;
    let jobs: Vec<Job<'_>> = benches.iter().flat_map(Bench::jobs).collect();
    check_only(&benches, args)?;
    interrupt::listen();
    output::are_apart(&[("--json", args.json.as_deref()), ("--dump", args.dump.as_deref())])?;
    let place = Place::of(args.json.as_deref())?;
    let dump = Dump::of(args, &jobs)?;
    let outcomes = run(&jobs, args);
    if let Some(dump) = dump {
        dump.write(&outcomes)?;
    }
    let broken = outcomes.iter().position(|outcome| matches!(outcome, Outcome::Failed(_)));
    let report = Report::of(&benches, &jobs, &outcomes, args)?;
    place.tell(&output::json(&json::Report::from(&report)), || text::report(&report))?;
    match outcomes.into_iter().nth(broken.unwrap_or(usize::MAX)) {
        Some(Outcome::Failed(error)) => Err(error.into()),
        _ if report.is_below() => Err(Failure::Below),
        _ => Ok(()),
    }
}

/// A folder, and on what its scenarios are run.
struct Bench {
    folder: Folder,
    /// What the kernel did, of the scenarios asked for; nothing if there is nothing to run it on.
    scenarios: Vec<Scenario>,
    on: On,
}

/// On what scenarios are run.
enum On {
    Simulator(Bed),
    /// Both sides of a patch.
    Pair(Box<Pair>),
    /// Inside the task groups that a scenario names.
    Groups(Bed),
    /// The kernel itself has run them.
    Recorded(String),
    /// There is no policy for the kernel yet.
    Nothing,
}

impl Bench {
    fn new(folder: Folder, args: &LabArgs, registry: &Registry) -> Result<Bench, Failure> {
        let on = On::of(&folder, args, registry)?;
        let all = if matches!(on, On::Nothing) { Vec::new() } else { folder.reference()? };
        let mut scenarios = asked_for(all, &args.only);
        up_to_the_last(&mut scenarios);
        if let (On::Recorded(label), Some(scenario)) = (&on, scenarios.first()) {
            // A label that is not there is told now, and not by one of many threads.
            folder.recorded(label, scenario)?;
        }
        Ok(Bench { folder, scenarios, on })
    }

    fn jobs(&self) -> impl Iterator<Item = Job<'_>> {
        self.scenarios.iter().map(move |scenario| Job { bench: self, scenario })
    }
}

impl On {
    fn of(folder: &Folder, args: &LabArgs, registry: &Registry) -> Result<On, Failure> {
        if let Some(label) = &args.recorded {
            return Ok(On::Recorded(label.clone()));
        }
        let variant = match folder.variant() {
            Some(Variant::OffToOn | Variant::Groups) => Some(Variant::Off),
            variant => variant,
        };
        let policy = args.policy.as_deref().or_else(|| policy_of(folder.kernel(), variant));
        let Some(policy) = policy else { return Ok(On::Nothing) };
        let bed = bed(folder, policy, args, registry)?;
        Ok(match folder.variant() {
            Some(Variant::OffToOn) => {
                let on = self::bed(folder, &format!("{policy}+{PATCH}"), args, registry)?;
                On::Pair(Box::new(Pair { off: bed, on }))
            }
            Some(Variant::Groups) => On::Groups(bed),
            _ => On::Simulator(bed),
        })
    }
}

/// What a kernel whose placements can be biased has to switch.
const PATCH: &str = "wakeup_bias_prev";

/// The simulated machine of a folder.
fn bed(folder: &Folder, policy: &str, args: &LabArgs, registry: &Registry) -> Result<Bed, Failure> {
    let settings = Settings::sort_onto(registry, config(), policy, &args.settings)?;
    Ok(Bed {
        topology: Arc::new(folder.machine(Tracer::On)?),
        untraced: Arc::new(folder.machine(Tracer::Off)?),
        kernel: Kernel::named(folder.kernel()),
        registry: registry.clone(),
        policy: policy.to_owned(),
        settings: settings.policy,
        config: settings.config,
        chains: Once::default(),
        series: Once::default(),
    })
}

/// The scenarios of these names; of a name that none has, those that begin so.
fn asked_for(mut scenarios: Vec<Scenario>, only: &[String]) -> Vec<Scenario> {
    if only.is_empty() {
        return scenarios;
    }
    let has = |name: &String| scenarios.iter().any(|scenario| scenario.name == *name);
    let exact: Vec<bool> = only.iter().map(has).collect();
    scenarios.retain(|scenario| {
        only.iter().zip(&exact).any(|(name, exact)| {
            scenario.name == *name || (!exact && scenario.name.starts_with(name.as_str()))
        })
    });
    scenarios
}

/// Whether each name of `--only` is that of a scenario, or begins one, where there is something to run.
fn check_only(benches: &[Bench], args: &LabArgs) -> Result<(), Failure> {
    let mut names: Vec<String> = Vec::new();
    for bench in benches.iter().filter(|bench| !matches!(bench.on, On::Nothing)) {
        let own = bench.folder.reference()?.into_iter().map(|scenario| scenario.name);
        names.extend(own.filter(|name| !names.contains(name)).collect::<Vec<_>>());
    }
    let is_stray = |only: &&String| names.iter().all(|name| !name.starts_with(only.as_str()));
    match args.only.iter().find(is_stray) {
        Some(stray) if !names.is_empty() => {
            let near = did_you_mean(&nearest(stray, names.iter().map(String::as_str)));
            let all = names.join(", ");
            let text = format!("--only: found '{stray}', expected one of {all}{near}");
            Err(Failure::Input(text))
        }
        _ => Ok(()),
    }
}

/// A scenario of a folder.
struct Job<'a> {
    bench: &'a Bench,
    scenario: &'a Scenario,
}

/// What became of a job.
enum Outcome {
    /// By seed; a kernel has one.
    Done(Vec<Recorded>),
    /// The label does not have this scenario.
    Absent,
    Failed(LabError),
    /// The user did not want to wait.
    Stopped,
}

impl Outcome {
    fn of(done: Result<Option<Vec<Recorded>>, LabError>) -> Outcome {
        match done {
            Ok(Some(done)) => Outcome::Done(done),
            Ok(None) => Outcome::Stopped,
            Err(error) => Outcome::Failed(error),
        }
    }
}

/// Of how many seeds the runs are judged together that are some thirty times as long as others.
const HEAVY_SEEDS: u64 = 3;

impl Job<'_> {
    fn run(&self, first: u64, seeds: u64) -> Outcome {
        match &self.bench.on {
            On::Simulator(bed) => {
                let one = |seed| bed.run(self.scenario, seed, &interrupt::is_asked);
                Outcome::of((0..seeds).map(|nth| first.wrapping_add(nth)).map(one).collect())
            }
            On::Pair(pair) => {
                let one = |seed| pair.run(&self.scenario.name, seed, &interrupt::is_asked);
                let seeds = seeds.min(HEAVY_SEEDS);
                Outcome::of((0..seeds).map(|nth| first.wrapping_add(nth)).map(one).collect())
            }
            On::Groups(bed) => {
                let one = |seed| count_groups(bed, &self.scenario.name, seed, &interrupt::is_asked);
                let seeds = seeds.min(HEAVY_SEEDS);
                Outcome::of((0..seeds).map(|nth| first.wrapping_add(nth)).map(one).collect())
            }
            On::Recorded(label) => match self.bench.folder.recorded(label, self.scenario) {
                Ok(Some(done)) => Outcome::Done(vec![done]),
                Ok(None) => Outcome::Absent,
                Err(error) => Outcome::Failed(error),
            },
            On::Nothing => Outcome::Absent,
        }
    }
}

/// Runs all; the order of the outcomes is that of the jobs, whatever thread was faster.
fn run(jobs: &[Job<'_>], args: &LabArgs) -> Vec<Outcome> {
    let series = series(jobs, args);
    let all = (series.len() + jobs.len()) as u64;
    let progress = Mutex::new((0, Progress::start(args.quiet)));
    let done = || {
        let (done, progress) = &mut *progress.lock().expect("no run panics while it counts");
        *done += 1;
        progress.runs(*done, all);
    };
    // Where this fails, the jobs will say why.
    each_in_parallel(series.len(), |nth| {
        let (bed, scenario, seed) = series[nth];
        let _ = bed.watch(scenario, seed, &interrupt::is_asked);
        done();
    });
    each_in_parallel(jobs.len(), |job| {
        let outcome = jobs[job].run(args.seed, args.seeds);
        done();
        outcome
    })
}

/// For each series and seed one of its scenarios: a series is one simulation, and the jobs of a seed would wait for it
/// one after the other.
fn series<'a>(jobs: &[Job<'a>], args: &LabArgs) -> Vec<(&'a Bed, &'a Scenario, u64)> {
    let mut found: Vec<(&Bed, &Scenario, u64)> = Vec::new();
    for job in jobs {
        let (On::Simulator(bed), Some(own)) = (&job.bench.on, &job.scenario.series) else {
            continue;
        };
        let is_known = found.iter().any(|(other, scenario, _)| {
            std::ptr::eq(*other, bed) && scenario.series.as_ref() == Some(own)
        });
        if !is_known {
            let seeds = (0..args.seeds).map(|nth| args.seed.wrapping_add(nth));
            found.extend(seeds.map(|seed| (bed, job.scenario, seed)));
        }
    }
    found
}

/// The file for the events of a scenario.
struct Dump {
    file: Whole,
    nr_cpus: usize,
    scenario: String,
}

impl Dump {
    fn of(args: &LabArgs, jobs: &[Job<'_>]) -> Result<Option<Dump>, Failure> {
        let Some(path) = &args.dump else { return Ok(None) };
        let [job] = jobs else {
            let text = format!("--dump: found {} scenarios, expected one: see --only", jobs.len());
            return Err(Failure::Input(text));
        };
        let nr_cpus = job.bench.folder.machine(Tracer::On)?.nr_cpus();
        Ok(Some(Dump { file: Whole::begin(path)?, nr_cpus, scenario: job.scenario.name.clone() }))
    }

    fn write(self, outcomes: &[Outcome]) -> Result<(), Failure> {
        match outcomes {
            [Outcome::Done(done)] if done[0].events.is_empty() => {
                Err(Failure::Input(format!("--dump: `{}` has no events", self.scenario)))
            }
            [Outcome::Done(done)] => {
                self.file.write(&tracefs::write(&done[0].events, self.nr_cpus))
            }
            _ => Ok(()),
        }
    }
}

/// All that is told.
pub(super) struct Report<'a> {
    seed: u64,
    seeds: u64,
    bars: Bars,
    folders: Vec<Judged<'a>>,
}

/// A folder that was judged.
pub(super) struct Judged<'a> {
    bench: &'a Bench,
    scenarios: Vec<Verdicts<'a>>,
    /// Scenarios that were not run to their end.
    stopped: usize,
    tally: Tally,
}

/// A scenario that was judged.
pub(super) struct Verdicts<'a> {
    scenario: &'a Scenario,
    rows: Vec<Row>,
    /// What outsiders did in the kernel's runs, by label, if that was asked for.
    outside: Option<Vec<(String, Outside)>>,
}

impl<'a> Report<'a> {
    fn of(
        benches: &'a [Bench],
        jobs: &[Job<'a>],
        outcomes: &[Outcome],
        args: &LabArgs,
    ) -> Result<Report<'a>, Failure> {
        let folder = |bench: &'a Bench| {
            let empty = Vec::new();
            let mut judged =
                Judged { bench, scenarios: empty, stopped: 0, tally: Tally::default() };
            let own = jobs.iter().zip(outcomes).filter(|(job, _)| std::ptr::eq(job.bench, bench));
            own.for_each(|(job, outcome)| judged.add(job.scenario, outcome));
            if args.outside {
                judged.look_outside()?;
            }
            Ok(judged)
        };
        let folders = benches.iter().map(folder).collect::<Result<_, LabError>>()?;
        Ok(Report { seed: args.seed, seeds: args.seeds, bars: args.bar, folders })
    }

    /// All folders together.
    fn total(&self) -> Tally {
        let rows = self.folders.iter().flat_map(|folder| &folder.scenarios);
        let mut total = Tally::default();
        rows.for_each(|scenario| total.add(&scenario.rows));
        total
    }

    /// Whether a class of a folder has not reached its bar.
    fn is_below(&self) -> bool {
        self.folders.iter().any(|folder| !below(&folder.tally, &self.bars).is_empty())
    }
}

impl<'a> Judged<'a> {
    fn add(&mut self, scenario: &'a Scenario, outcome: &Outcome) {
        let rows = match outcome {
            Outcome::Done(done) => judge(scenario, &values(done)),
            Outcome::Failed(_) => judge(scenario, &[]),
            Outcome::Absent => return,
            Outcome::Stopped => {
                self.stopped += 1;
                return;
            }
        };
        self.tally.add(&rows);
        self.scenarios.push(Verdicts { scenario, rows, outside: None });
    }

    /// Asks the kernel's traces of the scenarios with a miss who else was there.
    fn look_outside(&mut self) -> Result<(), LabError> {
        for verdicts in &mut self.scenarios {
            if verdicts.rows.iter().any(|row| row.verdict == Verdict::Missed) {
                verdicts.outside = Some(self.bench.folder.outside(verdicts.scenario)?);
            }
        }
        Ok(())
    }
}

fn values(runs: &[Recorded]) -> Vec<&dyn Values> {
    runs.iter().map(|run| run.values.as_ref() as &dyn Values).collect()
}

/// The bar of a class, in percent.
fn bar(class: Class, bars: &Bars) -> f64 {
    match class {
        Class::Exact => bars.exact,
        Class::Tight => bars.tight,
        Class::Loose => bars.loose,
        Class::Ratio => bars.ratio,
        Class::Points => bars.points,
        Class::Counted => bars.counted,
        _ => 0.0,
    }
}

/// The classes of which too few metrics were met.
#[expect(clippy::cast_precision_loss, reason = "there are few metrics")]
fn below(tally: &Tally, bars: &Bars) -> Vec<Class> {
    let is_below = |class: &Class| {
        let (met, judged) = tally.of(*class);
        100.0 * (met as f64) < bar(*class, bars) * judged as f64
    };
    Class::JUDGED.into_iter().filter(is_below).collect()
}
