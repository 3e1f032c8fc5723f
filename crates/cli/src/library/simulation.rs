//! `Simulation`: machine, policy, workload and settings, to be run with one seed or several.

use std::fmt;
use std::sync::Arc;

use simsched_core::Nanos;
use simsched_policies::Registry;
use simsched_workloads::catalog as workloads;

use super::runs::measure;
use super::{
    Collect, Error, Machine, MachineChoice, PolicyChoice, Precision, Runs, Seeds, Window,
    WorkloadChoice,
};
use crate::chosen::{ChosenPolicy, ChosenWorkload};
use crate::precision::Ask;
use crate::scenario::{Scenario, Side};
use crate::settings::Settings;

/// A machine, a policy, a workload and settings, to be run with one seed or several.
///
/// It starts as `simsched run --topo MACHINE` does: policy `cfs`, workload `hackbench` with threads over
/// pipes, seed 1, the whole run. Nothing runs before [`run`](Simulation::run).
#[derive(Clone, Debug)]
pub struct Simulation {
    pub(super) machine: Machine,
    pub(super) registry: Registry,
    pub(super) policy: ChosenPolicy,
    pub(super) workload: ChosenWorkload,
    pub(super) settings: Vec<(String, String)>,
    pub(super) seeds: Seeds,
    pub(super) window: Window,
    pub(super) duration: Option<Nanos>,
    pub(super) precision: Option<Precision>,
    pub(super) collect: Collect,
}

impl Simulation {
    /// A simulation on a machine: the name of a built-in one with its mode (`genoa@nps4`), the path of a
    /// machine file, or a [`Machine`].
    ///
    /// # Errors
    /// When there is no such machine, or its file is wrong.
    pub fn on(machine: impl Into<MachineChoice>) -> Result<Simulation, Error> {
        Ok(Simulation {
            machine: machine.into().machine()?,
            registry: Registry::builtin(),
            policy: ChosenPolicy::Named("cfs".to_owned()),
            workload: ChosenWorkload::Words(Vec::new()),
            settings: Vec::new(),
            seeds: Seeds::from(1),
            window: Window::default(),
            duration: None,
            precision: None,
            collect: Collect::default(),
        })
    }

    /// With the policies of this registry; [`policy`](Simulation::policy) behind it takes their names.
    #[must_use]
    pub fn registry(self, registry: &Registry) -> Simulation {
        Simulation { registry: registry.clone(), ..self }
    }

    /// Under this policy: an expression such as `cfs@5.16+SIS_UTIL=off`, or one of the caller's
    /// ([`policy::own`](super::policy::own)).
    ///
    /// # Errors
    /// When there is no such policy, version, feature or setting; when a policy of the caller's has a name
    /// that is taken or that no expression could have.
    pub fn policy(self, policy: impl Into<PolicyChoice>) -> Result<Simulation, Error> {
        let policy = policy.into().0;
        match &policy {
            ChosenPolicy::Named(name) => {
                Settings::sort(&self.registry, name, &[])?;
            }
            ChosenPolicy::Own(spec) => {
                self.registry.check_name(spec.policy()).map_err(Error::input)?;
            }
        }
        Ok(Simulation { policy, ..self })
    }

    /// With this workload: a command line such as `hackbench -g 8`, its words, or one of the caller's
    /// ([`workload::own`](super::workload::own)).
    ///
    /// # Errors
    /// When there is no such program, or its options are wrong.
    pub fn workload(self, workload: impl Into<WorkloadChoice>) -> Result<Simulation, Error> {
        let workload = workload.into().0;
        if let ChosenWorkload::Own { name, .. } = &workload {
            let first = name.split_whitespace().next().unwrap_or_default();
            if workloads::find(first).is_ok() {
                let text = format!("workload `{name}`: expected a name that no program has");
                return Err(Error::input(text));
            }
        }
        let next = Simulation { workload, ..self };
        let bare = Simulation { settings: Vec::new(), precision: None, ..next.clone() };
        bare.scenario(next.seeds.first)?;
        Ok(next)
    }

    /// With a setting of the simulator or of the policy, as `--set KEY=VALUE` does. Whether there is such
    /// a setting is found when the simulation is checked or run.
    #[must_use]
    pub fn set(mut self, key: &str, value: impl fmt::Display) -> Simulation {
        self.settings.push((key.to_owned(), value.to_string()));
        self
    }

