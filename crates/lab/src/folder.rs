//! `Folder`: the recordings of one kernel on one machine, `<kernel>-<topology>/<label>/`.

use std::fs;
use std::path::{Path, PathBuf};

use simsched_topology::Topology;

use crate::classes::Classes;
use crate::error::LabError;
use crate::event::Event;
use crate::heavy;
use crate::machine::{
    Tracer, in_turns_as_recorded, machine, of_the_biased_build, traces_placements,
};
use crate::metrics::{Measures, Run};
use crate::outside::Outside;
use crate::probes::Probes;
use crate::reference::{self, Metric, Scenario};
use crate::results::{self, Results};
use crate::series;
use crate::shape::Shape;
use crate::summary::{Means, Summary};
use crate::tracefs;
use crate::value::Values;

/// The recordings of one kernel on one machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    path: PathBuf,
    kernel: String,
    topology: String,
    variant: Option<Variant>,
}

/// With which features a kernel was recorded that has some to switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// All of them off.
    Off,
    /// `WAKEUP_BIAS_PREV` on.
    On,
    /// What it changes in long runs that were only counted.
    OffToOn,
    /// Runs inside task groups, whose shared load was watched.
    Groups,
    /// `llc_balancing/enabled` at 1, the default of Linux 7.2 and 7.3: labels `lockstep-*`.
    CacheAware,
    /// `llc_balancing/enabled` at 0, written before the first scenario: labels `off-*`.
    NoCacheAware,
}

impl Variant {
    /// As labels and files have it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Variant::Off => "off",
            Variant::On => "on",
            Variant::OffToOn => "off-to-on",
            Variant::Groups => "groups",
            Variant::CacheAware => "cache-aware",
            Variant::NoCacheAware => "not-cache-aware",
        }
    }
}

/// How the labels of the seeds begin.
const SEED: &str = "lockstep-";

/// How the labels of the seeds begin that ran without cache-aware scheduling.
const SEED_OFF: &str = "off-";

/// The comparison of the seeds that ran without cache-aware scheduling.
const COMPARED_OFF: &str = "off-robustness.json";

/// How the name of a kernel ends whose placements can be biased, and are traced.
pub(crate) const BIASED: &str = "bias";

/// What the folders of a kernel and a machine are called.
const NAME: &str = "<kernel>-<topology>";

impl Folder {
    /// The folder at `path`, by its name.
    ///
    /// # Errors
    /// When there is no such folder, or it is not called `<kernel>-<topology>`.
    pub fn open(path: &Path) -> Result<Folder, LabError> {
        let full = fs::canonicalize(path).map_err(|error| LabError::read(path, error))?;
        if !full.is_dir() {
            let expected = format!("a folder {NAME} of the kernel lab");
            return Err(LabError::content(path, "a file", expected));
        }
        let name = full.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let Some((kernel, topology)) = name.split_once('-').filter(|(kernel, topology)| {
            kernel.starts_with(|c: char| c.is_ascii_digit()) && !topology.is_empty()
        }) else {
            let found = format!("the name '{name}'");
            return Err(LabError::content(path, found, format!("{NAME}, such as 6.1-t16")));
        };
        let (kernel, topology) = (kernel.to_owned(), topology.to_owned());
        Ok(Folder { kernel, topology, path: path.to_owned(), variant: None })
    }

    /// The folder once for each set of features with which its kernel was recorded, and once for
    /// what they change.
    #[must_use]
    pub fn variants(self) -> Vec<Folder> {
        let with = |variant| Folder { variant: Some(variant), ..self.clone() };
        if self.has_cache_aware() {
            let all = [Variant::CacheAware, Variant::NoCacheAware].map(with);
            let found: Vec<Folder> =
                all.iter().filter(|folder| folder.is_recorded()).cloned().collect();
            return if found.is_empty() { all[..1].to_vec() } else { found };
        }
        if !self.kernel.ends_with(BIASED) {
            return vec![self];
        }
        let all = [Variant::Off, Variant::On, Variant::OffToOn, Variant::Groups].map(with);
        let found: Vec<Folder> =
            all.iter().filter(|folder| folder.is_recorded()).cloned().collect();
        if found.is_empty() { all[..2].to_vec() } else { found }
    }

    /// Whether cache-aware scheduling can be at work: in a kernel that has it, on a machine with
    /// several last-level caches.
    fn has_cache_aware(&self) -> bool {
        let machine = || self.machine(Tracer::On);
        ["7.2", "7.3"].contains(&&*self.kernel) && machine().is_ok_and(|of| of.nr_llcs() > 1)
    }

    /// Whether anything of its variant lies there.
    fn is_recorded(&self) -> bool {
        let seeds = self.seeds();
        match self.variant {
            Some(Variant::OffToOn) => heavy::has_pairs(&self.path),
            Some(Variant::Groups) => heavy::has_groups(&self.path),
            _ => self
                .entries(|name| self.is_comparison(name) || name.starts_with(&seeds))
                .is_ok_and(|found| !found.is_empty()),
        }
    }

    /// With which features its kernel was recorded, if it has some to switch.
    #[must_use]
    pub fn variant(&self) -> Option<Variant> {
        self.variant
    }

    /// The folder as it was given.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The kernel that was recorded, such as `6.1`.
    #[must_use]
    pub fn kernel(&self) -> &str {
        &self.kernel
    }

    /// The name of its machine, such as `t16`.
    #[must_use]
    pub fn topology(&self) -> &str {
        &self.topology
    }

    /// Its machine, with turns as long as in the recordings of its seeds.
    ///
    /// # Errors
    /// When it is neither built in nor described in the folder, or its turns have no length that can be.
    pub fn machine(&self, tracer: Tracer) -> Result<Topology, LabError> {
        let mut machine = machine(&self.path, &self.topology, &self.kernel, tracer)?;
        let seeds = self.seeds();
        if let Some(label) = self.entries(|name| name.starts_with(&seeds))?.first() {
            machine = in_turns_as_recorded(machine, label)?;
        }
        if !self.kernel.ends_with(BIASED) {
            return Ok(machine);
        }
        let machine = of_the_biased_build(machine, tracer);
        Ok(if tracer == Tracer::On { traces_placements(machine) } else { machine })
    }

    /// What the kernel did: from `robustness*.json`, or without one from the summaries of its seeds,
    /// with the classes of the folders beside it or of the lab's small machines.
    ///
    /// # Errors
    /// When there is neither, or a file is broken.
    pub fn reference(&self) -> Result<Vec<Scenario>, LabError> {
        match self.variant {
            Some(Variant::OffToOn) => return heavy::read(&self.path),
            Some(Variant::Groups) => return heavy::read_groups(&self.path),
            _ => {}
        }
        let scenarios = self.compared()?;
        if !scenarios.is_empty() {
            return self.with_lengths(scenarios);
        }
        let nr_cpus = self.machine(Tracer::On)?.nr_cpus();
        let scenarios = self.summarized(&self.classes()?, nr_cpus)?;
        if scenarios.is_empty() {
            let seeds = self.seeds();
            let expected = format!("robustness*.json, or {seeds}*/summary.json with scenarios");
            return Err(LabError::content(&self.path, "no recordings", expected));
        }
        self.with_lengths(scenarios)
    }

    /// These scenarios, with the lengths that their tasks say they ran.
    fn with_lengths(&self, mut scenarios: Vec<Scenario>) -> Result<Vec<Scenario>, LabError> {
        let prefix = self.seeds();
        let labels = self.entries(|name| name.starts_with(&prefix))?;
        for scenario in scenarios.iter_mut().filter(|scenario| !scenario.is_counted()) {
            let files = labels.iter().map(|label| label.join(format!("{}.json", scenario.name)));
            if let Some(file) = files.into_iter().find(|file| file.is_file()) {
                scenario.length_ms = results::length_ms(&file)?;
            }
        }
        if let Some(label) = labels.iter().find(|label| series::is_recorded(label)) {
            series::set(label, &mut scenarios)?;
        }
        Ok(scenarios)
    }