    /// With these seeds: one (`7`) or several (`1..=10`), a run for each.
    #[must_use]
    pub fn seeds(self, seeds: impl Into<Seeds>) -> Simulation {
        Simulation { seeds: seeds.into(), ..self }
    }

    /// Measures this part of each run.
    #[must_use]
    pub fn window(self, window: Window) -> Simulation {
        Simulation { window, ..self }
    }

    /// Stops each run after this much simulated time.
    #[must_use]
    pub fn duration(self, most: Nanos) -> Simulation {
        Simulation { duration: Some(most), ..self }
    }

    /// Simulates only as much of a long job as its numbers need.
    #[must_use]
    pub fn precision(self, precision: Precision) -> Simulation {
        Simulation { precision: Some(precision), ..self }
    }

    /// Collects this beside the numbers of every report.
    #[must_use]
    pub fn collect(self, collect: Collect) -> Simulation {
        Simulation { collect, ..self }
    }

    /// Whether it can be run, and what the caller may have overlooked: a sentence for each setting that was
    /// given and has no effect, and for each part of the workload's input that changes nothing.
    ///
    /// # Errors
    /// What is wrong, in one sentence.
    pub fn check(&self) -> Result<Vec<String>, Error> {
        let seed = self.seeds.checked()?.first;
        let scenario = self.scenario(seed)?;
        let mut notes: Vec<String> = scenario.note().into_iter().collect();
        notes.extend(scenario.without_effect(seed)?);
        Ok(notes)
    }

    /// Runs it, with several seeds on all threads; the result is the same on any number of them.
    ///
    /// # Errors
    /// What is wrong with it; or why a run could not go on, of the first seed of which that is so.
    pub fn run(&self) -> Result<Runs, Error> {
        let seeds = self.seeds.checked()?;
        measure(&self.scenario(seeds.first)?, seeds)
    }

    /// What the command makes of the same arguments, checked with this seed.
    pub(super) fn scenario(&self, seed: u64) -> Result<Scenario, Error> {
        self.check_values()?;
        let extent = self.window.extent();
        let Collect { llc_interval, series, paranoid } = self.collect;
        let precision = self.precision.map(|it| Ask { percent: it.percent, limit: it.max_events });
        let side = Side {
            topology: Arc::clone(&self.machine.topology),
            topology_file: self.machine.file.clone(),
            topology_hash: self.machine.hash.clone(),
            policy: self.policy.clone(),
            settings: self.settings.clone(),
            workload: self.workload.clone(),
            extent,
            duration: self.duration,
            precision,
            llc_interval,
            series,
            paranoid,
        };
        Ok(Scenario::of_side(side, seed, &self.registry)?)
    }

    /// What the options of the command refuse.
    fn check_values(&self) -> Result<(), Error> {
        let Collect { llc_interval, series, .. } = self.collect;
        let (span, limit) = match self.window {
            Window::SinceStart | Window::Whole => (None, None),
            Window::Span(span) => (Some(span), None),
            Window::Long(limit) => (None, Some(limit)),
        };
        let times = [
            ("duration", self.duration),
            ("llc_interval", llc_interval),
            ("series", series),
            ("span", span.map(|span| span.span)),
            ("warmup", span.map(|span| span.warmup)),
            ("limit", limit),
        ];
        if let Some((name, _)) = times.iter().find(|(_, time)| *time == Some(Nanos::ZERO)) {
            return Err(Error::input(format!("{name}: found 0 ns, expected at least 1 ns")));
        }
        let Some(Precision { percent, max_events }) = self.precision else { return Ok(()) };
        if !(0.1..=50.0).contains(&percent) {
            return Err(Error::input(format!("precision: found {percent} %, expected 0.1 to 50")));
        }
        if max_events == Some(0) {
            return Err(Error::input("precision: found 0 events at most, expected at least 1"));
        }
        let beside = [
            ("a window", self.window != Window::SinceStart),
            ("a duration", self.duration.is_some()),
            ("an llc_interval", llc_interval.is_some()),
            ("a series", series.is_some()),
        ];
        match beside.iter().find(|(_, given)| *given) {
            Some((what, _)) => {
                Err(Error::input(format!("precision: found {what} beside it, expected none")))
            }
            None => Ok(()),
        }
    }
}