    /// How the labels of its seeds begin.
    fn seeds(&self) -> String {
        match self.variant {
            None | Some(Variant::CacheAware) => SEED.to_owned(),
            Some(Variant::NoCacheAware) => SEED_OFF.to_owned(),
            Some(variant) => format!("{SEED}{}-", variant.name()),
        }
    }

    /// Whether a file of this name compares its seeds.
    fn is_comparison(&self, name: &str) -> bool {
        match self.variant {
            None | Some(Variant::CacheAware) => {
                name.starts_with("robustness") && name.ends_with(".json")
            }
            Some(Variant::NoCacheAware) => name == COMPARED_OFF,
            Some(variant) => name == format!("robustness-{}.json", variant.name()),
        }
    }

    /// The scenarios of the files that compare its seeds.
    fn compared(&self) -> Result<Vec<Scenario>, LabError> {
        let mut scenarios = Vec::new();
        for path in self.entries(|name| self.is_comparison(name))? {
            scenarios.extend(reference::read(&path)?);
        }
        Ok(scenarios)
    }

    /// What lies in the folder under a name that fits, in the order of names.
    fn entries(&self, fits: impl Fn(&str) -> bool) -> Result<Vec<PathBuf>, LabError> {
        entries(&self.path, fits)
    }

    /// The classes that other machines under the same kernel have shown.
    fn classes(&self) -> Result<Classes, LabError> {
        let mut classes = Classes::default();
        let full =
            fs::canonicalize(&self.path).map_err(|error| LabError::read(&self.path, error))?;
        let kernel = format!("{}-", self.kernel);
        let siblings =
            full.parent().map(|parent| entries(parent, |name| name.starts_with(&kernel)));
        for path in siblings.transpose()?.into_iter().flatten().filter(|path| path.is_dir()) {
            let mut sibling = Folder::open(&path)?;
            if self.variant == Some(Variant::NoCacheAware) {
                sibling.variant = self.variant;
            }
            let scenarios = sibling.compared()?;
            if !scenarios.is_empty() {
                classes.add(&scenarios, sibling.machine(Tracer::On)?.nr_cpus());
            }
        }
        Ok(if classes.is_empty() { Classes::builtin(&self.kernel) } else { classes })
    }

    /// The scenarios of the summaries of all seeds.
    fn summarized(&self, classes: &Classes, nr_cpus: usize) -> Result<Vec<Scenario>, LabError> {
        let prefix = self.seeds();
        let labels = self.entries(|name| name.starts_with(&prefix))?;
        let files = labels.iter().map(|label| label.join("summary.json"));
        let files = files.filter(|file| file.is_file());
        let summaries = files.map(|file| Summary::read(&file)).collect::<Result<Vec<_>, _>>()?;
        let mut names: Vec<&str> = Vec::new();
        for name in summaries.iter().flat_map(Summary::names) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        Ok(names.into_iter().map(|name| summarize(name, &summaries, classes, nr_cpus)).collect())
    }

    /// The labels that hold recorded runs, in the order of their names.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn labels(&self) -> Result<Vec<String>, LabError> {
        let holds_runs = |path: &PathBuf| path.join("summary.json").is_file();
        let labels = self.entries(|_| true)?.into_iter().filter(holds_runs);
        Ok(labels.filter_map(|path| Some(path.file_name()?.to_str()?.to_owned())).collect())
    }

    /// Measures a scenario, or a command line of hackbench, that was recorded under `label`; with
    /// its events if there is a trace. None if the label does not have it.
    ///
    /// # Errors
    /// When there is no such label, or a file of it is broken.
    pub fn recorded(&self, label: &str, scenario: &Scenario) -> Result<Option<Recorded>, LabError> {
        let (name, label) = (label, self.path.join(label));
        if !label.is_dir() {
            let found = format!("no label '{name}'");
            let expected = format!("one of {}", self.labels()?.join(", "));
            return Err(LabError::content(&self.path, found, expected));
        }
        if scenario.is_counted() {
            let path = label.join("hackbench.json");
            let all = if path.is_file() { results::read_benches(&path)? } else { Vec::new() };
            let runs: Vec<_> =
                all.into_iter().filter(|run| run.command() == scenario.name).collect();
            let values: Box<dyn Values + Send> = Box::new(Means::of(&runs));
            return Ok((!runs.is_empty()).then_some(Recorded { events: Vec::new(), values }));
        }
        let Some((events, results)) = traced(&label, &scenario.name)? else { return Ok(None) };
        let shape = Shape::of(&self.machine(Tracer::On)?);
        let probes = probes(&label, &scenario.name)?;
        let run =
            Run { scenario: &scenario.name, events: &events, probes: &probes, results: &results };
        let values: Box<dyn Values + Send> = Box::new(Measures::of(&shape, run));
        Ok(Some(Recorded { events, values }))
    }

    /// What outsiders did to a scenario in each of the kernel's seeds that has it, by label.
    ///
    /// # Errors
    /// When a file is broken.
    pub fn outside(&self, scenario: &Scenario) -> Result<Vec<(String, Outside)>, LabError> {
        let mut found = Vec::new();
        let prefix = self.seeds();
        for label in self.labels()?.into_iter().filter(|label| label.starts_with(&prefix)) {
            if let Some((events, results)) = traced(&self.path.join(&label), &scenario.name)? {
                found.push((label, Outside::of(&events, &results)));
            }
        }
        Ok(found)
    }
}

/// The events of a scenario under a label, and what its tasks tell of themselves; none if the label
/// does not have it.
fn traced(label: &Path, scenario: &str) -> Result<Option<(Vec<Event>, Results)>, LabError> {
    let trace = label.join(format!("{scenario}.trace.gz"));
    if !trace.is_file() {
        return Ok(None);
    }
    let results = results::read(&label.join(format!("{scenario}.json")))?;
    Ok(Some((tracefs::read_file(&trace)?, results)))
}

/// What was watched of a scenario under a label beside the events of its trace.
fn probes(label: &Path, scenario: &str) -> Result<Probes, LabError> {
    let probe = label.join(format!("{scenario}.probe.gz"));
    let trace = label.join(format!("{scenario}.trace.gz"));
    tracefs::read_probes(&trace, probe.is_file().then_some(probe.as_path()))
}

/// A run, of a kernel or of the simulator, that is over.
pub struct Recorded {
    /// What was traced, if anything was.
    pub events: Vec<Event>,
    /// Its metrics.
    pub values: Box<dyn Values + Send>,
}

/// What lies in `folder` under a name that fits, in the order of names.
fn entries(folder: &Path, fits: impl Fn(&str) -> bool) -> Result<Vec<PathBuf>, LabError> {
    let found = fs::read_dir(folder).map_err(|error| LabError::read(folder, error))?;
    let paths = found.flatten().map(|entry| entry.path());
    let name = |path: &PathBuf| path.file_name().and_then(|name| name.to_str()).is_some_and(&fits);
    let mut paths: Vec<PathBuf> = paths.filter(name).collect();
    paths.sort();
    Ok(paths)
}

/// A scenario over the seeds that have it.
fn summarize(name: &str, summaries: &[Summary], classes: &Classes, nr_cpus: usize) -> Scenario {
    let seeds: Vec<_> = summaries.iter().filter_map(|summary| summary.scenario(name)).collect();
    let metric = |(metric, class): (&str, _)| {
        let values: Vec<_> = seeds.iter().filter_map(|seed| seed.value(metric)).collect();
        (!values.is_empty()).then(|| Metric { name: metric.to_owned(), class, values })
    };
    let metrics = classes.of(name, nr_cpus).filter_map(metric).collect();
    Scenario::new(name, metrics)
}
